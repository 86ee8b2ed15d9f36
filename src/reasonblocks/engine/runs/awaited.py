"""Stored steps whose evaluation is about to come.

An agent that steps tells what it did and asks the monitors about it, in this order. Where many of them step at once,
the steps of all are stored before the first is evaluated. Each is read in a moment anyway, so what comes too early
waits for that: to look for it in the tables later, or to read its run a second time, costs many times as much.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ..monitors.features import ObservedStep
from .scoring import RunRef

LOOK_SECONDS = 0.1
"""After so long it is looked again,"""
PATIENCE_SECONDS = 2.0
"""and after so long the evaluation does not come any more."""


@dataclass(slots=True)
class _Held:
    steps: dict[int, ObservedStep]
    look_at: float
    until: float


@dataclass(slots=True)
class Awaited:
    """Steps that wait, by run. `clock` is that of `monotonic`."""

    clock: Callable[[], float] = time.monotonic
    _held: dict[RunRef, _Held] = field(default_factory=dict)
    _until: dict[RunRef, float] = field(default_factory=dict)
    """Of those that are being looked at again."""

    def __bool__(self) -> bool:
        return bool(self._held)

    def __contains__(self, run: RunRef) -> bool:
        return run in self._held

    def hold(self, run: RunRef, steps: Mapping[int, ObservedStep]) -> bool:
        """Keep steps that came too early; `False` if they, or some before them, have waited long enough."""
        moment = self.clock()
        until = self._until.pop(run, moment + PATIENCE_SECONDS)
        if moment >= until:
            return False
        self._held[run] = _Held(dict(steps), moment + LOOK_SECONDS, until)
        return True

    def settled(self, run: RunRef) -> None:
        """All steps of a run were read: whatever is held of it next has its own time."""
        self._until.pop(run, None)

    def take(self, run: RunRef) -> dict[int, ObservedStep]:
        """What is held of a run: it is looked at again, maybe with steps that followed."""
        held = self._held.pop(run, None)
        if held is None:
            return {}
        self._until[run] = held.until
        return held.steps

    def due(self, *, everything: bool = False) -> list[RunRef]:
        """The runs to look at again."""
        moment = self.clock()
        return [run for run, held in self._held.items() if everything or held.look_at <= moment]

    def next_look(self) -> float:
        """When the first of them is due."""
        return min((held.look_at for held in self._held.values()), default=float("inf"))
