"""The part of silent_topic_drift that goes by ids: the run deals with somebody else's things, and nobody asked."""

from collections import deque

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures
from .topics import TopicSet

NAME = "silent_topic_drift"
_FEWEST_STEPS, _MANY_STEPS = 2, 3
"""Steps with such ids that make a stretch, one of which was answered with a foreign record, or with a foreign id."""
_ALL_AT_ONCE = 3
"""A single call with so many such ids, and no others, is enough."""
_TOGETHER = 6
"""Steps that lie further apart than this are not one stretch."""
_FOUND = 0.7
_PER_STEP = 0.05
_HINT = 0.3
_MOST_STEPS = 12
_ONE_AFTER_ANOTHER = 2
"""So many questions about other things in between, and it is one thing after another."""
_SHORTLY = 2
"""Steps before the first of a stretch in which a question is one of them."""
_SHORT_ANSWER = 7


class Strangers:
    """The stretch a run may be in that is about somebody else."""

    __slots__ = ("_asked", "_brought", "_quotes", "_record", "_steps", "_strange", "_sure")

    def __init__(self) -> None:
        self._steps: deque[int] = deque(maxlen=_MOST_STEPS)
        self._quotes: deque[str] = deque(maxlen=2)
        self._asked: deque[int] = deque(maxlen=_ONE_AFTER_ANOTHER)
        self._brought: TopicSet = 0
        """What the answers were about."""
        self._record = self._strange = False
        self._sure = False

    def observe(self, step: StepFeatures) -> Reading | None:
        """What the ids say after this step; `None` where they say nothing."""
        origin = step.origin
        settled = origin.settled
        if settled and not origin.tied and _asks_by_the_way(step):
            self._asked.append(step.index)
        if not settled or not (origin.fresh or origin.tied):
            return None
        tied = origin.tied or step.topic.said & self._brought != 0
        if self._steps and (not tied or step.index - self._steps[-1] > _TOGETHER):
            self._forget()  # this is yet another matter
        self._brought |= step.topic.brought
        self._strange = self._strange or origin.strange
        self._steps.append(step.index)
        self._quotes.append(step.call_quote())
        self._record = self._record or origin.record
        self._sure = self._sure or (origin.fresh >= _ALL_AT_ONCE and origin.fresh == origin.given)
        steps = len(self._steps)
        if self._sure or (self._record and steps >= _FEWEST_STEPS) or (self._strange and steps >= _MANY_STEPS):
            if sum(asked >= self._steps[0] - _SHORTLY for asked in self._asked) >= _ONE_AFTER_ANOTHER:
                return Reading(_HINT)  # this is no stretch
            score = min(0.95, _FOUND + _PER_STEP * (steps - 1))
            return Reading(score, self._evidence())
        return Reading(_HINT if origin.record else _HINT / 2)

    def _forget(self) -> None:
        self._steps.clear()
        self._quotes.clear()
        self._brought = 0
        self._record = self._strange = self._sure = False

    def _evidence(self) -> Evidence:
        steps = list(self._steps)
        reason = (
            f"The ids used in steps {steps[0]} to {steps[-1]} were in neither the task, nor anything the user said, "
            "nor any result before, and what came back is not about what the run has dealt with so far."
        )
        return Evidence(NAME, reason, steps, list(dict.fromkeys(self._quotes)))


def _asks_by_the_way(step: StepFeatures) -> bool:
    """Whether a person is asked something that they have little to say to."""
    answer = step.observation
    return step.speaks_only and "?" in step.thought and 0 < len(answer.split(None, _SHORT_ANSWER)) <= _SHORT_ANSWER
