"""cyclic_compression: what is known already is said again and again, and nothing is added to it.

Only steps that do nothing new count: whoever makes a new call, gets a new result or waits for something goes on,
whatever is said meanwhile. What is said counts as known when its words and all its numbers were said or read shortly
before; which words announce a summary does not matter.
"""

import re
from collections import deque
from functools import reduce
from operator import or_

import msgspec

from ..answers import Evidence
from .accounts import Accounts
from .announcements import ABOUT_SAYING, announces
from .base import Fading, MonitorState, Reading
from .complaints import AGAIN, Complaints
from .features import StepFeatures, quote
from .memory import Remembered
from .notebooks import keeps_notes, says_back, writes_notes
from .recaps import Recaps
from .rewording import Rewording
from .roles import role_of
from .standstill import Standstill, states
from .words import WordSet, alike, covered, number_set, size, split, word_set

WINDOW = 10
"""Thoughts that are compared."""
_DONE = 24
"""Calls and results that count as made before."""
_FEWEST_WORDS, _FEWEST_BESIDE_A_CALL, _FEWEST_BESIDE_A_LIST = 5, 7, 8
_FEWEST_IN_A_ROW = 3
"""Words of a thought that goes on with a row of restatements."""
_MOST_OF_TASK = 4_000
_LONGEST_TEXT = 320
_BEGINNING = 160
"""Characters of a call that tell what it is about."""
_ALIKE = 0.3
"""Of all words of two thoughts, of which the later one adds next to nothing to what is known."""
_MUCH_ALIKE, _NEARLY_SAME = 0.4, 0.8
_ALL_SAID = 0.6
"""Of the words of the later one alone."""
_NEW_WORDS, _NEW_WAYS = 0.3, 0.5
"""Of the words of a thought that may be new, and of one that is much like an earlier one."""
_OTHER_WORDS = 0.6
"""Of one that is about the same certain things as the restatement before it."""
_FEW_NEW, _MOST_NEW = 5, 12
"""Words that may be new in a short thought, and in any."""
_LONGEST_STATUS = 200
"""Characters of a result that says no more than how far something is."""
_LITTLE, _KNOWN = 16, 0.85
"""Words of a result that may hold no news, and how many of them are known then."""
_ENTRIES, _LONGEST_ENTRY = 6, 50
"""Lines of a list, and characters of each on the average."""
_NOD = 4
"""Words of an answer that says no more than: go on."""
_COMPLAINED, _ANNOYED = 2, 0.66
"""So many remarks on statements that this was said already are enough, and what they score."""
_SCORES = (0.0, 0.05, 0.3, 0.7, 0.85, 0.95)
"""By how many thoughts in a row are restatements."""
_MOST_GAP = 1
"""Idle steps without a restatement that do not end a row of them."""
_NAMES_A_THING = re.compile(r"\w[./]\w|\d")
"""A path, the name of a file, a number."""
_SPECIFIC = re.compile(r"`[^`\n]{2,60}`|[\w./-]{0,40}\w[./_]\w[\w./-]*|\d+|(?<=[a-z,:(=] )[A-Z][\w'-]+")
"""What names a certain thing: where a thought is about such things as are known, the words around them may be new."""
_SPECIFICS = 2
_LISTS = re.compile(r"[\w -]{1,40} (?:list|show|status)$", re.MULTILINE)
"""A command that only tells how things are, whatever its first words can do besides."""


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
    __slots__ = (
        "_accounts",
        "_again",
        "_brought",
        "_complaints",
        "_done",
        "_fading",
        "_gap",
        "_known",
        "_recaps",
        "_rewording",
        "_said",
        "_standstill",
    )

    def __init__(self, task: str) -> None:
        self._said: deque[_Said] = deque(maxlen=WINDOW)
        self._done: deque[tuple[bytes, bytes]] = deque(maxlen=_DONE)
        """Calls and results of the last steps."""
        self._known = Remembered()
        """Words and numbers that were said or read."""
        words = set(split(task[:_MOST_OF_TASK]))
        self._known.add(word_set(words) | number_set(words))
        self._again: deque[int] = deque(maxlen=WINDOW)
        """The steps in a row that said something again."""
        self._gap = 0
        self._brought: deque[WordSet] = deque(maxlen=2)
        """What the last thoughts had brought up."""
        self._accounts = Accounts(CyclicCompression.name)
        self._recaps = Recaps(CyclicCompression.name)
        self._rewording = Rewording()
        self._standstill = Standstill(CyclicCompression.name)
        self._complaints = Complaints(AGAIN, states)
        self._fading = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        own = step.role.notes or says_back(step)
        notes = own or writes_notes(step)
        said = _said(step, notes)
        tells = size(said.words) >= (_FEWEST_IN_A_ROW if self._again else _fewest_words(step, notes))
        earlier = None
        if self._goes_on(step, notes):
            self._again.clear()
            self._brought.clear()
        elif tells and not _asks(step) and (notes or all(one.text != said.text for one in self._said)):
            earlier = self._restated(said)
            self._count(step.index, earlier is not None)
        found = None if earlier is None else self._found(step, earlier)
        tells_only, again = own or keeps_notes(step), (step.call, step.result) in self._done
        for other in (
            self._accounts.observe(step, tells_only, again, self._known.words),
            self._recaps.observe(step, tells_only, again, self._known.words),
            self._rewording.observe(step),
            self._standstill.observe(step, tells_only, self._known.words),
        ):
            if other is not None and (found is None or other.score > found.score):
                found = other
        remarks = self._complaints.listen(step)
        if len(remarks) >= _COMPLAINED and (found is None or found.score < _ANNOYED):
            found = _complained_of(remarks)
        reading = self._fading.next(found)
        if tells:
            self._said.append(said)
        self._known.add(said.words | step.result_words | step.result_numbers | _named(step))
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

    def _goes_on(self, step: StepFeatures, notes: bool) -> bool:
        """Whether something was done or learnt: a change, a trial, a result with news in it, an answer at length."""
        role = step.role
        if role.waits or (step.unfinished and step.result_size <= _LONGEST_STATUS and not notes):
            return True
        if (step.call, step.result) in self._done:
            return False
        if step.speaks_only:
            return size(step.result_words) > _NOD or bool(step.result_numbers & ~self._known.words)
        if notes:
            return False  # that it was written down is no news
        if (
            (role.changes and not _LISTS.match(step.arguments))
            or role.unknown
            or (role.runs and not self._holds_no_news(step))
        ):
            return True
        return not (_is_idle(step) and (size(step.result_words) <= _NOD or self._holds_no_news(step)))

    def _holds_no_news(self, step: StepFeatures) -> bool:
        """Whether a look showed little, and nothing of it for the first time."""
        shown = step.result_words | step.result_numbers
        return size(shown) <= _LITTLE and covered(shown, self._known.words) >= _KNOWN

    def _restated(self, said: _Said) -> _Said | None:
        """The earlier thought that this one says again, if it brings nothing new."""
        known = self._known.words
        new = said.words & ~known
        closest = max(self._said, key=lambda one: alike(one.words, said.words), default=said)
        likeness = 0.0 if closest is said else alike(closest.words, said.words)
        moves_on = likeness < _NEARLY_SAME and self._moves_on(said.words, new)
        self._brought.append(new)
        if (
            moves_on
            or said.numbers & ~known
            or (_is_news(said, new, likeness, known) and not self._is_about_the_same(said, new))
        ):
            return None
        if likeness >= _ALIKE or covered(said.words, closest.words if likeness else 0) >= _ALL_SAID:
            return closest
        # The first one of a row may sum up what was only read, and so may each that is announced as a summary; another
        # may put together what several had said.
        together = reduce(or_, [one.words for one in self._said], 0)
        other = self._again and covered(said.words, together) < _ALL_SAID and not announces(said.text)
        return None if other else closest

    def _is_about_the_same(self, said: _Said, new: WordSet) -> bool:
        """Whether a thought within a row of restatements is about the very things that the last one was about."""
        if not self._again or size(new) > min(_MOST_NEW, _OTHER_WORDS * size(said.words)):
            return False
        last = self._said[-1]
        return (said.numbers & last.numbers) != 0 or _specifics(said.text) & _specifics(last.text) != 0

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


def _complained_of(remarks: list[tuple[int, str]]) -> Reading:
    reason = f"The person has said {len(remarks)} times within a few messages that what they were told is known."
    quotes = [quote(remark) for _, remark in remarks]
    return Reading(_ANNOYED, Evidence(CyclicCompression.name, reason, [index for index, _ in remarks], quotes))


def _said(step: StepFeatures, notes: bool) -> _Said:
    words, numbers, text = step.thought_words, step.thought_numbers, step.thought
    if notes and not step.speaks_only and not _is_list(step.arguments):
        words |= step.call_words
        numbers |= number_set(step.given)
        text = text or step.arguments
    words |= numbers
    return _Said(step.index, words ^ (words & ABOUT_SAYING), numbers, text[:_LONGEST_TEXT])


def _named(step: StepFeatures) -> WordSet:
    """The words and numbers that a call begins with: where it looked, what it was about."""
    if len(step.arguments) <= _BEGINNING:
        return step.given_words | number_set(step.given)
    words = split(step.arguments[:_BEGINNING])
    return word_set(words) | number_set(words)


def _fewest_words(step: StepFeatures, notes: bool) -> int:
    """Words of a thought that sums something up; beside a call it may only say what the call is for."""
    if notes:
        return _FEWEST_BESIDE_A_LIST if _is_list(step.arguments) else _FEWEST_WORDS
    return _FEWEST_BESIDE_A_CALL


def _asks(step: StepFeatures) -> bool:
    """Whether a person is asked something, and no summary comes before it: to ask again is another failure."""
    return step.speaks_only and step.result_size > 0 and "?" in step.thought and not announces(step.thought)


def _is_list(written: str) -> bool:
    """Whether short entries are written down, such as what is done and what is left to do."""
    lines = written.count("\n") + 1
    return lines >= _ENTRIES and len(written) < lines * _LONGEST_ENTRY and not announces(written)


def _is_news(said: _Said, new: WordSet, likeness: float, known: WordSet) -> bool:
    """Whether the new words of a thought are more than other ways to put what is known."""
    words, brought = size(said.words), size(new)
    if brought <= min(_MOST_NEW, _NEW_WORDS * words):
        return False
    share = _NEW_WAYS if likeness >= _MUCH_ALIKE else _NEW_WORDS
    if brought > min(_MOST_NEW, max(share * words, min(_FEW_NEW, words / 2))):
        return True
    named = _SPECIFIC.findall(said.text)
    return len(named) < _SPECIFICS or word_set(split(" ".join(named))) & ~(known | ABOUT_SAYING) != 0


def _specifics(text: str) -> WordSet:
    """The words of the certain things that a text names."""
    return word_set(split(" ".join(_SPECIFIC.findall(text))))


def _is_idle(step: StepFeatures) -> bool:
    """Whether a shell was told to do what tells nothing, such as to show where it is."""
    return role_of(step.action, ()).runs and _NAMES_A_THING.search(step.arguments) is None
