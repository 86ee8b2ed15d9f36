"""`reasonblocks demo`: a failing agent, caught and steered."""

import os
from pathlib import Path

import click

from . import options


@click.command()
@click.option("--model", metavar="PROVIDER:MODEL", help="A real model instead of the scripted one; it needs its key.")
@click.option("--picture", type=click.Path(path_type=Path), metavar="FILE", help="Write what is shown as SVG, too.")
def demo(model: str | None, picture: Path | None) -> None:
    """Watch an agent run into a loop, and see it steered out of it. Offline, no key, nothing is kept.

    The same agent runs twice at once: without steering, where it is only watched, and with it.
    """
    options.require_engine("rich")
    from rich.console import Console

    from ..demo.story import save_picture, tell

    for name in [name for name in os.environ if name.startswith("REASONBLOCKS_") and "OTEL" not in name]:
        del os.environ[name]  # the same story for everybody, whatever is set for their own agents; it may be traced
    console = Console(record=picture is not None, width=132 if picture is not None else None)
    tell(console, model)
    if picture is not None:
        save_picture(console, picture)
