"""The words a run has used so far, and how far a step keeps to them.

What is known is the task, and whatever thoughts, calls, results and people have brought up. How much of that a step has
is compared with what is usual in this very run, apart for thoughts and for calls: in a service every id in a call
comes from somewhere, while a programmer's thoughts bring new names with every file.
"""

from collections import deque
from collections.abc import Sequence
from math import log

from .lexicon import TOPIC_BITS
from .topics import TopicSet, topic_of_task, topic_set
from .words import split

_LEAST_USUAL, _MOST_USUAL = 0.05, 0.96
_KEPT = 0.4
"""With a lower share a run does not keep to its words."""
_ENOUGH_TO_LEARN = 4
"""A step with fewer words says less about what is usual."""
_TASK_WORDS_PER_NAMED = 25
_NAMED = 2
"""A step with more words of the task than this is about the task; for so many words that it has, one more is needed."""

_AT_HOME = 0.5
"""With a greater share of known words a step is plainly at the topic."""
_MOST_PUT_OFF, _MOST_READ = 3, 12_000
"""Long results that are kept for as long as nobody asks for all of their words, and characters of each."""


class Habit:
    """The share of known words that a run usually has in one kind of text."""

    __slots__ = ("_foreign", "_log_foreign", "_most_words", "_steps", "_sum")

    def __init__(self, expected: float, foreign: float, most_words: int) -> None:
        self._sum = expected * _PRIOR
        self._steps = float(_PRIOR)
        self._foreign = foreign
        """The part of the usual share that is left in a step about something else."""
        self._log_foreign = log(foreign)
        self._most_words = most_words
        """Further words of the same text add nothing: they go together."""

    def learn(self, words: int, known: float) -> None:
        """A step that kept to the topic had so many words, and so many of them were known."""
        weight = words / _ENOUGH_TO_LEARN if words < _ENOUGH_TO_LEARN else 1.0
        self._sum += weight * known / words
        self._steps += weight

    def weigh(self, words: int, known: float) -> float:
        """How much such a step speaks for another topic: the logarithm of how many times likelier it is there."""
        usual = min(_MOST_USUAL, max(_LEAST_USUAL, self._sum / self._steps))
        if usual < _KEPT and known < usual * words:
            return 0.0  # where every step brings new words there is no vocabulary to leave
        foreign = self._foreign * usual
        weight = known * self._log_foreign + (words - known) * log((1.0 - foreign) / (1.0 - usual))
        return weight * (self._most_words / words) if words > self._most_words else weight


_PRIOR = 2
"""Steps that what is expected counts for before a run has shown its own habits."""

Counted = Sequence[tuple[Habit, int, float]]
"""Words of several kinds: what is usual, how many there are, and how many of them are known."""


def is_at_home(counted: Counted) -> bool:
    """Whether most of what a step says and does was known: then so is what its result is about."""
    (_, said, said_known), (_, called, called_known), *_ = counted
    return said_known + called_known > _AT_HOME * (said + called)


class Vocabulary:
    """What a run has been about so far."""

    __slots__ = ("_named", "_put_off", "_task_share", "known", "spoken", "task", "task_size")

    def __init__(self, task: str) -> None:
        self.task, self._named = topic_of_task(task)
        self.task_size = self.task.bit_count()
        self._task_share = _NAMED + self.task_size // _TASK_WORDS_PER_NAMED
        self.known = Words(self.task)
        self.spoken = Words(self.task)
        """Those words that were not only in results: in the task, a thought, a call or the words of a person."""
        self._put_off: deque[str] = deque(maxlen=_MOST_PUT_OFF)

    def unknown(self, words: TopicSet) -> TopicSet:
        """Those of these words that are not known."""
        return words ^ (words & self.known.words)

    def speaks_of_task(self, words: TopicSet) -> bool:
        """Whether so many of these words are the task's that they are about it."""
        return (words & self.task).bit_count() > self._task_share

    def names_known(self, named: TopicSet) -> bool:
        """Whether a file, a symbol or an id is named as it was named before."""
        return named & self._named != 0

    def speak(self, words: TopicSet, named: TopicSet = 0) -> None:
        """The run has spoken of these words and named these things."""
        self.spoken.add(words)
        self.known.add(words)
        if named:
            self._named |= named

    def bring(self, words: TopicSet) -> None:
        """A result has brought these words up."""
        self.known.add(words)

    def put_off(self, result: str) -> None:
        """A long result has brought up more words than were looked at: they are read where it matters."""
        self._put_off.append(result[:_MOST_READ])

    def catch_up(self) -> bool:
        """Read what was put off; whether there was any of it."""
        if not self._put_off:
            return False
        for result in self._put_off:
            self.known.add(topic_set(set(split(result))))
        self._put_off.clear()
        return True


class Words:
    """Words that add up, and how full the set is: counted when that is asked for, for it takes longer than to add."""

    __slots__ = ("_filled", "words")

    def __init__(self, words: TopicSet) -> None:
        self.words = words
        self._filled: float | None = None

    def add(self, words: TopicSet) -> None:
        """Take in more words."""
        together = self.words | words
        if together != self.words:
            self.words = together
            self._filled = None

    def held(self, words: TopicSet, size: int) -> float:
        """How many of `size` words are among these; what falls on the same bit by chance is taken off."""
        common = words & self.words
        if not common:
            return 0.0
        held = size if common == words else common.bit_count()  # to count them takes many times as long
        if self._filled is None:
            self._filled = self.words.bit_count() / TOPIC_BITS
        filled = self._filled
        return max(0.0, (held - size * filled) / (1.0 - filled)) if filled < 1.0 else float(held)
