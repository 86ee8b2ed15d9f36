"""The sentences of a run as sets of ideas: quick to compare, and taken apart only where two may exclude each other.

Most sentences never meet one that they could contradict. What two of them have in common is told by their ideas, and
whether they can differ at all by a few marks: one denies, both give a value, both name the only one.
"""

from collections import deque
from collections.abc import Iterator

import msgspec

from .marks import ONLY, TURNS, VALUE
from .wordings import FEWEST_COMMON, Wording, wording_of
from .words import Sentence, WordSet

_HEAD, _TAIL = 10, 8
"""Sentences of a step that are looked at."""
_MOST_REMEMBERED = 40
"""Of each kind."""
_LONGEST = 60
_MOST_COMPARED = 3
"""Earlier sentences of each kind that one is held against; whoever says the same all the time says it in these."""


class Remark(msgspec.Struct, eq=False, gc=False):
    """One sentence of a thought."""

    index: int
    said: Wording
    bits: WordSet
    """Its ideas."""


_Kept = tuple[int, float, Remark]
"""A sentence with its sketch and with how many ideas another one has in common with it, by which most are ruled out."""


class Remarks:
    """The last sentences of a run."""

    __slots__ = ("_denying", "_ever", "_plain", "_unique", "_values")

    def __init__(self) -> None:
        self._ever: WordSet = 0
        """All ideas that any of them had."""
        self._denying: deque[_Kept] = deque(maxlen=_MOST_REMEMBERED)
        self._plain: deque[_Kept] = deque(maxlen=2 * _MOST_REMEMBERED)
        self._values: deque[_Kept] = deque(maxlen=_MOST_REMEMBERED)
        self._unique: deque[_Kept] = deque(maxlen=_MOST_REMEMBERED)

    def add(self, remarks: list[Remark], since: int) -> None:
        """Remember the sentences of a step, and forget those from before `since`."""
        for kind in (self._denying, self._plain, self._values, self._unique):
            while kind and kind[0][2].index < since:
                kind.popleft()
        for remark in remarks:
            said = remark.said
            if not said.may_claim:
                continue
            self._ever |= said.bits
            kept = said.sketch, said.least, remark
            (self._denying if said.marks & TURNS else self._plain).append(kept)
            if said.marks & VALUE:
                self._values.append(kept)
            if said.marks & ONLY:
                self._unique.append(kept)

    def may_exclude(self, remark: Remark) -> bool:
        """Whether any sentence could be about the same as this one: there are two ideas at least that both have.

        What tells of a change itself excludes nothing.
        """
        said = remark.said
        if not said.may_claim or said.tells_of_change or said.claims_nothing:
            return False
        common = remark.bits & self._ever
        return common & (common - 1) != 0 if common else False

    def that_may_exclude(self, remark: Remark) -> Iterator[Remark]:
        """Sentences about the same that may say otherwise, of each kind the latest first."""
        said, bits, marks = remark.said, remark.bits, remark.said.marks
        sketch, least = said.sketch, said.least
        unseen = said.count - sketch.bit_count()  # what shares a bit in ours may be there as well
        fewest_of_all = FEWEST_COMMON - unseen
        kinds = [self._plain, self._denying] if marks & TURNS else [self._denying]
        if marks & VALUE:
            kinds.append(self._values)
        if marks & ONLY:
            kinds.append(self._unique)
        for kind in kinds:
            compared = 0
            for their_sketch, their_least, past in reversed(kind):
                common = (their_sketch & sketch).bit_count()
                if common < fewest_of_all:
                    continue  # most have so little in common that the sketches tell
                fewest = their_least if their_least < least else least
                if common + unseen >= fewest and (past.bits & bits).bit_count() >= fewest:
                    compared += 1
                    yield past
                    if compared == _MOST_COMPARED:
                        break


def remarks_of(index: int, sentences: list[Sentence]) -> list[Remark]:
    """Those sentences of a step that are long enough to say something and short enough to be one."""
    if len(sentences) > _HEAD + _TAIL:
        sentences = sentences[:_HEAD] + sentences[-_TAIL:]
    return [
        Remark(index, said := wording_of(sentence), said.bits)
        for sentence in sentences
        if 2 < len(sentence[1]) <= _LONGEST and "?" not in sentence[0][-2:]
    ]
