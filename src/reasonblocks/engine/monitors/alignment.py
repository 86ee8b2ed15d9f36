"""Whether two claims about the same thing in different words exclude each other.

What they share are names and ideas. Where that is most of both, it is looked at what differs: a negation, a word that
says the opposite, an amount of the same unit, a state of the same kind, a place, a single word that is exchanged.
"""

from .claims import Claim
from .ideas import Values
from .lexicon import says_something
from .opposites import COUNTERPARTS, EXCLUSIVE, SAME
from .words import WordSet, size, word_set

_PAIR = 2
_FEWEST_COMMON = 2
_FEWEST_NAMELESS = 3
"""Ideas that claims without names share at least, or one less where they say the same of it but for what differs."""
_MOST_REST = 2
"""Ideas that only one of two claims has."""
_NONE = frozenset("lack lacks no none nothing without".split())
_IS = frozenset("are is was were".split())
_ANYTHING = frozenset("$ % date time year".split())
_ONLY_ONE = word_set("arrive belong born default depart located owned owner scheduled shipped".split())
"""Of these there is one for each thing."""


def aligned(one: Claim, other: Claim) -> str:
    """In what two claims in different words exclude each other; empty if they do not."""
    if one.apart != other.apart or one.unique or other.unique:
        return ""
    same, named = one.names == other.names, one.names != () != other.names
    if named and not same and not _known_to_one(one.names, other.names):
        return "place" if _elsewhere(one, other) else ""
    turned = (one.stripped & other.bag) | (other.stripped & one.bag)
    shared = one.bag & other.bag | turned
    # To count takes long, and most claims have no names and something of their own each.
    if not named and one.bag | shared != shared and other.bag | shared != shared:
        return ""  # `the old server` is another one than `the new server`
    more, further = (one.bag & ~shared).bit_count(), (other.bag & ~shared).bit_count()
    rest = max(more, further) - turned.bit_count()
    if rest > _MOST_REST and named:
        return ""
    count = shared.bit_count() + len(set(one.states).intersection(other.states))
    if not named:
        fewest = _FEWEST_NAMELESS - _measured(one, other)
        if count < _FEWEST_COMMON or rest > count + 1 - fewest:
            return ""
    opposed = (shared & (one.opposing ^ other.opposing)).bit_count() + turned.bit_count()
    if one.negated ^ other.negated ^ bool(opposed & 1):
        if not same or not count or not _denies(one, other, shared) or (rest and not one.names):
            return ""
        return "nearly" if _qualifies(one, shared) or _qualifies(other, shared) else "denial"
    if one.negated or other.negated:
        return ""
    if same and count and _one_word_apart(one, other):
        return "value"
    if more and further and count < _FEWEST_COMMON and not _apart(one.states, other.states) and _loose(one, other):
        return ""  # either measures something of its own
    return "value" if _values_differ(one, other) else ""


def _known_to_one(names: tuple[str, ...], others: tuple[str, ...]) -> bool:
    """Whether one of two claims names all that the other does."""
    first, second = set(names), set(others)
    return first <= second or second <= first


def _denies(one: Claim, other: Claim, shared: WordSet) -> bool:
    """Whether one of two claims denies what the other says, and not something that the other does not speak of."""
    if (one.negated and other.negated) or _values_differ(one, other):
        return False
    return one.negated == other.negated or (one.scope | other.scope) & shared != 0


def _qualifies(claim: Claim, shared: WordSet) -> bool:
    """Whether a claim says that something is not so in some way only: `does not lock it for long`."""
    if not claim.negated or not claim.bag & ~shared or not _NONE.isdisjoint(claim.frame):
        return False
    ideas = [word_set((SAME.get(word, word),)) & claim.bag for word in claim.frame]
    last = max([place for place, idea in enumerate(ideas) if idea & shared], default=-1)
    return any(ideas[last + 1 :])


def _one_word_apart(one: Claim, other: Claim) -> bool:
    """Whether two claims differ in a single word: in its counterpart, or in what a named thing is said to be."""
    if len(one.frame) != len(other.frame) or one.amounts != other.amounts:
        return False
    places = [place for place, word in enumerate(one.frame) if word != other.frame[place]]
    if len(places) != 1:
        return False
    first, second = one.frame[places[0]], other.frame[places[0]]
    if frozenset((first, second)) in COUNTERPARTS:
        return True
    if not one.names or _IS.isdisjoint(one.frame[: places[0]]) or not _may_be_said(first) or not _may_be_said(second):
        return False
    return SAME.get(first, first) != SAME.get(second, second)


def _may_be_said(word: str) -> bool:
    return says_something(word) and word not in EXCLUSIVE and not word.endswith(("ed", "ing"))


def _measured(one: Claim, other: Claim) -> bool:
    """Whether both measure the same, so that it is clear what is spoken of."""
    return len(one.amounts) == len(other.amounts) == 1 and one.amounts[0][0] == other.amounts[0][0] != ""


def _loose(one: Claim, other: Claim) -> bool:
    """Whether what is measured may be anything of a thing: its price, its date."""
    return not _measured(one, other) or one.amounts[0][0] in _ANYTHING


def _elsewhere(one: Claim, other: Claim) -> bool:
    """Whether two claims about one thing put another thing where there can be one only."""
    if (
        not len(one.names) == len(other.names) == _PAIR
        or one.negated
        or other.negated
        or one.opposing
        or other.opposing
    ):
        return False
    if one.head != other.head or one.amounts or other.amounts or size(one.bag ^ other.bag) > 1:
        return False
    return one.bag & other.bag & _ONLY_ONE != 0


def _values_differ(one: Claim, other: Claim) -> bool:
    """Whether two claims give one thing two amounts of the same unit, or two states of a kind."""
    shared = one.bag & other.bag
    if _apart(one.states, other.states):
        if one.amounts != other.amounts:
            return False  # so many of these, and so many of those
        return shared != 0 or one.states[0][0] != "truth"
    return shared != 0 and one.states == other.states and _apart(one.amounts, other.amounts)


def _apart(first: Values, second: Values) -> bool:
    if not len(first) == len(second) == 1 or first[0][0] != second[0][0] or first[0][1] == second[0][1]:
        return False
    values = {first[0][1], second[0][1]}
    return "many" not in values or "1" in values
