"""Steps as the monitors see them: what they say about each, in the order of its run."""

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select

from ..answers import Evidence
from ..errors import Conflict
from ..monitors.evaluation import Evaluator
from ..monitors.features import ObservedStep
from ..monitors.gate import decide
from ..monitors.interventions import cleaned
from ..monitors.suite import SuiteReading
from ..monitors.trajectories import Trajectories
from ..store.database import Database
from ..store.schema import steps
from .ledger import RunState

MOST_GAPPED = 256
"""Runs with missing steps of which it is known which ones the monitors have seen."""


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

    @classmethod
    def of(cls, state: RunState) -> "RunRef":
        """That of a run's state."""
        return cls(state.id, state.org_id, state.project_id, state.run_id, state.task_profile)


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

    async def read(self, run: RunRef, given: Mapping[int, ObservedStep], *, over: bool = False) -> list[ScoredStep]:
        """The scores of stored steps of one run; `over` says that nobody will ask for an evaluation of it any more."""
        scored: list[ScoredStep] = []
        wanted = sorted(given)
        for place, index in enumerate(wanted):
            step = given[index]
            evaluated = self._trajectories.known_reading(run.org_id, run.run_id, index, step.digest())
            if evaluated is None and over and index:
                evaluated = await self._last(run, index, step)
            reading = evaluated or self._next(run, index, step)
            if reading is None:
                return scored + await self._read_again(run, wanted[place:])
            seen = None if evaluated else self._seen.get(run.id)
            scored.append(self._scored(run, index, reading, seen))
        return scored

    def forget(self, run: RunRef) -> None:
        """A run is over."""
        self._seen.pop(run.id, None)
        self._trajectories.forget(run.org_id, run.run_id)

    async def _last(self, run: RunRef, index: int, step: ObservedStep) -> SuiteReading | None:
        """The reading of a step that came after the last evaluation of its run, by way of what is held for the next."""
        with contextlib.suppress(Conflict):
            return (await self._trajectories.continue_run(run.org_id, run.run_id, index, [step])).reading
        return None

    def _next(self, run: RunRef, index: int, step: ObservedStep) -> SuiteReading | None:
        """The reading of a step that follows those that were read before; `None` for any other."""
        seen = self._seen.get(run.id)
        if seen is None:
            return self._trajectories.observe_step(run.org_id, run.run_id, index, step)
        if index <= seen[-1]:
            return None
        reading = self._trajectories.observe_step(run.org_id, run.run_id, len(seen), step)
        if reading is not None:
            seen.append(index)
        return reading

    async def _read_again(self, run: RunRef, wanted: Sequence[int]) -> list[ScoredStep]:
        """The readings of these steps from the beginning of the run on."""
        stored = await self._stored(run, wanted[-1])
        order = list(stored)
        readings = await self._trajectories.rebuild(run.org_id, run.run_id, list(stored.values()))
        self._seen.pop(run.id, None)
        if order != list(range(len(order))):
            self._seen[run.id] = order
            while len(self._seen) > MOST_GAPPED:
                self._seen.popitem(last=False)
        found = dict(zip(order, readings, strict=True))
        return [self._scored(run, index, found[index], order) for index in wanted if index in found]

    async def _stored(self, run: RunRef, last: int) -> dict[int, ObservedStep]:
        columns = (steps.c.thought, steps.c.action, steps.c.action_input, steps.c.observation, steps.c.is_error)
        async with self._database.reading() as connection:
            rows = await connection.execute(
                select(steps.c.step_index, *columns)
                .where(steps.c.run == run.id, steps.c.step_index <= last)
                .order_by(steps.c.step_index)
            )
            return {index: ObservedStep.of(*values) for index, *values in rows}

    def _scored(self, run: RunRef, index: int, reading: SuiteReading, seen: Sequence[int] | None) -> ScoredStep:
        evidence = [cleaned(evidence) for evidence in reading.evidence.values()]
        if seen is not None:  # evidence names steps by their place; where some are missing that is not their index
            for one in evidence:
                one.steps = [seen[place] for place in one.steps if place < len(seen)]
        weighed = self._weigh(run.org_id, run.task_profile, reading)
        return ScoredStep(run, index, reading.scores, weighed, evidence)
