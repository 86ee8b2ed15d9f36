"""Recaps: one announced account after the other, to a listener who only nods and with nothing learnt in between.

Other modules compare what such texts say. A recap that is rounded, cut short or put the other way round says little
that can be compared; but that it was announced as one, that the run knows most of it and that the step before was one
as well tell enough.
"""

import re

from ..answers import Evidence
from .announcements import ABOUT_SAYING, announces
from .base import Reading
from .features import StepFeatures, quote
from .notebooks import lists
from .roles import runs_commands
from .words import WordSet, covered, number_set, size, split, word_set

_FEWEST_WORDS = 4
_LONGEST = 1_200
"""Characters of a text that are looked at."""
_KNOWN, _KNOWN_IN_A_ROW = 0.35, 0.1
"""Of the words of a recap, and of one that follows another."""
_NAME = re.compile(r"`[^`\n]{2,60}`|\w+(?:[_/]\w+)+(?:\.\w+)?")
"""What names a certain file or function: who tells of one for the first time goes on."""
_NEWS = 3
"""Words in an answer or a result that the run did not have."""
_NOD, _GLANCE = 16, 300
"""Words of an answer that tells nothing, and characters of a result."""
_SCORES = (0.0, 0.1, 0.3, 0.7, 0.85, 0.95)
"""By how many there were in a row."""


class Recaps:
    """The announced accounts in a row."""

    __slots__ = ("_monitor", "_quote", "_steps", "_words")

    def __init__(self, monitor: str) -> None:
        self._monitor = monitor
        self._steps: list[int] = []
        self._words: WordSet = 0
        """What the last one told."""
        self._quote = ""

    def observe(self, step: StepFeatures, tells: bool, again: bool, known: WordSet) -> Reading | None:
        """Take the next step in, given all words that the run had before it.

        `tells` if its call does nothing but tell, `again` if the same was done with the same result before.
        """
        if not (again or _learns_nothing(step, tells, known)):
            self._steps = []
            return None
        text = _text(step, tells)
        words = _words(text) if announces(text) else 0
        if size(words) < _FEWEST_WORDS or words == self._words or not self._is_known(text, words, known):
            self._steps = []
            return None
        self._words = words
        if not self._steps:
            self._quote = quote(text)
        self._steps.append(step.index)
        count = len(self._steps)
        reason = f"{count} summaries in a row were announced, and between them nothing was done or learnt."
        return Reading(
            _SCORES[min(count, len(_SCORES) - 1)],
            Evidence(self._monitor, reason, self._steps[-len(_SCORES) :], [self._quote, quote(text)]),
        )

    def _is_known(self, text: str, words: WordSet, known: WordSet) -> bool:
        """Whether the run knows enough of a text for it to be a recap."""
        if covered(words, known) < (_KNOWN_IN_A_ROW if self._steps else _KNOWN):
            return False
        named = word_set(split(" ".join(_NAME.findall(text))))
        return not named & ~known


def _learns_nothing(step: StepFeatures, tells: bool, known: WordSet) -> bool:
    """Whether a step has no effect but that something is said, and nobody answers with anything new."""
    role = step.role
    if step.speaks_only:
        if "?" in step.thought or len(step.heard) > _NOD:
            return False  # whoever asks needs an answer
        return not step.result_numbers & ~known and size(step.result_words & ~known) <= _NEWS
    if tells:
        return True
    if role.changes or role.runs or role.waits or step.unfinished or step.result_size > _GLANCE or not role.looks:
        return False
    if step.given and not runs_commands(step.action):
        return False
    return size((step.result_words | step.result_numbers) & ~(known | step.given_words)) <= _NEWS


def _text(step: StepFeatures, tells: bool) -> str:
    """What a step tells: its thought, and what it writes down where that is no list of tasks."""
    thought = step.thought[:_LONGEST]
    if not tells or step.speaks_only or lists(step):
        return thought
    return f"{thought}\n{step.arguments[:_LONGEST]}" if thought else step.arguments[:_LONGEST]


def _words(text: str) -> WordSet:
    words = split(text)
    return (word_set(words) | number_set(words)) & ~ABOUT_SAYING
