"""cyclic_compression: what is known already is summed up again and again, and nothing is added to it.

Only steps that do nothing new count: whoever makes a new call, gets a new result or waits for something goes on,
whatever is said meanwhile.
"""

from collections import deque
from functools import reduce
from operator import or_

import msgspec

from ..answers import Evidence
from .base import Fading, MonitorState, Reading
from .features import StepFeatures, quote
from .words import WordSet, alike, phrases, size, word_set

WINDOW = 10
"""Thoughts that are compared."""
_FEWEST_WORDS = 10
_LONGEST_TEXT = 160
_SAME = 0.65
_SCORES = (0.0, 0.15, 0.4, 0.65, 0.8, 0.9)
"""By how many thoughts of the window are restatements."""
_SUMS_UP = phrases(
    "as established, as mentioned, as noted, at this point, current state, current status, finding*, i found, i have",
    "i know, in conclusion, in short, in summary, key facts, key points, overall, recap*, restat*, so far, summar*",
    "to sum up, we found, we have, we know, what i know",
)
_SAYS_THAT_IT_SUMS_UP = word_set(
    "conclude conclusion current established facts finding found key known mentioned noted overall point recap "
    "recapitulate restate short state status sum summary summarise summarize summing".split()
)


class CyclicCompression:
    """Restating instead of going on."""

    name = "cyclic_compression"
    failure_type = "churn"
    description = "What is known already is summed up again and again, and nothing is added to it."

    def start(self, task: str) -> MonitorState:
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
    __slots__ = ("_done", "_fading", "_window")

    def __init__(self) -> None:
        self._window: deque[_Said] = deque(maxlen=WINDOW)
        self._done: deque[tuple[bytes, bytes]] = deque(maxlen=WINDOW)
        """Calls and results of the last steps."""
        self._fading = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        goes_on = self._goes_on(step)
        words = step.thought_words
        if size(words) < _FEWEST_WORDS:
            return self._fading.next(None)
        earlier = None if goes_on else self._restated(step)
        self._window.append(_Said(step.index, words, step.thought[:_LONGEST_TEXT], earlier is not None))
        return self._fading.next(None if earlier is None else self._found(step, earlier))

    def _goes_on(self, step: StepFeatures) -> bool:
        """Whether the call or the result is new, or something is waited for."""
        new_call = not step.speaks_only and all(call != step.call for call, _ in self._done)
        new_result = step.result_size > 0 and all(result != step.result for _, result in self._done)
        self._done.append((step.call, step.result))
        return new_call or new_result or step.role.waits or step.unfinished

    def _restated(self, step: StepFeatures) -> _Said | None:
        """The newest thought that this one says again, if it sums up and brings nothing new."""
        words = step.thought_words
        same = [said for said in self._window if alike(words, said.words) >= _SAME]
        if not same or not _SUMS_UP.search(step.thought):
            return None
        known = reduce(or_, [said.words for said in self._window], _SAYS_THAT_IT_SUMS_UP)
        return None if words & ~known else same[-1]  # a single new word may be what it goes on with

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
