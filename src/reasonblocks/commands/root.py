"""The command `reasonblocks` itself."""

import click

from .._version import __version__
from ..errors import ReasonBlocksError
from .data import backup, delete_org, export, migrate, restore
from .demo import demo
from .index import index
from .keys import keys
from .replay import replay
from .report import report
from .serve import serve
from .trace import trace


class Commands(click.Group):
    """Commands whose own errors are told in one line, without a traceback."""

    def invoke(self, context: click.Context) -> object:
        """Run the command that was named."""
        try:
            return super().invoke(context)
        except ReasonBlocksError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="reasonblocks")
def reasonblocks() -> None:
    """Watch AI agents while they work, and say the right sentence in time."""


for command in (backup, delete_org, demo, export, index, keys, migrate, replay, report, restore, serve, trace):
    reasonblocks.add_command(command)
