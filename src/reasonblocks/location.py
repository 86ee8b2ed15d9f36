"""Where programs keep what belongs to a user."""

import os
import sys
from pathlib import Path


def user_data_dir() -> Path:
    """The directory for a user's data on this system."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "reasonblocks"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "reasonblocks"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "reasonblocks"
