"""Scored steps from server to server: told by their ids, read from the tables by those who have somebody watching."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence

import msgspec
from sqlalchemy import select, tuple_

from ...runtime.contain import contain
from ..store.database import Database, asked_again
from ..store.news import STEPS, News
from ..store.schema import evaluations, runs
from ..store.values import load
from .live import Live, StepScored
from .scoring import ScoredStep

LINGER_SECONDS = 0.05
"""How long a step waits for company before it is told."""
AT_ONCE = 300
"""Steps that are told in one message: their ids fit into it however large they are."""
MOST_WAITING = 10_000
"""Steps of others that wait to be read; the oldest give way, as they do for a slow watcher."""

Place = tuple[int, int]
"""The row of a run, and the index of a step."""
_decoder = msgspec.json.Decoder(list[Place])
_scored = select(
    evaluations.c.step_index,
    evaluations.c.composite,
    evaluations.c.fired,
    runs.c.run_id,
    runs.c.org_id,
    runs.c.project_id,
).select_from(evaluations.join(runs))


class Relay:
    """Tells other servers what was scored here, and those who watch here what was scored there."""

    def __init__(self, database: Database, news: News, live: Live) -> None:
        self._database = database
        self._news = news
        self._live = live
        self._untold: deque[Place] = deque(maxlen=MOST_WAITING)
        self._unread: deque[Place] = deque(maxlen=MOST_WAITING)
        self._due = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        news.listen(STEPS, self._hear)

    def send(self, scored: Sequence[ScoredStep]) -> None:
        """Have steps told to other servers; never waits."""
        if self._news.heard and scored:
            self._untold.extend((one.run.id, one.step_index) for one in scored)
            self._due.set()

    def _hear(self, text: str) -> None:
        if text and len(self._live):
            self._unread.extend(_decoder.decode(text))
            self._due.set()

    def start(self) -> None:
        """Begin to pass things on."""
        if self._news.heard:
            self._task = asyncio.create_task(self._run(), name="reasonblocks relay")

    async def aclose(self) -> None:
        """Tell what is left, and stop."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await self._tell()

    async def _run(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            await self._show()
            await asyncio.sleep(LINGER_SECONDS)
            await self._tell()

    async def _tell(self) -> None:
        with contain("telling other servers of steps"):
            while self._untold:
                places = [self._untold.popleft() for _ in range(min(AT_ONCE, len(self._untold)))]
                await self._news.tell(STEPS, msgspec.json.encode(places).decode())

    async def _show(self) -> None:
        with contain("steps that other servers told of"):
            while self._unread:
                places = [self._unread.popleft() for _ in range(min(AT_ONCE, len(self._unread)))]
                self._live.publish(await _read(self._database, places))


@asked_again
async def _read(database: Database, places: Sequence[Place]) -> list[StepScored]:
    meant = tuple_(evaluations.c.run, evaluations.c.step_index).in_(places)
    async with database.reading() as connection:
        rows = await connection.execute(_scored.where(meant).order_by(evaluations.c.run, evaluations.c.step_index))
    return [
        StepScored(
            run_id=row.run_id,
            step_index=row.step_index,
            org_id=row.org_id,
            project_id=row.project_id,
            total_score=row.composite,
            fired=load(row.fired),
        )
        for row in rows
    ]
