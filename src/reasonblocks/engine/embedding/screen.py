"""The screen before the embedder: whether a context has words enough in common with any pattern.

Embedding the thoughts of a step costs more than the whole step, and most steps have to do with no pattern at all. Texts
that the embedder finds similar nearly always share much of their vocabulary, which can be seen in a tenth of a
millisecond: for each pattern, how much of the weight of its words the context has. A word weighs the more, the fewer
patterns have it and the less common it is among agents. How many pairs and how many ordinary contexts pass was
measured, see `benchmarks/calibration`.
"""

import math
import sys
from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .context import views
from .vocabulary import common_share, has_words, stems

THRESHOLD = 0.25
LENGTH_WORDS = 30
"""A long context has words of any pattern by chance: the share is divided by the root of 1 + words / 30."""
MOST_PATTERNS = 256
"""A word that more patterns have tells nothing, and would cost the most time."""
RAREST = 0.005
"""No word counts as rarer than this: a single odd one must not make up for all the others."""
COMMONEST = 0.9
FEW_PATTERNS = 50
"""In a library of fewer, that a pattern has a word says little about how common the word is."""
MOST_LANES = 256
"""Patterns of a library whose shares are added as one number; with more of them that is no quicker."""
_WHOLE = 1 << 14
"""All the weight of a pattern in its lane of 16 bits, with room for what is rounded up."""

Places = dict[str, NDArray[np.intp]]
"""Which patterns have a word."""
Shares = dict[str, NDArray[np.float64]]
"""What share of the weight of each of them the word is."""


class LexicalScreen:
    """An inverted index over the words of patterns; never changed, so any thread may ask it."""

    def __init__(self, places: Places, shares: Shares, count: int, *, open_to_all: bool = False) -> None:
        self._places = places
        self._shares = shares
        self._count = count
        self._open_to_all = open_to_all
        few = count <= MOST_LANES
        self._lanes = {stem: _in_lanes(places[stem], shares[stem]) for stem in places} if few else None

    @classmethod
    def build(cls, texts: Iterable[str]) -> "LexicalScreen":
        """The screen for some patterns, by the texts that a context is compared with; 10,000 take half a second."""
        patterns = list(texts)
        words = [stems(text) for text in patterns]
        frequency = Counter(stem for each in words for stem in each)
        size = max(len(words), FEW_PATTERNS)
        weights = {stem: _weight(stem, count / size) for stem, count in frequency.items() if count <= MOST_PATTERNS}
        places: dict[str, list[int]] = {stem: [] for stem in weights}
        shares: dict[str, list[float]] = {stem: [] for stem in weights}
        for place, each in enumerate(words):
            known = [stem for stem in each if stem in weights]
            total = sum(weights[stem] for stem in known)
            for stem in known:
                places[stem].append(place)
                shares[stem].append(weights[stem] / total)
        return cls(
            {stem: np.array(found, np.intp) for stem, found in places.items()},
            {stem: np.array(found) for stem, found in shares.items()},
            len(patterns),
            open_to_all=not all(map(has_words, patterns)),
        )

    def passes(self, context: str) -> bool:
        """Whether a context may have to do with one of the patterns."""
        if self._open_to_all:
            return True
        most = 1.0
        for view in views(context):
            # The newest part of a context has no more of a pattern than all of it: often that is answer enough.
            if most < THRESHOLD:
                return False
            words = stems(view)
            least = THRESHOLD * _allowance(words)
            if most >= least and (most := self._at_most(words)) >= least and (most := self._most(words)) >= least:
                return True
        return False

    def score(self, context: str) -> float:
        """What has to reach the threshold: how much it has of the pattern it has most of, allowing for its length."""
        return max(self._most(words) / _allowance(words) for words in map(stems, views(context)))

    def _at_most(self, words: set[str]) -> float:
        """A little more than the largest share that some words make up, or as much, and many times as fast."""
        lanes = self._lanes
        if lanes is None:
            return 1.0
        added = sum(map(lanes.__getitem__, lanes.keys() & words))
        return max(memoryview(added.to_bytes(2 * self._count, sys.byteorder)).cast("H"), default=0) / _WHOLE

    def _most(self, words: set[str]) -> float:
        """The largest share of a pattern that some words make up."""
        known = self._places.keys() & words
        if not known:
            return 0.0
        places = np.concatenate(list(map(self._places.__getitem__, known)))
        shares = np.concatenate(list(map(self._shares.__getitem__, known)))
        return float(np.bincount(places, shares, self._count).max())


def _in_lanes(places: NDArray[np.intp], shares: NDArray[np.float64]) -> int:
    """The shares of a word in all patterns as one number: 16 bits for each of them, so that one addition adds all."""
    return sum(math.ceil(share * _WHOLE) << 16 * place for place, share in zip(places.tolist(), shares, strict=True))


def _allowance(words: set[str]) -> float:
    return math.sqrt(1.0 + len(words) / LENGTH_WORDS)


def _weight(stem: str, share: float) -> float:
    """What a word tells, by the share of patterns or of contexts that have it, whichever is larger."""
    return -math.log(min(COMMONEST, max(RAREST, share, common_share(stem))))
