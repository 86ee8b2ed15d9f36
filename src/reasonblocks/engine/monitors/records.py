"""What a run has said of records, by what they have, and where it says otherwise (`particulars.py`).

An id stands for one thing alone, so that neither the words around it nor the time that has passed matter. What does is
whether the record was changed since, or whether a result or a person told of the other value.
"""

from collections import OrderedDict, deque
from typing import NamedTuple

from .marks import DIGIT
from .particulars import MAY_HAVE_ID, Particular, particulars_in
from .remarks import Remark
from .standing import Event, Opposite

_MOST_STEPS = 20
_MOST_KEPT = 96
_TELLING = 3
"""A number of so many digits is the same one wherever it stands; a shorter one may be of anything."""
_Key = tuple[str, frozenset[str]]


class _Said(NamedTuple):
    at: int
    particular: Particular
    text: str
    alone: bool
    """Whether no step has said two things of it at once: otherwise there is more than one of it."""


class Records:
    """What was said of records in the last steps."""

    __slots__ = ("_events", "_said")

    def __init__(self) -> None:
        self._said: OrderedDict[_Key, _Said] = OrderedDict()
        self._events: deque[Event] = deque(maxlen=_MOST_STEPS)

    def next(self, event: Event, remarks: list[Remark]) -> list[Opposite]:
        """Take the next step in: what it says of a record against earlier ones."""
        found: list[Opposite] = []
        now: dict[_Key, _Said] = {}
        for remark in remarks:
            text = remark.said.text
            if not remark.said.marks & DIGIT or MAY_HAVE_ID.search(text) is None:
                continue  # most sentences name no record
            for particular in particulars_in(text):
                key = particular.record, particular.what
                known = now.get(key)
                alone = known is None or not known.particular.excludes(particular)
                now[key] = _Said(event.at, particular, text, alone)
        for key, said in now.items():
            held = self._said.get(key)
            several = held is not None and not held.alone
            if held is not None and not several and said.alone and self._excluded(held, said):
                found.append(Opposite("", held.at, held.text, said.text))
            self._said[key] = said._replace(alone=False) if several else said
            self._said.move_to_end(key)
        while len(self._said) > _MOST_KEPT:
            self._said.popitem(last=False)
        self._events.append(event)
        return found

    def _excluded(self, held: _Said, said: _Said) -> bool:
        if not held.particular.excludes(said.particular) or not self._events or self._events[0].at > held.at:
            return False
        return not any(
            event.at >= held.at and _excuses(event, held.particular, said.particular) for event in self._events
        )


def _excuses(event: Event, held: Particular, said: Particular) -> bool:
    """Whether a step may have changed what a record has, or told of it."""
    result = event.result.lower().replace("_", " ").replace(",", "")
    if event.answered:
        return said.value in result or _speaks_of(result, said.what)
    shows = held.value in result
    if said.value in held.value and shows:
        result = result.replace(held.value, "")  # a part of the one value is not the other one
    tells = said.value in result and not said.denied
    if event.changed and said.record in event.given:
        # What the record has is told after the change as well, and it is what it was.
        return tells or not shows or held.denied or said.denied or not _is_telling(said.value)
    return tells and (said.record in result or _is_number(said.value))


def _speaks_of(text: str, what: frozenset[str]) -> bool:
    """Whether a text has all words of what a record is said to have."""
    return all(word in text for word in what)


def _is_number(value: str) -> bool:
    return _is_telling(value) and any(map(str.isdigit, value))


def _is_telling(value: str) -> bool:
    return len([sign for sign in value if sign.isalnum()]) >= _TELLING
