"""The tables of a database, made or brought up to date when it is opened."""

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, MetaData, inspect, text
from sqlalchemy.exc import DBAPIError

from ..errors import StoreError
from .database import Database, explained
from .schema import metadata

VERSION_TABLE = "alembic_version"


@dataclass(frozen=True)
class History:
    """Every version that the tables have had."""

    location: Path
    """Where alembic finds the steps from each to the next."""
    versions: tuple[str, ...]
    """Oldest first. Kept here as well so that a database of today opens without alembic, which is slow to import."""
    tables: MetaData
    """As they are in the newest."""

    @property
    def head(self) -> str:
        """The newest version."""
        return self.versions[-1]


OURS = History(Path(__file__).parent / "migrations", ("0001", "0002"), metadata)


async def prepare(database: Database, history: History = OURS) -> None:
    """Make the tables, or bring older ones up to date; of processes that start at once, one does it and all wait."""
    try:
        async with database.reading() as connection:
            version = await connection.run_sync(_version)
        if version == history.head:
            return
        if version is None:
            async with database.writing() as connection:
                version = await connection.run_sync(_create_unless_made, history)
        if version != history.head:
            _refuse_unknown(database, version, history)
            await asyncio.to_thread(database.migrate, partial(_upgrade, history=history))
    except DBAPIError as error:
        raise _not_usable(database, explained(error)) from error


def _version(connection: Connection) -> str | None:
    """The version of a database; `None` if it is empty."""
    names = inspect(connection).get_table_names()
    if VERSION_TABLE in names:
        found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()
        return str(found) if found is not None else ""
    return "" if names else None


def _create_unless_made(connection: Connection, history: History) -> str:
    """Make the newest tables in an empty database; the version there is, which another process may have made."""
    version = _version(connection)
    if version is not None:
        return version
    history.tables.create_all(connection)
    connection.exec_driver_sql(
        f"CREATE TABLE {VERSION_TABLE} "
        f"(version_num VARCHAR(32) NOT NULL, CONSTRAINT {VERSION_TABLE}_pkc PRIMARY KEY (version_num))"
    )
    connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES (:version)"), {"version": history.head})
    return history.head


def _refuse_unknown(database: Database, version: str, history: History) -> None:
    if not version:
        raise _not_usable(database, "it holds tables that are not of reasonblocks")
    if version not in history.versions:
        raise StoreError(
            f"the database {database.name!r} has version {version!r} and this reasonblocks knows up to "
            f"{history.head!r}: a newer reasonblocks wrote it; upgrade reasonblocks, or {database.advice}"
        )


def _not_usable(database: Database, reason: str) -> StoreError:
    return StoreError(f"the database {database.name!r} cannot be used: {reason}; {database.advice}")


def _upgrade(connection: Connection, history: History) -> None:
    if _version(connection) != history.head:  # another process may have been quicker
        upgrade(connection, history)


def upgrade(connection: Connection, history: History = OURS, target: str = "head") -> None:
    """Let alembic take the tables to `target`, in the transaction of the connection."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(history.location).replace("%", "%%"))
    config.attributes["connection"] = connection
    config.attributes["tables"] = history.tables
    command.upgrade(config, target)
