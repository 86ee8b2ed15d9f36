"""The part of silent_topic_drift that goes by how a person takes part: they are told things, and nobody asked.

Whoever serves a person asks, answers, or does what was asked for. Remark upon remark that brings up something new, asks
nothing and gets no more than a nod is a talk about something else, whatever its words have in common.
"""

from collections import deque

from ..answers import Evidence
from .asides import is_aside
from .base import Reading
from .features import StepFeatures
from .partaking import does_so, wants_more
from .topics import TopicSet, topic_of_task

_FEWEST = 3
"""Remarks in a row that make a monologue; calls between them do not count."""
_LONGEST_REMARK, _LONGEST_NOD = 60, 7
"""Words."""
_WISH = "please"
_HINT = 0.15
_FOUND = 0.8
_PER_REMARK = 0.04
_MOST_STEPS = 12


class Monologue:
    """The remarks in a row that nobody asked for."""

    __slots__ = ("_known", "_name", "_new", "_quotes", "_steps")

    def __init__(self, task: str, name: str) -> None:
        self._known: TopicSet = topic_of_task(task)[0]
        self._name = name
        self._new: TopicSet = 0
        self._steps: deque[int] = deque(maxlen=_MOST_STEPS)
        self._quotes: deque[str] = deque(maxlen=3)

    def observe(self, step: StepFeatures) -> Reading | None:
        """What the remarks say after this step; `None` where it is none."""
        topic = step.topic
        if not step.speaks_only:
            self._new |= topic.brought
            return None
        new = topic.spoken & ~self._known
        if not is_remark(step) or not new or step.thought_quote() in self._quotes:
            self._known |= self._new | topic.spoken | topic.brought
            self._forget()
            return None
        self._new |= new | topic.brought
        self._steps.append(step.index)
        self._quotes.append(step.thought_quote())
        count = len(self._steps)
        if count < _FEWEST:
            return Reading(_HINT * count)
        return Reading(min(1.0, _FOUND + _PER_REMARK * (count - _FEWEST)), self._evidence())

    def _forget(self) -> None:
        self._new = 0
        self._steps.clear()
        self._quotes.clear()

    def _evidence(self) -> Evidence:
        steps = list(self._steps)
        reason = (
            f"The {len(steps)} messages in steps {steps[0]} to {steps[-1]} bring up things that neither the task nor "
            "anything before them has, ask nothing, and are answered with a few words that ask for nothing either."
        )
        return Evidence(self._name, reason, steps, list(self._quotes))


def is_remark(step: StepFeatures) -> bool:
    """Whether a person is told something in short, without a question, and does no more than nod."""
    answer = step.observation
    if is_aside(step):
        return False  # it comes on top of what was said, and does not go on with it
    if not step.speaks_only or not answer.strip() or "?" in step.thought or "?" in answer or _WISH in answer.lower():
        return False
    if len(step.said) > _LONGEST_REMARK or len(answer.split(None, _LONGEST_NOD)) > _LONGEST_NOD:
        return False
    return not wants_more(answer, step.heard) and not does_so(answer)
