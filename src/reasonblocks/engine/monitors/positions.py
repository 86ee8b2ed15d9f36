"""The positions that a sentence takes: on which matter, on which side, and what it speaks of.

Needed or not, allowed or not, to blame or not, passing or failing, one or many: a clause says of some things which of
the two it is, in a word or a phrase (`position_words.py`). Guesses, plans, questions and conditions take no position.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .claim_words import CONDITIONS, OTHER_ONE, supposes_a_case
from .lexicon import says_something
from .opposites import NEGATES
from .points import TELLS_TO
from .position_phrases import phrases_for
from .position_words import (
    ALLOWED,
    APPEARS,
    DEGREES,
    DENIALS,
    DENIED_AFTER,
    EMPTY,
    EXAMINES,
    FIRST,
    GUESSES,
    HANDS,
    HELPS,
    IN_BEFORE,
    NO_COUNT,
    NORM,
    NORMS,
    ORDER,
    OVER,
    QUALITIES,
    QUANTITIES,
    REPORTS,
    SIDES,
    TELL_OF_CHANGE,
    UNREAL,
)
from .signed_words import idea_of
from .stance_words import TROUBLE
from .stances import names_in
from .words import split

LONGEST = 40
_NEAR = 4
"""So many words before a word are looked at for a negation."""
_MARKS = r"[;:,]\s|\s[-\u2013\u2014]\s|\s\(|(?<!\()\)|\u2014|\.{3}"
_JOINS = "although and because but hence since so that therefore though which while whereas".split()
_PARTS = re.compile(_MARKS)
_JOINED_PARTS = re.compile(rf"{_MARKS}|\b(?:{'|'.join(_JOINS)})\b", re.IGNORECASE)
_IN_JOINS = frozenset(_JOINS)
_QUOTED = re.compile(r"`[^`\n]{1,80}`|\"[^\"\n]{2,60}\"")
_NO_STATEMENT = re.compile(
    r"\s*(?:[-*>|\u2022]|#+\s|//|\d+[.):]\s|(?:assert|class|def|from|import|raise|return)\b)|\s{4}"
)
_CODE = re.compile(r"[{}<>|\[\]\\=]")
_SPEAKERS = frozenset("i we let us".split())
_POINTING = frozenset("he it she that they this these those which who also".split())
_BEFORE_NOUNS = frozenset("that these this those".split())
_NOTHING = frozenset("neither no nobody none nothing zero".split())
_BEFORE_CHANGE = re.compile(
    r"\b(?:before|prior to|without) (?:applying |making )?(?:any|my|our|the|these|this|those)(?: \w+){0,2}? "
    r"(?:change|changes|commit|edit|edits|fix|fixes|modification|modifications|patch|work)\b"
    r"|\bon (?:a |the )?(?:base|clean|original|pristine|unmodified|untouched) "
    r"(?:branch|checkout|code|commit|tree|version)"
    r"|\bfrom the (?:beginning|outset|start)\b|\ball along\b|\b(?:pre-?existing|had never|never has|always was)\b"
)
_DEFINITE = frozenset("its our the their this".split())
_LONGEST_COUNT, _MOST_UNIT = 3, 3
_LABEL = re.compile(r"(?<=\w )[A-HJ-Z]\b")
_NO_LABELS: frozenset[str] = frozenset()
_FIRST = re.compile(rf"\b({'|'.join(FIRST)})\b")
_FEW_WORDS = 6
_HAPPENS = frozenset("called comes executed happens is run runs started starts takes place written".split())
_YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
_IS = frozenset("are is was were".split())
_TO_BE = DENIALS | _IS | frozenset("be been being get gets got has have remain remains s stay stays".split())
_CASES = frozenset("once when whenever".split())
"""What is so in one case need not be so in another."""
_PLANS = (["ll"], ["will"], ["want"], ["should"])
_TO_COME = frozenset("going ll let me need should to want will".split())
_OTHERS = OTHER_ONE - {"available", "both", "current", "each", "every", "left", "rest", "return"}


class Position(NamedTuple):
    """What a clause holds on one matter."""

    matter: str
    side: int
    names: frozenset[str]
    """The things that it speaks of by name..."""
    ideas: Mapping[str, int]
    """...and in plain words, each affirmed or turned round."""
    others: frozenset[str]
    """Words that tell one of several."""
    numbers: frozenset[str]
    denied: bool
    """Whether a negation has put it on its side."""
    before: bool
    """Whether it is about how things were before anything was changed."""


def positions_in(sentence: str) -> tuple[Position, ...]:
    """The positions that a sentence takes."""
    words = split(sentence)
    if not 2 < len(words) <= LONGEST or sentence.rstrip()[-1:] in ("?", ":") or not CONDITIONS.isdisjoint(words):
        return ()
    if not _CASES.isdisjoint(words):
        return ()
    bare = _QUOTED.sub(" _ ", sentence)
    if (
        sentence.split(None, 1)[0].lower() in TELLS_TO
        or _NO_STATEMENT.match(bare)
        or _CODE.search(bare)
        or supposes_a_case(words)
    ):
        return ()
    return tuple(_positions(sentence, frozenset(words)))


def _positions(sentence: str, all_words: frozenset[str]) -> Iterator[Position]:
    denied = not DENIALS.isdisjoint(all_words)
    phrases = phrases_for(all_words, denied=denied)
    before_change = not IN_BEFORE.isdisjoint(all_words)
    names: frozenset[str] = frozenset()
    parts = (_PARTS if all_words.isdisjoint(_IN_JOINS) else _JOINED_PARTS).split(sentence)
    for part in parts:
        own = names_in(part)
        text = " ".join(split(_QUOTED.sub(" ", part)))
        if not text and not own:
            continue
        anchored = before_change and _BEFORE_CHANGE.search(text) is not None
        if anchored:
            text = _BEFORE_CHANGE.sub(" ", text)
        for pattern, word in phrases:
            text = pattern.sub(f" {word} ", text)
        words = text.split()
        if (not GUESSES.isdisjoint(words) and not _is_permission(words)) or (denied and "sure" in words):
            return
        pointing = _points_back(words)
        about = own | names if pointing else own or (names if _continues(words) else own)
        known, names = bool(names), own or names
        if pointing and not known:
            continue
        if words and (words[-1] in REPORTS or words[0] == "let" or (words[0] in _SPEAKERS and words[1:2] in _PLANS)):
            return
        if words and TELL_OF_CHANGE.isdisjoint(words) and "no longer" not in text and "any longer" not in text:
            labels = frozenset(_LABEL.findall(part)) if not part.isascii() or not part[1:].islower() else _NO_LABELS
            yield from _taken(words, about, labels, anchored)
            if not FIRST.keys().isdisjoint(all_words):
                yield from _sequence(part)


def _points_back(words: list[str]) -> bool:
    """Whether a clause is about what was spoken of before."""
    if not words or words[0] not in _POINTING:
        return False
    following = words[1] if len(words) > 1 else ""
    if words[0] in _BEFORE_NOUNS and says_something(following) and following not in SIDES:
        return False  # `these tests`
    return words[0] != "it" or "to" not in words[3:]  # `it is safe to drop ...`


def _is_permission(words: list[str]) -> bool:
    """Whether the only guess is a `may` that allows something."""
    return GUESSES.intersection(words) == {"may"} and "be" not in words[words.index("may") : words.index("may") + 3]


def _continues(words: list[str]) -> bool:
    """Whether a clause may have no subject of its own."""
    return bool(words) and (words[0] in NEGATES or words[0] in SIDES or not says_something(words[0]))


def _taken(words: list[str], names: frozenset[str], labels: frozenset[str], anchored: bool) -> Iterator[Position]:
    parts = {piece for name in names for piece in split(name)} | names
    found, denied = _sides(words, unreal=not UNREAL.isdisjoint(words))
    if words[0] in _SPEAKERS:
        found = _of_speaker(words, found)
    numbers = frozenset([word for word in words if any(map(str.isdigit, word)) and word not in parts])
    others = labels | _OTHERS.intersection(words)
    if years := _YEAR.findall(" ".join(words)) if not APPEARS.isdisjoint(words) else []:
        found["year"] = int(years[0]) if len(years) == 1 else 0
        numbers -= set(years)
    for matter, side in found.items():
        if side:
            ideas = _ideas(words, matter, parts)
            if names or ideas:
                yield Position(matter, side, names, ideas, others, numbers, matter in denied, anchored)


def _sequence(part: str) -> Iterator[Position]:
    """Which of two things comes first, by the one word between them that tells."""
    found = _FIRST.findall(part)
    if len(found) != 1 or not DENIALS.isdisjoint(split(part)):
        return
    left, _, right = part.partition(found[0])
    sides = [_things(left), _things(right)]
    if sides[0] and sides[1] and not sides[0] & sides[1]:
        first, second = sides if FIRST[found[0]] else reversed(sides)
        yield Position(ORDER, 1, first, dict.fromkeys(second, 1), frozenset(), frozenset(), False, False)


def _things(text: str) -> frozenset[str]:
    """The names in a text, or its plain words."""
    words = [word for word in split(_QUOTED.sub(" ", text)) if word not in SIDES and word not in _HAPPENS]
    return names_in(text) or frozenset(filter(None, [idea_of(word)[0] for word in words[:_FEW_WORDS]]))


def _sides(words: list[str], *, unreal: bool) -> tuple[dict[str, int], set[str]]:
    """On which side a clause is of each matter, 0 where it is on both, and where a negation has put it there."""
    found: dict[str, int] = {}
    denied: set[str] = set()
    for place, word in enumerate(words):
        if word in SIDES:
            matter, side = SIDES[word]
            if (not unreal or matter == "advice") and _is_said(words, place, matter):
                sign = _sign(words, place)
                side *= sign
                if sign < 0:
                    denied.add(matter)
                if matter in NORMS:
                    matter, side = NORM, NORMS[matter][side]
                if found.setdefault(matter, side) != side:
                    found[matter] = 0
        elif (word in QUANTITIES or word.isdigit()) and not unreal:
            matter, side = _quantity(words, place)
            if matter and found.setdefault(matter, side) != side:
                found[matter] = 0
    return found, denied


def _is_said(words: list[str], place: int, matter: str) -> bool:
    """Whether a word says something of a thing there, and neither tells which one is meant nor helps another verb."""
    following = words[place + 1] if place + 1 < len(words) else ""
    if matter in QUALITIES and says_something(following) and following not in SIDES and following[-2:] != "ly":
        before = words[max(0, place - 3) : place]  # `is a reliable source`, but not `the reliable source`
        return before[-1:] in (["a"], ["an"], ["no"]) and not _IS.isdisjoint(before)
    if matter == NORM or matter in NORMS:
        return "only" not in words and "except" not in words
    if words[place].endswith("ed") and matter != "passes" and _TO_BE.isdisjoint(words[max(0, place - _NEAR) : place]):
        return False  # `the value called in`
    if words[place] in HELPS:
        return following != "been" and following[-2:] != "ed" and following not in NEGATES
    return words[place] not in HANDS or following not in OVER


def _sign(words: list[str], place: int) -> int:
    """-1 if a word is denied, 0 if only a degree of it is."""
    before = words[:place] if "nor" in words else words[max(0, place - _NEAR) : place]
    sign = 1
    for at, word in enumerate(before):
        if word in NEGATES and (word != "nor" or at == 0):
            if before[at + 1 : at + 2] and before[at + 1] in DEGREES:
                return 0
            sign = -sign
    if place > _NEAR and words[0] in _NOTHING and "nor" not in words:
        sign = -sign
    if words[place] in DENIED_AFTER and not _NOTHING.isdisjoint(words[place + 1 : place + 3]):
        sign = -sign
    return sign


def _quantity(words: list[str], place: int) -> tuple[str, int]:
    """What is counted, and whether it is one or many."""
    word, before = words[place], words[place - 1] if place else ""
    side = QUANTITIES.get(word, 0 if word in ("0",) or len(word) > _LONGEST_COUNT else 1 if word == "1" else -1)
    if not side or (word == "only" and before not in _DEFINITE) or (word == "one" and before in NO_COUNT):
        return "", 0
    counted = next(
        (idea_of(other)[0] for other in words[place + 1 : place + 1 + _MOST_UNIT] if says_something(other)), ""
    )
    if not counted:
        return "", 0
    if not NEGATES.isdisjoint(words[max(0, place - 3) : place]):
        return (f"count {counted}", -1) if side > 0 and word == "only" else ("", 0)
    if side > 0 and words[max(0, place - 2) : place] == ["more", "than"]:
        side = -1
    return f"count {counted}", side


def _of_speaker(words: list[str], found: dict[str, int]) -> dict[str, int]:
    """What somebody holds who tells of their own doings: what they did or never did, and what is to be."""
    held: dict[str, int] = {}
    if words[0] == "we" and found.get(NORM, ALLOWED) != ALLOWED and EXAMINES.keys().isdisjoint(words[:7]):
        held[NORM] = found[NORM]
    verb = next((place for place, word in enumerate(words[1:6], start=1) if word in EXAMINES), 0)
    if verb and not _TO_COME.intersection(words[1:verb]):
        denied = not NEGATES.isdisjoint(words[1:verb])
        held[f"did {idea_of(EXAMINES[words[verb]])[0]}"] = -1 if denied else 1
    return held


def _ideas(words: list[str], matter: str, parts: frozenset[str] | set[str]) -> dict[str, int]:
    """What else a clause speaks of."""
    found: dict[str, int] = {}
    for word in words:
        known = SIDES.get(word, ("", 0))[0]
        if word in parts or word in QUANTITIES or word in DENIALS or known in (matter, "blame", "there"):
            continue
        if known in NORMS:
            if word.endswith("able") and (able := idea_of(word.removeprefix("non").removesuffix("able"))[0]):
                found.setdefault(able, 1)  # what is refundable may be refunded
            continue
        if matter == "blame" and word in TROUBLE:
            continue
        idea, sign = idea_of(word)
        if matter == "year" and word in APPEARS:
            continue
        if idea and matter not in (f"count {idea}", f"did {idea}") and word not in EMPTY:
            found.setdefault(idea, sign)
    return found
