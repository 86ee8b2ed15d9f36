"""Whole transactions on a thread of their own: one trip there and back, however many statements they take.

`Database.writing()` makes a trip for every statement, which is fine where a person waits; where events arrive by the
hundred the trips would cost more than the statements.
"""

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import SingletonThreadPool

from ..errors import Busy, EngineError, StoreError
from .database import BUSY_SECONDS, WRITES, Database, begin, explained, set_up

T = TypeVar("T")


class Transactions:
    """Runs functions of a connection, each in a transaction that may write, in turn with the writers of `Database`."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._closed = False
        self._thread: ThreadPoolExecutor | None = None
        self._engine: Engine | None = None
        """On its own thread, as everything that touches it."""

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction: committed when this returns, undone when `work` raises.

        What is under way is finished even if the caller is cancelled.
        """
        self._refuse_if_closed()
        turn = self._database.writer
        await turn.acquire()
        try:
            self._refuse_if_closed()  # while this waited for its turn
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="reasonblocks-store")
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

    def _transact(self, work: Callable[[Connection], T]) -> T:
        if self._engine is None:
            self._engine = _engine(self._database.url)
        try:
            with self._engine.connect() as connection, connection.begin():
                return work(connection)
        except OperationalError as error:
            raise _refusal(error) from error

    def _dispose(self) -> None:
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None


def _engine(url: URL) -> Engine:
    engine = create_engine(url, poolclass=SingletonThreadPool)
    event.listen(engine, "connect", set_up)
    event.listen(engine, "begin", begin)
    return engine.execution_options(**{WRITES: True})


def _refusal(error: OperationalError) -> EngineError:
    reason = explained(error)
    if "locked" in reason:
        return Busy(f"another process has been writing to the database for {BUSY_SECONDS:g} s; try again")
    return StoreError(f"the database cannot be written: {reason}; see to its disk and its rights")
