"""Changes that change nothing: one is made, a look shows all as it was, and much the same is tried again.

To miss once is nothing. Whoever sees the old state for the third time, after a third change in nearly the same words,
does not ask why none of them took.
"""

import re

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures, quote
from .words import WordSet, alike, size, split, word_set

_TIMES = 3
"""Changes without effect that are too many."""
_SCORES = (0.68, 0.8, 0.9)
_SAME_CHANGE = 0.5
"""Of the words of two changes that are one."""
_FEWEST_IN_COMMON = 2
"""Words that a look has from the change that it is to show."""
_SHORTEST, _LONGEST = 12, 1_500
"""Characters of what a look shows, if it can tell one state from another."""
_LONGEST_CHANGE = 1_500
_MOST = 8
_FRAME = re.compile(r"</?(?:output|returncode)>(?:\d+</returncode>)?")
_NUMBERED = re.compile(r"^[ \t]*\d+[ \t]*(?:[:|\u2192-]|[ \t])", re.MULTILINE)
"""The number of a line, as tools put it before that line."""
_MONITOR = "semantic_loop"


class IdleChanges:
    """The changes in a row after which all was as before."""

    __slots__ = ("_change", "_last", "_look", "_quotes", "_shown", "_steps", "_times")

    def __init__(self) -> None:
        self._change: StepFeatures | None = None
        """The newest change, until a look shows what came of it."""
        self._last: WordSet = 0
        """The words of the change before it."""
        self._look = b""
        """The newest look..."""
        self._shown = ""
        """...and what it showed."""
        self._times = 0
        self._steps: list[int] = []
        self._quotes: list[str] = []

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if a look shows once too often that nothing has changed."""
        role = step.role
        if step.speaks_only or role.notes:
            return None
        if role.changes:
            self._change = step if len(step.command) <= _LONGEST_CHANGE and not step.failed else None
            return None
        change, self._change = self._change, None
        if not role.looks or role.waits or step.failed:
            self._times = 0
            return None
        if change is None or step.result_size > _LONGEST:
            return None
        return self._looked(change, step)

    def _looked(self, change: StepFeatures, step: StepFeatures) -> Reading | None:
        words, shown = word_set(split(change.command)), _plain(step.observation)
        if len(shown) < _SHORTEST or size(words & step.result_words) < _FEWEST_IN_COMMON:
            self._times = 0
            return None
        if self._times and alike(words, self._last) >= _SAME_CHANGE and self._is_as_it_was(step, shown):
            self._times += 1
        else:
            self._times, self._steps, self._quotes = 1, [], [change.call_quote()]
        self._last, self._shown, self._look = words, shown, step.call
        self._steps = [*self._steps[2 - _MOST :], change.index, step.index]
        over = self._times - _TIMES
        if over < 0:
            return None
        reason = (
            f"Much the same change was made {self._times} times, and each time a look showed what was there before."
        )
        quotes = [*self._quotes, change.call_quote(), quote(shown)]
        return Reading(_SCORES[min(over, len(_SCORES) - 1)], Evidence(_MONITOR, reason, list(self._steps), quotes))

    def _is_as_it_was(self, step: StepFeatures, shown: str) -> bool:
        """Whether a look shows what the last one did; one of another kind may show more or less of it."""
        if step.call == self._look or shown == self._shown:
            return shown == self._shown
        return shown in self._shown or self._shown in shown


def _plain(result: str) -> str:
    """What a look shows, without the numbers of lines and what frames it."""
    return " ".join(_NUMBERED.sub("", _FRAME.sub("\n", result)).split())
