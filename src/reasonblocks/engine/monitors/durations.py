"""How long something takes, where it is said to take quite another time later on.

`5 to 7 business days` and `within 3 days` exclude each other; `5 to 7 days` and `within a week` do not.
"""

import re
from collections import deque
from typing import NamedTuple

from .claim_words import ANY_ONE, CONDITIONS, FILLS
from .marks import DIGIT
from .opposites import NEGATES
from .remarks import Remark
from .standing import Event, Opposite
from .words import WordSet, split, word_set

_MOST_STEPS, _MOST_KEPT = 20, 24
_CLAUSES = re.compile(r"[,;:()]\s|\b(?:and|because|but|since|so|which|while)\b")
_DURATION = re.compile(
    r"(?<![\w.$-])(\d{1,3})(?:\s?(?:to|-|\u2013)\s?(\d{1,3}))?[\s-](?:(?:business|calendar|full|working)[\s-])?"
    r"(hour|day|week|month)s?\b(?! (?:after|ago|before|old|of|prior)\b)",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"[$\u20ac\u00a3]\s?([\d,]+(?:\.\d+)?)")
_MAY_LAST = re.compile(r"\d[\s-](?:hour|day|week|month|business|calendar|full|working)", re.IGNORECASE)
_HOURS = {"hour": 1, "day": 24, "week": 168, "month": 720}
_APART = 1.4
"""A week is five to seven days, and a month four or five weeks."""
_TAKES = frozenset(
    "arrive arrives back be completed comes credited delivered finished get have is issued land lands last lasts need "
    "needs on paid post posted process processed reach reaches receive ready receives refunded returned see sent ship "
    "shipped show take takes took wait within".split()
)
_OTHER = frozenset(
    "about additional another earlier extra faster later least longer maximum minimum more most "
    "original other over prior quicker sooner usual would".split()
)
_WAYS = word_set("bank card certificate credit debit gift mastercard paypal visa express standard".split())
"""Each of these ways takes a time of its own."""
_TIMES = word_set("business calendar working day days hour hours week weeks month months within".split())
_PALE = ANY_ONE | FILLS | _TIMES | word_set("get gets process processed take takes".split())
_FEWEST = 2


class _Lasts(NamedTuple):
    at: int
    shortest: int
    longest: int
    about: WordSet
    amounts: frozenset[str]
    text: str


class Durations:
    """What was said in the last steps of how long things take."""

    __slots__ = ("_events", "_said")

    def __init__(self) -> None:
        self._said: deque[_Lasts] = deque(maxlen=_MOST_KEPT)
        self._events: deque[Event] = deque(maxlen=_MOST_STEPS)

    def next(self, event: Event, remarks: list[Remark]) -> list[Opposite]:
        """Take the next step in: what now takes another time than before."""
        found: list[Opposite] = []
        # Most sentences have no digit.
        counting = [remark.said.text for remark in remarks if remark.said.marks & DIGIT]
        if not counting:
            self._events.append(event)
            return found
        now = [last for text in counting for last in _lasting(event.at, text)]
        for last in now:
            past = next((held for held in reversed(self._said) if _of_the_same(held, last)), None)
            if past and _exclude(past, last) and not self._told(past, last):
                found.append(Opposite("", past.at, past.text, last.text))
        self._said.extend(now)
        self._events.append(event)
        return found

    def _told(self, past: _Lasts, last: _Lasts) -> bool:
        """Whether a result told of the other time."""
        if not self._events or self._events[0].at > past.at:
            return True
        tells = [event.result for event in self._events if event.at >= past.at and not event.answered]
        return any(match and _hours(match)[1] == last.longest for text in tells for match in _DURATION.finditer(text))


def _lasting(at: int, text: str) -> list[_Lasts]:
    if not _MAY_LAST.search(text) or text.rstrip()[-1:] == "?" or not CONDITIONS.isdisjoint(split(text)):
        return []
    found: list[_Lasts] = []
    for clause in _CLAUSES.split(text):
        durations = list(_DURATION.finditer(clause))
        words = split(clause)
        if len(durations) != 1 or not NEGATES.isdisjoint(words) or not _OTHER.isdisjoint(words):
            continue
        if not _TAKES.isdisjoint(words):
            amounts = frozenset(_AMOUNT.findall(clause))
            found.append(_Lasts(at, *_hours(durations[0]), word_set(words), amounts, text))
    return found if len(found) == 1 else []  # two of them are a list


def _hours(duration: re.Match[str]) -> tuple[int, int]:
    unit = _HOURS[duration[3].lower()]
    return int(duration[1]) * unit, int(duration[2] or duration[1]) * unit


def _of_the_same(past: _Lasts, last: _Lasts) -> bool:
    if past.at == last.at or past.about & _WAYS != last.about & _WAYS:
        return False
    common = (past.about & last.about & ~_PALE).bit_count() + len(past.amounts & last.amounts)
    return common >= _FEWEST


def _exclude(past: _Lasts, last: _Lasts) -> bool:
    return past.longest * _APART < last.shortest or last.longest * _APART < past.shortest
