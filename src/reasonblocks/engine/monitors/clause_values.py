"""What a clause gives a thing as its value, by kind: a state, a count, an amount, a place, a type, a literal.

Of each kind a thing has one value at a time, so that two of them exclude each other. A clause with two values of a kind
is a list or a contrast, and gives none.
"""

import re
from collections.abc import Iterator

from .claim_words import HOW_MANY
from .lexicon import stem
from .opposites import EXCLUSIVE

_STATES = frozenset("cabin order tier".split())
_UNITS = {
    word: line.split()[0]
    for line in (
        "item items product products article articles goods",
        "passenger passengers people person persons traveller travellers traveler travelers",
        "segment segments flight flights leg legs",
        "argument arguments parameter parameters arg args",
        "caller callers usage usages",
        "file files",
        "case cases",
        "test tests",
    )
    for word in line.split()
}
"""Words for what is counted, each with the one it is compared by; other words in the plural count for themselves."""
_SHARED_OUT = frozenset("additional another each extra least more most other per remaining than".split())
"""With these a number is of something else each time."""
_BEFORE_UNITS = frozenset("different distinct existing of separate the".split())
_NO_UNITS = frozenset("a an and are as at by for from in is it its on or so that this to was were with".split())
_SHORTEST_UNIT = 5
_MOST_UNIT_WORDS = 3
_LONGEST_COUNT = 3
_PAYS = frozenset("billed bought charged covered paid pay payment purchased settled used".split())
_METHOD = re.compile(
    r"\b(bank transfer|certificate|credit card|debit card|gift card|mastercard|paypal|visa|voucher)\b", re.IGNORECASE
)
_GOES = frozenset(
    "arrival arrive arrives arriving bound destination ends flies fly flying go goes going heading heads land lands "
    "takes traveling travelling travels trip".split()
)
_PLACE = re.compile(r"\b(?:at|for|in|into|is|to)\s+([A-Z][a-z]{2,}(?: [A-Z][a-z]{2,})?)")
_TYPES = {
    word: line.split()[0]
    for line in (
        "str string",
        "int integer",
        "float",
        "bool boolean",
        "bytes",
        "list array",
        "tuple",
        "dict dictionary mapping",
        "generator iterator",
        "none null",
        "datetime",
        "timedelta",
        "decimal",
    )
    for word in line.split()
}
TYPES = frozenset(_TYPES)
_GIVES = "are|as|becomes?|being|emits?|gets?|gives?|is|passes|returns?|sends?|takes?|to|was|yields?"
_IS_A = re.compile(
    rf"\b(?:{_GIVES})\s+(?:(?:a|always|an|back|bare|just|now|of|only|plain|plainly|simple|still|the|type)\s+)*"
    r"[`'\"]?([A-Za-z]\w*)",
    re.IGNORECASE,
)
_A_CLASS = re.compile(r"\ban?\s+`?$")
_CAMEL = re.compile(r"[a-z][A-Z]")
_LITERAL = re.compile(r"(?<![\w.=`])(True|False|None|null)(?!\w|\.\w)")
_STRING = re.compile(
    rf"\b(?:{_GIVES}|prints?|sending|shows?)\s+(?:'([^'\n]{{1,40}})'|\"([^\"\n]{{1,40}})\")(?!\w)", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"(?<![\w.#/-])([$\u20ac\u00a3])?(\d[\d,]*(?:\.\d+)?)\s?(%|[kmgt]b|ms)?(?![\w/-]|\.\d)", re.IGNORECASE
)
_SWITCH = re.compile(
    r"\b(?:are|be|currently|happens to be|has \w+|is|set to|switched|turned|was)\s+(on|off)\b", re.IGNORECASE
)
_INSURED = frozenset("insurance insured uninsured".split())
_NONE = frozenset("declined hasn isn no none not uninsured without".split())
_NEGATED = frozenset("hasn isn never no not wasn".split())
WORDS_BY_KIND: tuple[frozenset[str], ...] = (
    frozenset(HOW_MANY.keys() - {"one"}),
    frozenset([word for word, kind in EXCLUSIVE.items() if kind in _STATES]),
    TYPES | {"false", "true"},
    _PAYS,
    _GOES,
    _INSURED | {"off", "on"},
)
"""By kind of value the words of which a clause that gives one has at least one; for the first, a digit will do."""


def values_of(text: str, words: list[str]) -> dict[str, str]:
    """The values that a clause gives, by kind."""
    found: dict[str, set[str]] = {}
    for kind, value in _values(text, words):
        found.setdefault(kind, set()).add(value)
    return {kind: values.pop() for kind, values in found.items() if len(values) == 1}


def _values(text: str, words: list[str]) -> Iterator[tuple[str, str]]:
    yield from _states(words)
    if _SHARED_OUT.isdisjoint(words):
        yield from _counts(words)
    for sign, number, unit in _AMOUNT.findall(text) if any(map(str.isdigit, text)) else ():
        if sign or unit:
            plain = number.replace(",", "")
            yield f"amount {sign or unit.lower()}", plain.rstrip("0").rstrip(".") if "." in plain else plain
    if not _PAYS.isdisjoint(words):
        yield from (("method", method.lower()) for method in _METHOD.findall(text))
    if not _GOES.isdisjoint(words):
        yield from (("place", place.lower()) for place in _PLACE.findall(text))
    yield from (("switch", way.lower()) for way in _SWITCH.findall(text))
    if not _INSURED.isdisjoint(words):
        yield "insured", "no" if not _NONE.isdisjoint(words) else "yes"
    yield from _literals(text)


def _states(words: list[str]) -> Iterator[tuple[str, str]]:
    for place, word in enumerate(words):
        kind = EXCLUSIVE.get(word, "")
        before = words[max(0, place - 2) : place]
        if kind in _STATES and _NEGATED.isdisjoint(before):
            yield kind, "basic" if word == "economy" and before[-1:] == ["basic"] else word


def _counts(words: list[str]) -> Iterator[tuple[str, str]]:
    for place, word in enumerate(words):
        value = HOW_MANY.get(word) or (word if word.isdigit() and len(word) <= _LONGEST_COUNT else "")
        if value and value != "many" and (unit := _unit(words[place + 1 : place + 1 + _MOST_UNIT_WORDS])):
            yield f"count {unit}", value


def _unit(words: list[str]) -> str:
    """What is counted, given the words that follow the number: the last one of those that name it."""
    unit = ""
    for word in words:
        if word in _UNITS:
            unit = _UNITS[word]
        elif word in _BEFORE_UNITS:
            continue
        elif unit or word in _NO_UNITS:
            break
        elif word.endswith("s") and len(word) >= _SHORTEST_UNIT and word.isalpha():
            unit = stem(word)
    return unit


def _literals(text: str) -> Iterator[tuple[str, str]]:
    yield from (("literal", literal.lower()) for literal in _LITERAL.findall(text))
    yield from (("string", (single or double).lower()) for single, double in _STRING.findall(text))
    for match in _IS_A.finditer(text):
        word = match[1].lower()
        if word in _TYPES:
            yield "type", _TYPES[word]
        elif _CAMEL.search(match[1]) and _A_CLASS.search(text, 0, match.start(1)):
            yield "type", word
