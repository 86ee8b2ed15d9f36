"""Options that several commands have."""

import importlib.util
import shutil
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
import msgspec

from ..engine import PACKAGES
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


def as_json(command: Command) -> Command:
    """For scripts."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON, with keys that stay; for scripts.")(
        command
    )


def json_text(value: Any) -> str:
    """A value as --json prints it."""
    return msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2).decode()


def width() -> int:
    """How wide the terminal is; where there is none, as wide as is easy to read."""
    return shutil.get_terminal_size((120, 24)).columns


def echo(lines: Iterable[str]) -> None:
    """Print lines."""
    for line in lines:
        click.echo(line)


def require_engine(*more: str, extra: str = "engine") -> None:
    """Raise the error that names what is not installed, and the extra that brings it."""
    missing = [name for name in (*PACKAGES, *more) if importlib.util.find_spec(name) is None]
    if missing:
        raise SettingsError(
            f"{', '.join(missing)} is needed here and not installed: run `pip install 'reasonblocks[{extra}]'`"
        )


def _home(path: str) -> str:
    from pathlib import Path

    return path.replace(str(Path.home()), "~", 1)
