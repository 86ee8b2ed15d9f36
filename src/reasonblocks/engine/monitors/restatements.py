"""Sentences that come back turned round: with a negation more or less, or with another number in the same place.

The words around what differs are the same, so nothing has to be understood. A number counts as another one only where
it was never heard of in the run: a figure that a result or a person gave is news, not a slip.
"""

import re
from collections import Counter, OrderedDict, deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from .claim_words import ANY_ONE, COUNTED, DEFINITE, POINTS_BACK, STATES
from .features import StepFeatures
from .lexicon import says_something, stem
from .marks import DIGIT, GUESS
from .remarks import Remark
from .words import WordSet, number_set, overlap, size, split, word_set

_MOST_SENTENCES = 128
_MOST_SLOTS = 192
_MOST_NUMBERS = 480
"""Numbers that are remembered of a run; beyond that none counts as new."""
_MOST_STEPS = 20
"""How far apart two sentences may be."""
_LONGEST_RESULT = 20_000
_LONGEST = 40
"""Words of a sentence that is compared."""
_FEWEST_SAID = 3
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
_SHORTEST_ID = 6
_PAIR = 2
_MOST_OF_A_SENTENCE = 8
"""Numbers."""
_CALL = re.compile(r"\w\(")
"""Code, in which numbers change from line to line."""
# What begins with one of a few signs is found many times as fast; what stands before the first is looked at after it.
_ID = re.compile(r"[A-Z\d](?<![\w.$].)(?:(?<=\d)\d{5,15}|(?<=[A-Z])(?=\w*\d)\w{4,24})(?![\w.])")
_NUMBER = re.compile(
    r"\d(?<![\w#.:/-].)[\d,]{0,12}(?:\.\d{1,6})?(?::\d\d)?((?i:%|[kmgt]b|[cm]?m|kg|ms))?(?![\w:/-]|\.\d)"
)
_CURRENCIES = "$\u20ac\u00a3"
_BEFORE_ID, _BEFORE_NUMBER = re.compile(r"[\w.$]"), re.compile(r"[\w#.:/-]")
"""What does not stand before an id with its sign, or a number with its currency."""
_FIGURE = re.compile(r"\d(?:[\d.,:/-]*\d)?")
"""A number, a date or the digits of an id, as a whole."""
_COUNTS_ON = frozenset("batch chunk fetching following next offset page pages part portion remaining slice".split())
"""Words of somebody who goes through something piece by piece."""
_DIGITS = bytes(code if chr(code) in "0123456789.:" else 32 for code in range(256))
"""Whatever parts numbers, as a table over bytes."""
_SHORT = frozenset("a am an as at be by d do he i if in is it ll m me my no of on or re s so t to up us ve we".split())
"""Short words that name nothing; any other tells one thing from the next: `plan A`, `plan B`."""
_AT_HAND = POINTS_BACK | {"no"}
"""A sentence that begins so is about whatever was at hand, or answers something."""
_AFTER_A_FRACTION = (b"", b"0", b".", b"0.")
_AFTER_A_NUMBER = (b"", b".", b":", b".0", b".00", b".00.")
"""What may follow a number as it is written."""
_LISTED = frozenset(
    map(
        stem,
        "april attempt august card chapter december ending ends example february figure id item january july june line "
        "march may november number october option order page part phase python reservation round section september "
        "step suite task version".split()
        + list(COUNTED),
    )
)
"""A number after one of these is a name."""


_ITEM = re.compile(r"\s*(?:[-*\u2022\u2013]\s|\d+[.)]\s|\")")
"""An item of a list may be one of several conditions."""


class Turned(NamedTuple):
    """A sentence that was turned round."""

    kind: str
    at: int
    earlier: str
    text: str


class _Said(NamedTuple):
    """A sentence as it was said."""

    at: int
    negated: bool
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


class _Event(NamedTuple):
    """What a step changed, what it told, and whether somebody asked for something after it."""

    at: int
    changed: WordSet
    heard: WordSet
    asked: bool


class Restatements:
    """What a run has said so far, ready to be compared by its words."""

    __slots__ = ("_events", "_numbers", "_said", "_slots")

    def __init__(self, task: str) -> None:
        self._said: OrderedDict[WordSet, _Said] = OrderedDict()
        self._slots: OrderedDict[str, _Slot] = OrderedDict()
        self._numbers: dict[bytes, float] = dict.fromkeys(_numbers_of(task), 0.0)
        """By number the step that it was last in; half a step earlier where the agent itself said it."""
        self._events: deque[_Event] = deque(maxlen=_MOST_STEPS)

    def next(self, step: StepFeatures, remarks: list[Remark]) -> list[Turned]:
        """Take the next step in, and its sentences: those that turn an earlier one round."""
        found: list[Turned] = []
        said: list[tuple[WordSet, _Said]] = []
        slots: list[tuple[str, _Slot]] = []
        subject = ""
        for remark in remarks:
            text, words = remark.text, remark.words
            numbered = remark.marks & DIGIT
            if numbered:
                subject = _last_id(text) or subject
            if remark.marks & GUESS or len(words) > _LONGEST or "?" in text:
                continue
            if remark.count >= _FEWEST_SAID and words[0] not in _AT_HAND and text[-1:] != ":" and not _is_item(text):
                now = _Said(step.index, remark.negations % 2 == 1, text)
                said.append((remark.bits, now))
                held = self._said.get(remark.bits)
                if held is not None and _denies(held, now) and not self._learned(held.at, words):
                    found.append(Turned("denial", held.at, held.text, text))
            if numbered and "=" not in text and not ("(" in text and _CALL.search(text)):
                slots += [
                    (place, _Slot(step.index, value, text, remark.bits, True, sure))
                    for place, value, sure in _slots(text, subject)
                ]
        found += filter(None, [self._other_number(place, slot) for place, slot in slots])
        self._remember(step, said, slots)
        return found

    def _learned(self, at: int, words: list[str]) -> bool:
        """Whether a step since then changed something of it or told of it, or too much happened to be sure."""
        if not self._events or self._events[0].at > at:
            return True
        said = word_set(words)
        least = _ABOUT * size(said)
        return any(
            past.at >= at and (past.changed & said or (past.heard & said).bit_count() >= least) for past in self._events
        )

    def _forget(self) -> None:
        """Let go of sentences since which so much has happened that they would not be compared any more."""
        since = self._events[0].at if self._events else 0
        while self._said and next(iter(self._said.values())).at < since:
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

    def _remember(self, step: StepFeatures, said: list[tuple[WordSet, _Said]], slots: list[tuple[str, _Slot]]) -> None:
        for key, now in said:
            self._said[key] = now
            self._said.move_to_end(key)
        for place, slot in slots:
            held = self._slots.get(place)
            alone = held is None or (held.alone and held.value == slot.value)
            self._slots[place] = slot._replace(alone=alone)
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
        asked = step.speaks_only and len(step.observation.split()) > _SHORT_ANSWER
        given = word_set(step.given)
        changed = given if step.role.changes and not step.role.ends else 0
        self._events.append(_Event(step.index, changed, step.result_words | given, asked))


def _denies(one: _Said, other: _Said) -> bool:
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


def _is_item(text: str) -> bool:
    return not text[0].isalpha() and _ITEM.match(text) is not None


def _last_id(text: str) -> str:
    """The last id that a sentence names, in small letters; empty if it names none."""
    ids = list(_ID.finditer(text))
    if not ids:
        return ""
    start, end = ids[-1].span()
    sign = "#" if _has_before(text, start, "#", _BEFORE_ID) else ""
    return f"{sign}{text[start:end].lower()}"


def _has_before(text: str, start: int, signs: str, not_before: re.Pattern[str]) -> bool:
    """Whether one of these signs stands right before a place, and belongs to what begins there."""
    if not start or text[start - 1] not in signs:
        return False
    return start == 1 or not_before.match(text, start - 2) is None


def _slots(text: str, subject: str) -> Iterator[tuple[str, str, int]]:
    """The numbers of a sentence, each with the words around it, which say what it is, and how sure that is."""
    for match in islice(_NUMBER.finditer(text), _MOST_OF_A_SENTENCE):
        start, end = match.span()
        number, unit = text[start : match.start(1) if match[1] else end], match[1] or ""
        if _has_before(text, start, _CURRENCIES, _BEFORE_NUMBER):
            start -= 1
            unit = f"{text[start]}{unit}"
        last = _nearest(reversed(text[max(0, start - 60) : start].split()))
        following = _nearest(text[end : end + 60].split())
        value = number.replace(",", "")
        if (last and last[0] in _LISTED) or (len(value) >= _SHORTEST_ID and value.isdigit()):
            continue
        value = value.rstrip("0").rstrip(".") if "." in value else value
        if subject and last:
            yield f"{subject} {unit} {' '.join(last)}", value, _NAMED
        if last and unit:
            yield f"{unit} {last[0]}", value, _NEXT
        if len(last) > 1:
            yield f"{unit} {' '.join(last)}", value, _LIKE
        if last and following:
            yield f"{unit} {last[0]} | {following[0]}", value, _LIKE
        if len(following) > 1:
            yield f"{unit} | {' '.join(following)}", value, _LIKE


def _nearest(tokens: Iterable[str]) -> list[str]:
    """The stems of the first two words that say something, up to the next number."""
    stems: list[str] = []
    for token in tokens:
        plain = _plain(token)
        if plain is None:
            break
        if plain:
            stems.append(plain)
            if len(stems) == _PAIR:
                break
    return stems


@lru_cache(maxsize=8_192)
def _plain(token: str) -> str | None:
    """The stem of a word as it stands in a sentence: empty if it says nothing, `None` if it has a digit."""
    bare = token.strip("*_`.,;:()\"'").lower()
    if any(map(str.isdigit, bare)):
        return None
    return stem(bare) if says_something(bare) else ""


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
