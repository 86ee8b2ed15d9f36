"""A SQLite database as the engine uses it: many readers, one writer at a time, other processes beside it."""

import asyncio
import contextlib
import os
import secrets
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, NullPool, create_engine, event
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import StaticPool

from ..errors import StoreError
from ..location import MEMORY
from .database import Database
from .news import News
from .transact import Transactions

FILE_NAME = "reasonblocks.db"
BUSY_SECONDS = 30.0
"""How long a writer waits for one in another process."""
WRITES = "reasonblocks_writes"
_ASYNC = "sqlite+aiosqlite"


class SqliteDatabase(Database):
    """Connections to one file, or to one database in memory."""

    advice = "use another data directory (data_dir=... or --data-dir), or move that file away"

    def __init__(self, path: Path | None) -> None:
        self.path = path
        """The file; `None` for a database in memory."""
        self.name = str(path or "in memory")
        self.alone = path is None
        self.url = _address(path)
        self._anchor: sqlite3.Connection | None = None
        if path is None:
            # Its connections share it, and whoever uses one has to be alone with it: SQLite lets nobody wait there.
            self.engine = create_async_engine(self.url.set(drivername=_ASYNC), poolclass=StaticPool)
            # It lives as long as a connection to it does, and those of a pool may be thrown away.
            self._anchor = sqlite3.connect(
                f"{self.url.database}?mode=memory&cache=shared", uri=True, check_same_thread=False
            )
        else:
            self.engine = create_async_engine(self.url.set(drivername=_ASYNC), pool_size=4, max_overflow=4)
        event.listen(self.engine.sync_engine, "connect", set_up)
        event.listen(self.engine.sync_engine, "begin", begin)
        self.writer = asyncio.Lock()
        """Whose turn it is to write."""

    @classmethod
    def in_directory(cls, data_dir: Path | None) -> "SqliteDatabase":
        """The database of a data directory, which is created if need be; `None` is one in memory, gone at the end."""
        return cls(None if data_dir is None else _created(data_dir))

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection that sees one state of the database from its first query on."""
        if self.path is None:
            async with self.writer, self.engine.begin() as connection:
                yield connection
        else:
            async with self.engine.begin() as connection:
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that may write: committed when the block is left, undone when it raises.

        Inside this process writers queue up here, fairly; SQLite itself would have them poll.
        """
        async with self.writer, self.engine.connect() as plain:
            connection = await plain.execution_options(**{WRITES: True})
            async with connection.begin():
                yield connection

    def transactions(self) -> Transactions:
        """On a thread of their own."""
        from .sqlite_transact import SqliteTransactions

        return SqliteTransactions(self)

    def news(self) -> News:
        """None: other processes on the file look for themselves."""
        return News()

    def migrate(self, work: Callable[[Connection], None]) -> None:
        """Run `work` with foreign keys off, alone; refused if it leaves rows that refer to nothing."""
        if self.path is None:
            return  # it was made just now, by this version
        engine = create_engine(self.url, poolclass=NullPool)
        event.listen(engine, "connect", _set_up_to_migrate)
        event.listen(engine, "begin", begin)
        with engine.execution_options(**{WRITES: True}).begin() as connection:
            work(connection)
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
            if broken is not None:
                raise StoreError(f"the upgrade would leave rows of {broken[0]!r} without what they refer to")

    async def aclose(self) -> None:
        """Close every connection; the write-ahead log is folded into the file by the last one."""
        await self.engine.dispose()
        if self._anchor is not None:
            self._anchor.close()


def _address(path: Path | None) -> URL:
    """Where SQLite finds a database; one in memory has a name that no other has."""
    if path is not None:
        return URL.create("sqlite", database=str(path))
    shared = {"mode": "memory", "cache": "shared", "uri": "true"}
    return URL.create("sqlite", database=f"file:reasonblocks-{secrets.token_hex(16)}", query=shared)


def _created(data_dir: Path) -> Path:
    """The database file, there before SQLite opens it: its log files take their rights from it."""
    path = data_dir / FILE_NAME
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        _turn_on_write_ahead_log(path)
    except OSError as error:
        in_the_way = next((part for part in (data_dir, *data_dir.parents) if part.exists() and not part.is_dir()), None)
        reason = f"{str(in_the_way)!r} is a file" if in_the_way else error.strerror or error
        raise StoreError(
            f"the data directory {str(data_dir)!r} cannot be used: {reason}; "
            "make it writable, name another one (data_dir=... or --data-dir), "
            f"or use data_dir={MEMORY!r} to keep nothing"
        ) from error
    return path


def _turn_on_write_ahead_log(path: Path) -> None:
    """Once for the file, which remembers it. SQLite does not wait for others here, so we do."""
    deadline = time.monotonic() + BUSY_SECONDS
    with contextlib.closing(sqlite3.connect(path, timeout=BUSY_SECONDS)) as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.DatabaseError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    return  # it cannot be written, or is no database: whoever opens it is told so
                time.sleep(0.01)


def set_up(connection: Any, _record: object) -> None:
    """A new connection: SQLAlchemy says when a transaction begins, not the driver."""
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout={int(BUSY_SECONDS * 1000)}",
        # In WAL mode this survives the end of the process at any moment; only a power cut may cost the last commits.
        "synchronous=NORMAL",
        "foreign_keys=ON",
        "temp_store=MEMORY",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _set_up_to_migrate(connection: Any, record: object) -> None:
    # A table that is changed is copied and dropped, and with foreign keys on that would delete what refers to it.
    set_up(connection, record)
    connection.execute("PRAGMA foreign_keys=OFF")


def begin(connection: Any) -> None:
    """A writer takes its lock at once: one that reads first and then writes could not wait for another process."""
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
