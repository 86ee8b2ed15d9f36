"""Whole transactions on PostgreSQL: many at once, and again where two got in each other's way."""

import asyncio
import random
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ..errors import StoreError
from .postgres import PostgresDatabase, sqlstate
from .transact import Transactions

MOST_ATTEMPTS = 8
PAUSE_SECONDS = 0.01
_AGAIN = ("40001", "40P01", "23505", "0A000")
"""Not serialisable, deadlocked, another one wrote the same row between our look and our write, the tables were changed
under a prepared statement. None of them has left anything behind."""
T = TypeVar("T")


class PostgresTransactions(Transactions):
    """Runs them on the connections of the pool. `work` sees a plain connection; whatever it waits for, others go on."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._closed = False
        self._under_way: set[asyncio.Task[object]] = set()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in a transaction, to its end whatever becomes of the caller."""
        if self._closed:
            raise StoreError("the database is closed: its engine was closed; open another one")
        task = asyncio.create_task(self._run(work))
        self._under_way.add(task)
        task.add_done_callback(self._over)
        return await asyncio.shield(task)

    def _over(self, task: "asyncio.Task[object]") -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # somebody who was cancelled does not look at it any more

    async def _run(self, work: Callable[[Connection], T]) -> T:
        attempt = 1
        with self._database.explaining():
            while True:
                try:
                    async with self._database.engine.begin() as connection:
                        return await connection.run_sync(work)
                except DBAPIError as error:
                    if sqlstate(error) not in _AGAIN or attempt == MOST_ATTEMPTS:
                        raise
                await asyncio.sleep(random.uniform(0, PAUSE_SECONDS * 2**attempt))
                attempt += 1

    async def aclose(self) -> None:
        """Finish what is under way; what comes after that is refused."""
        self._closed = True
        if self._under_way:
            await asyncio.wait(self._under_way)
