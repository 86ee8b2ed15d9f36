"""The command `reasonblocks` itself."""

import errno
import os
from importlib import import_module

import click

from .._version import __version__
from ..errors import ReasonBlocksError

COMMANDS = {
    "backup": "data",
    "delete-org": "data",
    "demo": "demo",
    "doctor": "doctor",
    "explain": "explain",
    "export": "data",
    "index": "index",
    "keys": "keys",
    "migrate": "data",
    "patterns": "patterns",
    "replay": "replay",
    "report": "report",
    "restore": "data",
    "runs": "runs",
    "serve": "serve",
    "stats": "stats",
    "trace": "trace",
}
"""Each command and the module it is in. Loaded when it is used: a quick command does not wait for the slow ones."""
TRACEBACK = "REASONBLOCKS_TRACEBACK"
"""A variable that shows a defect with all its lines."""


class Commands(click.Group):
    """Commands whose errors are told in one line, without a traceback."""

    def list_commands(self, context: click.Context) -> list[str]:
        """In the order of the alphabet."""
        return sorted(COMMANDS)

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        """One of them; loaded here."""
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f".{COMMANDS[name]}", __package__), name.replace("-", "_"))
        return command

    def invoke(self, context: click.Context) -> object:
        """Run the command that was named."""
        try:
            return super().invoke(context)
        except ReasonBlocksError as error:
            raise click.ClickException(str(error)) from error
        except (click.ClickException, click.Abort, click.exceptions.Exit):
            raise
        except Exception as error:
            if os.environ.get(TRACEBACK) or (isinstance(error, OSError) and error.errno == errno.EPIPE):
                raise  # click itself ends quietly where nobody reads on
            raise click.ClickException(
                f"{type(error).__name__}: {error}; if this is not about your own files or code it is a defect of "
                f"reasonblocks: {TRACEBACK}=1 shows where"
            ) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reasonblocks")
def reasonblocks() -> None:
    """Watch AI agents while they work, and say the right sentence in time."""
