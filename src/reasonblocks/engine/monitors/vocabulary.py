"""The words a run has used so far, and how far a step keeps to them.

What is known is the task, and whatever thoughts, calls, results and people have brought up. How much of that a step has
is compared with what is usual in this very run, apart for thoughts and for calls: in a service every id in a call
comes from somewhere, while a programmer's thoughts bring new names with every file.
"""

from math import log

from .topics import BITS, StepTopic, TopicSet, topic_of_task

_LEAST_USUAL, _MOST_USUAL = 0.05, 0.96
_KEPT = 0.4
"""With a lower share a run does not keep to its words."""
_ENOUGH_TO_LEARN = 4
"""A step with fewer words says less about what is usual."""
_TASK_WORDS_PER_NAMED = 25
_NAMED = 2
"""A step with more words of the task than this is about the task; for so many words that it has, one more is needed."""


class Habit:
    """The share of known words that a run usually has in one kind of text."""

    __slots__ = ("_foreign", "_most_words", "_steps", "_sum")

    def __init__(self, expected: float, foreign: float, most_words: int) -> None:
        self._sum = expected * _PRIOR
        self._steps = float(_PRIOR)
        self._foreign = foreign
        """The part of the usual share that is left in a step about something else."""
        self._most_words = most_words
        """Further words of the same text add nothing: they go together."""

    @property
    def usual(self) -> float:
        """The share a step of this run has on average."""
        return min(_MOST_USUAL, max(_LEAST_USUAL, self._sum / self._steps))

    def learn(self, words: int, known: float) -> None:
        """A step that kept to the topic had so many words, and so many of them were known."""
        weight = min(1.0, words / _ENOUGH_TO_LEARN)
        self._sum += weight * known / words
        self._steps += weight

    def weigh(self, words: int, known: float) -> float:
        """How much such a step speaks for another topic: the logarithm of how many times likelier it is there."""
        usual = self.usual
        if usual < _KEPT and known < usual * words:
            return 0.0  # where every step brings new words there is no vocabulary to leave
        foreign = self._foreign * usual
        weight = known * log(self._foreign) + (words - known) * log((1.0 - foreign) / (1.0 - usual))
        return weight * min(1.0, self._most_words / words)


_PRIOR = 2
"""Steps that what is expected counts for before a run has shown its own habits."""


class Vocabulary:
    """What a run has been about so far."""

    __slots__ = ("_filled", "_known", "_named", "_spoken", "_spoken_filled", "task")

    def __init__(self, task: str) -> None:
        topic = topic_of_task(task)
        self.task = topic.said
        self._known: TopicSet = 0
        self._spoken: TopicSet = 0
        """Those words that were not only in results."""
        self._named = topic.named
        self.speak(topic.said, topic.named)

    def known(self, words: TopicSet) -> float:
        """How many of these words are known; what falls on the same bit by chance is taken off."""
        return _held(words, self._known, self._filled)

    def spoken(self, words: TopicSet) -> float:
        """How many of these words were in the task, a thought, a call or the words of a person."""
        return _held(words, self._spoken, self._spoken_filled)

    def unknown(self, words: TopicSet) -> TopicSet:
        """Those of these words that are not known."""
        return words & ~self._known

    def speaks_of_task(self, words: TopicSet) -> bool:
        """Whether so many of these words are the task's that they are about it."""
        return (words & self.task).bit_count() > _NAMED + self.task.bit_count() // _TASK_WORDS_PER_NAMED

    def names_known(self, topic: StepTopic) -> bool:
        """Whether a step names a file, a symbol or an id as it was named before."""
        return topic.named & self._named != 0

    def speak(self, words: TopicSet, named: TopicSet = 0) -> None:
        """The run has spoken of these words and named these things."""
        self._spoken |= words
        self._spoken_filled = self._spoken.bit_count() / BITS
        self._named |= named
        self.bring(words)

    def bring(self, words: TopicSet) -> None:
        """A result has brought these words up."""
        self._known |= words
        self._filled = self._known.bit_count() / BITS


def _held(words: TopicSet, by: TopicSet, filled: float) -> float:
    held = (words & by).bit_count()
    return max(0.0, (held - words.bit_count() * filled) / (1.0 - filled)) if filled < 1.0 else float(held)
