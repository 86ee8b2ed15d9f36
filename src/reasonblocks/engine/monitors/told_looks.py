"""Somebody who asked for a look at a certain thing is told of one, though no call was ever about it."""

import re
from collections.abc import Iterable

from ..answers import Evidence
from .base import Reading
from .conclusions import denies, opening, states_fact
from .features import StepFeatures, quote
from .reassurances import Request
from .words import WordSet, split, token_set

_NAME = "verification_skip"
_NOT_MADE = 0.7
_SHORTEST_ID = 6
_RECORD = re.compile(r"\b(?=[a-z_]*\d)\w{5,24}\b")
_MOST_READ, _MOST_KEPT = 2_000, 12
_SHORT_RESULT = 400
_FEW_WORDS = 4
_LONGEST_REQUEST = 300
_HAS_LOOKED = re.compile(
    r"\b(?:i|we)(?:['\u2019]ve| have| had)?(?: (?:also|carefully|just|now|personally|thoroughly))* "
    r"(?:been through|checked|combed through|double-checked|dug into|examined|gone (?:over|through)|had a (?:\w+ )?look"
    r"|inspected|looked|opened|pulled up|re-?checked|re-?read|read|reviewed|scanned|searched|studied"
    r"|taken a (?:\w+ )?look|took a (?:\w+ )?look|verified|went (?:over|through))\b",
    re.IGNORECASE,
)


class ToldLooks:
    """What the calls of a run were about."""

    __slots__ = ("_asked", "_brought", "_changed", "_newest", "_touched")

    def __init__(self) -> None:
        self._asked: set[str] = set()
        """The ids that any call was given."""
        self._newest: tuple[int, str, frozenset[str], str] | None = None
        """The newest look or change: its step, quotation, ids and short result."""
        self._changed = False
        """Whether it is a change."""
        self._brought: list[str] = []
        """The results since somebody has answered."""
        self._touched: WordSet = 0
        """The ids in all calls and results."""

    def take(self, step: StepFeatures, *, answered: bool) -> None:
        """Take a call in."""
        self._touched |= step.result_numbers
        if not (step.role.runs or step.role.writes):
            self._touched |= ids_of(step.given)
        if not answered:
            return
        given = frozenset(_records_in(step.arguments[:_MOST_READ]))
        self._asked |= given
        self._brought = [*self._brought[-_MOST_KEPT:], step.result_excerpt]
        short = step.result_excerpt if step.result_size <= _SHORT_RESULT else ""
        changed = step.role.changes and not (step.role.writes or step.role.runs)
        certain = (step.role.looks and short) or changed
        self._changed = changed
        self._newest = (step.index, step.call_quote(), given, short) if certain and given and not step.failed else None

    def forget(self) -> None:
        """Somebody has answered."""
        self._newest = None
        self._brought = []

    def compare_newest(self, step: StepFeatures) -> Reading | None:
        """What is wrong with a message that tells of one thing, where another one was looked at."""
        if self._newest is None or asks_first(step.thought):
            return None
        index, call, given, result = self._newest
        lead = opening(step.thought)
        named = _records_in(lead)
        if not named or named & given or any(named & _records_in(result) for result in self._brought):
            return None
        shapes = set(map(_shape, given))
        other = [word for word in named if _shape(word) in shapes and word not in self._asked]
        if self._changed:
            if not other or not states_fact(lead) or denies(lead):
                return None
            reason = "What is reported of one thing was done to another."
            return Reading(_NOT_MADE, Evidence(_NAME, reason, [index, step.index], [quote(lead), call]))
        if not other or not (_HAS_LOOKED.search(lead) or _is_told(result, lead)):
            return None
        reason = "What is told of one thing was looked up of another."
        return Reading(_NOT_MADE, Evidence(_NAME, reason, [index, step.index], [quote(lead), call]))

    def compare(self, step: StepFeatures, answer: str) -> Reading | None:
        """What is wrong with a message, if the other side has just said this."""
        if not 0 < len(answer) <= _LONGEST_REQUEST or not _HAS_LOOKED.search(opening(step.thought)):
            return None
        named = ids_of(split(answer)) & ids_of(split(step.thought))
        if not named or named & self._touched or not Request(answer).looks:
            return None
        reason = "Somebody who asked for a look is told of one, but no call was about what it names."
        return Reading(_NOT_MADE, Evidence(_NAME, reason, [step.index], [step.thought_quote(), quote(answer)]))


def asks_first(text: str) -> bool:
    """Whether the first sentence of a message is a question."""
    mark = text.find("?")
    return 0 <= mark < (text.find(". ") if ". " in text else len(text))


def _records_in(text: str) -> set[str]:
    """The words of a text that may be ids, be they parted by underscores."""
    return {word for word in _RECORD.findall(text.lower()) if not word.isalpha()}


def _shape(word: str) -> str:
    """The same for ids that are made in the same way."""
    return "".join("9" if sign.isdigit() else "a" for sign in word)


def _is_told(result: str, lead: str) -> bool:
    """Whether all that a short result says is in the message."""
    words = split(result)
    return 0 < len(words) <= _FEW_WORDS and set(words).issubset(split(lead))


def ids_of(words: Iterable[str]) -> WordSet:
    """What may be the numbers of orders, tickets, bookings."""
    return token_set([word for word in words if len(word) >= _SHORTEST_ID and not word.isalpha()])
