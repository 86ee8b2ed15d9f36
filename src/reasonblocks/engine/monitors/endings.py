"""Whether a step ends the work: it hands it in, says so, gives the answer, or is the first message after many calls."""

from .conclusions import called_done, gives_answer, goes_on
from .features import StepFeatures

_FEWEST_CALLS = 3
_MOSTLY = 8
"""So many calls for each step without one, and a step without one stands out."""
_LONGEST_ANSWER = 600
_FEW_WORDS = 120
"""Characters of a message that can hardly be more than an answer."""


class Endings:
    """How often a run called something so far, and how often it only spoke."""

    __slots__ = ("_calls", "_spoken", "called")

    def __init__(self) -> None:
        self.called = False
        """Whether the last step was a call."""
        self._calls = 0
        self._spoken = 0

    def observe(self, step: StepFeatures) -> None:
        """Take a step in, once it was asked about."""
        self.called = not step.speaks_only
        self._calls += self.called
        self._spoken += step.speaks_only

    def conclusion(self, step: StepFeatures, *, answered: bool) -> str | None:
        """The words, or the call, with which a step ends the work; `answered` if somebody is there who answers."""
        if step.role.ends:
            return called_done(step.thought) or step.call_quote()
        if not step.speaks_only or not step.thought.strip() or goes_on(step.thought):
            return None
        said = called_done(step.thought)
        if said is None and self.states_answer(step, answered=answered):
            said = step.thought_quote()
        if said is None and self._calls >= _FEWEST_CALLS and self._calls >= _MOSTLY * self._spoken:
            said = step.thought_quote()
        return said

    def states_answer(self, step: StepFeatures, *, answered: bool) -> bool:
        """Whether a message is an answer: it says so, or it is a few words right after a call, and nobody is there."""
        size = len(step.thought)
        if size > _LONGEST_ANSWER:
            return False
        return gives_answer(step.thought) or (size <= _FEW_WORDS and self.called and not answered)
