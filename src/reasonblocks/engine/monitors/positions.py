"""The positions that a sentence takes: on which matter, on which side, and what it speaks of.

Needed or not, allowed or not, to blame or not, passing or failing, one or many: a clause says of some things which of
the two it is, in a word or a phrase (`position_words.py`). Guesses, plans, questions and conditions take no position.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import filterfalse
from typing import NamedTuple

import msgspec

from .claim_words import CONDITIONS, OTHER_ONE, supposes_a_case
from .lexicon import says_something
from .opposites import NEGATES
from .parting import Parting
from .points import TELLS_TO
from .position_phrases import PHRASES, phrases_for
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
_PARTING = Parting(
    "although and because but hence since so that therefore though which while whereas".split(), dots=True
)
_QUOTED = re.compile(r"`[^`\n]{1,80}`|\"[^\"\n]{2,60}\"")
_NO_STATEMENT = re.compile(
    r"\s*(?:[-*>|\u2022]|#+\s|//|\d+[.):]\s|(?:assert|class|def|from|import|raise|return)\b)|\s{4}"
)
_CODE = re.compile(r"[{}<>|\[\]\\=]")
_SPEAKERS = frozenset("i we let us".split())
_POINTING = frozenset("he it she that they this these those which who also".split())
_BEFORE_NOUNS = frozenset("that these this those".split())
_NOTHING = frozenset("neither no nobody none nothing zero".split())
_BEFORE = -1
"""In place of a phrase: how things were before a change."""
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
_NONE: frozenset[str] = frozenset()
_MOST_PARTS = 1_024
"""Parts of sentences that are remembered."""
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
_TELLING = SIDES.keys() | QUANTITIES.keys() | EXAMINES.keys() | APPEARS
"""Without one of these, or a number, no side is taken."""
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
    bare = _QUOTED.sub(" _ ", sentence) if _may_quote(sentence) else sentence
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
    if not IN_BEFORE.isdisjoint(all_words):
        phrases = (_BEFORE, *phrases)
    names: frozenset[str] = frozenset()
    for text in _PARTING.parts(sentence, all_words):
        part = _read(text, phrases)
        if part.is_empty:
            continue
        if part.guesses or (denied and part.is_sure):
            return
        own = part.names
        about = own | names if part.points_back else own or (names if part.continues else own)
        known, names = bool(names), own or names
        if part.points_back and not known:
            continue
        if part.tells_of_others:
            return
        if part.states:
            yield from part.taken(about)


class _Part(msgspec.Struct, eq=False, gc=False):
    """A part of a sentence, which may come again in another one."""

    text: str
    names: frozenset[str]
    words: list[str]
    """With a word for each phrase that has one."""
    anchored: bool
    is_empty: bool
    guesses: bool
    """Whether it is a guess, and whatever follows depends on it."""
    is_sure: bool
    """Whether it says how sure somebody is; who is not, guesses."""
    points_back: bool
    continues: bool
    tells_of_others: bool
    """Whether what follows is what somebody else says, or a plan."""
    states: bool
    """Whether it says that something is so, and not that it is so no more."""
    _taken: tuple[Position, ...] | None = None

    def taken(self, about: frozenset[str]) -> tuple[Position, ...]:
        """The positions that it takes, given what it is about; mostly that is what it names itself."""
        if about != self.names:
            return self._taken_on(about)
        if self._taken is None:
            self._taken = self._taken_on(about)
        return self._taken

    def _taken_on(self, about: frozenset[str]) -> tuple[Position, ...]:
        return (*_taken(self.words, about, self.text, self.anchored), *_sequence(self.text))


@lru_cache(maxsize=_MOST_PARTS)
def _read(part: str, phrases: tuple[int, ...]) -> _Part:
    """A part of a sentence that may have these phrases, first of them `_BEFORE`."""
    words = split(_QUOTED.sub(" ", part) if _may_quote(part) else part)
    text = " ".join(words)
    anchored = False
    if phrases:
        plain = text
        for place in phrases:
            if place == _BEFORE:
                text = _BEFORE_CHANGE.sub(" ", text)
                anchored = text != plain
            else:
                _, _, word, pattern = PHRASES[place]
                text = pattern.sub(f" {word} ", text)
        if text == plain:
            return _read(part, ())  # it has none of them, as most parts
    names = names_in(part)
    is_empty = not words and not names
    if phrases:
        words = text.split()
    if not words:
        return _Part(part, names, words, anchored, is_empty, False, False, False, False, False, False)
    first = words[0]
    return _Part(
        # In the order of the fields: by their names it takes ten times as long.
        part,
        names,
        words,
        anchored,
        is_empty,
        not GUESSES.isdisjoint(words) and not _is_permission(words),
        "sure" in words,
        _points_back(words),
        first in NEGATES or first in SIDES or not says_something(first),
        words[-1] in REPORTS or first == "let" or (first in _SPEAKERS and words[1:2] in _PLANS),
        TELL_OF_CHANGE.isdisjoint(words) and "no longer" not in text and "any longer" not in text,
    )


def _may_quote(text: str) -> bool:
    return "`" in text or '"' in text


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


def _taken(words: list[str], names: frozenset[str], part: str, anchored: bool) -> list[Position]:
    if _TELLING.isdisjoint(words) and all(map(str.isalpha, words)):
        return []
    found, denied = _sides(words, unreal=not UNREAL.isdisjoint(words))
    if words[0] in _SPEAKERS:
        found = _of_speaker(words, found)
    appears = not APPEARS.isdisjoint(words)
    if not found and not appears:
        return []
    parts = {piece for name in names for piece in split(name)} | names if names else names
    # A word of letters alone has no digit.
    codes = [word for word in filterfalse(str.isalpha, words) if word not in parts and any(map(str.isdigit, word))]
    numbers = frozenset(codes) if codes else _NONE
    others = _OTHERS.intersection(words)
    if not part.isascii() or not part[1:].islower():
        others |= frozenset(_LABEL.findall(part))
    if years := _YEAR.findall(" ".join(words)) if appears else []:
        found["year"] = int(years[0]) if len(years) == 1 else 0
        numbers -= set(years)
    taken: list[Position] = []
    for matter, side in found.items():
        if side:
            ideas = _ideas(words, matter, parts)
            if names or ideas:
                taken.append(Position(matter, side, names, ideas, others, numbers, matter in denied, anchored))
    return taken


def _sequence(part: str) -> Iterator[Position]:
    """Which of two things comes first, by the one word between them that tells."""
    found = _FIRST.findall(part) if any(map(part.__contains__, FIRST)) else ()
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
