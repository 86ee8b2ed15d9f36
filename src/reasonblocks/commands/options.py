"""Options that several commands have."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..engine.location import default_data_dir

Command = TypeVar("Command", bound=Callable[..., Any])


def data_dir(command: Command) -> Command:
    """Where the data lies."""
    return click.option(
        "--data-dir",
        metavar="DIRECTORY",
        help=f"Where everything is kept; else REASONBLOCKS_DATA_DIR, else {_home(str(default_data_dir()))}.",
    )(command)


def embeddings(command: Command) -> Command:
    """What turns texts into vectors."""
    return click.option(
        "--embeddings",
        metavar="SETTING",
        help="minilm (the default, offline), PROVIDER:MODEL of LangChain, or package.module:attribute.",
    )(command)


def _home(path: str) -> str:
    from pathlib import Path

    return path.replace(str(Path.home()), "~", 1)
