"""The trajectories that are under way, so that a step is looked at once however often a run is asked about.

A trajectory is taken off the shelf while it is worked on and put back afterwards. Nobody else can have it in between,
so no lock is held while the monitors work. Somebody who wants to go on with the same run at that very moment finds
nothing, which the protocol allows for: the answer is how much is held, and the client sends the rest. What was read
before can be looked up all the time: an agent that is evaluated while its last step is stored is the common case.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from time import perf_counter

from ..errors import Conflict
from .features import ObservedStep
from .suite import MonitorSuite, SuiteReading, Trajectory

MOST_RUNS = 10_000
MOST_STEPS = 40_000
"""Steps of which something is held, over all runs."""
_HELD_PER_RUN = 20
"""Of how many steps a long trajectory still holds something."""
SECONDS_AT_ONCE = 0.002
"""After so much work others on the event loop get their turn."""

Key = tuple[str, str, str | bytes]


def owner(org_id: str, project_id: str | None) -> str:
    """Whose a trajectory is: a key that is good for one project only does not see what others of its org hold."""
    return org_id if project_id is None else f"{org_id}\n{project_id}"


@dataclass(frozen=True, slots=True)
class Observed:
    """Where a trajectory stands."""

    reading: SuiteReading
    thoughts: tuple[str, ...]
    """The newest, oldest first."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first steps of a run, from where they were kept."""

    task: str
    """What its agent was asked to do; nothing if nobody told the tables."""
    steps: Sequence[ObservedStep]


Remember = Callable[[int, int], Awaitable[Beginning | None]]
"""The steps of a run from one place on towards another, some at a time, if somebody has kept them."""


class Shelf:
    """Trajectories by key; what was not asked for longest goes first. For any thread."""

    def __init__(self, most_runs: int = MOST_RUNS, most_steps: int = MOST_STEPS) -> None:
        self._most_runs = most_runs
        self._most_steps = most_steps
        self._steps = 0
        self._kept: OrderedDict[Key, Trajectory] = OrderedDict()
        self._lent: dict[Key, Trajectory] = {}
        """Those that somebody goes on with; they may be looked at."""
        self._lock = threading.RLock()

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, key: Key) -> Trajectory | None:
        """Take a trajectory off the shelf: from now on it is the caller's alone."""
        with self._lock:
            trajectory = self._kept.pop(key, None)
            if trajectory is not None:
                self._steps -= _held(trajectory)
            return trajectory

    def borrow(self, key: Key) -> Trajectory | None:
        """Take a trajectory to go on with it and put it back; until then others may look up what it has read."""
        with self._lock:
            trajectory = self.take(key)
            if trajectory is not None:
                self._lent[key] = trajectory
            return trajectory

    def take_first(self, keys: Sequence[Key]) -> tuple[Key, Trajectory] | None:
        """Take the first of these that is there."""
        with self._lock:
            for key in keys:
                if key in self._kept:
                    trajectory = self.take(key)
                    assert trajectory is not None
                    return key, trajectory
        return None

    def look(self, key: Key) -> Trajectory | None:
        """A trajectory for `known_reading` and `length` alone: nobody takes it by that."""
        with self._lock:
            return self._kept.get(key) or self._lent.get(key)

    def put(self, key: Key, trajectory: Trajectory) -> None:
        """Put a trajectory on the shelf; the caller lets go of it."""
        with self._lock:
            self.take(key)
            self._lent.pop(key, None)
            self._kept[key] = trajectory
            self._steps += _held(trajectory)
            while len(self._kept) > self._most_runs or (self._steps > self._most_steps and len(self._kept) > 1):
                _, dropped = self._kept.popitem(last=False)
                self._steps -= _held(dropped)


class Trajectories:
    """What is held of runs and traces, for evaluations and for the ingestion of steps."""

    def __init__(self, suite: MonitorSuite, *, most_runs: int = MOST_RUNS, most_steps: int = MOST_STEPS) -> None:
        self.suite = suite
        self._shelf = Shelf(most_runs, most_steps)

    def __len__(self) -> int:
        return len(self._shelf)

    # -- evaluations -----------------------------------------------------------------------------

    async def continue_run(
        self,
        org_id: str,
        run_id: str,
        offset: int,
        steps: Sequence[ObservedStep],
        task: str = "",
        remember: Remember | None = None,
    ) -> Observed:
        """Go on with a run: `steps` follow its first `offset`, which must be exactly what is held.

        What is not held may be remembered, where another process has seen it.
        """
        key: Key = ("evaluated", org_id, run_id)
        trajectory = self._shelf.borrow(key)
        if offset == 0:
            trajectory = self.suite.start(task)
        try:
            if remember is not None and (trajectory is None or trajectory.length != offset):
                trajectory = await self._caught_up(trajectory, offset, task, remember)
            have = trajectory.length if trajectory is not None else 0
            if trajectory is None or have != offset:
                raise Conflict(
                    f"offset is {offset}, but {have} steps of run {run_id!r} are held; send from there", have=have
                )
            await _advance(trajectory, steps)
            return _observed(trajectory)
        finally:
            if trajectory is not None:  # also when it was cancelled half-way: what it holds is a true prefix
                self._shelf.put(key, trajectory)

    async def _caught_up(
        self, held: Trajectory | None, offset: int, task: str, remember: Remember
    ) -> Trajectory | None:
        """What is held of a run with what was kept of it elsewhere, as far as that leads towards `offset`."""
        shorter = held if held is not None and held.length < offset else None
        while shorter is None or shorter.length < offset:
            beginning = await remember(shorter.length if shorter is not None else 0, offset)
            if beginning is None or not beginning.steps:
                break
            if shorter is None:
                # With no task in the tables nobody can tell what the client said; it says so with the first steps.
                if not (task or beginning.task):
                    break
                shorter = self.suite.start(task or beginning.task)
            await _advance(shorter, beginning.steps)
        return shorter or held

    async def whole_trace(self, org_id: str, steps: Sequence[ObservedStep], task: str = "") -> Observed:
        """Evaluate a trace from its first step; if it continues one that was seen, only what is new is looked at."""
        digests = [step.digest() for step in steps]
        keys: list[Key] = [("trace", org_id, prefix) for prefix in _prefixes(digests, task)]
        found = self._shelf.take_first(keys[::-1])
        trajectory = found[1] if found else self.suite.start(task)
        try:
            done = trajectory.length
            await _advance(trajectory, steps[done:], digests[done:])
            return _observed(trajectory)
        finally:
            if trajectory.length:
                self._shelf.put(keys[trajectory.length - 1], trajectory)

    # -- ingestion -------------------------------------------------------------------------------

    def known_reading(self, org_id: str, run_id: str, step_index: int, digest: bytes) -> SuiteReading | None:
        """What the monitors said after a step, if its run was evaluated up to there just now with the same step."""
        trajectory = self._shelf.look(("evaluated", org_id, run_id))
        return None if trajectory is None else trajectory.known_reading(step_index, digest)

    def held_of(self, org_id: str, run_id: str) -> int | None:
        """How many steps of a run were evaluated, if it is one that is."""
        trajectory = self._shelf.look(("evaluated", org_id, run_id))
        return None if trajectory is None else trajectory.length

    def observe_step(
        self, org_id: str, run_id: str, step_index: int, step: ObservedStep, task: str = ""
    ) -> SuiteReading | None:
        """The reading after the next step of a run nobody evaluates; `None` if `rebuild` is needed for it."""
        key: Key = ("ingested", org_id, run_id)
        trajectory = self._shelf.take(key)
        if trajectory is None:
            if step_index:
                return None
            trajectory = self.suite.start(task)
        try:
            digest = step.digest()
            if step_index == trajectory.length:
                return trajectory.observe(step, digest)
            return trajectory.known_reading(step_index, digest)
        finally:
            self._shelf.put(key, trajectory)

    async def rebuild(
        self, org_id: str, run_id: str, portions: AsyncIterable[Sequence[ObservedStep]], task: str = ""
    ) -> AsyncIterator[list[SuiteReading]]:
        """Observe all steps of a run anew, from its first one; for each portion the reading after each step."""
        trajectory = self.suite.start(task)
        async for steps in portions:
            yield await _advance(trajectory, steps)
        self._shelf.put(("ingested", org_id, run_id), trajectory)

    def forget(self, org_id: str, run_id: str) -> None:
        """A run is over: what is held of it may go."""
        for kind in ("evaluated", "ingested"):
            self._shelf.take((kind, org_id, run_id))


async def _advance(
    trajectory: Trajectory, steps: Sequence[ObservedStep], digests: Sequence[bytes] | None = None
) -> list[SuiteReading]:
    """Observe many steps, with a pause for others now and then."""
    readings = []
    turn_ends = perf_counter() + SECONDS_AT_ONCE
    for place, step in enumerate(steps):
        if perf_counter() > turn_ends:
            await asyncio.sleep(0)
            turn_ends = perf_counter() + SECONDS_AT_ONCE
        readings.append(trajectory.observe(step, digests[place] if digests else None))
    return readings


def _observed(trajectory: Trajectory) -> Observed:
    return Observed(trajectory.reading(), trajectory.thoughts())


def _held(trajectory: Trajectory) -> int:
    return min(trajectory.length, _HELD_PER_RUN)


def _prefixes(digests: Sequence[bytes], task: str) -> list[bytes]:
    """For each step what tells the trace up to there from any other."""
    prefixes: list[bytes] = []
    prefix = task.encode("utf-8", "surrogatepass")
    for digest in digests:
        prefix = blake2b(prefix + digest, digest_size=16).digest()
        prefixes.append(prefix)
    return prefixes
