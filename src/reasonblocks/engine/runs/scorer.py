"""The scorer: has stored steps read in the background, keeps what the monitors say, and tells those who watch."""

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

from sqlalchemy import Connection, Integer, and_, bindparam, cast, select

from ...runtime.contain import contain, incidents
from ..monitors.features import ObservedStep
from ..requests import Step
from ..store.database import Database
from ..store.prepared import InsertNew, PreparedQuery
from ..store.schema import evaluations, runs, steps
from ..store.transact import Transactions
from ..store.values import dump, now
from ..store.words import each
from .awaited import Awaited
from .decoding import NewStep
from .ingest import Applied
from .leftovers import Leftovers
from .live import Live, StepScored
from .relay import Relay
from .scoring import RunRef, ScoredStep, StepReader

MOST_WAITING = 5_000
"""Steps that wait in memory; of the runs beyond it only the row is remembered, and their steps are read again."""
MOST_CHARACTERS = 20_000_000
"""Of those steps."""
MOST_BEHIND = 10_000
AT_ONCE = 250
"""Steps whose scores are written together."""
SLICE_SECONDS = 0.001
"""How long the monitors work before others get their turn."""
QUIET_SECONDS = 0.01
"""Whoever reports steps waits for an answer, and scoring gives way to them until it has been quiet for so long,"""
MOST_PAUSES = 5
"""but not more often than this in a row."""
MOST_ATTEMPTS = 3
RETRY_SECONDS = 1.0
CLOSE_SECONDS = 5.0

_keep = InsertNew(
    evaluations, ("run", "step_index", "scores", "composite", "fired", "failure_type", "evidence", "created_at")
)
_ids = each(bindparam("ids")).table_valued("value")
_those_there = PreparedQuery(
    select(runs.c.id)
    .where(runs.c.id.in_(select(cast(_ids.c.value, Integer))))
    .with_for_update(read=True, key_share=True),  # and they stay there until the scores are
    ("ids",),
)
_written = select(evaluations.c.run, evaluations.c.step_index)
_unscored = (
    select(steps.c.run, steps.c.step_index)
    .outerjoin(evaluations, and_(evaluations.c.run == steps.c.run, evaluations.c.step_index == steps.c.step_index))
    .where(evaluations.c.run.is_(None))
)


def observed(step: Step) -> ObservedStep:
    """A step as the monitors take it."""
    return ObservedStep.of(step.thought, step.action, step.action_input, step.observation, step.is_error)


class Scorer:
    """Scores steps of one engine, on its event loop."""

    def __init__(
        self,
        database: Database,
        transactions: Transactions,
        reader: StepReader,
        live: Live,
        relay: Relay | None = None,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self._database = database
        self._transactions = transactions
        self._reader = reader
        self._live = live
        self._relay = relay
        self._most_waiting = most_waiting
        self._waiting: OrderedDict[RunRef, dict[int, ObservedStep]] = OrderedDict()
        self._count = 0
        self._characters = 0
        self._behind: OrderedDict[RunRef, int] = OrderedDict()
        """With how often it was tried in vain."""
        self._later: dict[RunRef, float] = {}
        """Runs that were read from their beginning not long ago and have to be again, with when that may be."""
        self._awaited = Awaited()
        self._leftovers: Leftovers | None = None
        """What was stored before the last end and not scored, as long as it has not all been looked for."""
        self._closing = False
        self._over: dict[RunRef, None] = {}
        self._ingesting = 0
        self._quiet_since = 0.0
        self._pause_at = 0.0
        self._news = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._task: asyncio.Task[None] | None = None

    @contextlib.contextmanager
    def giving_way(self) -> Iterator[None]:
        """While somebody stores events, the background rests."""
        self._ingesting += 1
        try:
            yield
        finally:
            self._ingesting -= 1
            self._quiet_since = time.perf_counter()

    # -- what is to be scored ----------------------------------------------------------------------

    def submit(self, applied: Applied) -> None:
        """Take in what a transaction stored; never waits."""
        for state in applied.ahead:
            self._add(RunRef.of(state), state.steps)
        for state in applied.behind:
            self._fall_behind(RunRef.of(state))
        for state in applied.finished:
            self._over[RunRef.of(state)] = None
        if applied.ahead or applied.behind or applied.finished:
            self._wake()

    def _add(self, run: RunRef, new: Mapping[int, NewStep]) -> None:
        # An event as it was decoded keeps the whole body alive that it came in.
        given = {index: observed(one.step) for index, one in new.items()}
        characters = sum(map(_characters, given.values()))
        if self._count + len(given) > self._most_waiting or self._characters + characters > MOST_CHARACTERS:
            self._fall_behind(run)
            return
        self._count += len(given)
        self._characters += characters
        self._wait(run, given)

    def _wait(self, run: RunRef, given: Mapping[int, ObservedStep]) -> None:
        """Steps of a run wait for their turn, with those that were held back before them."""
        self._waiting.setdefault(run, {}).update({**self._awaited.take(run), **given})

    def _fall_behind(self, run: RunRef) -> None:
        if run in self._later:
            return  # all its steps without scores are looked for then
        self._behind.setdefault(run, 0)
        if len(self._behind) > MOST_BEHIND:
            self._behind.popitem(last=False)  # its steps stay without scores until the next start

    def _wake(self) -> None:
        self._idle.clear()
        self._news.set()

    # -- scoring at once ---------------------------------------------------------------------------

    async def score(self, run: RunRef, step: Step) -> ScoredStep | None:
        """Score one stored step now; `None` if that failed or would take too long, and the step is scored later."""
        with contain("scoring a step"):
            scored = await self._reader.read(run, {step.step_index: observed(step)})
            await self._store(scored)
            if not scored and self._may_read_again(run):
                scored = await self._read_again(run, step.step_index)
            if scored:
                return scored[0]
        self._fall_behind(run)
        self._wake()
        return None

    async def catch_up(self, run: RunRef) -> None:
        """Score now what the tables hold of a run without scores, unless that would take too long."""
        with contain("scoring a run"):
            await self._score_stored(run)
            return
        self._fall_behind(run)
        self._wake()

    # -- the background ----------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to work."""
        self._closing = False
        self._wake()
        self._task = asyncio.create_task(self._run(), name="reasonblocks scorer")

    def pick_up(self, seen_since: float = 0.0, stored_before: float | None = None) -> None:
        """Have steps scored that were stored and never scored, behind all that is new; those of runs seen since then.

        With `stored_before` the newer ones are left to the process that stored them.
        """
        self._leftovers = Leftovers(self._database, seen_since, stored_before)
        self._wake()

    async def drained(self) -> None:
        """Wait until everything submitted so far is scored."""
        await self._idle.wait()

    async def aclose(self, seconds: float = CLOSE_SECONDS) -> None:
        """Finish what waits, within the time, and stop; the rest is picked up at the next start."""
        task, self._task = self._task, None
        if task is None:
            return
        self._closing = True  # nothing is put off any more
        self._leftovers = None
        self._news.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.drained()
        task.cancel()
        await asyncio.wait((task,))

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._waiting or self._behind or self._leftovers or self._later or self._awaited:
                self._take_up()
                try:
                    await self._score_some()
                except Exception as error:  # a database that is busy, or a monitor that breaks, is no end
                    incidents.note("scoring", error)
                    await asyncio.sleep(RETRY_SECONDS)
                self._let_go()
            self._let_go()
            self._idle.set()

    async def _score_some(self) -> None:
        self._pause_at = time.perf_counter() + SLICE_SECONDS
        if self._waiting:
            await self._score_waiting()
        elif self._behind:
            await self._catch_up(next(iter(self._behind)))
        elif self._leftovers:
            await self._pick_up(self._leftovers)
        else:
            next_due = min([self._awaited.next_look(), *self._later.values()])
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, next_due - time.monotonic())):
                    await self._news.wait()
            self._news.clear()

    async def _pick_up(self, leftovers: Leftovers) -> None:
        """Look for more of what was left; if that cannot be done, it is for the next start."""
        found: list[RunRef] | None = None
        with contain("steps without scores"):
            found = await leftovers.portion()
        for run in found or ():
            self._fall_behind(run)
        if found is not None and leftovers.more:
            await self._pause()
        else:
            self._leftovers = None

    def _take_up(self) -> None:
        """Have those runs scored that were put off until now."""
        for run in self._awaited.due(everything=self._closing):
            self._wait(run, {})
        moment = time.monotonic()
        for run in [run for run, due in self._later.items() if self._closing or due <= moment]:
            del self._later[run]
            self._fall_behind(run)

    def _let_go(self) -> None:
        """Forget runs that are over and have nothing left to score."""
        busy = (self._waiting, self._behind, self._later, self._awaited)
        done = [run for run in self._over if not any(run in some for some in busy)]
        for run in done:
            self._reader.forget(run)
            del self._over[run]

    async def _score_waiting(self) -> None:
        taken: list[tuple[RunRef, dict[int, ObservedStep]]] = []
        size = 0
        while self._waiting and size < AT_ONCE:
            run, given = self._waiting.popitem(last=False)
            self._count -= len(given)
            self._characters -= sum(map(_characters, given.values()))
            size += len(given)
            taken.append((run, given))
        try:
            scored: list[ScoredStep] = []
            for run, given in taken:
                read = await self._read(run, given)
                scored += read
                self._leave(run, {index: given[index] for index in sorted(given)[len(read) :]})
            await self._store(scored)
        except BaseException:
            for run, _ in taken:
                self._fall_behind(run)
            raise

    def _leave(self, run: RunRef, unread: dict[int, ObservedStep]) -> None:
        """Steps of a run that could not be read by now."""
        if not unread:
            self._awaited.settled(run)
        elif self._closing or not (self._reader.expects(run, min(unread)) and self._awaited.hold(run, unread)):
            self._fall_behind(run)  # out of order: the tables have the others, too
        else:
            self._count += len(unread)
            self._characters += sum(map(_characters, unread.values()))

    async def _read(self, run: RunRef, given: dict[int, ObservedStep]) -> list[ScoredStep]:
        """The scores of steps of a run, up to the first that cannot be read now; with pauses for others."""
        scored: list[ScoredStep] = []
        for portion in _portions(given):
            read = await self._reader.read(run, portion, over=run in self._over)
            scored += read
            if len(read) < len(portion):
                break
            if time.perf_counter() > self._pause_at:
                await self._pause()
                self._pause_at = time.perf_counter() + SLICE_SECONDS
        return scored

    async def _pause(self) -> None:
        """Let others go first, for as long as they need but not for ever."""
        before = time.perf_counter()
        await asyncio.sleep(0)
        busy = time.perf_counter() - before > SLICE_SECONDS
        for _ in range(MOST_PAUSES):
            if not busy and not self._ingesting and time.perf_counter() - self._quiet_since > QUIET_SECONDS:
                return
            await asyncio.sleep(QUIET_SECONDS)
            busy = False

    async def _catch_up(self, run: RunRef) -> None:
        """Score what the tables hold of a run without scores."""
        attempts = self._behind.pop(run)
        try:
            await self._score_stored(run)
        except Exception:
            if attempts + 1 < MOST_ATTEMPTS:
                self._behind[run] = attempts + 1
            raise

    async def _score_stored(self, run: RunRef) -> None:
        """Score the steps of a run that have no scores, a few hundred at a time."""
        while given := await self._without_scores(run):
            scored = await self._read(run, given)
            await self._store(scored)
            if len(scored) == len(given):
                continue
            if self._may_read_again(run):
                await self._read_again(run)
            else:
                self._put_off(run)
            return

    def _put_off(self, run: RunRef) -> None:
        self._later[run] = self._reader.due(run)
        if len(self._later) > MOST_BEHIND:
            del self._later[next(iter(self._later))]
        self._wake()

    def _may_read_again(self, run: RunRef) -> bool:
        return self._closing or time.monotonic() >= self._reader.due(run)

    async def _read_again(self, run: RunRef, wanted: int | None = None) -> list[ScoredStep]:
        """Score a run from its beginning; what the step that is asked for got, if it had no scores before."""
        found: list[ScoredStep] = []
        async for scored in self._reader.read_again(run):
            await self._store(scored)
            found += [one for one in scored if one.step_index == wanted]
            await self._pause()
        return found

    async def _without_scores(self, run: RunRef) -> dict[int, ObservedStep]:
        wanted = _unscored.add_columns(
            steps.c.thought, steps.c.action, steps.c.action_input, steps.c.observation, steps.c.is_error
        )
        async with self._database.reading() as connection:
            rows = await connection.execute(
                wanted.where(steps.c.run == run.id).order_by(steps.c.step_index).limit(AT_ONCE)
            )
            return {index: ObservedStep.of(*values) for _, index, *values in rows}

    # -- what comes of it --------------------------------------------------------------------------

    async def _store(self, scored: Sequence[ScoredStep]) -> None:
        if scored:
            kept = await self._transactions.run(lambda connection: _write(connection, scored))
            self._live.publish(map(_told, kept))
            if self._relay is not None:
                self._relay.send(kept)


def _characters(step: ObservedStep) -> int:
    return len(step.thought) + len(step.action) + len(step.action_input) + len(step.observation)


def _portions(given: dict[int, ObservedStep], size: int = 4) -> list[dict[int, ObservedStep]]:
    """The steps of a run in their order, a few at a time."""
    order = sorted(given)
    return [{index: given[index] for index in order[at : at + size]} for at in range(0, len(order), size)]


def _write(connection: Connection, scored: Sequence[ScoredStep]) -> list[ScoredStep]:
    """Keep the scores of steps; those that had none before, for another process may have been quicker."""
    wanted = dump(sorted({one.run.id for one in scored}))
    there = {run for (run,) in _those_there.run(connection, wanted)}
    written_at = now()
    kept = [one for one in scored if one.run.id in there]  # one may have been deleted meanwhile, as too old
    rows = [
        (
            one.run.id,
            one.step_index,
            dump(one.scores),
            one.weighed.composite,
            dump(one.weighed.fired),
            one.weighed.failure_type,
            dump(one.evidence),
            written_at,
        )
        for one in kept
    ]
    if _keep.run(connection, rows) < len(rows):
        mine = _written.where(evaluations.c.run.in_(there), evaluations.c.created_at == written_at)
        places = {(run, index) for run, index in connection.execute(mine)}
        kept = [one for one in kept if (one.run.id, one.step_index) in places]
    return kept


def _told(scored: ScoredStep) -> StepScored:
    return StepScored(
        run_id=scored.run.run_id,
        step_index=scored.step_index,
        org_id=scored.run.org_id,
        project_id=scored.run.project_id,
        total_score=scored.weighed.composite,
        fired=scored.weighed.fired,
    )
