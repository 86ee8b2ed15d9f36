"""Questions by the way, each about something else, until the person asks to get back to what they came for."""

from collections import deque

from .complaints import ASTRAY, remark_in
from .features import StepFeatures
from .topics import TopicSet

_WITHIN = 6
"""Steps, calls among them, within which such remarks belong together."""
_ENOUGH = 2


class Diversions:
    """The latest messages of the agent to which a person said that it is not what they came for."""

    __slots__ = ("_latest",)

    def __init__(self) -> None:
        self._latest: deque[tuple[int, TopicSet, str]] = deque(maxlen=_ENOUGH)

    def listen(self, step: StepFeatures) -> list[tuple[int, str]] | None:
        """Take the next step in: the remarks, each with its step and on another thing, once they are enough."""
        if not step.speaks_only or not step.observation or not remark_in(step, ASTRAY):
            return None
        self._latest.append((step.index, step.topic.spoken, step.result_quote()))
        earlier, subject, _ = self._latest[0]
        if len(self._latest) < _ENOUGH or step.index - earlier > _WITHIN or subject & step.topic.spoken:
            return None
        return [(index, remark) for index, _, remark in self._latest]
