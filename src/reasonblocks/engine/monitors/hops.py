"""Whether a run goes from one thing to the next, by whatever it found there, and comes back to none of them.

Each hop is led to by the one before it, so it seems to go on. What tells is that nothing it speaks of was known when
the run set out, nor spoken of before the last hop.
"""

from .features import StepFeatures
from .topics import TopicSet

_MOSTLY_NEW = 0.7
"""A hop has this share of words at least that were not known when the run set out."""

_LED = 0.5
"""What it counts if it speaks of what the last step spoke of."""


class Hops:
    """The way a run has gone since it began something."""

    __slots__ = ("_before", "_last", "_said", "_tool", "_under_way")

    def __init__(self) -> None:
        self._under_way = False
        self._before: TopicSet = 0
        self._said: TopicSet = 0
        """What was spoken of before the last step."""
        self._last: TopicSet = 0
        self._tool = b""

    def set_out(self, known: TopicSet, step: StepFeatures) -> None:
        """Something is begun with this step, and so much was known before it."""
        self._under_way = True
        self._before, self._said, self._last, self._tool = known, 0, step.topic.spoken, step.tool

    def go_on(self, step: StepFeatures) -> float:
        """Take the next step in; how much of a hop it is, from 0 to 1."""
        words = step.topic.spoken
        if not self._under_way or not words:
            return 0.0
        role = step.role
        new = (words & ~self._before).bit_count()
        works = step.speaks_only or role.changes or role.writes
        if works or words & self._said or new < _MOSTLY_NEW * words.bit_count():
            self._under_way = False
            return 0.0
        told = step.topic.said or step.tool != self._tool  # the same done to the next thing without a word is no hop
        value = 0.0 if not told else _LED if words & self._last else 1.0
        self._tool = step.tool
        self._said |= self._last
        self._last = words
        return value
