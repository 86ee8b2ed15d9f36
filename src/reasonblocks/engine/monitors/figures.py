"""The numbers and ids of a sentence, each number with the words around it, which say what it is of."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from .claim_words import COUNTED
from .lexicon import says_something, stem

_SHORTEST_ID = 6
_SHORTEST_MIXED_ID = 5
"""One of letters and digits."""
_PAIR = 2
_MOST_OF_A_SENTENCE = 8
"""Numbers."""
_NEAR = 60
"""Characters around a number in which its words are looked for."""
# What begins with one of a few signs is found many times as fast; what stands before the first is looked at after it.
_ID = re.compile(r"[A-Z\d](?<![\w.$].)(?:(?<=\d)\d{5,15}|(?<=[A-Z])(?=\w*\d)\w{4,24})(?![\w.])")
_NUMBER = re.compile(
    r"\d(?<![\w#.:/-].)[\d,]{0,12}(?:\.\d{1,6})?(?::\d\d)?((?i:%|[kmgt]b|[cm]?m|kg|ms))?(?![\w:/-]|\.\d)"
)
_CURRENCIES = "$\u20ac\u00a3"
_BEFORE_ID, _BEFORE_NUMBER = re.compile(r"[\w.$]"), re.compile(r"[\w#.:/-]")
"""What does not stand before an id with its sign, or a number with its currency."""
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


class Figure(NamedTuple):
    """A number as it stands in a sentence."""

    value: str
    unit: str
    last: tuple[str, ...]
    """The stems of the words before it, the nearest first..."""
    following: tuple[str, ...]
    """...and of those after it."""


def last_id(text: str, codes: list[str]) -> str:
    """The last id that a sentence names, in small letters; `codes` are its words that are more than letters."""
    # An id without an underscore is one word, and a long one.
    if text.isascii() and "_" not in text and max(map(len, codes)) < _SHORTEST_MIXED_ID:
        return ""
    ids = list(_ID.finditer(text))
    if not ids:
        return ""
    start, end = ids[-1].span()
    sign = "#" if _has_before(text, start, "#", _BEFORE_ID) else ""
    return f"{sign}{text[start:end].lower()}"


def figures_in(text: str, codes: list[str]) -> tuple[Figure, ...]:
    """The first numbers of a sentence, but for those that are names; `codes` as above."""
    return tuple(_figures(text)) if any(code[0].isdigit() for code in codes) else ()


def _figures(text: str) -> Iterator[Figure]:
    for match in islice(_NUMBER.finditer(text), _MOST_OF_A_SENTENCE):
        start, end = match.span()
        number, unit = text[start : match.start(1) if match[1] else end], match[1] or ""
        if _has_before(text, start, _CURRENCIES, _BEFORE_NUMBER):
            start -= 1
            unit = f"{text[start]}{unit}"
        last = _nearest(reversed(text[max(0, start - _NEAR) : start].split()))
        value = number.replace(",", "")
        if (last and last[0] in _LISTED) or (len(value) >= _SHORTEST_ID and value.isdigit()):
            continue
        following = _nearest(text[end : end + _NEAR].split())
        yield Figure(value.rstrip("0").rstrip(".") if "." in value else value, unit, last, following)


def _has_before(text: str, start: int, signs: str, not_before: re.Pattern[str]) -> bool:
    """Whether one of these signs stands right before a place, and belongs to what begins there."""
    if not start or text[start - 1] not in signs:
        return False
    return start == 1 or not_before.match(text, start - 2) is None


def _nearest(tokens: Iterable[str]) -> tuple[str, ...]:
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
    return tuple(stems)


@lru_cache(maxsize=8_192)
def _plain(token: str) -> str | None:
    """The stem of a word as it stands in a sentence: empty if it says nothing, `None` if it has a digit."""
    bare = token.strip("*_`.,;:()\"'").lower()
    if any(map(str.isdigit, bare)):
        return None
    return stem(bare) if says_something(bare) else ""
