"""A database as the engine uses it, whichever it is. What differs between SQLite and PostgreSQL is behind this.

`sqlite.py` is one file or memory on one machine, `postgres.py` a server that many machines share. The tables, the
queries and what is done in a transaction are the same; the few words of SQL that are not are in `words.py`.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from ..errors import Away
from .news import News
from .pool import PoolSettings
from .transact import Transactions

Given = ParamSpec("Given")
Result = TypeVar("Result")


class Database(ABC):
    """Connections to one database, all on the event loop that opened it."""

    engine: AsyncEngine
    name: str
    """Which one it is, for people; without a password."""
    advice: str
    """What to do where it cannot be used."""
    alone: bool
    """Whether no other process can write to it."""

    @staticmethod
    def at(data_dir: Path | None, url: str | None = None, pool: PoolSettings | None = None) -> "Database":
        """The database server of a URL; else that of a data directory, which is created; else one in memory."""
        if url is not None:
            from .postgres import PostgresDatabase

            return PostgresDatabase(url, pool or PoolSettings())
        from .sqlite import SqliteDatabase

        return SqliteDatabase.in_directory(data_dir)

    @abstractmethod
    def reading(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A connection that sees one state of the database from its first query on."""

    @abstractmethod
    def writing(self) -> AbstractAsyncContextManager[AsyncConnection]:
        """A transaction that may write, alone: committed when the block is left, undone when it raises."""

    @abstractmethod
    def transactions(self) -> Transactions:
        """Whole transactions, quicker than `writing()` for those that many wait for."""

    @abstractmethod
    def news(self) -> News:
        """What other processes on this database tell, and which of them does what only one should."""

    @abstractmethod
    def migrate(self, work: Callable[[Connection], None]) -> None:
        """Run `work` in a transaction that may change tables, alone. Blocks: not for an event loop."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close every connection."""


def asked_again(read: Callable[Given, Awaitable[Result]]) -> Callable[Given, Coroutine[Any, Any, Result]]:
    """Have something that only reads asked once more if its connection was lost on the way."""

    @functools.wraps(read)
    async def twice(*arguments: Given.args, **named: Given.kwargs) -> Result:
        try:
            return await read(*arguments, **named)
        except Away:
            return await read(*arguments, **named)

    return twice


def explained(error: DBAPIError) -> str:
    """A database's complaint in one line."""
    return str(error.orig or error).split("\n", 1)[0]
