"""What a clause is made of: names, numbers, plain words; and of those the ideas, the states and the amounts."""

import re
from typing import NamedTuple

from .claim_words import (
    ATTRIBUTES,
    BEFORE_UNITS,
    BEFORE_YEARS,
    COUNTED,
    FILLS,
    HOW_MANY,
    NO_UNIT,
    PLACED,
    QUALIFIES,
    SHADES,
    SWITCHED,
)
from .lexicon import says_something, stem
from .opposites import EXCLUSIVE, NEGATES, OPPOSES, SAME
from .words import WordSet, split, word_set

AROUND = ".,;:!?()*\"'\u2019\u201c\u201d"
"""What may stand around a word."""
_CODE = frozenset("{}=<>|[]")
_QUOTED = re.compile(r"`([^`\n]{1,80})`|\"([^\"\n]{2,60})\"")
_NUMBER = re.compile(
    r"[-+]?[$\u20ac\u00a3]?\d[\d,]{0,12}(?:\.\d+)?(?:%|[kmgt]b|ms|[kcm]?m|ft|kg|hrs?)?|\d{4}-\d\d-\d\d", re.IGNORECASE
)
_ORDINARY = re.compile(r"[A-Za-z]{2,}(?:['\u2019/-][A-Za-z]{1,})+|I['\u2019][a-z]+")
"""Words with a hyphen or an apostrophe, which are no names for that."""
_NONE = "None"
_CANNOT = frozenset(("can't", "can\u2019t"))
_MOMENT = re.compile(r"(?P<date>\d{4}-\d\d-\d\d)|(?P<time>\d\d?:\d\d(?:am|pm)?)")
_AMOUNT = re.compile(
    r"[-+]?(?P<money>[$\u20ac\u00a3])?(?P<value>\d[\d,]{0,12}(?:\.\d+)?)(?P<unit>%|[kmgt]b|m?s|[kcm]?m|ft|kg|in|hrs?|h)?"
)
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_LINKS = frozenset("is of was".split())
_DENYING_PREFIX = re.compile(r"un|in|im|ir|il|non|dis|mis")
_FIRST_OF_PREFIXES = "uindm"
_SHORTEST_DENIAL = 5
_SCOPE = 2
"""So many words next to a negation are what it is about."""

_TELLING = frozenset().union(NEGATES, OPPOSES, EXCLUSIVE, HOW_MANY, PLACED, SAME, ("on",))
"""Any other word is an idea of its own, and nothing else."""

_TELLING_IDEAS = ~FILLS

Values = tuple[tuple[str, str], ...]
"""Pairs of a unit, or a kind of state, and a value."""


class Ideas(NamedTuple):
    """What a clause says, whatever words it is in."""

    bag: WordSet
    negated: bool
    scope: WordSet
    opposing: WordSet
    stripped: WordSet
    states: Values


def tokens_of(clause: str) -> tuple[set[str], list[str], list[str]]:
    """The names, the numbers and the plain words of a clause; nothing for code."""
    names: set[str] = set()
    if "`" in clause or '"' in clause:
        for quoted in _QUOTED.findall(clause):
            names.add((quoted[0] or quoted[1]).removesuffix("()").lower())
        clause = _QUOTED.sub(" ", clause)
    numbers: list[str] = []
    plain: list[str] = []
    if not _CODE.isdisjoint(clause):
        return names, numbers, plain
    measured = False
    for token in clause.split():
        if token.isalpha() and token.islower():
            plain.append(token)
            measured = False
            continue
        bare = token.strip(AROUND)
        after_number, measured = measured, False
        if bare.islower() and bare.isalpha():
            plain.append(bare)
        elif "(" in bare:
            return names, [], []
        elif bare.isascii() and bare.isalpha() and bare[1:].islower() and bare != _NONE:
            plain.append(bare.lower())  # the first word of a sentence
        elif not bare[:1].isalpha() and _NUMBER.fullmatch(bare):
            if plain and plain[-1] in COUNTED:  # `part 3` is another part than `part 4`, not another number of parts
                names.add(f"{plain[-1]} {bare}")
            else:
                numbers.append(bare.lstrip("+").replace(",", "").removesuffix(".00"))  # `$1,200.00` is `$1200`
                measured = True
        elif after_number and bare.isalpha():
            plain.append(bare.lower())
        elif (word := _special(bare, bool(plain))) is not None:
            (numbers if word[0].isdigit() else plain).append(word)
        elif _is_name(bare, bool(plain)):
            names.add(bare.lower())
        elif bare:
            plain += split(bare)
    return names, numbers, plain


def ideas_of(words: list[str]) -> Ideas:
    """The ideas of a clause, given its plain words."""
    known: list[str] = []
    ideas: list[str] = []
    opposing: list[str] = []
    stripped: list[str] = []
    states: list[tuple[str, str]] = []
    scope: list[str] = []
    negations = 0
    for place, word in enumerate(words):
        if word not in _TELLING:
            ideas.append(word)
            if len(word) > _SHORTEST_DENIAL and word[0] in _FIRST_OF_PREFIXES:
                stripped += _without_prefix(word)
        elif word in NEGATES or (word in OPPOSES and not _counts(SAME[word])):  # `lacks` is no more than `has not`
            negations += 1
            scope += _negated(words, place)
        elif word in EXCLUSIVE and is_state(words, place):
            shade = words[place - 1] if place and words[place - 1] in SHADES else ""
            states.append((EXCLUSIVE[word], f"{shade} {word}".lstrip()))
        elif word not in HOW_MANY:
            idea = _idea(words, place)
            (known if idea is not word else ideas).append(idea)
            if word in OPPOSES:
                opposing.append(idea)
            elif len(word) > _SHORTEST_DENIAL:
                stripped += _without_prefix(word)
    bag = word_set(set(ideas)) & _TELLING_IDEAS
    return Ideas(
        bag | word_set(set(known)) if known else bag,
        negations > 0,
        word_set(set(scope)) if negations == 1 else 0,  # what is negated twice cannot be told
        word_set(set(opposing)) if opposing else 0,
        word_set(set(stripped)) if stripped else 0,
        tuple(states),
    )


def amounts_of(clause: str) -> Values:
    """What a clause counts or measures, with the unit: money, a share, a year, an attribute, the noun that follows."""
    tokens = [token.strip(AROUND + "`").lower() for token in clause.split()]
    found: list[tuple[str, str]] = []
    for place, token in enumerate(tokens):
        if match := _MOMENT.fullmatch(token):
            found.append((match.lastgroup or "", token))
        elif token in HOW_MANY:
            unit = _unit(tokens, place, HOW_MANY[token])
            if unit:
                found.append((unit, HOW_MANY[token]))
        elif match := _AMOUNT.fullmatch(token):
            value = match["value"].replace(",", "")
            value = value.rstrip("0").rstrip(".") if "." in value else value
            measure = "$" if match["money"] else match["unit"] or _unit(tokens, place, value)
            if measure is not None:
                found.append((measure, value))
    return tuple(found)


def _special(token: str, inside: bool) -> str | None:
    """A token as the word it is to be read as, if that is another one than is written."""
    if token == _NONE:
        return "null" if inside else None  # the value, not a negation
    lowered = token.lower()
    if lowered in _CANNOT:
        return "cannot"
    if lowered[:1].isdigit() and _MOMENT.fullmatch(lowered):
        return lowered
    joined = lowered.replace("-", "")
    return joined if joined != lowered and joined in SAME else None


def _is_name(token: str, inside: bool) -> bool:
    """Whether a word names a certain thing: an id, a path, an identifier, an abbreviation, a letter."""
    if token.isalpha():
        if len(token) == 1:
            return inside and token.isupper() and token != "I"
        return not token[1:].islower() and not token.islower()
    return _ORDINARY.fullmatch(token) is None and any(map(str.isalnum, token))


def _counts(idea: str) -> bool:
    return word_set((idea,)) != 0


def _negated(words: list[str], place: int) -> list[str]:
    """What the negation at a place is about: the words that follow, or those before it at the end of a clause."""
    near = [SAME.get(word, word) for word in words[place + 1 :] if says_something(word)]
    most = 1 if words[place] == "non" else _SCOPE
    return near[:most] or [SAME.get(word, word) for word in words[:place][-_SCOPE:]]


def is_state(words: list[str], place: int) -> bool:
    """Whether an exclusive word says what state a thing is in, and neither what happens to it nor which one it is."""
    if words[place - 1 : place] == ["be"]:
        return False
    follows = place + 1 < len(words) and says_something(words[place + 1])
    return not (follows and EXCLUSIVE[words[place]] in QUALIFIES)


def _idea(words: list[str], place: int) -> str:
    word = words[place]
    if word == "on" and place and words[place - 1] in SWITCHED:
        return SAME["enabled"]
    if word in PLACED and "in" in words:
        return SAME["located"]
    return SAME.get(word, word)


def _without_prefix(word: str) -> list[str]:
    """The idea of a word without its prefix, if that denies something."""
    match = _DENYING_PREFIX.match(word)
    if match is None:
        return []
    rest = word[match.end() :]
    return [SAME.get(rest, rest)]


def _unit(tokens: list[str], place: int, value: str) -> str | None:
    """What the number at a place counts: empty if it does not say, nothing if the number is a name."""
    before = tokens[place - 1] if place else ""
    if before in COUNTED:
        return None
    if _YEAR.fullmatch(value) and before in BEFORE_YEARS:
        return "year"
    if before in _LINKS and place > 1:
        before = tokens[place - 2]
    if before in ATTRIBUTES:
        return before
    following = [word for word in tokens[place + 1 : place + 4] if word not in BEFORE_UNITS]
    if following and following[0].isalpha() and following[0] not in NO_UNIT:
        return stem(SAME.get(following[0], following[0]))
    return ""
