"""What a run holds on some matter, and where it changes sides without a word (`positions.py`).

A matter has two sides, and a statement is on one of them. Two statements are of the same thing if they share what they
name, or where nothing is named, most of what they say besides.
"""

from collections import deque
from collections.abc import Iterator
from itertools import islice, product

from .claim_words import ANY_ONE, FILLS
from .lexicon import is_of_any_task
from .points import FILE
from .position_phrases import reversed_sides
from .position_words import EXCLUDING_NORMS, LASTS, NORM, ORDER, RELATES, TRIED
from .positions import Position
from .remarks import Remark
from .stances import words_of_names
from .standing import Event, Opposite
from .wordings import UNREAD, Wording
from .words import WordSet, split, word_set

_MOST_STEPS = 20
_MOST_KEPT = 64
_MOST_LOOKS = 8
"""Pairs of sentences that are taken apart after a step."""
_TELLS = 3
"""With so many words of a sentence a person has spoken of it."""
_TAUGHT = 0.7
"""The share of a sentence in a result that may have taught it."""
_SHORT = 8
"""Ideas of two sentences which say so little that one in common may be all there is."""
_SHARE = 0.25
"""Of the ideas of the shorter one of two sentences."""
_TELLING = ~FILLS
_FEWEST = 2
"""Ideas that two statements without a name have in common."""


_Kept = tuple[Wording, WordSet, Remark]
"""A sentence with those of its ideas that tell what it is about, by which most are ruled out."""


class Turnabouts:
    """What was held in the last steps."""

    __slots__ = ("_events", "_ever", "_kept")

    def __init__(self) -> None:
        self._kept: deque[_Kept] = deque(maxlen=_MOST_KEPT)
        self._ever = 0
        self._events: deque[Event] = deque(maxlen=_MOST_STEPS)

    def next(self, event: Event, remarks: list[Remark]) -> list[Opposite]:
        """Take the next step in: where it is on another side than before."""
        found: list[Opposite] = []
        said = [remark for remark in remarks if remark.said.matters]
        if said:
            since = self._events[0].at if self._events else 0
            while self._kept and self._kept[0][-1].index < since:
                self._kept.popleft()
            pairs = ((past, now) for now in said if now.bits & self._ever for past in self._related(now))
            found += filter(None, [self._opposite(*pair) for pair in islice(pairs, _MOST_LOOKS)])
            said = [now for now in said if now.said.matters]  # some were read in the meantime, and take no side
            for now in said:
                self._kept.append((now.said, now.bits & _TELLING, now))
                self._ever |= now.bits
        self._events.append(event)
        return found

    def _related(self, now: Remark) -> Iterator[Remark]:
        """Sentences that touch the same matter and have something else in common, the latest first."""
        bits, said = now.bits & _TELLING, now.said
        against = reversed_sides(said.matters)
        for held, their_bits, past in reversed(self._kept):
            if not held.matters & against:
                continue
            common = their_bits & bits
            if not common or common.bit_count() < _SHARE * min(held.count, said.count):
                continue
            few = held.count + said.count <= _SHORT
            if few or common & (common - 1) or _names(held) & common or _names(said) & common:
                if said.positions() and held.positions():
                    against = reversed_sides(said.matters)
                    if held.matters & against:
                        yield past
                elif not said.matters:
                    return

    def _opposite(self, past: Remark, now: Remark) -> Opposite | None:
        for earlier, later in product(past.said.positions(), now.said.positions()):
            if excludes(earlier, later) and not any(
                event.at >= past.index and _excuses(event, earlier, later, now) for event in self._events
            ):
                return Opposite(later.matter, past.index, past.said.text, now.said.text)
        return None


def excludes(earlier: Position, later: Position) -> bool:
    """Whether two positions on one matter are of the same thing, and on different sides."""
    if earlier.matter == later.matter == ORDER:
        return bool(earlier.names & later.ideas.keys() and later.names & earlier.ideas.keys())
    if earlier.matter != later.matter or earlier.side == later.side or earlier.before != later.before:
        return False
    if earlier.denied and later.denied:
        return False  # neither large nor small
    if earlier.matter == NORM and frozenset((earlier.side, later.side)) not in EXCLUDING_NORMS:
        return False
    if earlier.matter.startswith("did ") and earlier.side < 0:
        return False  # what was not done yet may be done by now
    if earlier.others != later.others or (earlier.numbers and later.numbers and not earlier.numbers & later.numbers):
        return False
    return _same_thing(earlier, later)


def _names(said: Wording) -> WordSet:
    """The words of the names in a sentence."""
    if said.names == UNREAD:
        said.names = words_of_names(said.text)
    return said.names


def _same_thing(one: Position, other: Position) -> bool:
    names = one.names & other.names
    if (one.names or other.names) and not names:
        return False
    if names and not (one.names <= other.names or other.names <= one.names):
        return False
    common = one.ideas.keys() & other.ideas.keys()
    if sum(one.ideas[idea] != other.ideas[idea] for idea in common) % 2:
        return False  # `must be kept`, `must not be dropped`
    rest = min(len(one.ideas), len(other.ideas)) - len(common)
    if names and one.matter in RELATES and (one.names != other.names or len(names) + len(common) < _FEWEST):
        return False
    if names:
        return rest == 0 or (rest == 1 and len(common) >= _FEWEST)
    telling = [idea for idea in common if word_set((idea,)) & ~ANY_ONE and not is_of_any_task(idea)]
    if word_set((next(iter(other.ideas)),)) & ANY_ONE and len(telling) < _FEWEST:
        return False  # `this order` is another one for everybody who asks
    if not word_set(common) & ~ANY_ONE:
        return False
    if len(common) < _FEWEST:
        return one.ideas.keys() == other.ideas.keys() and not any(map(is_of_any_task, common))
    if one.matter not in LASTS:
        return one.ideas.keys() == other.ideas.keys()  # `the old server` is another one than `the new server`
    return rest == 0 or (rest == 1 and len(common) > _FEWEST)


def _excuses(event: Event, earlier: Position, later: Position, now: Remark) -> bool:
    """Whether a step may have changed what two positions are about, or taught the later one."""
    if event.answered:
        return (event.told(valued=later.matter.startswith("count ")) & now.bits).bit_count() >= _TELLS
    if event.ran and not later.before and later.matter in TRIED:
        return True
    if later.matter.startswith("count "):
        counted = word_set(split(later.matter)[1:])
        if event.heard & counted and all(name in event.result.lower() for name in later.names & earlier.names):
            return True
    if event.changed and not later.before and later.matter not in LASTS:
        names = later.names & earlier.names
        certain = any(FILE.search(name) or any(map(str.isdigit, name)) for name in names)
        if not certain or any(not event.given.isdisjoint(split(name)) for name in names):
            return True
    return (event.heard & now.bits).bit_count() >= _TAUGHT * now.bits.bit_count()
