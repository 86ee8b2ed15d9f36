"""`reasonblocks demo`: a failing agent, caught and steered."""

import os

import click

from . import options


@click.command()
def demo() -> None:
    """Watch an agent run into a loop, and see it steered out of it. Offline, no key, nothing is kept."""
    options.require_engine()
    from ..demo.story import tell

    for name in [name for name in os.environ if name.startswith("REASONBLOCKS_")]:
        del os.environ[name]  # the same story for everybody, whatever is set for their own agents
    tell(click.echo)
