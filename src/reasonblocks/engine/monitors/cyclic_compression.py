"""cyclic_compression: what is known already is summed up again and again, and nothing is added to it."""

from collections import deque
from functools import reduce
from operator import or_

import msgspec

from ..answers import Evidence
from .base import Fading, MonitorState, Reading
from .features import StepFeatures, quote
from .words import WordSet, alike, covered, phrases, size

WINDOW = 10
"""Thoughts that are compared."""
_FEWEST_WORDS = 10
_LONGEST_TEXT = 160
_SAME = 0.65
_KNOWN = 0.85
"""The share of a thought's words that thoughts of the window had already."""
_SCORES = (0.0, 0.15, 0.4, 0.65, 0.8, 0.9)
"""By how many thoughts of the window are restatements."""
_SUMS_UP = phrases(
    "as established, as mentioned, as noted, at this point, current state, current status, finding*, i found, i have",
    "i know, in conclusion, in short, in summary, key facts, key points, overall, recap*, restat*, so far, summar*",
    "to sum up, we found, we have, we know, what i know",
)


class CyclicCompression:
    """Restating instead of going on."""

    name = "cyclic_compression"
    failure_type = "churn"
    description = "What is known already is summed up again and again, and nothing is added to it."

    def start(self) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State()


class _Said(msgspec.Struct, frozen=True, gc=False):
    """A thought that later ones are compared with."""

    index: int
    words: WordSet
    text: str
    """The beginning of it."""
    restates: bool


class _State:
    __slots__ = ("_fading", "_window")

    def __init__(self) -> None:
        self._window: deque[_Said] = deque(maxlen=WINDOW)
        self._fading = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        words = step.thought_words
        if size(words) < _FEWEST_WORDS:
            return self._fading.next(None)
        earlier = self._restated(step)
        self._window.append(_Said(step.index, words, step.thought[:_LONGEST_TEXT], earlier is not None))
        return self._fading.next(None if earlier is None else self._found(step, earlier))

    def _restated(self, step: StepFeatures) -> _Said | None:
        """The newest thought that this one says again, if it sums up and brings nothing new."""
        words = step.thought_words
        same = [said for said in self._window if alike(words, said.words) >= _SAME]
        if not same or not _SUMS_UP.search(step.thought):
            return None
        known = reduce(or_, [said.words for said in self._window])
        return same[-1] if covered(words, known) >= _KNOWN else None

    def _found(self, step: StepFeatures, earlier: _Said) -> Reading:
        again = [said.index for said in self._window if said.restates]
        return Reading(
            _SCORES[min(len(again), len(_SCORES) - 1)],
            Evidence(
                CyclicCompression.name,
                f"{len(again)} of the last {len(self._window)} thoughts say again what had been said and add nothing.",
                sorted({earlier.index, *again}),
                [quote(earlier.text), step.thought_quote()],
            ),
        )
