"""The sentences of a run as sets of ideas: quick to compare, and taken apart only where two may exclude each other.

Most sentences never meet one that they could contradict. What two of them have in common is told by their ideas, and
whether they can differ at all by a few marks: one denies, both give a value, both name the only one.
"""

import re
from collections import deque
from collections.abc import Iterator
from functools import lru_cache

from .claim_words import THE_ONE
from .claims import Claim, claims_of
from .marks import NO_CLAIM, ONLY, TURNS, VALUE, VERB, read_marks
from .opposites import NEGATES
from .words import Sentence, WordSet, split

_HEAD, _TAIL = 10, 8
"""Sentences of a step that are looked at."""
_MOST_REMEMBERED = 40
"""Of each kind."""
_LONGEST = 60
_MOST_COMPARED = 3
"""Earlier sentences of each kind that one is held against; whoever says the same all the time says it in these."""
_FEWEST_COMMON = 2
_SHARE = 0.5
"""Of the ideas of the shorter one of two sentences that may be about the same."""
_PARTS = re.compile(r"[,;:()\u2014\u2013-]|\b(?:because|since|so|therefore|which|given|that)\b")
"""What may part a clause that claims something from one that does not."""
_SIGNS_THAT_PART = re.compile(r"[,;:()\u2014\u2013-]")
_WORDS_THAT_PART = frozenset("because since so therefore which given that".split())
_FORGOTTEN: list[str] = []


class Remark:
    """One sentence of a thought."""

    __slots__ = ("_claims", "bits", "count", "index", "marks", "may_claim", "negations", "text", "words")

    def __init__(self, index: int, sentence: Sentence) -> None:
        self.index = index
        self.text, self.words = sentence
        self.bits, marks = read_marks(self.words)
        self.count = self.bits.bit_count()
        self.negations = sum(map(NEGATES.__contains__, self.words)) if marks & TURNS else 0
        if self.words[0] in THE_ONE or self.text.startswith("`"):
            marks |= ONLY
        self.marks = marks
        self.may_claim = marks & VERB != 0 and self.count >= _FEWEST_COMMON
        """Whether it has a verb, and is more than a plan or a guess."""
        if self.may_claim and marks & NO_CLAIM:
            self.may_claim = _has_parts(self.text, self.words)
        self._claims: list[Claim] | None = None

    def claims(self) -> list[Claim]:
        """What it claims, taken apart when it is first asked for."""
        if self._claims is None:
            self._claims = _claims_in(self.text)
        return self._claims


class Remarks:
    """The last sentences of a run."""

    __slots__ = ("_denying", "_ever", "_plain", "_unique", "_values")

    def __init__(self) -> None:
        self._ever: WordSet = 0
        """All ideas that any of them had."""
        self._denying: deque[Remark] = deque(maxlen=_MOST_REMEMBERED)
        self._plain: deque[Remark] = deque(maxlen=2 * _MOST_REMEMBERED)
        self._values: deque[Remark] = deque(maxlen=_MOST_REMEMBERED)
        self._unique: deque[Remark] = deque(maxlen=_MOST_REMEMBERED)

    def add(self, remarks: list[Remark], since: int) -> None:
        """Remember the sentences of a step, and forget those from before `since`."""
        for kind in (self._denying, self._plain, self._values, self._unique):
            while kind and kind[0].index < since:
                kind.popleft()
        for remark in remarks:
            remark.words = _FORGOTTEN  # they can be had from the text again, and take up most of the room
            if not remark.may_claim:
                continue
            self._ever |= remark.bits
            (self._denying if remark.marks & TURNS else self._plain).append(remark)
            if remark.marks & VALUE:
                self._values.append(remark)
            if remark.marks & ONLY:
                self._unique.append(remark)

    def may_exclude(self, remark: Remark) -> bool:
        """Whether any sentence could be about the same as this one."""
        return remark.may_claim and (remark.bits & self._ever).bit_count() >= _FEWEST_COMMON

    def that_may_exclude(self, remark: Remark) -> Iterator[Remark]:
        """Sentences about the same that may say otherwise, of each kind the latest first."""
        bits, marks = remark.bits, remark.marks
        kinds = [self._plain, self._denying] if marks & TURNS else [self._denying]
        if marks & VALUE:
            kinds.append(self._values)
        if marks & ONLY:
            kinds.append(self._unique)
        for kind in kinds:
            compared = 0
            for past in reversed(kind):
                common = past.bits & bits
                if not common or not common & (common - 1):
                    continue  # fewer than two ideas; to count them takes many times as long
                if common.bit_count() >= _SHARE * min(past.count, remark.count):
                    compared += 1
                    yield past
                    if compared == _MOST_COMPARED:
                        break


@lru_cache(maxsize=2_048)
def _claims_in(text: str) -> list[Claim]:
    """What a sentence claims. Plans, phrases of a prompt and reports come again and again, in one run and in many."""
    return claims_of(text, split(text))


def remarks_of(index: int, sentences: list[Sentence]) -> list[Remark]:
    """Those sentences of a step that are long enough to say something and short enough to be one."""
    if len(sentences) > _HEAD + _TAIL:
        sentences = sentences[:_HEAD] + sentences[-_TAIL:]
    return [
        Remark(index, sentence)
        for sentence in sentences
        if 2 < len(sentence[1]) <= _LONGEST and "?" not in sentence[0][-2:]
    ]


def _has_parts(text: str, words: list[str]) -> bool:
    if _SIGNS_THAT_PART.search(text):
        return True
    return not _WORDS_THAT_PART.isdisjoint(words) and _PARTS.search(text) is not None
