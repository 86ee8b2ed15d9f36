"""Somebody who asked for a look at a certain thing is told of one, though no call was ever about it."""

import re
from collections import deque
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
_MOST_READ, _MOST_KEPT, _MOST_CALLS = 2_000, 12, 256
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


_PROMISES_LOOK = re.compile(
    r"\b(?:let me|i['\u2019]ll|i will|i['\u2019]m going to|allow me to|i am going to|while i)(?! know\b) (?:\w+ ){0,3}?"
    r"(?:check|confirm|consult|double-check|find out|have a look|inspect|investigate|look|open|pull|re-?check"
    r"|re-?read|review|see|take a look|verify)\b"
    r"[^?]{0,160}$",
    re.IGNORECASE,
)


def promises_look(text: str) -> bool:
    """Whether a message ends with the promise of a look."""
    return _PROMISES_LOOK.search(text[-_LONGEST_REQUEST:]) is not None


def tells_of_look(text: str) -> bool:
    """Whether a text says that something was looked at."""
    return _HAS_LOOKED.search(text) is not None


class ToldLooks:
    """What the calls of a run were about."""

    __slots__ = ("_brought", "_calls", "_changed", "_given", "_newest", "_touched")

    def __init__(self) -> None:
        self._calls: list[str] = []
        """The arguments of calls, in small letters."""
        self._newest: StepFeatures | None = None
        """The newest call, if it is a change, or a look that brought little."""
        self._changed = False
        """Whether it is a change."""
        self._brought: list[str] = []
        """The results since somebody has answered."""
        self._touched: WordSet = 0
        """The ids in all results, and in the calls that were looked through..."""
        self._given: deque[set[str]] = deque(maxlen=_MOST_CALLS)
        """...and the words of those that were not yet."""

    def take(self, step: StepFeatures, *, answered: bool) -> None:
        """Take a call in."""
        self._touched |= step.result_numbers
        if not (step.role.runs or step.role.writes):
            self._given.append(step.given)
        if not answered:
            return  # where nobody ever answers, nobody asks for a look either
        self._calls = [*self._calls[-_MOST_CALLS:], step.arguments[:_MOST_READ].lower()]
        self._brought = [*self._brought[-_MOST_KEPT:], step.result_excerpt]
        short = step.role.looks and step.result_size <= _SHORT_RESULT
        self._changed = step.role.changes and not (step.role.writes or step.role.runs)
        self._newest = step if (short or self._changed) and not step.failed else None

    def forget(self) -> None:
        """Somebody has answered."""
        self._newest = None
        self._brought = []

    def compare_newest(self, step: StepFeatures) -> Reading | None:
        """What is wrong with a message that tells of one thing, where another one was looked at."""
        newest = self._newest
        if newest is None or asks_first(step.thought):
            return None
        lead = opening(step.thought)
        named = _records_in(lead)
        given = _records_in(newest.arguments[:_MOST_READ]) if named else named
        # What was looked up besides may be told as well; what was changed is in the change, or in its result.
        brought = [newest.result_excerpt] if self._changed else self._brought
        if not given or named & given or any(named & _records_in(result) for result in brought):
            return None
        shapes = set(map(_shape, given))
        other = [word for word in named if _shape(word) in shapes and not any(word in call for call in self._calls)]
        quotes = [quote(lead), newest.call_quote()]
        if self._changed:
            if not other or not states_fact(lead) or denies(lead):
                return None
            reason = "What is reported of one thing was done to another."
            return Reading(_NOT_MADE, Evidence(_NAME, reason, [newest.index, step.index], quotes))
        if not other or not (_HAS_LOOKED.search(lead) or _is_told(newest.result_excerpt, lead)):
            return None
        reason = "What is told of one thing was looked up of another."
        return Reading(_NOT_MADE, Evidence(_NAME, reason, [newest.index, step.index], quotes))

    def compare(self, step: StepFeatures, answer: str) -> Reading | None:
        """What is wrong with a message, if the other side has just said this."""
        if not 0 < len(answer) <= _LONGEST_REQUEST or not _HAS_LOOKED.search(opening(step.thought)):
            return None
        named = ids_of(split(answer)) & ids_of(split(step.thought))
        if named:
            self._touched |= ids_of(word for words in self._given for word in words)
            self._given.clear()
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
