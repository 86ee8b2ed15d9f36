"""Sentences that come back turned round: with a negation more or less, or with another number in the same place.

The words around what differs are the same, so nothing has to be understood. A number counts as another one only where
it was never heard of in the run: a figure that a result or a person gave is news, not a slip.
"""

import re
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from .claim_words import ANY_ONE, DEFINITE, STATES
from .features import StepFeatures
from .figures import Figure
from .remarks import Remark
from .wordings import Wording
from .words import WordSet, number_set, overlap, size, split, word_set

_MOST_SENTENCES = 128
_MOST_SLOTS = 192
_MOST_NUMBERS = 480
"""Numbers that are remembered of a run; beyond that none counts as new."""
_MOST_STEPS = 20
"""How far apart two sentences may be."""
_LONGEST_RESULT = 20_000
_ABOUT = 0.85
"""The share of a sentence in a step that may have taught it."""
_ALIKE = 0.5
"""The share of common words in sentences about the same."""
_NAMED, _NEXT, _LIKE = range(3)
"""What tells that two numbers are of the same thing: its name, the word next to it, or all of the sentence."""
_FARTHEST = (20, 4, 6)
"""For each of these, how many steps may lie between."""
_SHORT_ANSWER = 14
"""Words of an answer; a longer one may ask for something else."""
_FIGURE = re.compile(r"\d(?:[\d.,:/-]*\d)?")
"""A number, a date or the digits of an id, as a whole."""
_COUNTS_ON = frozenset("batch chunk fetching following next offset page pages part portion remaining slice".split())
"""Words of somebody who goes through something piece by piece."""
_DIGITS = bytes(code if chr(code) in "0123456789.:" else 32 for code in range(256))
"""Whatever parts numbers, as a table over bytes."""
_SHORT = frozenset("a am an as at be by d do he i if in is it ll m me my no of on or re s so t to up us ve we".split())
"""Short words that name nothing; any other tells one thing from the next: `plan A`, `plan B`."""
_AFTER_A_FRACTION = (b"", b"0", b".", b"0.")
_AFTER_A_NUMBER = (b"", b".", b":", b".0", b".00", b".00.")
"""What may follow a number as it is written."""


class Turned(NamedTuple):
    """A sentence that was turned round."""

    kind: str
    at: int
    earlier: str
    text: str


class _Slot(NamedTuple):
    """What a number was said of."""

    at: int
    value: str
    text: str
    words: WordSet
    alone: bool
    """Whether all that was ever said of it is this value."""
    sure: int
    """How it is told what the number is of."""


class _Event(msgspec.Struct, frozen=True, gc=False):
    """What a step changed, what it told, and whether somebody asked for something after it."""

    at: int
    changed: WordSet
    heard: WordSet
    asked: bool


class Restatements:
    """What a run has said so far, ready to be compared by its words."""

    __slots__ = ("_events", "_numbers", "_said", "_slots")

    def __init__(self, task: str) -> None:
        self._said: OrderedDict[WordSet, Remark] = OrderedDict()
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._numbers: dict[bytes, float] = dict.fromkeys(_numbers_of(task), 0.0)
        """By number the step that it was last in; half a step earlier where the agent itself said it."""
        self._events: deque[_Event] = deque(maxlen=_MOST_STEPS)

    def next(self, step: StepFeatures, remarks: list[Remark]) -> list[Turned]:
        """Take the next step in, and its sentences: those that turn an earlier one round."""
        found: list[Turned] = []
        said = [remark for remark in remarks if remark.said.restates]
        for now in said:
            held = self._said.get(now.bits)
            if held is not None and _denies(held.said, now.said) and not self._learned(held.index, now.said.text):
                found.append(Turned("denial", held.index, held.said.text, now.said.text))
        slots = list(_slots_of(remarks))
        found += filter(None, [self._other_number(place, slot) for place, slot in slots])
        self._remember(step, said, slots)
        return found

    def _learned(self, at: int, text: str) -> bool:
        """Whether a step since then changed something of it or told of it, or too much happened to be sure."""
        if not self._events or self._events[0].at > at:
            return True
        said = word_set(split(text))
        least = _ABOUT * size(said)
        return any(
            past.at >= at and (past.changed & said or (past.heard & said).bit_count() >= least) for past in self._events
        )

    def _forget(self) -> None:
        """Let go of sentences since which so much has happened that they would not be compared any more."""
        since = self._events[0].at if self._events else 0
        while self._said and next(iter(self._said.values())).index < since:
            self._said.popitem(last=False)

    def _other_number(self, place: str, slot: _Slot) -> Turned | None:
        """What was said before of the same thing, if it had another number, and this one comes from nowhere."""
        held = self._slots.get(place)
        if held is None or held.value == slot.value or not held.alone or held.at == slot.at:
            return None
        if len(self._numbers) >= _MOST_NUMBERS or slot.at - held.at > _FARTHEST[slot.sure]:
            return None
        if self._heard(slot.value) >= (held.at if slot.sure == _NAMED else 0):
            return None
        if slot.sure == _LIKE and overlap(held.words, slot.words) < _ALIKE:
            return None
        if slot.sure != _NAMED and any(past.at >= held.at and past.asked for past in self._events):
            return None
        return Turned("value", held.at, held.text, slot.text)

    def _heard(self, value: str) -> float:
        """When a number was last in anything that the run has seen; -1 for never."""
        plain = value.encode()
        endings = _AFTER_A_FRACTION if b"." in plain else _AFTER_A_NUMBER
        return max(self._numbers.get(plain + ending, -1) for ending in endings)

    def _remember(self, step: StepFeatures, said: list[Remark], slots: list[tuple[str, _Slot]]) -> None:
        for now in said:
            self._said[now.bits] = now
            self._said.move_to_end(now.bits)
        for place, slot in slots:
            held = self._slots.get(place)
            alone = held is None or (held.alone and held.value == slot.value)
            self._slots[place] = slot if alone else slot._replace(alone=False)
            self._slots.move_to_end(place)
        while len(self._said) > _MOST_SENTENCES:
            self._said.popitem(last=False)
        self._forget()
        while len(self._slots) > _MOST_SLOTS:
            self._slots.popitem(last=False)
        if len(self._numbers) < _MOST_NUMBERS:
            self._numbers.update(dict.fromkeys(_numbers_of(step.thought), step.index - 0.5))
            self._numbers.update(dict.fromkeys(_numbers_of(step.arguments), step.index))
            self._numbers.update(dict.fromkeys(_numbers_of(step.observation), step.index))
        asked = step.speaks_only and len(step.observation.split(None, _SHORT_ANSWER)) > _SHORT_ANSWER
        changed = step.given_words if step.role.changes and not step.role.ends else 0
        self._events.append(_Event(step.index, changed, step.result_words | step.given_words, asked))


def _denies(one: Wording, other: Wording) -> bool:
    """Whether two sentences with the same ideas are in the same words but for a negation."""
    if one.negated == other.negated:
        return False
    words, now = split(one.text), split(other.text)
    if number_set(words) != number_set(now) or word_set(words) != word_set(now):
        return False
    first, second, third = now[:3]
    if first in DEFINITE and third in STATES and word_set((second,)) & ANY_ONE:
        return False  # `the order is ...` is about another order after every look
    return all(len(word) > 2 or word in _SHORT for word in set(words) ^ set(now))


def _slots_of(remarks: list[Remark]) -> Iterator[tuple[str, _Slot]]:
    """The numbers of some sentences, each by what it is of: that may be an id which an earlier one of them names."""
    subject = ""
    for remark in remarks:
        said = remark.said
        subject = said.id or subject
        for figure in said.figures:
            for place, sure in _places(figure, subject):
                yield place, _Slot(remark.index, figure.value, said.text, said.bits, True, sure)


def _places(figure: Figure, subject: str) -> Iterator[tuple[str, int]]:
    """What tells what a number is of, and how surely."""
    _, unit, last, following = figure
    if subject and last:
        yield f"{subject} {unit} {' '.join(last)}", _NAMED
    if last and unit:
        yield f"{unit} {last[0]}", _NEXT
    if len(last) > 1:
        yield f"{unit} {' '.join(last)}", _LIKE
    if last and following:
        yield f"{unit} {last[0]} | {following[0]}", _LIKE
    if len(following) > 1:
        yield f"{unit} | {' '.join(following)}", _LIKE


def _numbers_of(text: str) -> list[bytes]:
    """The numbers of a text as they are written, quickly: a point that ends a sentence may stay with one."""
    return text[:_LONGEST_RESULT].replace(",", "").encode("ascii", "replace").translate(_DIGITS).split()


def one_number_apart(first: str, second: str) -> bool:
    """Whether two sentences differ in one number at most, and none of them counts on.

    What is said of one date, id or page and then of the next is a list, however alike it sounds.
    """
    ours, theirs = Counter(_FIGURE.findall(first)), Counter(_FIGURE.findall(second))
    if (ours - theirs).total() > 1 or (theirs - ours).total() > 1:
        return False
    return _COUNTS_ON.isdisjoint(split(first)) and _COUNTS_ON.isdisjoint(split(second))
