"""Upkeep: runs that went silent are closed, and what is older than it should be goes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from sqlalchemy import Connection, delete, select, update

from ...runtime.contain import contain
from ..store.database import Database
from ..store.schema import runs, traces
from ..store.transact import Transactions
from ..store.values import now
from .ledger import ABANDONED

DAY_SECONDS = 86_400.0
SILENT_AT_ONCE = 500
STEPS_AT_ONCE = 500
"""Runs are deleted whole; so many steps, and at least one run, go in one transaction."""
TRACES_AT_ONCE = 50
BETWEEN_SECONDS = 0.02
"""Between two transactions, so that writers of other processes get their turn."""
MOST_EVERY_SECONDS = 60.0
FIRST_AFTER_SECONDS = 5.0
"""A start has more urgent things to do."""

Chore = Callable[[], Awaitable[object]]
Leads = Callable[[str], Awaitable[bool]]
"""Whether a chore is this process's to do."""
UPKEEP = "upkeep"


async def always(_chore: str) -> bool:
    """Where nobody else could do it."""
    return True


class Upkeep:
    """Looks after the runs of a database, now and then."""

    def __init__(
        self,
        database: Database,
        transactions: Transactions,
        *,
        stale_after: float,
        keep_days: float | None = None,
        chores: Sequence[Chore] = (),
        shared_chores: Sequence[Chore] = (),
        leads: Leads = always,
    ) -> None:
        self._database = database
        self._transactions = transactions
        self._stale_after = stale_after
        self._keep_days = keep_days
        self._chores = tuple(chores)
        """What every process does for itself."""
        self._shared_chores = tuple(shared_chores)
        """What one of the processes on a database does for all."""
        self._leads = leads
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to look after things in the background."""
        self._task = asyncio.create_task(self._run(), name="reasonblocks upkeep")

    async def aclose(self) -> None:
        """Stop; the chores are done once more."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))
            await _do(self._chores)

    async def _run(self) -> None:
        every = min(MOST_EVERY_SECONDS, self._stale_after / 2)
        await asyncio.sleep(min(FIRST_AFTER_SECONDS, every))
        while True:
            if await self._leads(UPKEEP):
                with contain("closing silent runs"):
                    await self.sweep()
                with contain("deleting what is too old"):
                    await self.prune()
                await _do(self._shared_chores)
            await _do(self._chores)
            await asyncio.sleep(every)

    async def sweep(self) -> int:
        """Close runs without a sign of life as `abandoned`; how many. One that waits for a person is not silent."""
        closed, more = 0, True
        while more:
            number = await self._transactions.run(self._sweep_some)
            closed += number
            more = number == SILENT_AT_ONCE
        return closed

    def _sweep_some(self, connection: Connection) -> int:
        moment = now()
        is_silent = (
            runs.c.outcome.is_(None),
            runs.c.interrupted_at.is_(None),
            runs.c.last_seen_at < moment - self._stale_after,
        )
        silent = select(runs.c.id).where(*is_silent).limit(SILENT_AT_ONCE)
        # Asked twice: one of them may show a sign of life before it is its turn.
        closed = update(runs).where(runs.c.id.in_(silent), *is_silent)
        return connection.execute(closed.values(outcome=ABANDONED, finished_at=moment)).rowcount

    async def prune(self) -> int:
        """Delete runs with all that belongs to them, and traces, that are older than they are kept; how many."""
        if self._keep_days is None:
            return 0
        before = now() - self._keep_days * DAY_SECONDS
        deleted = 0
        for batch in await self._old_runs(before):
            deleted += await self._transactions.run(partial(_delete_runs, ids=batch, before=before))
            await asyncio.sleep(BETWEEN_SECONDS)
        while number := await self._transactions.run(partial(_delete_traces, before=before)):
            deleted += number
            await asyncio.sleep(BETWEEN_SECONDS)
        return deleted

    async def _old_runs(self, before: float) -> list[list[int]]:
        """The rows of runs last seen before that time, in batches that are not too big."""
        query = select(runs.c.id, runs.c.step_count).where(runs.c.last_seen_at < before).order_by(runs.c.id)
        batches: list[list[int]] = []
        room = 0
        async with self._database.reading() as connection:
            for run, size in await connection.execute(query):
                if not batches or room < size:
                    batches.append([])
                    room = STEPS_AT_ONCE
                batches[-1].append(run)
                room -= max(size, 1)
        return batches


async def _do(chores: Sequence[Chore]) -> None:
    for chore in chores:
        with contain("upkeep"):
            await chore()


def _delete_runs(connection: Connection, ids: list[int], before: float) -> int:
    """Delete these runs, unless one has shown a sign of life since; steps and scores go with them."""
    return connection.execute(delete(runs).where(runs.c.id.in_(ids), runs.c.last_seen_at < before)).rowcount


def _delete_traces(connection: Connection, before: float) -> int:
    old = select(traces.c.id).where(traces.c.created_at < before).limit(TRACES_AT_ONCE)
    return connection.execute(delete(traces).where(traces.c.id.in_(old))).rowcount
