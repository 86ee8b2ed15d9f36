"""What can be told of a sentence by its words alone, before it is taken apart.

Plans, phrases of a prompt and reports come again and again, in one run and in many. So a sentence is read once for all
who ask, and what was read is kept for the next one who says the same.
"""

import re
from functools import lru_cache, reduce
from itertools import filterfalse
from operator import or_

import msgspec

from .appeals import APPEAL
from .claim_words import ANY_ONE, FILLS, POINTS_BACK, THE_ONE
from .claims import Claim, claims_of
from .figures import Figure, figures_in, last_id
from .marks import (
    ANSWER,
    APPEALS,
    CHANGE,
    CONDITION,
    COUNTERS,
    DIGIT,
    GUESS,
    KINDS,
    NO_CLAIM,
    ONLY,
    OPPOSES,
    SIDED,
    SPEAKER,
    SPEAKERS,
    STATE,
    TURNS,
    VERB,
    questions,
    read_marks,
    read_matters,
)
from .opposites import NEGATES
from .points import LONGEST as LONGEST_POINT
from .points import TELLS_TO
from .position_phrases import DONE_BY_US, NORM_BITS, matter_bits, reversed_sides
from .position_words import DENIALS
from .positions import LONGEST as LONGEST_POSITION
from .positions import Position, positions_in
from .signed_words import LINES, idea_of
from .signed_words import NEGATES as DENIES_NEXT
from .stances import LONGEST as LONGEST_STANCE
from .words import Sentence, WordSet, split

SAYS, DENIES, VALUE = 1, 2, 4
"""What a sentence may do with what another one holds: say it plainly, deny it, give a value."""

UNREAD = -1
"""In place of what a sentence answers or names, before it is read for that: it may be anything."""
LONGEST_QUOTED = 160
"""Characters of a sentence that are read for a change of mind."""
FEWEST_COMMON = 2
"""Ideas of a sentence that claims something, and that two sentences have in common if they are about the same."""

_MOST_KEPT = 1_024
_SHARE = 0.5
"""Of the ideas of the shorter one of these two."""
_SKETCH = (1 << 128) - 1
_PARTS = re.compile(r"[,;:()\u2014\u2013-]|\b(?:because|since|so|therefore|which|given|that)\b")
"""What may part a clause that claims something from one that does not."""
_SIGNS_THAT_PART = re.compile(r"[,;:()\u2014\u2013-]")
_WORDS_THAT_PART = frozenset("because since so therefore which given that".split())

_LONGEST_RESTATED = 40
"""Words of a sentence that is compared word by word."""
_FEWEST_RESTATED = 3
_AT_HAND = POINTS_BACK | {"no"}
"""A sentence that begins so is about whatever was at hand, or answers something."""
_ITEM = re.compile(r"\s*(?:[-*\u2022\u2013]\s|\d+[.)]\s|\")")
"""An item of a list may be one of several conditions."""
_CALL = re.compile(r"\w\(")
"""Code, in which numbers change from line to line."""

_SHORT = 16
"""Words of a sentence that gives a value and little else."""
_LISTS = frozenset('-*>|\u2022"/')
"""What lines of lists, tables and code begin with."""
_NUMBERED_LISTS = _LISTS | frozenset("0123456789")
_PLANS = frozenset("ll need should want will".split())
"""What follows `I` in a plan."""
_ORDERS = frozenset("click from import let please use".split())
_SPEAKS = frozenset("i let we".split())
_SPEAKS_OF_PLANS = frozenset("could going ll me must need plan should us want will".split())
"""What follows one who speaks in a plan, or tells others what to do."""
_REACH = 2
"""Words after a negation that it may deny."""


class Wording(msgspec.Struct, eq=False, gc=False):
    """One sentence, whoever says it and whenever."""

    text: str
    bits: WordSet
    """Its ideas."""
    count: int
    """How many they are."""
    marks: int
    asked: int
    """The questions that its words may answer."""
    may_claim: bool
    """Whether it has a verb, and is more than a plan or a guess."""
    tells_of_change: bool
    """Whether a word of it is certain to tell of a change."""
    least: float
    """Ideas that another sentence has in common with it if both are about the same."""
    sketch: int
    """A few bits for its ideas, several of which may share one: two such are compared many times as fast."""
    restates: bool
    """Whether it can be told that another sentence in the same words turns it round."""
    id: str
    """The last id that it names."""
    figures: tuple[Figure, ...]
    may: int
    """In what it may exclude what another one holds."""
    may_state: bool
    """Whether it may say that something is so, as far as its beginning tells."""
    ideas: WordSet
    turned: WordSet
    """Those of the ideas that it may deny, or say the opposite of."""
    kinds: int
    """A mark for each kind of value that it may give."""
    matters: int
    """A mark for each matter on which it may take a side."""
    _appeals: bool | None
    answers: int = UNREAD
    """Of the questions those that it does answer, once that was found out."""
    names: WordSet = UNREAD
    """The words of its names, once they were read..."""
    may_name: WordSet = UNREAD
    """...and those of whatever may be one."""
    taken_apart: list[Claim] | None = None
    """What it claims, once that was found out."""
    _positions: tuple[Position, ...] | None = None

    @property
    def negated(self) -> bool:
        """Whether negations turn it round."""
        return self.marks & TURNS != 0 and sum(map(NEGATES.__contains__, split(self.text))) % 2 == 1

    @property
    def appeals(self) -> bool:
        """Whether it appeals to what was said before."""
        if self._appeals is None:
            self._appeals = APPEAL.search(self.text) is not None
        return self._appeals

    @property
    def claims_nothing(self) -> bool:
        """Whether it was taken apart, and nothing was found."""
        return self.taken_apart is not None and not self.taken_apart

    def claims(self) -> list[Claim]:
        """What it claims, taken apart when it is first asked for."""
        if self.taken_apart is None:
            self.taken_apart = claims_of(self.text, split(self.text))
        return self.taken_apart

    def positions(self) -> tuple[Position, ...]:
        """The positions it takes, found when they are first asked for; from then on `matters` has those alone."""
        if self._positions is None:
            self._positions = positions_in(self.text)
            self.matters = reduce(or_, [matter_bits(one.matter, one.side) for one in self._positions], 0)
        return self._positions


def wording_of(sentence: Sentence) -> Wording:
    """What the words of a sentence tell, which has one at least."""
    text, words = sentence
    known = _kept.get(text)
    if known is None:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        known = _kept[text] = _read(text, words)
    return known


_kept: dict[str, Wording] = {}


def _read(text: str, words: list[str]) -> Wording:
    bits, marks, matters, denied = read_matters(words)
    count = bits.bit_count()
    if words[0] in THE_ONE or text.startswith("`"):
        marks |= ONLY
    may_claim = marks & VERB != 0 and count >= FEWEST_COMMON
    if may_claim and marks & NO_CLAIM:
        may_claim = _has_parts(text, words)
    ascii_only = text.isascii()
    # Only where no word may be part of a longer one is it certain that the word stands there by itself.
    tells_of_change = marks & CHANGE != 0 and len(text) <= LONGEST_QUOTED and ascii_only and "_" not in text
    compared = not marks & GUESS and len(words) <= _LONGEST_RESTATED and "?" not in text
    restates = (
        compared and count >= _FEWEST_RESTATED and words[0] not in _AT_HAND and text[-1:] != ":" and not _is_item(text)
    )
    codes = list(filterfalse(str.isalpha, words)) if marks & DIGIT else []
    counts = codes and compared and "=" not in text and not ("(" in text and _CALL.search(text))
    may_state = may_claim and _may_state(text, words)
    return Wording(
        # In the order of the fields: by their names it takes ten times as long.
        text,
        bits,
        count,
        marks,
        questions(marks),
        may_claim,
        tells_of_change,
        max(FEWEST_COMMON, _SHARE * count),
        _folded(bits) if may_claim else 0,
        restates,
        last_id(text, codes) if codes else "",
        figures_in(text, codes) if counts else (),
        _may(text, words, marks),
        may_state,
        bits & ~FILLS if may_state and bits & FILLS else bits,
        _turned(words) if may_state and marks & COUNTERS else 0,
        marks & KINDS | (' "' in text or " '" in text) if may_state else 0,
        _sides(text, words, marks, matters, denied) if marks & SIDED and len(words) <= LONGEST_POSITION else 0,
        None if marks & APPEALS or not ascii_only else False,
    )


def _folded(bits: WordSet) -> int:
    for half in (1_024, 512, 256, 128):
        bits |= bits >> half
    return bits & _SKETCH


def _sides(text: str, words: list[str], marks: int, matters: int, denied: int) -> int:
    """The matters on which a sentence may take a side: those of its words, and more of them next to a negation."""
    if marks & CONDITION or text.lstrip()[:1] in _LISTS or text[-1:] in ":?" or text.startswith("    "):
        return 0
    if marks & OPPOSES and not DENIALS.isdisjoint(words):
        matters |= denied
        matters |= reversed_sides(matters)
    if not marks & SPEAKER:
        return matters & ~DONE_BY_US
    return matters & ~NORM_BITS if "i" in words[:2] else matters


def _has_parts(text: str, words: list[str]) -> bool:
    if _SIGNS_THAT_PART.search(text):
        return True
    return not _WORDS_THAT_PART.isdisjoint(words) and _PARTS.search(text) is not None


def _is_item(text: str) -> bool:
    return not text[0].isalpha() and _ITEM.match(text) is not None


def _may(text: str, words: list[str], marks: int) -> int:
    """In what a sentence may exclude others: it denies something, says something plainly, or gives a value."""
    may = VALUE if marks & (STATE | DIGIT) and len(words) <= _SHORT else 0
    if marks & OPPOSES:
        may |= DENIES
    elif marks & ANSWER:
        may |= SAYS
    if not may or marks & CONDITION or len(words) > LONGEST_STANCE or words[0] in _ORDERS:
        return 0
    bare = text.lstrip()
    if bare[0] in _NUMBERED_LISTS or bare.startswith("# ") or ("=" in text and "`" not in text):
        return 0
    planned = marks & SPEAKER and not SPEAKERS.isdisjoint(words[:2]) and not _PLANS.isdisjoint(words[1:3])
    return 0 if planned else may


def _may_state(text: str, words: list[str]) -> bool:
    """Whether a sentence may say that something is so, as far as its beginning tells."""
    if len(words) > LONGEST_POINT or ("=" in text and "`" not in text):
        return False
    if words[0] in _SPEAKS and not _SPEAKS_OF_PLANS.isdisjoint(words[1:3]):
        return False
    first = text.split(None, 1)[0]
    return first[0] not in _LISTS and first.lower() not in TELLS_TO


def _turned(words: list[str]) -> WordSet:
    """The ideas of the words that say the opposite of something, and of those that follow a negation."""
    turned = left = 0
    for word in words:
        if word in DENIES_NEXT:
            left = _REACH
            continue
        idea, sign = idea_of(word)
        if idea and (left or sign < 0):
            turned |= _bits_of(idea)
            left -= left > 0
    return turned


@lru_cache(maxsize=4_096)
def _bits_of(idea: str) -> WordSet:
    """The bits of all words that say an idea or its opposite; none for what may be said of anything."""
    return read_marks(LINES[idea])[0] if idea in LINES else read_marks((idea,))[0] & ~ANY_ONE
