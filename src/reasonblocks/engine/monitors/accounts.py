"""Accounts: the same certain things told a second and a third time, in whatever words, with nothing learnt in between.

What a text is about shows in what it names: files, functions, ids, figures, people. Whoever takes a step says what that
step is about. A text that names what neither its call nor any result since has to do with, and what was told together
before, is an account of what is known.
"""

import re
from collections import deque
from functools import reduce
from operator import or_
from typing import NamedTuple

from ..answers import Evidence
from .announcements import ABOUT_SAYING
from .base import Reading
from .features import StepFeatures, quote
from .notebooks import lists
from .roles import runs_commands
from .words import WordSet, covered, number_set, size, split, word_set

_LONGEST = 2_000
"""Characters of a text that are looked at."""
_REQUEST = "please"
"""Whoever asks for something gives no account."""
# Each look-behind allows one attempt per run of signs: without it every letter of every word begins one.
NAMES = re.compile(
    r"`[^`\n]{2,60}`|(?<![\w/.#-])[\w/.#-]{0,60}\w[./_]\w[\w./-]*|(?<!\w)#?\w{0,40}\d[\w.:-]*"
    r"|(?<=[a-z,:(=|] )[A-Z][\w'-]+"
)
"""What names a certain thing."""
_FEWEST_NAMES, _FEWEST_THINGS = 2, 3
"""Names in an account, and words they have together."""
_SAME_THINGS = 0.7
"""Of the words of all names of the later account."""
_OTHER_WORDS = 0.5
"""Of all words of it that may be new to the run."""
_BESIDE_THE_CALL = 2
"""Names in it that the call has nothing to do with."""
_NO_NEWS = 2
"""Words and numbers that a look may show for the first time and yet teach next to nothing."""
_NOD = 8
"""Words of an answer that says no more than: go on."""
_GLANCE = 300
"""Characters of its result."""
_READ_BACK = 0.9
"""Of the words that a look shows, where it shows the last account."""
_MOST = 6
_SCORES = (0.0, 0.3, 0.65, 0.8, 0.9, 0.95)
"""By how often the same has been told again."""
_MOST_GAP = 1
"""Steps without an account between two of them."""


class _Account(NamedTuple):
    at: int
    things: WordSet
    """The words of what it names."""
    words: WordSet
    quote: str


class Accounts:
    """The accounts in a row of what is known."""

    __slots__ = ("_again", "_gap", "_name", "_row", "_shown")

    def __init__(self, name: str) -> None:
        self._name = name
        self._row: deque[_Account] = deque(maxlen=_MOST)
        self._again: list[int] = []
        self._shown: WordSet = 0
        """What looks have shown for the first time since the row began."""
        self._gap = 0

    def observe(self, step: StepFeatures, tells: bool, again: bool, known: WordSet) -> Reading | None:
        """Take the next step in, given all words that the run had before it.

        `tells` if its call does nothing but tell, `again` if the same was done with the same result before.
        """
        writes = tells and not step.speaks_only
        again = again or (bool(self._row) and self._reads_back(step))
        news = 0
        if not (writes or again):
            shown = _news(step, known) if _glances(step) else None
            if shown is None or size(shown) > _NO_NEWS:
                self._forget()
                return None
            news = shown
        found = None
        text = (
            f"{step.thought[:_LONGEST]}\n{step.arguments[:_LONGEST]}"
            if writes and not lists(step)
            else step.thought[:_LONGEST]
        )
        asks = step.speaks_only and _REQUEST in text.lower()
        now = None if asks else _account(step, text, tells)
        if now is not None and not now.things & self._shown:
            found = self._told_again(now, known)
            self._row.append(now)
            self._gap = 0
        elif self._row:
            self._gap += 1
            if self._gap > _MOST_GAP:
                self._forget()
        if not writes:
            self._shown |= news
        return found

    def _reads_back(self, step: StepFeatures) -> bool:
        """Whether a look shows what was told last."""
        shown = step.result_words | step.result_numbers
        return step.role.looks and covered(shown, self._row[-1].words) >= _READ_BACK

    def _told_again(self, now: _Account, known: WordSet) -> Reading | None:
        """What is to be said of an account, if it tells what the others in the row do and nothing else."""
        if any(one.words == now.words for one in self._row):
            return None  # word for word, it is not in other words
        told = [one for one in self._row if covered(now.things, one.things) >= _SAME_THINGS]
        if not told:
            self._again.clear()
            return None
        new = now.words & ~reduce(or_, [one.words for one in self._row], known | ABOUT_SAYING)
        if now.things & new or size(new) > _OTHER_WORDS * size(now.words):
            return None
        self._again.append(now.at)
        count = len(self._again)
        reason = f"{count + 1} steps tell the same things in other words, and between them nothing was done or learnt."
        evidence = Evidence(self._name, reason, [told[0].at, *self._again], [told[0].quote, now.quote])
        return Reading(_SCORES[min(count, len(_SCORES) - 1)], evidence)

    def _forget(self) -> None:
        if self._row:
            self._row.clear()
            self._again = []
            self._shown = 0
            self._gap = 0


def _glances(step: StepFeatures) -> bool:
    """Whether a step does nothing that could teach much."""
    role = step.role
    if step.result_size > _GLANCE or role.waits or step.unfinished:
        return False
    if step.speaks_only:
        return len(step.heard) <= _NOD
    # A shell may look at anything and learn nothing, but whoever opens one thing after the other by its name goes on.
    return role.looks and not (role.changes or role.runs) and (runs_commands(step.action) or not step.given)


def _news(step: StepFeatures, known: WordSet) -> WordSet | None:
    """What a result shows for the first time; `None` for a figure that a person gave."""
    had = known | step.given_words
    if step.speaks_only and step.result_numbers & ~had:
        return None
    return (step.result_words | step.result_numbers) & ~had


def _account(step: StepFeatures, text: str, tells: bool) -> _Account | None:
    """The things that a step tells of, if it tells of more than what its call is about."""
    names = {name.strip("`.,:").lower() for name in NAMES.findall(_abridged(text))}
    if len(names) < _FEWEST_NAMES:
        return None
    given = "" if tells else step.arguments.lower()
    beside = [name for name in names if name not in given] if given else names
    if len(beside) < _BESIDE_THE_CALL:
        return None
    things = {name: bits for name in names if (bits := _bits(split(name)))}
    told = reduce(or_, things.values(), 0)
    if len(things) < _FEWEST_NAMES or size(told) < _FEWEST_THINGS:
        return None
    if given and len([name for name in beside if name in things]) < _BESIDE_THE_CALL:
        return None
    words = split(text)
    return _Account(step.index, told, _bits(words), quote(text))


def _abridged(text: str) -> str:
    """A text with the same names, but with a letter for each plain word: at every letter of one a name is tried."""
    if "`" in text:  # whatever stands in quotation marks is a name
        return text
    return " ".join(
        ["a" if token.islower() and token.isalpha() and token.isascii() else token for token in text.split(" ")]
    )


def _bits(words: list[str]) -> WordSet:
    return word_set(words) | number_set(words)
