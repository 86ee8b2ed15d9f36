"""Following the table of changes, so that what is held in memory and in the index is what the tables say.

Whoever writes adds a row to `changes` in the same transaction and calls `notify()`. Other processes on the same
database find the row when they look, once a second, or are told to look at once. A change may be told twice, never not
at all.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable

from sqlalchemy import delete, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ...runtime.contain import describe, incidents
from ..store.changes import Kind, record
from ..store.database import Database
from ..store.schema import changes

POLL_SECONDS = 1.0
LONGEST_PAUSE = 30.0
"""Between attempts, while they fail."""
KEEP_CHANGES = 100_000

Handler = Callable[[Collection[str] | None], Awaitable[None]]
"""Is told which items changed; `None` if that is no longer known, so any of them may have."""


class Follower:
    """Tells everyone who listens what changed, in the order of the changes; lives on the engine's loop."""

    def __init__(self, database: Database, poll_seconds: float = POLL_SECONDS) -> None:
        self._database = database
        self._poll_seconds = poll_seconds
        self._handlers: dict[str, list[Handler]] = {}
        self._turn = asyncio.Lock()
        self._due = asyncio.Event()
        self._said_here = False
        self._task: asyncio.Task[None] | None = None
        self._trouble: str | None = None
        self.number = 0
        """Everyone has been told of the changes up to this one."""
        self.local = True
        """Whether what is told right now was, as far as is known, written by this process."""

    async def open(self) -> None:
        """Begin here: what is loaded from the tables after this holds everything up to now."""
        async with self._database.reading() as connection:
            _, self.number = await change_span(connection)

    def listen(self, kind: str, handler: Handler) -> None:
        """Have a handler told of changes to items of a kind, after those who listened before it."""
        self._handlers.setdefault(kind, []).append(handler)

    def notify(self, *, local: bool = True) -> None:
        """Something was written: on this loop, or by a process that says so."""
        self._said_here = self._said_here or local
        self._due.set()

    async def refresh(self, *, local: bool = True) -> None:
        """Tell of everything that is written by now, and return when all have dealt with it."""
        async with self._turn:
            self.local = local
            async with self._database.reading() as connection:
                lowest, highest = await change_span(connection)
                if highest <= self.number:
                    return
                # Rows are pruned at some time; who has been away for that long has to look at everything again.
                complete = lowest <= self.number + 1
                changed = await changed_since(connection, self.number) if complete else {}
            for kind, handlers in self._handlers.items():
                for handler in handlers:
                    if not complete or kind in changed:
                        await handler(changed.get(kind))
            self.number = highest

    def state(self) -> str:
        """`ok`, or why changes are not followed."""
        return self._trouble or "ok"

    def start(self) -> None:
        """Follow from here on, in the background."""
        if self._task is None:
            self._task = asyncio.create_task(self._follow(), name="reasonblocks-follower")

    async def aclose(self) -> None:
        """Stop following."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _follow(self) -> None:
        pause = self._poll_seconds
        while True:
            notified = await self._notified(pause)
            self._due.clear()
            try:
                await self.refresh(local=notified)
                self._trouble, pause = None, self._poll_seconds
            except Exception as error:
                incidents.note("following changes", error)
                self._trouble = f"changes are not followed at the moment: {describe(error)}"
                pause = min(pause * 2, LONGEST_PAUSE)

    async def _notified(self, seconds: float) -> bool:
        """Wait until it is time to look; whether somebody on this loop said so."""
        # A database in memory has no other writers, and nobody to look for.
        alone = self._database.alone and self._trouble is None
        with contextlib.suppress(TimeoutError):
            # Not `wait_for`: until Python 3.12 it lost a cancellation that came together with what it waited for.
            async with asyncio.timeout(None if alone else seconds):
                await self._due.wait()
        said_here, self._said_here = self._said_here, False
        return said_here


async def record_changes(connection: AsyncConnection, kind: Kind, item_ids: Iterable[str]) -> None:
    """As `store.changes.record`, where the transaction is an async one."""
    await connection.run_sync(record, kind, item_ids)


async def prune_changes(database: Database, keep: int = KEEP_CHANGES) -> int:
    """Drop the oldest rows of the table and return how many; an index that still needs them is rebuilt."""
    async with database.writing() as connection:
        highest = (await change_span(connection))[1]
        return (await connection.execute(delete(changes).where(changes.c.number <= highest - max(keep, 1)))).rowcount


async def changed_since(connection: AsyncConnection, number: int) -> dict[str, set[str]]:
    """The items that changed after a change, by kind."""
    rows = await connection.execute(
        select(changes.c.kind, changes.c.item_id).where(changes.c.number > number).distinct()
    )
    changed: dict[str, set[str]] = {}
    for kind, item_id in rows:
        changed.setdefault(kind, set()).add(item_id)
    return changed


async def change_span(connection: AsyncConnection) -> tuple[int, int]:
    """The lowest and the highest number there is."""
    # One by one: SQLite looks up either in the index, but reads the whole table for both at once.
    lowest = select(func.min(changes.c.number)).scalar_subquery()
    highest = select(func.max(changes.c.number)).scalar_subquery()
    numbers = (await connection.execute(select(lowest, highest))).one()
    return numbers[0] or 0, numbers[1] or 0


async def change_at(connection: AsyncConnection, number: int) -> str:
    """What was changed by a change; nothing if it is not known, or was the one before the first."""
    row = (
        await connection.execute(select(changes.c.kind, changes.c.item_id).where(changes.c.number == number))
    ).first()
    return "" if row is None else f"{row.kind}/{row.item_id}"


async def continues(connection: AsyncConnection, number: int, change: str) -> bool:
    """Whether the changes that are known lead on from this one: none was pruned, and it is no other database."""
    return (await change_span(connection))[0] <= number + 1 and await change_at(connection, number) == change
