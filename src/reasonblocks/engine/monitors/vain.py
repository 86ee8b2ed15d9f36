"""Searches that find nothing, one after the other, for what was sought in vain already, in other words or ways.

Another word is worth a try, and so is another place. Words that were all tried are not.
"""

import re
from functools import reduce
from operator import or_
from typing import NamedTuple

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures
from .roles import runs_commands
from .words import WordSet, covered, pieces, size, split, token_set

_AGAIN = 3
"""Searches in a row for what was sought before, at which it is too much."""
_SOUGHT_BEFORE = 0.6
"""Of the words of a search."""
_MOST = 8
_LONGEST = 300
"""Characters of a call, and of a result that says no more than that there was nothing."""
_SCORES = (0.65, 0.75, 0.85)
_QUOTED = re.compile(r"\"([^\"\n]{1,120})\"|'([^'\n]{1,120})'")
_LOOKED_FOR = re.compile(r"(?:\b(?:ack|ag|e?grep|rg)\s(?:\s*-\S+\s)*\s*|\s-[GS]\s?|--grep[= ]|-i?name\s)(\S+)")
"""What a command looks for where it is not quoted."""
_HISTORY = re.compile(r"\bgit\s+log\b[^|;&\n]*\s(?:-[GS]|--grep)")
_PLACE = re.compile(r"(?<![\w\"'-])[\w./~-]*[./][\w./~-]*(?![\w\"'*])")
_THINGS = r"(?:commits|documents|entries|files|hits|items|match(?:es|ing)?|occurrences?|output|pages|records|results?)"
_FINDS_NOTHING = re.compile(
    rf"\b(?:no|zero|0)\s(?:\w+\s){{0,2}}{_THINGS}\b|\bnothing (?:was |could be )?(?:found|matche[sd])"
    r"|\bnot (?:be )?(?:found|present|appear|occur)|\b(?:did|does) not (?:match|return|contain)",
    re.IGNORECASE,
)
_EMPTY = re.compile(r"\W*(?:<?/?(?:returncode|output|exit ?code|none|null)\W*\d?\W*)*", re.IGNORECASE)
"""All that is left of a result with nothing in it."""
_MONITOR = "semantic_loop"


class _Search(NamedTuple):
    at: int
    tool: bytes
    words: WordSet
    particulars: WordSet
    """Numbers and single letters, each of which makes it another search."""
    places: frozenset[str]
    quote: str


class Vain:
    """The searches in a row that found nothing."""

    __slots__ = ("_again", "_row")

    def __init__(self) -> None:
        self._row: list[_Search] = []
        self._again: list[int] = []

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if it is one search too many."""
        now = _search(step)
        if now is None:
            if self._row and not step.speaks_only:
                self._row, self._again = [], []
            return None
        if self._row and self._sought(now):
            self._again.append(now.at)
        self._row = [*self._row[1 - _MOST :], now]
        self._again = [at for at in self._again if at >= self._row[0].at]
        over = len(self._again) - _AGAIN
        if over < 0 or self._again[-1] != now.at:
            return None
        row, again = len(self._row), len(self._again)
        reason = f"{row} searches in a row found nothing, and {again} of them sought what had been sought before."
        quotes = [self._row[0].quote, now.quote]
        return Reading(
            _SCORES[min(over, len(_SCORES) - 1)],
            Evidence(_MONITOR, reason, [search.at for search in self._row], quotes),
        )

    def _sought(self, now: _Search) -> bool:
        """Whether all of it was looked for, in places that were looked into."""
        row = self._row
        if now.particulars:  # what makes it another search does so in each combination
            row = [one for one in row if (one.tool, one.particulars) == (now.tool, now.particulars)]
        if not now.places <= {place for one in row for place in one.places}:
            return False
        return covered(now.words, reduce(or_, [one.words for one in row], 0)) >= _SOUGHT_BEFORE


def _search(step: StepFeatures) -> _Search | None:
    """What a step looked for in vain."""
    role = step.role
    if step.speaks_only or role.changes or role.waits or step.result_size > _LONGEST or len(step.arguments) > _LONGEST:
        return None
    asked, places = step.arguments, frozenset[str]()
    if runs_commands(step.action):
        if not (role.searches or "log" in step.given):
            return None
        asked = " ".join([one or other for one, other in _QUOTED.findall(asked)] or _LOOKED_FOR.findall(asked))
        if not (role.searches or _HISTORY.search(step.arguments)):
            return None
        places = frozenset(place.strip("./") for place in _PLACE.findall(step.arguments))
    elif not role.searches:
        return None
    result = step.result_excerpt
    if not (_EMPTY.fullmatch(result) or _FINDS_NOTHING.search(result)):
        return None
    words = pieces(asked)
    if not size(words):
        return None
    marks = [word for word in split(asked) if len(word) == 1 or not word.isalpha()]
    return _Search(step.index, step.tool, words, token_set(marks), places, step.call_quote())
