"""Particulars of a record: `the seat on KD71PX is 4A`, `our file has 4A as the seat on KD71PX`, `Seat on KD71PX: 4A`.

Whoever says what *the* something of a record is says that it has one. So whatever it is called, two values of it
exclude each other, and no table has to know what can be said of records.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from .claim_words import CONDITIONS, GUESSES, NOT_A_CLAIM, NUMBER_WORDS, OTHER_ONE
from .lexicon import stem
from .opposites import NEGATES
from .words import split

_LONGEST = 320
"""Characters of a sentence."""
_MOST_WORDS = 7
"""Of what is said to be had, such as `the price of the blue lamp`."""
_LONGEST_VALUE = 3
_ID = re.compile(r"#?(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z\d]{5,16}|#\d{4,16}|[A-Z]+[-_]\d{2,12}")
MAY_HAVE_ID = re.compile(r"[A-Z\d#](?:(?<=[A-Z])[-_]?\d|(?<=\d)[A-Z]|(?<=#)\d)")
"""In every id a letter and a digit meet, or one follows its sign: to look for that takes little time."""
_PARTS = re.compile(
    r"[,;]\s|\s[-\u2013\u2014]\s|\.\s|\u2014|\b(?:and|because|but|so|that|which|while)\b", re.IGNORECASE
)
_TOKEN = re.compile(r"[^\s:]+|:")
_AROUND = ".,;!?()[]*`\"'\u2018\u2019\u201c\u201d"
_OWNED = ("'s", "\u2019s")
_BEFORE_RECORDS = frozenset("at for in of on under".split())
_DETERMINERS = frozenset("its my our the their your".split())
_INDEFINITE = frozenset("a an".split())
_LINKS_WITHIN = frozenset("for in of on".split())
"""`the price of the lamp in ...`"""
_IS = frozenset(": amounts are being comes equals is reads remains shows stands totals was were".split())
_PAST = frozenset("was were".split())
_AFTER_IS = frozenset("a also an as at currently given just listed only recorded set shown simply still the to".split())
"""Between what is said to be had and its value."""
_HOLDS = frozenset("carries find gives has have holds lists names records reports see sees shows states".split())
"""`The record has 4A as the seat`"""
_GIVEN = frozenset("down entered given listed noted recorded set shown stated stored".split())
_NO_END = frozenset("in of on per to".split())
"""A value that goes on with one of these is of something else."""
_NO_PART = (
    _IS
    | CONDITIONS
    | NEGATES
    | frozenset("a an as by can did do does from had has have i if than to via we with you".split())
)
"""None of these is in the name of what is had."""
_ANOTHER = OTHER_ONE | frozenset("different final new revised updated".split())
"""`The new price` is another one with every offer."""
_SHOWS = re.compile(r"\byou will (?=find|notice|see)", re.IGNORECASE)
"""Whoever is told what they will find is told what is there."""
_OPEN = frozenset(
    map(
        stem,
        "aim amount answer bug cause change charge choice comment concern cost detail difference error example fee fix "
        "goal idea information issue mistake name next note option plan point problem purpose question reason refund "
        "request rest result solution step thing total trouble update way".split(),
    )
)
"""Of these a thing has many, or another one after every look or offer."""
_MEMBERS = frozenset(map(stem, "arrival article bag departure flight item leg line passenger product segment".split()))
"""What a record may have several of: two of them may well differ..."""
_COUNTS = frozenset(map(stem, "count number quantity".split()))
"""...unless they are counted."""
_AMOUNT = re.compile(r"([$\u20ac\u00a3]?)(\d[\d,]*(?:\.\d+)?)(%|[a-z]{1,2})?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_CODE = re.compile(r"(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z\d]{2,12}")
_WORD = re.compile(r"[A-Za-z][A-Za-z'/-]*")
_NUMBERS = {"no": "0", "one": "1", "zero": "0"} | NUMBER_WORDS


class Particular(NamedTuple):
    """What a record is said to have."""

    record: str
    what: frozenset[str]
    """The stems of what it has."""
    kind: str
    """The unit of a number, `code`, `date` or `word`: values of different kinds are not compared."""
    value: str
    denied: bool
    past: bool
    """Whether it is said of the past."""

    def excludes(self, other: "Particular") -> bool:
        """Whether two values of the same cannot both be right."""
        if self.kind != other.kind or self.past != other.past:
            return False
        if self.denied or other.denied:
            return self.denied != other.denied and self.value == other.value
        if self.kind != "word":
            return self.value != other.value
        ours, theirs = set(self.value.split()), set(other.value.split())
        return not (ours <= theirs or theirs <= ours)


@lru_cache(maxsize=1_024)
def particulars_in(sentence: str) -> tuple[Particular, ...]:
    """What a sentence says of records; nothing for questions, plans, conditions and lists of values."""
    text = _SHOWS.sub("you ", sentence) if " will " in sentence else sentence
    if len(text) > _LONGEST or text.rstrip()[-1:] == "?" or not GUESSES.isdisjoint(split(text)):
        return ()
    return tuple(_particulars(text))


def _particulars(text: str) -> Iterator[Particular]:
    record, fronted = "", False
    for part in _PARTS.split(text):
        tokens = [bare for token in _TOKEN.findall(part) if (bare := token.strip(_AROUND))]
        words = list(map(str.lower, tokens))
        if not NOT_A_CLAIM.isdisjoint(words) or not CONDITIONS.isdisjoint(words):
            return  # whatever follows depends on it
        place = next((place for place, token in enumerate(tokens) if _ID.fullmatch(_owner(token))), -1)
        found = None
        if words and record and (words[0] == "its" or (fronted and words[0] in _DETERMINERS)):
            found = _named_before(record, tokens, words)  # `For KD71PX, the seat is 4A`
        elif place >= 0:
            found = _particular(tokens, words, place)
        if found:
            yield found
        if place >= 0:
            record = _record(tokens[place])
            fronted = words[0] in _BEFORE_RECORDS and place == len(words) - 1


def _owner(token: str) -> str:
    return token[:-2] if token.endswith(_OWNED) else token


def _record(token: str) -> str:
    return _owner(token).lstrip("#").lower()


def _named_before(record: str, tokens: list[str], words: list[str]) -> Particular | None:
    """What a part says that begins with `its` or `the`, of the record that was named before it."""
    verb = next((place for place, word in enumerate(words) if word in _IS), len(words))
    return _of(record, words[1:verb], tokens[verb + 1 :], words[verb : verb + 1])


def _particular(tokens: list[str], words: list[str], place: int) -> Particular | None:
    record = _record(tokens[place])
    if _owner(tokens[place]) != tokens[place]:  # `KD71PX's seat is 4A`
        return _named_before(record, tokens[place:], words[place:])
    following = words[place + 1 : place + 3]
    if len(following) > 1 and following[0] in _HOLDS and following[1] in _INDEFINITE:  # `KD71PX has a fare of $90`
        link = next((later for later in range(place + 3, len(words)) if words[later] == "of"), len(words))
        return _of(record, words[place + 3 : link], tokens[link + 1 :], [])
    start, what = _what(words, place)
    if not what:
        return None
    if start > 1 and words[start - 1] == "as":
        value = _before_as(tokens[: start - 1], words)
        return _of(record, what, value, []) if place == len(words) - 1 else None
    return _of(record, what, tokens[place + 2 :], following[:1]) if following and following[0] in _IS else None


def _what(words: Sequence[str], place: int) -> tuple[int, list[str]]:
    """What is said to be had by the record at a place, and where that begins: with its article."""
    end = place - 1
    while end > 0 and words[end] not in _BEFORE_RECORDS and place - end <= _LONGEST_VALUE:
        end -= 1  # `on your reservation KD71PX`
        if words[end] in _IS:
            return 0, []
    if end <= 0 or words[end] not in _BEFORE_RECORDS:
        return 0, []
    start = end
    while start > 0 and end - start <= _MOST_WORDS:
        start -= 1
        if words[start] in _DETERMINERS and not (start and words[start - 1] in _LINKS_WITHIN):
            return start, [word for word in words[start:end] if word not in _DETERMINERS]
    if start:
        return 0, []
    return 0, [word for word in words[:end] if word not in _DETERMINERS]


def _before_as(tokens: Sequence[str], words: Sequence[str]) -> list[str]:
    """The value in front of `as the seat on KD71PX`."""
    end = len(tokens)
    while end and words[end - 1] in _GIVEN:
        end -= 1
    start = next((place for place in range(end - 1, -1, -1) if words[place] in _HOLDS), end)
    return list(tokens[start + 1 : end])


def _of(record: str, what: Sequence[str], value: Sequence[str], verb: Sequence[str]) -> Particular | None:
    if not what or len(what) > _MOST_WORDS or not _NO_PART.isdisjoint(what) or not all(map(_is_plain, what)):
        return None
    stems = frozenset([stem(word) for word in what if word not in _LINKS_WITHIN and word not in _GIVEN])
    if not stems or not stems.isdisjoint(_OPEN) or not _ANOTHER.isdisjoint(what):
        return None
    if not stems.isdisjoint(_MEMBERS) and stems.isdisjoint(_COUNTS):
        return None
    if [token.lower() for token in value[:2]] == ["the", "one"]:
        return None
    said = [token for token in value if token.lower() not in _AFTER_IS]
    denied = bool(said) and said[0].lower() in ("not", "never")
    read = _read(said[denied:])
    return Particular(record, stems, *read, denied, verb != [] and verb[0] in _PAST) if read else None


def _is_plain(word: str) -> bool:
    return _WORD.fullmatch(word) is not None


def _read(tokens: Sequence[str]) -> tuple[str, str] | None:
    """The kind of a value, and the value, as it can be compared."""
    if not tokens or len(tokens) > _LONGEST_VALUE:
        return None
    first = _NUMBERS.get(tokens[0].lower(), tokens[0])
    if _DATE.fullmatch(first):
        return ("date", first) if len(tokens) == 1 else None
    if _CODE.fullmatch(first):
        return ("code", first.lower()) if len(tokens) == 1 else None
    if amount := _AMOUNT.fullmatch(first.lower()):
        sign, number, unit = amount.groups()
        rest = " ".join(map(str.lower, tokens[1:]))
        plain = number.replace(",", "")
        value = plain.rstrip("0").rstrip(".") if "." in plain else plain
        return f"{sign}{unit or ''} {rest}", value
    words = [token.lower() for token in tokens]
    if not all(map(_is_plain, words)) or not _NO_END.isdisjoint(words) or not NEGATES.isdisjoint(words):
        return None
    return "word", " ".join(words)
