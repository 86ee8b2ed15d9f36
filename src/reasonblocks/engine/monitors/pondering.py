"""One question is turned over in thought again and again: nothing is done, and nothing comes to it that was not there.

Whoever thinks a thing through asks, finds something and goes on from there. Here each thought puts the question anew,
in what words ever, and has most of what it names from the ones before.
"""

from ..answers import Evidence
from .announcements import ABOUT_SAYING
from .base import Reading
from .features import StepFeatures, quote
from .notebooks import lists
from .words import WordSet, number_set, size, split, word_set

_FEWEST = 3
"""Thoughts in a row that are too many."""
_SCORES = (0.8, 0.9, 0.95)
_LONGEST = 600
"""Characters of a thought that puts one question."""
_FEWEST_WORDS = 3
"""Words of a thought that is about something."""
_SAME, _FEWEST_SAME = 0.3, 3
"""Of the words of a thought, those that the ones before it had."""
_MOST = 8
_ASKS = frozenset(
    "consider could decide determine either hypothesis if maybe might perhaps possibly presumably probably question "
    "should suspect theory unclear undecided unsure weigh whether wonder wondering".split()
)
"""One of these is in what puts a question, or asks itself whether something is so."""
_MONITOR = "semantic_loop"


class Pondering:
    """The thoughts in a row about one question."""

    __slots__ = ("_quote", "_steps", "_words")

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._quote = ""
        self._words: WordSet = 0

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if it is one thought too many."""
        text = _thought(step)
        if text is None:
            self._steps = []
            return None
        words = split(text)
        asks = "?" in text or not _ASKS.isdisjoint(words)
        about = (word_set(words) | number_set(words)) & ~ABOUT_SAYING if asks else 0
        if size(about) < _FEWEST_WORDS:
            self._steps = []
            return None
        if self._steps and size(about & self._words) < max(_FEWEST_SAME, _SAME * size(about)):
            self._steps = []
        if not self._steps:
            self._quote, self._words = quote(text), 0
        self._steps = [*self._steps[1 - _MOST :], step.index]
        self._words |= about
        over = len(self._steps) - _FEWEST
        if over < 0:
            return None
        reason = f"{len(self._steps)} thoughts in a row put the same question, and nothing was done about it."
        return Reading(
            _SCORES[min(over, len(_SCORES) - 1)],
            Evidence(_MONITOR, reason, list(self._steps), [self._quote, quote(text)]),
        )


def _thought(step: StepFeatures) -> str | None:
    """What is thought in a step that does nothing else."""
    if step.speaks_only:
        text = "" if step.observation.strip() else step.thought
    else:
        text = f"{step.thought}\n{step.command}" if step.role.notes and not lists(step) else ""
    return text if 0 < len(text) <= _LONGEST else None
