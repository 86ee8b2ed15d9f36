"""When a run leaves its topic, for how long, and whether what it does there hangs together.

Each step is weighed: how much likelier are its words in a step about something else than in one of this run? The
weights are added up from the step at which the run left. What was said on the way does not count as known, so a stretch
is measured against what came before it. Results that are new prove nothing, for that is what results are for; those
that speak of what the run has spoken of show that it is still there. What a person brings up is the topic, and so is
what goes on for long.
"""

import re
from collections.abc import Sequence

from .features import StepFeatures
from .topics import StepTopic, TopicSet
from .vocabulary import Habit, Vocabulary

FEWEST_STEPS = 3
"""Steps off the topic that make a stretch."""
ENOUGH = 4.0
"""The weight at which there is no doubt left: more than a hundred times likelier."""
_MOST_WEIGHT = 9.0
"""More is not kept, so that a run which comes back is soon believed."""
_MOST_OF_A_STEP = 3.0
_LEAST_TO_LEAVE = 0.6
"""A step of less weight does not begin a stretch."""
_LONGEST = 12
"""After so many steps the new topic is the run's."""
_SETTLED_WITH_TASK, _SETTLED_WITHOUT = 2, 4
"""Steps that are only learned from."""
_MOST_WITH_KNOWN_NAME = 1.0
"""The most that a step weighs which names a file or a symbol as it was named before."""
_ANNOUNCED = 1.0
"""What it weighs that a step which does not keep to the topic announces something further."""
_FEW_SAID = 3
"""A thought with fewer words weighs less."""
_TELLING_RESULT, _OLD_RESULT = 8, 0.88
"""A result of so many words, of which this share is known, is like what was seen before."""
_TAKEN_UP = 2
"""Words of the stretch in what a person says: it is theirs as well."""
_AT_LENGTH = 6
"""Words of an answer that is more than a nod."""
_FOREIGN_SCRIPT = 0.15
"""At this share of characters beyond ASCII the words of a text are not known well enough."""


class Departure:
    """The stretch a run may be in that has nothing to do with the rest of it."""

    __slots__ = (
        "_called",
        "_codes",
        "_further",
        "_links",
        "_named",
        "_results",
        "_said",
        "_settled",
        "_stretch",
        "_stretch_said",
        "has_task",
        "known",
        "steps",
        "vocabulary",
        "weight",
        "words",
    )

    def __init__(self, task: str, further: re.Pattern[str] | None = None) -> None:
        self._further = further
        self.vocabulary = Vocabulary(task)
        self.has_task = task.strip() != ""
        self._settled = _SETTLED_WITH_TASK if self.has_task else _SETTLED_WITHOUT
        self._said = Habit(0.8, foreign=0.25, most_words=6)
        self._called = Habit(0.85, foreign=0.15, most_words=4)
        self._results = Habit(0.25, foreign=0.3, most_words=6)
        self._codes = Habit(0.85, foreign=0.15, most_words=3)
        self._forget()

    def _forget(self) -> None:
        self.weight = 0.0
        """How much speaks for another topic; 0 while the run is at its own."""
        self.steps: list[int] = []
        """Those that are off the topic, since the run left it."""
        self.words = 0
        """How many telling words they have..."""
        self.known = 0.0
        """...and how many of those were known before."""
        self._links = 0.0
        self._named: TopicSet = 0
        self._stretch: TopicSet = 0
        self._stretch_said: TopicSet = 0

    def is_stretch(self, fewest_words: float) -> bool:
        """Whether there is no doubt that the run has left its topic, with so many new words for each step."""
        steps = len(self.steps)
        return self.weight >= ENOUGH and steps >= FEWEST_STEPS and self.new_words >= fewest_words * steps

    @property
    def new_words(self) -> int:
        """How many words the stretch has that were not known before it."""
        return self.vocabulary.unknown(self._stretch_said).bit_count()

    @property
    def coherence(self) -> float:
        """The share of its new words that a step of the stretch has from the steps before it, on average."""
        return self._links / (len(self.steps) - 1) if len(self.steps) > 1 else 0.0

    def observe(self, step: StepFeatures) -> bool:
        """Take the next step in; whether it is off the topic."""
        topic = step.topic
        brought = 0 if step.speaks_only else topic.brought
        counted = [
            (self._said, topic.said.bit_count(), self.vocabulary.known(topic.said)),
            (self._called, topic.called.bit_count(), self.vocabulary.known(topic.called)),
            (self._results, brought.bit_count(), self.vocabulary.spoken(brought)),
            (self._codes, topic.coded.bit_count(), self.vocabulary.known(topic.coded)),
        ]
        weight = self._weigh(step, counted)
        self.weight = min(_MOST_WEIGHT, max(0.0, self.weight + weight))
        if self.weight <= 0.0 or (self.steps and step.index - self.steps[0] > _LONGEST):
            self._return(topic, counted)
        else:
            self._go_on(step.index, topic, weight > 0.0)
        self._take_in_result(step)
        return weight > 0.0 and self.weight > 0.0

    def _weigh(self, step: StepFeatures, counted: Sequence[tuple[Habit, int, float]]) -> float:
        if step.index < self._settled or _is_foreign(step.thought):
            return 0.0
        said, called, results, codes = [habit.weigh(words, known) if words else 0.0 for habit, words, known in counted]
        weight = said * min(1.0, counted[0][1] / _FEW_SAID) + called + codes + min(0.0, results)
        topic = step.topic
        if self._keeps_to_topic(topic, step.speaks_only):
            weight = min(weight, 0.0)
        elif self.vocabulary.names_known(topic):
            weight = min(weight, _MOST_WITH_KNOWN_NAME)
        elif weight >= 0.0 and self._further is not None and self._further.search(step.thought):
            weight += _ANNOUNCED
        if not self.steps and weight < _LEAST_TO_LEAVE:
            weight = min(weight, 0.0)
        return max(-_MOST_OF_A_STEP, min(_MOST_OF_A_STEP, weight))

    def _keeps_to_topic(self, topic: StepTopic, speaks_only: bool) -> bool:
        """Whether a step is plainly at the topic, however new its words are."""
        vocabulary = self.vocabulary
        if vocabulary.speaks_of_task(topic.said | topic.called | topic.coded):
            return True
        words = topic.brought.bit_count()
        return not speaks_only and words >= _TELLING_RESULT and vocabulary.known(topic.brought) >= _OLD_RESULT * words

    def _return(self, topic: StepTopic, counted: Sequence[tuple[Habit, int, float]]) -> None:
        """The run is at its topic, and whatever it did on the way belongs to it."""
        for habit, words, known in counted:
            if words:
                habit.learn(words, known)
        self.vocabulary.bring(self._stretch)
        self.vocabulary.speak(self._stretch_said | topic.said | topic.called | topic.coded, self._named | topic.named)
        self._forget()

    def _go_on(self, index: int, topic: StepTopic, off: bool) -> None:
        words = topic.said | topic.called | topic.coded
        if off:
            new = self.vocabulary.unknown(words)
            if self.steps:
                self._links += (new & self._stretch).bit_count() / max(1, new.bit_count())
            self.steps.append(index)
            self.words += words.bit_count()
            self.known += self.vocabulary.known(words)
        self._stretch |= words
        self._stretch_said |= words
        self._named |= topic.named

    def _take_in_result(self, step: StepFeatures) -> None:
        brought = step.topic.brought
        if not step.speaks_only:
            if self.weight > 0.0:
                self._stretch |= brought
            else:
                self.vocabulary.bring(brought)
            return
        if self._is_taken_up(step):
            self.vocabulary.speak(self._stretch, self._named)
            self._forget()
        self.vocabulary.speak(brought & ~self._stretch)

    def _is_taken_up(self, step: StepFeatures) -> bool:
        """Whether a person speaks of what the stretch is about, or answers at length and so goes along with it."""
        if self.vocabulary.unknown(step.topic.brought & self._stretch).bit_count() >= _TAKEN_UP:
            return True
        # Whoever is led from one thing to the next may well answer at length that it is not wanted.
        return self._further is None and len(step.result_excerpt.split()) >= _AT_LENGTH


def _is_foreign(text: str) -> bool:
    return not text.isascii() and len(text.encode("ascii", "ignore")) < (1 - _FOREIGN_SCRIPT) * len(text)
