"""What a run has said lately, and where it says the opposite of it, in whatever words.

Most sentences have nothing to do with each other. Which two may exclude each other is told by what is known of their
words: one of them turns round an idea that the other has, or both may give a value, and they name the same thing. Only
then are they taken apart (`counterpoints.py`). Whatever has changed the thing since, or told of it, excuses.
"""

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from .claim_words import ANY_ONE, FILLS
from .counterpoints import Counterpoint, counterpoint
from .features import StepFeatures
from .marks import COUNTERS, KINDS, NAMELESS, read_marks
from .points import FILE, LONGEST, TELLS_TO
from .remarks import Remark
from .signed_words import DEED, LINES, NEGATES, idea_of
from .standing import Opposite
from .words import WordSet, split, word_set

DONE = "done"
"""The question of what somebody has done."""
_MOST_STEPS = 12
_MOST_KEPT = 40
_MOST_LOOKS = 4
"""Pairs of sentences that are taken apart after a step."""
_FEWEST_COMMON = 2
_REACH = 2
"""Words after a negation that it may deny."""
_TELLS = 3
"""With so many words of a sentence a person has spoken of it."""
_LONGEST_RESULT = 6_000
_LISTS = frozenset('-*>|\u2022"/')
"""What lines of lists, tables and code begin with."""
_SPEAKERS = frozenset("i let we".split())
_PLANS = frozenset("could going ll me must need plan should us want will".split())
"""What follows one who speaks in a plan."""
_QUOTES = (' "', " '")
_AROUND = ".,;:!?()\"'*"


class _Kept(NamedTuple):
    """A sentence, and what its words tell."""

    at: int
    text: str
    ideas: WordSet
    turned: WordSet
    """Those that it may deny, or say the opposite of."""
    kinds: int
    """A mark for each kind of value that it may give."""
    nameless: bool
    """Whether it may be clear what it is about without a name."""


class _Event(NamedTuple):
    """What a step did and brought."""

    at: int
    changed: bool
    given: set[str]
    result: str
    heard: WordSet
    answered: bool
    """Whether what was heard are the words of a person."""


class Disputes:
    """What was said in the last steps."""

    __slots__ = ("_events", "_plain", "_turning", "_valued")

    def __init__(self) -> None:
        self._plain: deque[_Kept] = deque(maxlen=_MOST_KEPT)
        self._turning: deque[_Kept] = deque(maxlen=_MOST_KEPT)
        self._valued: deque[_Kept] = deque(maxlen=_MOST_KEPT)
        self._events: deque[_Event] = deque(maxlen=_MOST_STEPS)

    def next(self, step: StepFeatures, remarks: list[Remark]) -> list[Opposite]:
        """Take the next step in: what it says against earlier ones."""
        said = [(remark, _kept(step.index, remark)) for remark in remarks if _may_state(remark)]
        pairs = ((past, now, remark) for remark, now in said for past in self._may_exclude(now))
        found = [self._excluded(*pair) for pair in islice(pairs, _MOST_LOOKS)]
        for _, now in said:
            (self._turning if now.turned else self._plain).append(now)
            if now.kinds:
                self._valued.append(now)
        self._remember(step)
        return [opposite for opposite in found if opposite is not None]

    def _may_exclude(self, now: _Kept) -> Iterator[_Kept]:
        """The sentences of the last steps that may say otherwise, the latest first."""
        since = self._events[0].at if self._events else now.at
        ideas, turned = now.ideas, now.turned
        for past in reversed(self._turning):
            if past.at < since:
                break
            if (past.turned & ideas or past.ideas & turned) and _may_be_the_same(past, now):
                yield past
        for past in reversed(self._plain) if turned else ():
            if past.at < since:
                break
            if past.ideas & turned and _may_be_the_same(past, now):
                yield past
        for past in reversed(self._valued) if now.kinds else ():
            if past.at < since:
                break
            if past.kinds & now.kinds and past.ideas & ideas and _same_names(past, now):
                yield past

    def _excluded(self, past: _Kept, now: _Kept, remark: Remark) -> Opposite | None:
        found = counterpoint(past.text, now.text, valued=past.kinds & now.kinds != 0)
        if found is None or any(event.at >= past.at and _excuses(event, found, remark) for event in self._events):
            return None
        return Opposite(DONE if found.idea == DEED else "", past.at, past.text, remark.text)

    def _remember(self, step: StepFeatures) -> None:
        changed = (step.role.changes or step.role.writes) and not step.role.ends
        result = step.observation[:_LONGEST_RESULT]
        self._events.append(_Event(step.index, changed, step.given, result, step.result_words, step.speaks_only))


def _may_state(remark: Remark) -> bool:
    """Whether a sentence may say that something is so, as far as its beginning tells."""
    words, text = remark.words, remark.text
    if not remark.may_claim or len(words) > LONGEST or ("=" in text and "`" not in text):
        return False
    if words[0] in _SPEAKERS and not _PLANS.isdisjoint(words[1:3]):
        return False
    first = text.split(None, 1)[0]
    return first[0] not in _LISTS and first.lower() not in TELLS_TO


def _kept(at: int, remark: Remark) -> _Kept:
    marks = remark.marks
    turned = _turned(remark.words) if marks & COUNTERS else 0
    kinds = marks & KINDS | any(map(remark.text.__contains__, _QUOTES))
    return _Kept(at, remark.text, remark.bits & ~FILLS, turned, kinds, marks & NAMELESS != 0)


def _turned(words: list[str]) -> WordSet:
    """The ideas of the words that say the opposite of something, and of those that follow a negation."""
    turned = left = 0
    for word in words:
        if word in NEGATES:
            left = _REACH
            continue
        idea, sign = idea_of(word)
        if idea and (left or sign < 0):
            turned |= _bits_of(idea)
            left -= left > 0
    return turned


@lru_cache(maxsize=4_096)
def _bits_of(idea: str) -> WordSet:
    """The bits of all words that say an idea or its opposite; none for what may be said of anything."""
    return read_marks(LINES[idea])[0] if idea in LINES else read_marks((idea,))[0] & ~ANY_ONE


def _may_be_the_same(one: _Kept, other: _Kept) -> bool:
    """Whether two sentences have more in common than a word, or speak of something that has a number."""
    if (one.ideas & other.ideas).bit_count() < _FEWEST_COMMON and not one.nameless & other.nameless:
        return False
    return _same_names(one, other)


def _same_names(one: _Kept, other: _Kept) -> bool:
    """Whether one of two sentences names what the other speaks of, or both may do without a name."""
    names, known = _names(one.text), _names(other.text)
    if not names and not known:
        return one.nameless and other.nameless
    return names & other.ideas != 0 or known & one.ideas != 0


@lru_cache(maxsize=4_096)
def _names(text: str) -> WordSet:
    """The ideas of the words in whatever may be a name: rather too much than too little."""
    tokens = [token for token in map(_bare, text.split()) if not (token.isalpha() and token[1:].islower())]
    named = [token.rpartition("/")[2] for token in tokens]
    last = [name if FILE.search(name) else name.rpartition(".")[2] for name in named if len(name) > 2]
    return read_marks(split(" ".join(last)))[0] & ~FILLS


def _bare(token: str) -> str:
    return token.strip(_AROUND)


def _excuses(event: _Event, found: Counterpoint, remark: Remark) -> bool:
    """Whether a step may have changed what two sentences are about, or told of it."""
    if event.answered and (event.heard & remark.bits).bit_count() >= _TELLS:
        return True
    if event.changed and not found.is_norm:
        certain = found.ids or any(map(FILE.search, found.names))
        if not certain or any(not event.given.isdisjoint(split(name)) for name in found.names):
            return True
    if event.answered or found.is_norm or found.idea == DEED:
        return False  # no look at a thing tells what was asked for, or what the agent did
    result = event.result.lower()
    told = found.value in result if found.value else event.heard & word_set((found.idea,)) != 0
    return told and all(name.rpartition(".")[2] in result for name in found.names)
