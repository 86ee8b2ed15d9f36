"""Steps as the monitors see them: what they say about each, in the order of its run."""

import contextlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from sqlalchemy import and_, select

from ..answers import Evidence
from ..errors import Conflict
from ..monitors.evaluation import Evaluator
from ..monitors.features import ObservedStep
from ..monitors.gate import decide
from ..monitors.interventions import cleaned
from ..monitors.suite import SuiteReading
from ..monitors.trajectories import Trajectories, owner
from ..store.database import Database
from ..store.schema import evaluations, steps
from .ledger import RunState

PAGE = 200
"""Stored steps that are read at once."""
PAUSE_PER_STEP = 0.002
"""A run that was read from its beginning is left alone for so many seconds per step, about ten times what it took."""
FIRST_PAUSE = 1.0
MOST_DUE = 10_000
"""Runs of which it is known when they may be read again."""
MOST_GAPPED = 256
"""Runs with missing steps of which it is known which ones the monitors have seen."""

Value = TypeVar("Value")


_with_scores = (
    select(
        steps.c.step_index,
        steps.c.thought,
        steps.c.action,
        steps.c.action_input,
        steps.c.observation,
        steps.c.is_error,
        evaluations.c.run.label("scored"),
    )
    .outerjoin(evaluations, and_(evaluations.c.run == steps.c.run, evaluations.c.step_index == steps.c.step_index))
    .order_by(steps.c.step_index)
)


class Weighed(NamedTuple):
    """A reading with the weights of a profile."""

    composite: float
    fired: list[str]
    failure_type: str | None


Weigh = Callable[[str, str, SuiteReading], Weighed]
"""By org and task profile."""


def weighing(evaluator: Evaluator) -> Weigh:
    """Weigh as an evaluation does."""
    failure_types = evaluator.trajectories.suite.failure_types

    def weigh(org_id: str, task_profile: str, reading: SuiteReading) -> Weighed:
        weights = evaluator.weights(org_id, task_profile)
        opening = decide(reading, weights, failure_types)
        return Weighed(reading.composite(weights), reading.fired, opening.failure_type if opening else None)

    return weigh


class RunRef(NamedTuple):
    """Which run, and how its scores are weighed."""

    id: int
    org_id: str
    project_id: str
    run_id: str
    task_profile: str
    task: str

    @property
    def owners(self) -> tuple[str, str]:
        """Under whom its evaluations may be held: the key that asks may be one of its org or of its project."""
        return owner(self.org_id, self.project_id), owner(self.org_id, None)

    @classmethod
    def of(cls, state: RunState) -> "RunRef":
        """That of a run's state."""
        return cls(state.id, state.org_id, state.project_id, state.run_id, state.task_profile, state.task)


@dataclass(frozen=True, slots=True)
class ScoredStep:
    """What the monitors say after one step."""

    run: RunRef
    step_index: int
    scores: Mapping[str, float]
    weighed: Weighed
    evidence: list[Evidence]


class StepReader:
    """Has the monitors read the steps of runs, each step once if it can be had so."""

    def __init__(self, database: Database, trajectories: Trajectories, weigh: Weigh) -> None:
        self._database = database
        self._trajectories = trajectories
        self._weigh = weigh
        self._seen: OrderedDict[int, list[int]] = OrderedDict()
        """By run: the steps that its trajectory is made of, where some are missing and places are not indices."""
        self._due: OrderedDict[int, float] = OrderedDict()

    async def read(self, run: RunRef, given: Mapping[int, ObservedStep], *, over: bool = False) -> list[ScoredStep]:
        """The scores of stored steps of one run, up to the first that does not follow those read before it.

        `over` says that nobody will ask for an evaluation of it any more.
        """
        scored: list[ScoredStep] = []
        for index in sorted(given):
            step = given[index]
            evaluated = self._evaluated(run, index, step)
            if evaluated is None and over and index:
                evaluated = await self._last(run, index, step)
            reading = evaluated or self._next(run, index, step)
            if reading is None:
                break
            seen = None if evaluated else self._seen.get(run.id)
            scored.append(self._scored(run, index, reading, seen))
        return scored

    def expects(self, run: RunRef, index: int) -> bool:
        """Whether a run is evaluated, and was up to this step: then the step will be in a moment."""
        return any(self._trajectories.held_of(whose, run.run_id) == index for whose in run.owners)

    def forget(self, run: RunRef) -> None:
        """A run is over."""
        self._seen.pop(run.id, None)
        for whose in run.owners:
            self._trajectories.forget(whose, run.run_id)

    def _evaluated(self, run: RunRef, index: int, step: ObservedStep) -> SuiteReading | None:
        """The reading of a step that its run was evaluated with just now."""
        digest = step.digest()
        for whose in run.owners:
            reading = self._trajectories.known_reading(whose, run.run_id, index, digest)
            if reading is not None:
                return reading
        return None

    async def _last(self, run: RunRef, index: int, step: ObservedStep) -> SuiteReading | None:
        """The reading of a step that came after the last evaluation of its run, by way of what is held for the next."""
        for whose in run.owners:
            with contextlib.suppress(Conflict):
                return (await self._trajectories.continue_run(whose, run.run_id, index, [step], run.task)).reading
        return None

    def _next(self, run: RunRef, index: int, step: ObservedStep) -> SuiteReading | None:
        """The reading of a step that follows those that were read before; `None` for any other."""
        seen = self._seen.get(run.id)
        if seen is None:
            return self._trajectories.observe_step(run.org_id, run.run_id, index, step, run.task)
        if index <= seen[-1]:
            return None
        reading = self._trajectories.observe_step(run.org_id, run.run_id, len(seen), step, run.task)
        if reading is not None:
            seen.append(index)
        return reading

    def due(self, run: RunRef) -> float:
        """When a run may be read again from its beginning, in the time of `monotonic`."""
        return self._due.get(run.id, 0.0)

    async def read_again(self, run: RunRef) -> AsyncIterator[list[ScoredStep]]:
        """Read a whole run from its beginning, a page at a time; the scores of those steps that have none yet."""
        self._postpone(run, FIRST_PAUSE)  # nobody else shall begin meanwhile
        order: list[int] = []
        unscored: set[int] = set()
        pages = self._stored(run, order, unscored)
        async for readings in self._trajectories.rebuild(run.org_id, run.run_id, pages, run.task):
            page = order[len(order) - len(readings) :]
            yield [
                self._scored(run, index, reading, order)
                for index, reading in zip(page, readings, strict=True)
                if index in unscored
            ]
        self._seen.pop(run.id, None)
        if order and order[-1] != len(order) - 1:
            _put(self._seen, run.id, order, MOST_GAPPED)
        self._postpone(run, len(order) * PAUSE_PER_STEP)

    def _postpone(self, run: RunRef, seconds: float) -> None:
        _put(self._due, run.id, time.monotonic() + seconds, MOST_DUE)

    async def _stored(self, run: RunRef, order: list[int], unscored: set[int]) -> AsyncIterator[list[ObservedStep]]:
        """The steps of a run, a page at a time; `order` grows by their indices, `unscored` has those of this page."""
        query = _with_scores.where(steps.c.run == run.id).limit(PAGE)
        while True:
            last = order[-1] if order else -1
            async with self._database.reading() as connection:  # not for longer: others write meanwhile
                rows = (await connection.execute(query.where(steps.c.step_index > last))).all()
            if not rows:
                return
            order += [row.step_index for row in rows]
            unscored.clear()
            unscored.update(row.step_index for row in rows if row.scored is None)
            yield [
                ObservedStep.of(row.thought, row.action, row.action_input, row.observation, row.is_error)
                for row in rows
            ]

    def _scored(self, run: RunRef, index: int, reading: SuiteReading, seen: Sequence[int] | None) -> ScoredStep:
        evidence = [cleaned(evidence) for evidence in reading.evidence.values()]
        if seen is not None:  # evidence names steps by their place; where some are missing that is not their index
            for one in evidence:
                one.steps = [seen[place] for place in one.steps if place < len(seen)]
        weighed = self._weigh(run.org_id, run.task_profile, reading)
        return ScoredStep(run, index, reading.scores, weighed, evidence)


def _put(held: OrderedDict[int, Value], run: int, value: Value, most: int) -> None:
    """Hold something of a run, at the cost of what was held longest if there is too much."""
    held[run] = value
    held.move_to_end(run)
    while len(held) > most:
        held.popitem(last=False)
