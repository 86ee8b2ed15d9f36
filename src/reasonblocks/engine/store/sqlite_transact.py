"""Whole transactions on a thread of their own: one trip there and back, however many statements they take.

`Database.writing()` makes a trip for every statement, which is fine where a person waits; where events arrive by the
hundred the trips would cost more than the statements.
"""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, Transaction, create_engine, event
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import SingletonThreadPool

from ..errors import Busy, EngineError, StoreError
from .database import explained
from .sqlite import BUSY_SECONDS, WRITES, SqliteDatabase, begin, set_up
from .transact import Transactions

MOMENT_SECONDS = 0.25
"""How long one attempt to write waits for another process."""
T = TypeVar("T")


class SqliteTransactions(Transactions):
    """Runs them in turn with the writers of `SqliteDatabase`."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database
        self._closed = False
        self._thread: ThreadPoolExecutor | None = None
        self._engine: Engine | None = None
        """On its own thread, as everything that touches it."""

    async def open(self, rehearsal: Callable[[Connection], object] | None = None) -> None:
        """Make the connection, so that the first transaction does not have to; takes nobody's turn for long."""
        async with self._database.writer:
            self._refuse_if_closed()
            self._thread = self._thread or _thread()
            await asyncio.get_running_loop().run_in_executor(self._thread, self._connect, rehearsal)

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction: committed when this returns, undone when `work` raises.

        What is under way is finished even if the caller is cancelled.
        """
        self._refuse_if_closed()
        turn = self._database.writer
        await turn.acquire()
        try:
            self._refuse_if_closed()  # while this waited for its turn
            self._thread = self._thread or _thread()
            future = asyncio.get_running_loop().run_in_executor(self._thread, self._transact, work)
        except BaseException:
            turn.release()
            raise

        def over(done: asyncio.Future[T]) -> None:
            turn.release()
            if not done.cancelled():
                done.exception()  # somebody who was cancelled does not look at it any more

        future.add_done_callback(over)
        return await asyncio.shield(future)

    async def aclose(self) -> None:
        """Finish what is under way and close the connection; what waits for its turn is refused."""
        self._closed = True
        thread, self._thread = self._thread, None
        if thread is not None:
            with contextlib.suppress(RuntimeError):  # the interpreter is going down
                await asyncio.get_running_loop().run_in_executor(thread, self._dispose)
            thread.shutdown(wait=False)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StoreError("the database is closed: its engine was closed; open another one")

    def _connect(self, rehearsal: Callable[[Connection], object] | None) -> None:
        """Have a connection that knows the tables; a database that cannot be used is for whoever needs it."""
        with contextlib.suppress(DBAPIError, sqlite3.Error):
            with contextlib.closing(self._opened().raw_connection()) as raw:
                raw.cursor().execute("SELECT count(*) FROM sqlite_master").close()
            if rehearsal is not None:
                with self._opened().connect() as connection, connection.begin() as undone:
                    rehearsal(connection)
                    undone.rollback()

    def _opened(self) -> Engine:
        if self._engine is None:
            self._engine = _engine(self._database.url)
        return self._engine

    def _transact(self, work: Callable[[Connection], T]) -> T:
        try:
            with self._opened().connect() as connection, self._begun(connection):
                return work(connection)
        except OperationalError as error:
            raise _refusal(error) from error

    def _begun(self, connection: Connection) -> Transaction:
        """A transaction, once no other process writes; whoever closes does not want to wait for that."""
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return connection.begin()
            except OperationalError as error:
                if not _locked(error) or self._closed or time.monotonic() > deadline:
                    raise

    def _dispose(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None


def _thread() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, thread_name_prefix="reasonblocks-store")


def _engine(url: URL) -> Engine:
    engine = create_engine(url, poolclass=SingletonThreadPool)
    event.listen(engine, "connect", set_up)
    event.listen(engine, "connect", _be_patient_in_turns)
    event.listen(engine, "begin", begin)
    return engine.execution_options(**{WRITES: True})


def _be_patient_in_turns(connection: Any, _record: object) -> None:
    """SQLite cannot be told to stop waiting, so it waits for a moment at a time."""
    connection.execute(f"PRAGMA busy_timeout={int(MOMENT_SECONDS * 1000)}").close()


def _locked(error: OperationalError) -> bool:
    return "locked" in explained(error)


def _refusal(error: OperationalError) -> EngineError:
    reason = explained(error)
    if _locked(error):
        return Busy(f"another process has been writing to the database for {BUSY_SECONDS:g} s; try again")
    return StoreError(f"the database cannot be written: {reason}; see to its disk and its rights")
