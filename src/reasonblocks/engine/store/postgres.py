"""A PostgreSQL server as the engine uses it: many writers at once, from many machines."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import Connection, NullPool, event
from sqlalchemy.exc import DBAPIError, DisconnectionError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from ..errors import Away, Busy, StoreError
from .database import Database, explained
from .news import News
from .pool import PoolSettings, checked_url
from .transact import Transactions
from .words import REPLACED, ZERO, be_alone

CONNECT_SECONDS = 10.0
POOL_SECONDS = 10.0
"""How long a request waits for a connection before it is told to come back."""
RECYCLED_AFTER = 1_800
"""Seconds after which a connection is made anew: what is between us and the server may forget idle ones."""
GRACE_SECONDS = 5.0
"""How much later than the server itself we give up a statement: then nobody answers there."""
_SERVER = {
    # A server that hears nothing of us lets go of our locks within a minute, also where a machine lost its power.
    "tcp_keepalives_idle": "20",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
    "idle_in_transaction_session_timeout": "60000",
    "jit": "off",  # our queries are short
}
_OVERLOADED = ("57014", "55P03", "40001", "40P01", "53300", "53400")
"""Cancelled by a timeout, not locked in time, not serialisable, deadlocked, too many connections."""
_AWAY = ("08", "57P")
"""A connection that failed, or a server that is going down or coming up."""
_UNUSABLE = frozenset(("25006", "42501", "42703", "42P01"))
"""Read-only, no right to do it, a column or a table that is not there."""


class PostgresDatabase(Database):
    """Connections to one database of a server."""

    advice = "see to the server and its rights, or name another one (--database-url)"
    alone = False

    def __init__(self, url: str, pool: PoolSettings) -> None:
        self.url = checked_url(url)
        self.name = self.url.render_as_string(hide_password=True)
        self.process = f"reasonblocks-{secrets.token_hex(4)}"
        """Who we are among those that use the database."""
        self._pool = pool
        self.engine = create_async_engine(
            self.url,
            pool_size=pool.size,
            max_overflow=pool.overflow,
            pool_timeout=POOL_SECONDS,
            pool_recycle=RECYCLED_AFTER,
            connect_args=self._connect_args(pool.statement_seconds),
        )
        event.listen(self.engine.sync_engine, "checkout", _refuse_closed)
        event.listen(self.engine.sync_engine, "before_cursor_execute", _without_zeros, retval=True)
        # One state of the database for all queries of a block, as SQLite has it.
        self._reader = self.engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)

    def _connect_args(self, statement_seconds: float) -> dict[str, Any]:
        milliseconds = str(round(statement_seconds * 1_000))
        limits = {"statement_timeout": milliseconds, "lock_timeout": milliseconds}
        return {
            "timeout": CONNECT_SECONDS,
            "command_timeout": statement_seconds + GRACE_SECONDS if statement_seconds else None,
            "server_settings": {**_SERVER, **limits, "application_name": self.process},
        }

    def for_one(self) -> AsyncEngine:
        """An engine whose connections are its own, and whose statements may take their time."""
        return create_async_engine(self.url, poolclass=NullPool, connect_args=self._connect_args(0))

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncConnection]:
        """A connection that sees one state of the database from its first query on."""
        with self.explaining():
            async with self._reader.begin() as connection:
                yield connection

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[AsyncConnection]:
        """A transaction that may write, alone among all of its kind on any machine."""
        with self.explaining():
            async with self.engine.begin() as connection:
                await connection.run_sync(be_alone)
                yield connection

    def transactions(self) -> Transactions:
        """Any number at once; of those that get in each other's way all but one are run again."""
        from .postgres_transact import PostgresTransactions

        return PostgresTransactions(self)

    def news(self) -> News:
        """What other processes tell by NOTIFY."""
        from .postgres_news import PostgresNews

        return PostgresNews(self)

    def migrate(self, work: Callable[[Connection], None]) -> None:
        """Run `work` on a connection and an event loop of its own: it reads files."""

        async def alone() -> None:
            engine = self.for_one()
            try:
                async with engine.begin() as connection:
                    await connection.run_sync(be_alone)
                    await connection.run_sync(work)
            finally:
                await engine.dispose()

        asyncio.run(alone())

    @contextlib.contextmanager
    def explaining(self) -> Iterator[None]:
        """Turn what the driver says about a server that is away or overloaded into an error that callers know."""
        try:
            yield
        except PoolTimeout as error:
            raise Busy(f"no connection to the database was free for {POOL_SECONDS:g} s; try again") from error
        except DBAPIError as error:
            refusal = self._refusal(error)
            if refusal is None:
                raise
            raise refusal from error
        except OSError as error:  # also a timeout
            raise self._away(str(error) or type(error).__name__) from error

    def _refusal(self, error: DBAPIError) -> Busy | StoreError | None:
        state = sqlstate(error)
        if state in _OVERLOADED:
            return Busy(f"the database has too much to do: {explained(error)}; try again")
        if error.connection_invalidated or state.startswith(_AWAY):
            return self._away(explained(error))
        if state in _UNUSABLE:
            return StoreError(
                f"the database {self.name!r} cannot be used as it is: {explained(error)}; "
                "see that its user may read and write all tables, and that nothing else changes them"
            )
        return None

    def _away(self, reason: str) -> Away:
        return Away(f"the database {self.name!r} cannot be reached: {reason}; {self.advice}")

    async def aclose(self) -> None:
        """Close every connection."""
        await self.engine.dispose()


def sqlstate(error: DBAPIError) -> str:
    """What the server calls an error."""
    return str(getattr(error.orig, "sqlstate", None) or "")


def _refuse_closed(connection: Any, _record: object, _proxy: object) -> None:
    """A connection that the server has closed while it was idle is not handed out; the pool makes another."""
    if connection.driver_connection.is_closed():
        raise DisconnectionError("the server has closed it")


def _without_zeros(
    _connection: object, _cursor: object, statement: str, parameters: Any, _context: object, _many: bool
) -> tuple[str, Any]:
    """PostgreSQL keeps every character but one, which has U+FFFD in its place; one bad text spoils no batch."""
    return statement, _cleaned(parameters)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace(ZERO, REPLACED) if ZERO in value else value
    if isinstance(value, list):
        return [_cleaned(one) for one in value]
    if isinstance(value, tuple):
        return tuple(map(_cleaned, value))
    return value
