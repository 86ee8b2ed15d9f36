"""Where an engine keeps its data."""

import os
from pathlib import Path

from ..errors import SettingsError
from ..location import user_data_dir

MEMORY = ":memory:"
"""Instead of a directory: keep nothing."""


def resolve_data_dir(value: object = None) -> Path | None:
    """The directory that an argument or REASONBLOCKS_DATA_DIR names, else the user's own; `None` for `:memory:`."""
    if value is None:
        value = os.environ.get("REASONBLOCKS_DATA_DIR", "").strip() or user_data_dir()
    if isinstance(value, Path):
        return value.expanduser().absolute()
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise SettingsError(f"data_dir is {value!r}; expected the path of a directory, or {MEMORY!r}")
    return None if value.strip() == MEMORY else Path(value.strip()).expanduser().absolute()
