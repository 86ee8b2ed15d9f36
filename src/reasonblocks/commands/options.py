"""Options that several commands have."""

import importlib.util
from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..api.embedded import NEEDED as ENGINE_PACKAGES
from ..errors import SettingsError
from ..location import user_data_dir

Command = TypeVar("Command", bound=Callable[..., Any])


def data_dir(command: Command) -> Command:
    """Where the data lies."""
    return click.option(
        "--data-dir",
        metavar="DIRECTORY",
        help=f"Where everything is kept; else REASONBLOCKS_DATA_DIR, else {_home(str(user_data_dir()))}.",
    )(command)


def embeddings(command: Command) -> Command:
    """What turns texts into vectors."""
    return click.option(
        "--embeddings",
        metavar="SETTING",
        help="minilm (the default, offline), PROVIDER:MODEL of LangChain, or package.module:attribute.",
    )(command)


def monitors(command: Command) -> Command:
    """How the monitors are set up."""
    for option, example, says in (
        ("--tool-roles", "TOOL=ROLE,...", "What tools do whose name does not tell, such as poll_job=waits."),
        ("--monitor-thresholds", "NAME=SCORE,...", "From which score on monitors fire; the others fire at 0.6."),
        ("--monitors-off", "NAME,...", "Monitors that are not asked."),
    ):
        command = click.option(option, metavar=example, help=says)(command)
    return command


def require_engine(*more: str, extra: str = "engine") -> None:
    """Raise the error that names what is not installed, and the extra that brings it."""
    missing = [name for name in (*ENGINE_PACKAGES, *more) if importlib.util.find_spec(name) is None]
    if missing:
        raise SettingsError(
            f"{', '.join(missing)} is needed here and not installed: run `pip install 'reasonblocks[{extra}]'`"
        )


def _home(path: str) -> str:
    from pathlib import Path

    return path.replace(str(Path.home()), "~", 1)
