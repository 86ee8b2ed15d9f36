"""cyclic_compression: what is known already is said again and again, and nothing is added to it.

Only steps that do nothing new count: whoever makes a new call, gets a new result or waits for something goes on,
whatever is said meanwhile. What is said counts as known when its words and all its numbers were said or read shortly
before; which words announce a summary does not matter.
"""

import re
from collections import deque

import msgspec

from ..answers import Evidence
from .base import Fading, MonitorState, Reading
from .features import StepFeatures, quote
from .memory import Remembered
from .roles import role_of
from .words import WordSet, alike, covered, number_set, size, split, word_set

WINDOW = 10
"""Thoughts that are compared."""
_DONE = 24
"""Calls and results that count as made before."""
_FEWEST_WORDS, _FEWEST_BESIDE_A_CALL = 5, 7
"""Words of a thought that sums something up; beside a call it may only say what the call is for."""
_MOST_OF_TASK = 4_000
_LONGEST_TEXT = 160
_ALIKE = 0.3
"""Of all words of two thoughts, of which the later one adds next to nothing to what is known."""
_ALL_SAID = 0.6
"""Of the words of the later one alone."""
_NEW_WORDS = 0.3
"""Of the words of a thought that may be new: other ways to put it."""
_FIRST_NEW = 0.25
"""The same, of a thought that is like none before."""
_NOD = 4
"""Words of an answer that says no more than: go on."""
_SCORES = (0.0, 0.05, 0.3, 0.7, 0.85, 0.95)
"""By how many thoughts in a row are restatements."""
_MOST_GAP = 1
"""Idle steps without a restatement that do not end a row of them."""
_NAMES_A_THING = re.compile(r"\w[./]\w|\d")
"""A path, the name of a file, a number."""
_ABOUT_SAYING = word_set(
    "account again already altogether arrive background basic basically brief briefly bring case clear clearly collect "
    "conclude conclusion condense confirm consider context current currently detail digest established essence "
    "essentially everything fact far finally finding follow found gather gathered gist go going ground hold key know "
    "known knowledge learn learned learnt list main mean mention mentioned moment note noted overall overview "
    "paragraph part picture piece point position present progress put question quick quickly read reading "
    "recall recap recapitulate refresh relevant remain remember repeat rephrase report restate result review run say "
    "short simply situation stand standing state stated status step stock sum summarise summarize summary summing "
    "take tell terms thing thus time together total understand understanding understood whole word work write".split()
)
"""Words about saying, which say nothing themselves."""


class CyclicCompression:
    """Restating instead of going on."""

    name = "cyclic_compression"
    failure_type = "churn"
    description = "What is known already is summed up again and again, and nothing is added to it."

    def start(self, task: str) -> MonitorState:
        """The memory of a run that has not begun; what the task says is known."""
        return _State(task)


class _Said(msgspec.Struct, frozen=True, gc=False):
    """A thought that later ones are compared with."""

    index: int
    words: WordSet
    """With the numbers, without words about saying."""
    numbers: WordSet
    text: str
    """The beginning of it."""


class _State:
    __slots__ = ("_again", "_brought", "_done", "_fading", "_gap", "_known", "_said")

    def __init__(self, task: str) -> None:
        self._said: deque[_Said] = deque(maxlen=WINDOW)
        self._done: deque[tuple[bytes, bytes]] = deque(maxlen=_DONE)
        """Calls and results of the last steps."""
        self._known = Remembered()
        """Words and numbers that were said or read."""
        words = split(task[:_MOST_OF_TASK])
        self._known.add(word_set(words) | number_set(words))
        self._again: deque[int] = deque(maxlen=WINDOW)
        """The steps in a row that said something again."""
        self._gap = 0
        self._brought: deque[WordSet] = deque(maxlen=2)
        """What the last thoughts had brought up."""
        self._fading = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        said = _said(step)
        tells = size(said.words) >= (_FEWEST_WORDS if step.role.notes else _FEWEST_BESIDE_A_CALL)
        earlier = None
        if self._goes_on(step):
            self._again.clear()
            self._brought.clear()
        elif tells:
            earlier = self._restated(said)
            self._count(step.index, earlier is not None)
        reading = self._fading.next(None if earlier is None else self._found(step, earlier))
        if tells:
            self._said.append(said)
        self._known.add(said.words | step.result_words | step.result_numbers)
        self._done.append((step.call, step.result))
        return reading

    def _count(self, index: int, again: bool) -> None:
        if again:
            self._again.append(index)
            self._gap = 0
        elif self._again:
            self._gap += 1
            if self._gap > _MOST_GAP:
                self._again.clear()

    def _goes_on(self, step: StepFeatures) -> bool:
        """Whether something was done or learnt: a change, a trial, a result with news in it, an answer at length."""
        role = step.role
        if role.waits or (step.unfinished and not role.notes):
            return True
        if (step.call, step.result) in self._done:
            return False
        if not role.notes and (role.changes or role.unknown or (role.runs and step.result_size > 0)):
            return True
        if size(step.result_words) > _NOD:
            return True  # an answer at length, or a result that was worth reading, whether or not there is news in it
        if step.speaks_only:
            return bool(step.result_numbers & ~self._known.words)
        return not role.notes and not _is_idle(step)

    def _restated(self, said: _Said) -> _Said | None:
        """The earlier thought that this one says again, if it brings nothing new."""
        known = self._known.words
        new = said.words & ~known
        moves_on = self._moves_on(said.words, new)
        self._brought.append(new)
        if moves_on or said.numbers & ~known or size(new) > _NEW_WORDS * size(said.words):
            return None
        closest = max(self._said, key=lambda one: alike(one.words, said.words), default=said)
        if closest is not said and _says_again(closest, said):
            return closest
        # The first one of a row may sum up what was only read.
        return None if self._again or size(new) > _FIRST_NEW * size(said.words) else closest

    def _moves_on(self, words: WordSet, new: WordSet) -> bool:
        """One after the other: each takes up what the one before had brought, drops what came earlier, and adds."""
        if len(self._brought) < 2 or not new:
            return False
        older, before = self._brought
        return before != 0 and not before & ~words and not older & words

    def _found(self, step: StepFeatures, earlier: _Said) -> Reading:
        again = list(self._again)
        return Reading(
            _SCORES[min(len(again), len(_SCORES) - 1)],
            Evidence(
                CyclicCompression.name,
                f"{len(again)} thoughts in a row say again what had been said or read, and nothing new was done.",
                sorted({earlier.index, *again}),
                [quote(earlier.text), step.thought_quote()],
            ),
        )


def _said(step: StepFeatures) -> _Said:
    words, numbers = step.thought_words, step.thought_numbers
    if step.role.notes and not step.speaks_only:
        words |= step.call_words
    return _Said(step.index, (words | numbers) & ~_ABOUT_SAYING, numbers, step.thought[:_LONGEST_TEXT])


def _says_again(earlier: _Said, now: _Said) -> bool:
    return alike(earlier.words, now.words) >= _ALIKE or covered(now.words, earlier.words) >= _ALL_SAID


def _is_idle(step: StepFeatures) -> bool:
    """Whether a shell was told to do what tells nothing, such as to show where it is."""
    return role_of(step.action, ()).runs and _NAMES_A_THING.search(step.arguments) is None
