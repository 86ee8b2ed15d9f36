"""Options that several commands have."""

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from ..engine import PACKAGES
from ..errors import SettingsError
from ..location import user_data_dir

if TYPE_CHECKING:
    from ..engine.store.database import Database

Command = TypeVar("Command", bound=Callable[..., Any])


def data_dir(command: Command) -> Command:
    """Where the data lies."""
    return click.option(
        "--data-dir",
        metavar="DIRECTORY",
        help=f"Where everything is kept; else REASONBLOCKS_DATA_DIR, else {_home(str(user_data_dir()))}.",
    )(command)


def database_url(command: Command) -> Command:
    """Which server has the tables."""
    return click.option(
        "--database-url",
        metavar="URL",
        help="A PostgreSQL server for the tables (postgresql+asyncpg://...); else REASONBLOCKS_DATABASE_URL.",
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


def named_url(database_url: str | None) -> str | None:
    """The URL that the option gives, or else the environment does."""
    return database_url or os.environ.get("REASONBLOCKS_DATABASE_URL", "").strip() or None


def database_of(data_dir: str | None, database_url: str | None, *, environment: bool = True) -> "Database":
    """The database that the options name, or else the environment does."""
    from ..engine.location import resolve_data_dir
    from ..engine.store.database import Database

    url = named_url(database_url) if environment else database_url
    if url is not None:
        return patient(url)
    directory = resolve_data_dir(data_dir)
    if directory is None:
        raise SettingsError(":memory: keeps nothing that a command could work on; name a directory or a database")
    return Database.at(directory)


def patient(url: str) -> "Database":
    """A database server for a command that looks at all there is, which may take long."""
    from ..engine.store.database import Database
    from ..engine.store.pool import MOST, PoolSettings

    return Database.at(None, url, PoolSettings(statement_seconds=MOST))


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
