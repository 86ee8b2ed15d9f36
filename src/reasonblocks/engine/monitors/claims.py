"""What a thought claims: clauses that state a fact, each as the things it names and what it says of them.

Order does not matter: "the status of X is open" and "X has status open" say the same. What is compared is a bag: names,
the stems of the other words, and apart from them what a fact can differ in, which is denial, numbers and exclusive
states. Claims with the same key are about the same fact; others may be in other words (`conflicts.py`).
"""

import re
from collections.abc import Set
from functools import lru_cache

import msgspec

from .claim_words import (
    ANY_ONE,
    ATTRIBUTES,
    CHANGES_WITH_EVERY_LOOK,
    DEFINITE,
    FILLS,
    HOW_MANY,
    INDEFINITE,
    LEADS_TO_A_NAME,
    NO_VALUE,
    NUMBER_WORDS,
    OTHER_ONE,
    OURS,
    PERSONAL,
    POINTS_BACK,
    RANKS,
    SPEAKERS,
    STATES,
    TELLS_APART,
    THE_ONE,
    UNIQUE,
    WITH_NAMES,
    YOURS,
)
from .clauses import clauses_of, is_fragment, without_lead_in
from .ideas import AROUND, Values, amounts_of, ideas_of, is_state, tokens_of
from .opposites import DENIES, EXCLUSIVE, NEGATES, SAME
from .words import WordSet, size, split, token_set, word_set

_LONGEST_CLAUSE = 24
_LONGEST_VALUE = 3
_FEWEST_NAMELESS = 2
_FEWEST_POINTING = 5
_PAIR = 2
ATTRIBUTE_STEMS = word_set(ATTRIBUTES)
_VALUES = frozenset(EXCLUSIVE) | frozenset(NUMBER_WORDS)
_ARTICLES = frozenset("a an the".split())
_SEQUENCE = frozenset("after before".split())
_NOT_THAT = re.compile(r"\b(?:other than|anything but|nothing like|free of(?! charge)|free from|devoid of)\b")
_PLAIN_END = re.compile(r"\s(?:in|inside|from|by|is) (?:the|our) ([a-z_]{3,30})(?: [a-z]{3,20})?[.!]?\s*$")
"""`... is in the parser module`"""
_CAPITALISED_END = re.compile(r"\s(?:at|by|from|in|is|to|under|was)\s+((?:[A-Z][\w'-]{0,30}\s?){1,4})[.!]?\s*$")
"""`... points to Monte Rosa`"""


class Claim(msgspec.Struct, frozen=True, gc=False):
    """One stated fact."""

    key: str
    """The same for claims about the same fact, whatever they say of it."""
    names: tuple[str, ...]
    """The things it names."""
    head: str
    """The one of two names that stands first."""
    certain: bool
    """Whether these are more than mere abbreviations, which may stand for anything."""
    says: WordSet
    """The stems of the rest, without the words that deny."""
    values: str
    """Its numbers, and the states that exclude others."""
    denied: bool
    unique: bool
    """Whether what it says can hold of one thing only: then the key leaves the names out."""
    bag: WordSet
    """The ideas in it, whatever words they are in: its plain words without the names and what denies."""
    negated: bool
    scope: WordSet
    """The ideas next to what negates it."""
    opposing: WordSet
    """Those of the ideas that it has in a word that says the opposite."""
    stripped: WordSet
    """Its words with a prefix that denies, without that prefix."""
    amounts: Values
    """What is counted or measured, and how much of it."""
    states: Values
    """Kinds of exclusive states, and which one of each."""
    frame: tuple[str, ...]
    """Its plain words in their order, without articles."""
    apart: str
    """Words that tell it from another one of its kind."""

    # What is asked only of claims that exclude each other, which few do.
    @property
    def about(self) -> WordSet:
        """The words of its names as they are written, if they are certain."""
        return token_set(split(" ".join(self.names))) if self.certain else 0

    @property
    def named(self) -> WordSet:
        """Their stems."""
        return word_set(split(" ".join(self.names)))

    @property
    def heard(self) -> WordSet:
        """The stems of its plain words as they are, to be looked for in what was heard."""
        return word_set(self.frame) & ~FILLS


def claims_of(sentence: str, words: list[str]) -> list[Claim]:
    """What a sentence claims, given its words; nothing for plans, questions, guesses and fragments."""
    return list(filter(None, map(_claim, clauses_of(sentence, words))))


@lru_cache(maxsize=2_048)
def _claim(clause: str) -> Claim | None:
    """What a clause claims. Who goes on about a thing says it again and again, each time with something else."""
    if " than " in clause or " but " in clause or " free " in clause or " devoid " in clause:
        clause = _NOT_THAT.sub("not", clause)
    found, numbers, plain = tokens_of(clause)
    words = without_lead_in(plain)
    if not words or len(words) > _LONGEST_CLAUSE or _speaks(words) or is_fragment(clause, words, bool(found)):
        return None
    names, words = _named(clause, found, words)
    if not words:
        return None
    unique = bool(names) and _is_unique(clause, words, names)
    says, states, denials = _said(words, NEGATES if unique else DENIES)
    if denials > 1 and "and" in words:
        return None  # `is not included and cannot be added` denies two things
    if names and not unique and not ATTRIBUTES.isdisjoint(words) and "out" not in words and "up" not in words:
        attribute, value = _attribute(words)
        if not numbers and not states and denials % 2 == 0 and 0 < len(value) <= _LONGEST_VALUE:
            says, states = attribute, value
    if not _tells_enough(clause, words, names, says, states):
        return None
    apart = _in_order(TELLS_APART, words)
    ideas = ideas_of(words)
    counts = bool(numbers) or not HOW_MANY.keys().isdisjoint(words)
    return Claim(
        # In the order of the fields: by their names it takes ten times as long.
        f"{'' if unique else ' '.join(names)}|{apart}|{says:x}",
        names,
        min(names, key=clause.lower().find) if len(names) == _PAIR else "",
        "`" in clause or not all(map(str.isalpha, names)),
        says,
        " ".join([*numbers, *states]),
        denials % 2 == 1,
        unique,
        ideas.bag,
        ideas.negated,
        ideas.scope,
        ideas.opposing,
        ideas.stripped,
        amounts_of(clause) if counts else (),
        ideas.states + _sequence(clause, names, words),
        tuple([word for word in words if word not in _ARTICLES]),
        _in_order(OTHER_ONE, words),
    )


def _in_order(telling: frozenset[str], words: list[str]) -> str:
    """Those of a few words that are there."""
    return "" if telling.isdisjoint(words) else " ".join(sorted(telling.intersection(words)))


def _speaks(words: list[str]) -> bool:
    """Whether somebody tells what they do or did; what they can do or have is a fact."""
    if words[0] not in SPEAKERS:
        return False
    return len(words) < 2 or words[1] not in (YOURS if words[0] == "you" else OURS)


def _named(clause: str, found: set[str], words: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """The names of a clause, those in plain letters too where its form tells them, and the other words."""
    if words[0] in PERSONAL and not RANKS.isdisjoint(words):
        found.add("you")
    if not found and words[0] in THE_ONE and (ending := _CAPITALISED_END.search(clause)):
        found.add(ending[1].strip().lower())
        words = words[: -len(split(ending[1]))]
    if not found and not UNIQUE.isdisjoint(words) and (ending := _PLAIN_END.search(clause)):
        found.add(ending[1])
        place = set(split(ending[0])[2:])
        words = [word for word in words if word not in place]
    return tuple(sorted(found)) if found else (), words


def _said(words: list[str], denying: Set[str]) -> tuple[WordSet, list[str], int]:
    """The stems of what is said without those that deny, the exclusive states in it, and how often it denies."""
    denials = sum(map(denying.__contains__, words))
    if "out" in words and words[words.index("out") + 1 :][:1] == ["of"]:
        denials += 1
    states: list[str] = []
    if not _VALUES.isdisjoint(words):
        apart = {word for place, word in enumerate(words) if word in EXCLUSIVE and is_state(words, place)}
        states = [f"{EXCLUSIVE[word]}:{word}" for word in words if word in apart]
        states += [NUMBER_WORDS[word] for word in words if word in NUMBER_WORDS]
        words = [word for word in words if word not in apart and word not in NUMBER_WORDS]
    says = word_set(map(SAME.get, words, words))
    return says ^ (says & FILLS), states, denials


def _attribute(words: list[str]) -> tuple[WordSet, list[str]]:
    """A claim about an attribute that is no number: the attribute, and whatever else is said as its value."""
    attribute = word_set([word for word in words if word in ATTRIBUTES])
    return attribute, [f"={word}" for word in words if word not in ATTRIBUTES and word not in NO_VALUE]


def _sequence(clause: str, names: tuple[str, ...], words: list[str]) -> Values:
    """Which of two things comes first, by `before` or `after` between them, or is held against the other."""
    if len(names) != _PAIR or ("than" not in words and _SEQUENCE.isdisjoint(words)):
        return ()
    first, second = sorted(names, key=clause.lower().find)
    if "than" in words:
        return (("than", first),)
    return (("sequence", first if "before" in words else second),)


def _is_unique(clause: str, words: list[str], names: tuple[str, ...]) -> bool:
    """Whether what is said can hold of one thing only."""
    if not UNIQUE.isdisjoint(words) or ("matters" in words and ("one" in words or "what" in words)):
        return True
    return _is_the_one(clause, words) or _ends_in_the_one(clause, words, names)


def _is_the_one(clause: str, words: list[str]) -> bool:
    """Whether it has the form `X is the entry point`."""
    if words[:2] != ["is", "the"] or not clause.lstrip().startswith("`"):
        return False
    return size(word_set(words) & ~(CHANGES_WITH_EVERY_LOOK | ANY_ONE | FILLS)) > 1


def _ends_in_the_one(clause: str, words: list[str], names: tuple[str, ...]) -> bool:
    """Whether it has the form `the answer is in X`."""
    if len(names) > 1 or words[0] not in THE_ONE or words[-1] not in LEADS_TO_A_NAME:
        return False
    if not word_set(words) & ~(CHANGES_WITH_EVERY_LOOK | FILLS):
        return False
    return clause.rstrip(AROUND + " `").lower().endswith(names[0])


def _tells_enough(clause: str, words: list[str], names: tuple[str, ...], says: WordSet, states: list[str]) -> bool:
    """Whether it is clear enough what a clause is about to hold it against another one."""
    points_back = words[0] in POINTS_BACK and not (words[0] in WITH_NAMES and names)
    if points_back and not clause.lstrip().startswith(("`", "#", '"')):
        return size(says) >= _FEWEST_POINTING
    if names:
        return bool(says or states)
    if words[0] in INDEFINITE or not says & ~ANY_ONE:
        return False
    if words[0] in DEFINITE and len(words) > 2 and words[2] in STATES and word_set(words[1:2]) & ANY_ONE:
        return False
    told = size(says) + len(states)
    return told >= _FEWEST_NAMELESS or told + any(map(str.isdigit, clause)) >= _FEWEST_NAMELESS
