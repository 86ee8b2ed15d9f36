"""Where an engine keeps its data."""

import os
import sys
from pathlib import Path

from ..errors import SettingsError

MEMORY = ":memory:"
"""Instead of a directory: keep nothing."""


def resolve_data_dir(value: object = None) -> Path | None:
    """The directory that an argument or REASONBLOCKS_DATA_DIR names, else the user's own; `None` for `:memory:`."""
    if value is None:
        value = os.environ.get("REASONBLOCKS_DATA_DIR", "").strip() or default_data_dir()
    if isinstance(value, Path):
        return value.expanduser().absolute()
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise SettingsError(f"data_dir is {value!r}; expected the path of a directory, or {MEMORY!r}")
    return None if value.strip() == MEMORY else Path(value.strip()).expanduser().absolute()


def default_data_dir() -> Path:
    """Where programs keep a user's data on this system."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "reasonblocks"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "reasonblocks"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "reasonblocks"
