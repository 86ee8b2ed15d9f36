"""late_sprawl: after a run has settled, one thing after another is begun that has to do with nothing before it.

Work over many files is not sprawl: what is counted are steps that are off the task and all that the run has been about,
and off each other as well. A stretch that stays with one such thing is drift rather than sprawl.
"""

from collections import deque

from ..answers import Evidence
from .base import NOTHING, MonitorState, Reading
from .departure import ENOUGH, Departure
from .features import StepFeatures
from .silent_topic_drift import COHERENT
from .words import phrases

LATE = 4
"""The first step that can be late."""
_FEWEST_NEW_WORDS = 1.0
_FEWEST_BEGINNINGS = 2
"""Of the steps off the topic so many have to say what they are about, or use another tool than the one before."""
_FOUND = 0.65
_PER_WEIGHT = 0.05
"""Tangents that weigh more than enough score more."""
_HINT = 0.07
"""What weighs less than enough scores so much for each unit of weight."""
_MOST_HINT = 0.34
_MOST_QUOTES = 3
_RECENT = 8
"""Steps whose tools are remembered."""
_FURTHER = phrases(
    "additionally, also, another, as well, at it, besides, bonus, by the way, could be fun, could be interesting",
    "could extend, could improve, curious, extra, furthermore, in addition, i wonder, might as well, might be fun",
    "might be interesting, moreover, nice to have, on a different note, on a side note, on top of, optional*",
    "out of curiosity, out of interest, separate*, side note, side task, too, unrelated, while i have you",
    "while i'm at it, while i'm here, while we're at it, while we're here, worth a look, worth adding, worth exploring",
    "worth trying",
)


class LateSprawl:
    """New beginnings where an end was due."""

    name = "late_sprawl"
    failure_type = "sprawl"
    description = "Late in the run one new thing after another is begun that has little to do with what came before."

    def start(self, task: str) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State(task)


class _State:
    __slots__ = ("_beginnings", "_begun", "_departure", "_tools")

    def __init__(self, task: str) -> None:
        self._departure = Departure(task, _FURTHER)
        self._begun: deque[str] = deque(maxlen=_MOST_QUOTES)
        self._beginnings = 0
        self._tools: deque[bytes] = deque(maxlen=_RECENT)

    def observe(self, step: StepFeatures) -> Reading:
        departure = self._departure
        if departure.observe(step):
            if len(departure.steps) == 1:
                self._begun.clear()
                self._beginnings = 0
            self._begun.append(step.thought_quote() or step.call_quote())
            self._beginnings += not self._is_next_item(step)
        self._tools.append(step.tool)
        if len(departure.steps) < 2 or departure.steps[0] < LATE:
            return NOTHING
        return Reading(self._score(), self._evidence())

    def _is_next_item(self, step: StepFeatures) -> bool:
        """Whether it does to another thing what was done before, without a word or with an entry of a list."""
        if step.tool not in self._tools or step.speaks_only:
            return False
        return step.topic.said == 0 or (step.role.changes and not step.role.writes)

    def _score(self) -> float:
        departure = self._departure
        hint = min(_MOST_HINT, _HINT * departure.weight)
        if departure.coherence >= COHERENT:
            return hint / 2
        if self._beginnings < _FEWEST_BEGINNINGS or not departure.is_stretch(_FEWEST_NEW_WORDS):
            return hint
        return min(1.0, _FOUND + _PER_WEIGHT * (departure.weight - ENOUGH))

    def _evidence(self) -> Evidence:
        steps = self._departure.steps
        reason = (
            f"{len(steps)} steps since step {steps[0]} each begin something new: of their "
            f"{self._departure.words} telling words the run before had {round(self._departure.known)}, "
            "and they have next to none in common."
        )
        return Evidence(LateSprawl.name, reason, list(steps), list(self._begun))
