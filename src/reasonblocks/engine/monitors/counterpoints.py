"""Whether two sentences about the same thing exclude each other: one denies what the other says, or gives another
value.

What they are about has to be the same: they share names, and ideas besides. How much they must have in common depends
on what the names are: an id stands for one thing alone, while a function is called in many ways.
"""

from collections.abc import Iterator, Mapping, Set
from itertools import product
from typing import NamedTuple

from .claim_words import ANY_ONE, OTHER_ONE, RANKS
from .clause_values import TYPES
from .lexicon import stem
from .points import FILE, NO_POINT, Clause, Point, point_of, values_in
from .signed_words import DEED, LINES, PROOF, THERE
from .words import split, word_set

_ENOUGH = 2
"""What two sentences have in common at least, in names and ideas."""
_ID = 2
"""What an id counts."""
_NO_NAMES = TYPES | frozenset("cls false name self true unicode value".split())
_PERSON = frozenset("customer identity user you your".split())
_OURS = frozenset("i my our we".split())
_OF_THE_PERSON = frozenset(
    map(stem, "account among customer file list lists method methods payment profile record records user".split())
)
_PAIR = 2
_NEXT = 2
"""Ideas after another one that it is said of; what follows them only stands beside it."""
_NO_VALUES: Mapping[str, str] = {}
_OF_CODE = frozenset("literal string type".split())


class _Given(NamedTuple):
    """A clause, and the values that it gives."""

    clause: Clause
    values: Mapping[str, str]


class Counterpoint(NamedTuple):
    """In what two sentences exclude each other."""

    idea: str
    """What one of them denies; empty if they give two values."""
    value: str
    """That of the later one."""
    names: frozenset[str]
    ids: frozenset[str]
    is_norm: bool


class _Common(NamedTuple):
    """Two sentences, and what they have in common."""

    past: Point
    now: Point
    names: frozenset[str]
    parts: frozenset[str]
    """The names and the stems of their words, which do not count as ideas of their own."""

    @property
    def all_named(self) -> bool:
        """Whether one of the two names nothing that the other does not."""
        return self.past.names <= self.names or self.now.names <= self.names

    @property
    def nameless(self) -> bool:
        return not self.past.names and not self.now.names

    def ideas(self, besides: frozenset[str]) -> frozenset[str]:
        """The ideas that both have, besides those in question."""
        return (self.past.ideas & self.now.ideas) - self.parts - besides

    def weight(self, names: frozenset[str]) -> int:
        ids = self.past.ids | self.now.ids
        return sum(_ID if name in ids else 1 for name in names)

    def both_have(self, words: frozenset[str]) -> bool:
        return not words.isdisjoint(self.past.words) and not words.isdisjoint(self.now.words)


def counterpoint(past: str, now: str, *, valued: bool) -> Counterpoint | None:
    """In what a sentence excludes an earlier one, if it does; values are looked at where both may give one."""
    other = point_of(now)
    one = point_of(past) if other.clauses else NO_POINT
    if not one.clauses:
        return None
    names = _shared(one, other)
    parts = names | {stem(word) for name in names for word in split(name)}
    common = _Common(one, other, names, parts)
    # Without a name in common, two values are of one thing only if they are ranks: whoever is spoken with has one.
    valued = valued and (common.weight(names - _NO_NAMES) > 0 or (_tells_rank(past) and _tells_rank(now)))
    for first, second in product(_with_values(one, valued), _with_values(other, valued)):
        if first.clause.is_norm != second.clause.is_norm:
            continue
        idea = _denied(common, first.clause, second.clause) if common.all_named else ""
        value = "" if idea else _other_value(common, first, second)
        if idea or value:
            ids = names & (one.ids | other.ids)
            return Counterpoint(idea, value, names - {idea} or names, ids, first.clause.is_norm)
    return None


def _tells_rank(sentence: str) -> bool:
    return not RANKS.isdisjoint(split(sentence))


def _with_values(point: Point, valued: bool) -> list[_Given]:
    if not valued:
        return [_Given(clause, _NO_VALUES) for clause in point.clauses]
    values = values_in(tuple([clause.text for clause in point.clauses]))
    return list(map(_Given, point.clauses, values))


def _shared(one: Point, other: Point) -> frozenset[str]:
    """The names that both have, with or without what they belong to: `Reader.load` is `load()` as well."""
    return frozenset(_known_to(one, other)) | frozenset(_known_to(other, one))


def _known_to(one: Point, other: Point) -> Iterator[str]:
    for name in one.names:
        if name in other.words or any(_same(name, known) for known in other.names) or _is_named_in_part(name, other):
            yield name


def _is_named_in_part(name: str, point: Point) -> bool:
    """Whether a plain word is what a name ends in, and no other name ends so."""
    last = name.rpartition(".")[2]
    if last == name or last not in point.words or FILE.search(name):
        return False
    return not any(known.endswith(last) for known in point.names)


def _same(one: str, other: str) -> bool:
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")


def _denied(common: _Common, past: Clause, now: Clause) -> str:
    """The idea that one of two clauses denies and the other does not."""
    if (past.denied and now.denied) or not _about(past, common) or not _about(now, common):
        return ""
    turned = frozenset([idea for idea, sign in past.ideas.items() if now.ideas.get(idea, sign) != sign])
    if not turned or (len(turned) > 1 and not turned <= past.denied and not turned <= now.denied):
        return ""  # two things at once: it cannot be told which is meant
    idea = max(turned)
    names, ideas = common.names - turned - _NO_NAMES, common.ideas(turned)
    if len(names) < _PAIR and not _is_said_of_the_same(past, now, idea):
        return ""
    is_name = idea in common.past.names | common.now.names
    if not names:
        plain = is_name and word_set(ideas) & ~ANY_ONE != 0
        return idea if plain or _is_plain_enough(common, past, now, turned) else ""
    if not ideas and not is_name and idea not in LINES and not word_set(turned) & ~ANY_ONE:
        return ""
    weight = common.weight(names) + len(ideas) + len(turned) - 1 + is_name
    return idea if weight + _is_all_of_it(common, past, now, idea) >= _ENOUGH else ""


def _is_said_of_the_same(past: Clause, now: Clause, idea: str) -> bool:
    """Whether what stands before and after an idea is the same in both, straight or crosswise.

    `A skips B` and `B is reached by A` are about the same; `A skips B in C` and `D reaches B in C` are not.
    """
    before, after = _around(past, idea)
    one, other = _around(now, idea)
    return (_meet(before, one) and _meet(after, other)) or (_meet(before, other) and _meet(after, one))


def _around(clause: Clause, idea: str) -> tuple[set[str], set[str]]:
    """Who or what stands before an idea, and next after it; of names the last part."""
    ideas = [said.rpartition(".")[2] if said in clause.names else said for said in clause.ideas]
    place = list(clause.ideas).index(idea)
    return set(ideas[:place]), set(ideas[place + 1 : place + 1 + _NEXT])


def _meet(one: set[str], other: set[str]) -> bool:
    return not one or not other or not one.isdisjoint(other)


def _about(clause: Clause, common: _Common) -> bool:
    """Whether what a clause names, if anything, is known to both."""
    return not clause.names or not clause.names.isdisjoint(common.names)


def _is_plain_enough(common: _Common, past: Clause, now: Clause, turned: frozenset[str]) -> bool:
    """Whether it is clear what is spoken of though it has no name."""
    if not common.nameless:
        return False
    if OTHER_ONE & common.past.words != OTHER_ONE & common.now.words:
        return False  # `the other profile`
    if turned == {PROOF}:
        return common.both_have(_PERSON)
    if len(turned) < _PAIR or not common.both_have(THERE):
        return False
    return _is_of_the_person(past.ideas.keys() - turned) and _is_of_the_person(now.ideas.keys() - turned)


def _is_of_the_person(ideas: Set[str]) -> bool:
    """Whether what is spoken of is what the person has who is spoken with, by all but their name."""
    return len(ideas - _OF_THE_PERSON) <= 1


def _is_all_of_it(common: _Common, past: Clause, now: Clause, idea: str) -> bool:
    """Whether one clause says nothing but what the other denies, or is about what the speaker did."""
    if idea == DEED and not _OURS.isdisjoint(common.past.words | common.now.words):
        return True
    whole = not past.ideas.keys() - common.parts - now.ideas.keys()
    return idea in LINES and (whole or not now.ideas.keys() - common.parts - past.ideas.keys())


def _other_value(common: _Common, past: _Given, now: _Given) -> str:
    """The value that the later clause gives where the earlier one gave another of the same kind."""
    for kind in sorted(past.values.keys() & now.values.keys()):
        one, other = past.values[kind], now.values[kind]
        if one == other or (kind in _OF_CODE and (past.clause.denied or now.clause.denied)):
            continue
        ideas = common.ideas(frozenset(map(stem, split(f"{one} {other}"))))
        if _is_of_the_same(common, kind, ideas):
            return other
    return ""


def _is_of_the_same(common: _Common, kind: str, ideas: frozenset[str]) -> bool:
    """Whether two values of a kind are of one thing."""
    weight = common.weight(common.names - _NO_NAMES)
    if kind == "tier":
        return True  # whoever is spoken with has one
    if kind == "method":
        return weight >= _ID
    if kind == "amount $":
        return weight > 0 and word_set(ideas) & ~ANY_ONE != 0
    if kind in _OF_CODE or kind == "place":
        return common.all_named and weight > 0 and weight + len(ideas) >= _ENOUGH
    return weight > 0 and weight + len(ideas) >= _ENOUGH
