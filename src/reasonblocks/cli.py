"""The command `reasonblocks`; what it needs comes with the extras."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        import click  # noqa: F401  the first thing the extra brings that the commands need
    except ImportError:
        sys.exit("reasonblocks: the command line needs the extra `engine`: run pip install 'reasonblocks[engine]'")
    from .commands.root import reasonblocks

    reasonblocks(prog_name="reasonblocks")
