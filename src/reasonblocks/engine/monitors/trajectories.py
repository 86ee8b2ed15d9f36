"""The trajectories that are under way, so that a step is looked at once however often a run is asked about.

A trajectory is taken off the shelf while it is worked on and put back afterwards. Nobody else can have it in between,
so no lock is held while the monitors work. Somebody who asks about the same run at that very moment finds nothing,
which the protocol allows for: the answer is how much is held, and the client sends the rest.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterable, AsyncIterator, Sequence
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


class Shelf:
    """Trajectories by key; what was not asked for longest goes first. For any thread."""

    def __init__(self, most_runs: int = MOST_RUNS, most_steps: int = MOST_STEPS) -> None:
        self._most_runs = most_runs
        self._most_steps = most_steps
        self._steps = 0
        self._kept: OrderedDict[Key, Trajectory] = OrderedDict()
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

    def take_first(self, keys: Sequence[Key]) -> tuple[Key, Trajectory] | None:
        """Take the first of these that is there."""
        with self._lock:
            for key in keys:
                if key in self._kept:
                    trajectory = self.take(key)
                    assert trajectory is not None
                    return key, trajectory
        return None

    def look(self, key: Key, index: int, digest: bytes) -> SuiteReading | None:
        """The reading of a step, without taking anything."""
        with self._lock:
            trajectory = self._kept.get(key)
            return None if trajectory is None else trajectory.known_reading(index, digest)

    def put(self, key: Key, trajectory: Trajectory) -> None:
        """Put a trajectory on the shelf; the caller lets go of it."""
        with self._lock:
            self.take(key)
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
        self, org_id: str, run_id: str, offset: int, steps: Sequence[ObservedStep], task: str = ""
    ) -> Observed:
        """Go on with a run: `steps` follow its first `offset`, which must be exactly what is held."""
        key: Key = ("evaluated", org_id, run_id)
        trajectory = self._shelf.take(key)
        if offset == 0:
            trajectory = self.suite.start(task)
        elif trajectory is None or trajectory.length != offset:
            have = 0
            if trajectory is not None:
                have = trajectory.length
                self._shelf.put(key, trajectory)
            raise Conflict(
                f"offset is {offset}, but {have} steps of run {run_id!r} are held; send from there", have=have
            )
        try:
            await _advance(trajectory, steps)
            return _observed(trajectory)
        finally:
            self._shelf.put(key, trajectory)  # also when it was cancelled half-way: what it holds is a true prefix

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
        return self._shelf.look(("evaluated", org_id, run_id), step_index, digest)

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
