"""Much the same is written to somebody by a call again and again, and all that comes back is that it was sent.

A comment on a ticket, a mail, a notice to a colleague: the words may be others, but it goes to the same place, names
nothing that the ones before had not named, and has most of its words from them. One may remind somebody once or twice.
"""

from ..answers import Evidence
from .announcements import ABOUT_SAYING
from .asked_again import AROUND
from .base import Reading
from .features import StepFeatures
from .roles import runs_commands
from .words import WordSet, size

_FEWEST = 4
"""Messages in a row that are too many."""
_SCORES = (0.66, 0.8, 0.9)
_FEWEST_WORDS = 2
"""Words of a message that says something."""
_SAME, _MOST_NEW = 0.6, 2
"""Of the words of a message, those that the ones before had; and words that none of them had."""
_LONGEST, _LONGEST_RECEIPT = 800, 200
"""Characters of a message, and of what says that it was sent."""
_MOST = 8
_AROUND_A_MESSAGE = AROUND | ABOUT_SAYING
_MONITOR = "semantic_loop"


class Notices:
    """The messages in a row that say the same."""

    __slots__ = ("_first", "_names", "_quote", "_receipt", "_said", "_steps", "_tool")

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._first: StepFeatures | None = None
        self._quote = ""
        self._tool = self._receipt = b""
        self._names: WordSet = 0
        """The place it goes to, and whatever else it names."""
        self._said: WordSet = 0

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if it is one message too many."""
        words = step.given_words & ~_AROUND_A_MESSAGE if _is_a_message(step) else 0
        if size(words) < _FEWEST_WORDS:
            self._steps, self._first = [], None
            return None
        if not self._steps or step.tool != self._tool or step.result != self._receipt:
            self._first, self._steps = step, [step.index]
            self._tool, self._receipt, self._said = step.tool, step.result, words
            return None
        if self._first is not None:  # read only where another one may be like it
            self._names, self._quote, self._first = self._first.call_names, self._first.call_quote(), None
        names = step.call_names
        if not (self._steps and self._says_the_same(step, names, words)):
            self._steps, self._quote = [step.index], step.call_quote()
            self._tool, self._receipt, self._names, self._said = step.tool, step.result, names, words
            return None
        self._steps = [*self._steps[1 - _MOST :], step.index]
        self._said |= words
        over = len(self._steps) - _FEWEST
        if over < 0:
            return None
        reason = f"{len(self._steps)} messages in a row say the same in other words to the same place."
        evidence = Evidence(_MONITOR, reason, list(self._steps), [self._quote, step.call_quote()])
        return Reading(_SCORES[min(over, len(_SCORES) - 1)], evidence)

    def _says_the_same(self, step: StepFeatures, names: WordSet, words: WordSet) -> bool:
        if step.tool != self._tool or step.result != self._receipt or names & ~self._names:
            return False
        new = size(words & ~self._said)
        return new <= _MOST_NEW and size(words) - new >= _SAME * size(words)


def _is_a_message(step: StepFeatures) -> bool:
    """Whether a call hands over some words, and does no more with them than pass them on."""
    role = step.role
    if step.speaks_only or role.writes or role.notes or role.looks or role.runs or role.waits or step.failed:
        return False
    if runs_commands(step.action) or len(step.arguments) > _LONGEST:
        return False
    return step.result_size <= _LONGEST_RECEIPT
