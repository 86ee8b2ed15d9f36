"""Whose fault a failure is: first nothing of it is due to the agent's own change, then all of it, or the other way."""

import re
from collections import deque
from typing import NamedTuple

from .claim_words import CONDITIONS, GUESSES
from .remarks import Remark
from .stances import names_in
from .standing import Event, Opposite
from .words import split

_MOST_STEPS = 20
_MOST_KEPT = 16
_MINE = r"(?:my|our|the|these|this|those) (?:\w+ ){0,2}?(?:changes?|edits?|fix|modifications?|patch|refactoring|work)"
_FAILS = "break", "broke", "crash", "error", "exception", "fail", "regress"
_NOT_MINE = re.compile(
    rf"\b(?:unrelated to|independent of|nothing to do with|without|before) (?:any of )?{_MINE}\b"
    rf"|\bnot (?:\w+ )?(?:because of|by|due to|from|related to) (?:any of )?{_MINE}\b|\bpre-?existing\b|\bunrelated\b"
    rf"|{_MINE} (?:did not|didn['\u2019]t) (?:break|cause)",
    re.IGNORECASE,
)
_IS_MINE = re.compile(
    rf"\b(?:because of|brought in by|caused by|comes? from|due to|introduced by|result of|thanks to) {_MINE}\b"
    rf"|{_MINE} (?:has |have )?(?:breaks?|broke|broken|caused|causes|introduced|introduces|made|makes)\b"
    rf"|\b(?:I|we)(?:['\u2019]ve| have)? (?:broke|broken|caused|introduced)\b",
    re.IGNORECASE,
)
_IN_NOT_MINE = (
    "not ",
    "n't",
    "n\u2019t",
    "before ",
    "without ",
    "nothing to do with",
    "unrelated",
    "existing",
    "independent of",
)
_IN_MINE = (
    "break",
    "broke",
    "brought in by",
    "because of",
    "cause",
    "come from",
    "comes from",
    "due to",
    "introduce",
    "made",
    "makes",
    "result of",
    "thanks to",
)
"""One of these is in whatever matches."""
_UNSURE = CONDITIONS | GUESSES | frozenset("fixed no not resolved see so until whether".split())


class _Blamed(NamedTuple):
    at: int
    names: frozenset[str]
    mine: bool
    text: str


class WhoseFailure:
    """What was said of failures in the last steps."""

    __slots__ = ("_events", "_said")

    def __init__(self) -> None:
        self._said: deque[_Blamed] = deque(maxlen=_MOST_KEPT)
        self._events: deque[Event] = deque(maxlen=_MOST_STEPS)

    def next(self, event: Event, remarks: list[Remark]) -> list[Opposite]:
        """Take the next step in: the failures of which it says otherwise than before."""
        found: list[Opposite] = []
        for remark in remarks:
            now = _blamed(event.at, remark.said.text)
            if now is None:
                continue
            past = next((held for held in reversed(self._said) if held.names & now.names), None)
            if past and past.mine != now.mine and past.at < now.at and not self._tried_since(past.at):
                found.append(Opposite("", past.at, past.text, now.text))
            self._said.append(now)
        self._events.append(event)
        return found

    def _tried_since(self, at: int) -> bool:
        if not self._events or self._events[0].at > at:
            return True
        return any(event.at >= at and event.ran and _tests(event) for event in self._events)


def _tests(event: Event) -> bool:
    """Whether a run may have shown whose the failure is."""
    return any("test" in word for word in event.given)


def _blamed(at: int, text: str) -> _Blamed | None:
    if "_" not in text and "." not in text[:-1]:
        return None  # as most sentences, it names nothing that could fail
    lowered = text.lower()
    if not any(map(lowered.__contains__, _FAILS)) or text.rstrip()[-1:] == "?":
        return None
    mine, other = _says(_IS_MINE, _IN_MINE, text, lowered), _says(_NOT_MINE, _IN_NOT_MINE, text, lowered)
    if mine == other:
        return None
    words = split(text)
    if not _UNSURE.isdisjoint(words) and (mine or not CONDITIONS.isdisjoint(words) or not GUESSES.isdisjoint(words)):
        return None
    names = frozenset([name for name in names_in(text) if "_" in name or "." in name])
    return _Blamed(at, names, mine, text) if names else None


def _says(pattern: re.Pattern[str], parts: tuple[str, ...], text: str, lowered: str) -> bool:
    """Whether there is a match; most texts have not even a part of one."""
    if text.isascii() and not any(map(lowered.__contains__, parts)):
        return False
    return pattern.search(text) is not None
