"""The interface that monitors plug in behind.

A monitor is told each step of a run once, in order, and answers at once how bad things are now. Its state belongs to
one run, takes a bounded amount of memory and the same time for every step, and depends on the steps alone: the same
steps always give the same readings.
"""

from typing import Protocol

import msgspec

from ..answers import Evidence
from .features import StepFeatures

FIRE_THRESHOLD = 0.6
"""A monitor fires at this score."""
FLOOR = 0.35
"""A finding below this score is no sign of anything yet; and what is merely suspected stays below it."""


class Reading(msgspec.Struct, frozen=True):
    """What a monitor says after a step."""

    score: float = 0.0
    """In [0, 1]; 1 is worst."""
    evidence: Evidence | None = None
    """Why; `None` where there is nothing to show."""


NOTHING = Reading()
"""All is well."""


class MonitorState(Protocol):
    """A monitor's memory of one run."""

    def observe(self, step: StepFeatures) -> Reading:
        """Take the next step in, and say how things are after it."""


class Monitor(Protocol):
    """One way in which a run can go wrong."""

    @property
    def name(self) -> str:
        """As it is called in scores and weights."""

    @property
    def failure_type(self) -> str:
        """What it is called when it happens."""

    @property
    def description(self) -> str:
        """One sentence for people."""

    def start(self, task: str) -> MonitorState:
        """The memory of a run that has not begun; `task` is what the agent was asked to do, empty if nobody said."""


class Fading:
    """The last finding of a monitor that sees single events: it counts less with every step that follows."""

    __slots__ = ("_rate", "_reading")

    def __init__(self, rate: float = 0.5) -> None:
        self._rate = rate
        self._reading = NOTHING

    def next(self, found: Reading | None) -> Reading:
        """The reading after one more step: what was found there, or the last finding, faded."""
        if found is None and self._reading is NOTHING:
            return NOTHING
        faded = Reading(self._reading.score * self._rate, self._reading.evidence)
        if found is not None and found.score >= faded.score:
            self._reading = found
        else:
            self._reading = faded if faded.score >= _LEAST else NOTHING
        return self._reading


_LEAST = 0.02
"""Below this nothing is left to be shown."""
