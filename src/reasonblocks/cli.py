"""The command `reasonblocks`; what it needs comes with the extras."""

import importlib.util
import sys

NEEDED = ("click", "sqlalchemy", "aiosqlite", "alembic")
"""What every command needs."""


def main() -> None:
    """Run the command line."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        extra = "server" if sys.argv[1:2] == ["serve"] else "engine"
        sys.exit(
            f"reasonblocks: the command line needs {', '.join(missing)}, which the extra `{extra}` brings: "
            f"run pip install 'reasonblocks[{extra}]'"
        )
    from .commands.root import reasonblocks

    reasonblocks(prog_name="reasonblocks")
