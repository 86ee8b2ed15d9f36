"""When a run leaves its topic, for how long, and whether what it does there hangs together.

Each step is weighed: how much likelier are its words in a step about something else than in one of this run? The
weights are added up from the step at which the run left. What was said on the way does not count as known, so a stretch
is measured against what came before it. Results that are new prove nothing, for that is what results are for; those
that speak of what the run has spoken of show that it is still there. What a person brings up is the topic, and so is
what goes on for long.
"""

from collections import deque
from functools import reduce
from operator import or_

from .asides import is_aside
from .features import StepFeatures
from .inquiry import inquires
from .partaking import asks_back, refers, takes_up
from .topics import StepTopic, TopicSet
from .vocabulary import Counted, Habit, Vocabulary, is_at_home
from .waiting import waits
from .words import WordSet, overlap

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
_FEW_SAID = 3
"""A thought with fewer words weighs less."""
_TELLING_RESULT, _OLD_RESULT = 8, 0.88
"""A result of so many words, of which this share is known, is like what was seen before."""
_REFERENCE = 0.5
"""The link that a short text has which refers to what was said before."""
_RECENT = 6
"""Steps whose calls are remembered: to do the same once more says nothing about the topic."""
_SHORTLY = 3
"""Steps back from which a lead is followed."""
_LED = 0.3
"""With a greater share of words that came up shortly before, a step follows a lead."""
_FEW_WORDS, _SHORT_TASK = 6, 40
"""Where both a step and the task have few words, a single one in common tells."""
_MOST_IN_DOUBT = 1.5
"""The most that a step weighs which may put a failure right, or speak of a result that is not known as a whole."""
_MOST_OF_AN_INQUIRY = 0.5
"""The most that a step weighs which looks for a cause."""
_MOST_KNOWN = 0.2
"""With a greater share of known words a stretch is not about something else, however unusual that is for the run."""
_CLOSE, _HARDLY_KNOWN, _FEWEST_WORDS = 0.4, 0.1, 0.75
"""A stretch of questions, or of work, that shares so much, and so little with the rest, needs so few words each."""
_OTHER_MATTER = 2.5
"""New words of each step that show another matter where the names are those of before."""
_SAME_BUT_FOR_THE_ITEM = 0.6
"""The share of names, flags and numbers in calls that do the same to different items."""
_FAMILIAR = 0.5
"""With a greater share of steps that name what was named before, a stretch is about that."""
_DENSE = 0.55
"""The share of steps off the topic since the run left it that makes them one stretch."""
_MOSTLY_LOOKS = 0.3
"""With no greater share of steps that make something, a stretch only looks around."""
_FOREIGN_SCRIPT = 0.15
"""At this share of characters beyond ASCII the words of a text are not known well enough."""


class Departure:
    """The stretch a run may be in that has nothing to do with the rest of it."""

    __slots__ = (
        "_called",
        "_calls",
        "_codes",
        "_cut",
        "_failed",
        "_familiar",
        "_focus",
        "_fresh",
        "_last",
        "_last_made",
        "_links",
        "_made",
        "_many",
        "_named",
        "_paths",
        "_recurring",
        "_results",
        "_said",
        "_said_before",
        "_settled",
        "_stretch",
        "_stretch_said",
        "_talked",
        "has_task",
        "known",
        "steps",
        "vocabulary",
        "weight",
        "words",
    )

    def __init__(self, task: str) -> None:
        self.vocabulary = Vocabulary(task)
        self.has_task = task.strip() != ""
        self._settled = _SETTLED_WITH_TASK if self.has_task else _SETTLED_WITHOUT
        self._said = Habit(0.8, foreign=0.25, most_words=6)
        self._called = Habit(0.85, foreign=0.15, most_words=4)
        self._results = Habit(0.25, foreign=0.3, most_words=6)
        self._codes = Habit(0.85, foreign=0.15, most_words=3)
        self._fresh: deque[TopicSet] = deque(maxlen=_SHORTLY)
        self._calls: deque[bytes] = deque(maxlen=_RECENT)
        self._failed = self._cut = False
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
        self._focus = 0
        """How many of the steps come back to what others of them have named."""
        self._familiar = 0
        """How many of them name what was named before the run left."""
        self._paths = 0
        """How many of them do something to a file."""
        self._made = self._many = self._talked = 0
        """How many of them make or change something, and how many are talk."""
        self._last = 0
        self._named: TopicSet = 0
        self._stretch: TopicSet = 0
        self._stretch_said: TopicSet = 0
        self._said_before: TopicSet = 0
        """What was said in the stretch before its last step."""
        self._recurring = 0
        """How many steps come back to what was said before the step right before them."""
        self._last_made: WordSet = 0
        """The names, flags and numbers of the newest call that made something."""

    def is_stretch(self, fewest_words: float) -> bool:
        """Whether there is no doubt that the run has left its topic, with so many new words for each step."""
        steps = len(self.steps)
        if self.weight < ENOUGH or steps < FEWEST_STEPS or self.known > _MOST_KNOWN * self.words:
            return False
        if steps < _DENSE * (self._last - self.steps[0] + 1):
            return False
        apart = steps > FEWEST_STEPS and self.known <= _HARDLY_KNOWN * self.words and self.coherence >= _CLOSE
        if self._familiar > _FAMILIAR * steps:  # another matter in the same file shares nothing with the first but that
            return apart and self.new_words >= _OTHER_MATTER * steps
        # Whatever comes back to one and the same thing does not need many words.
        fewest = min(1.0, fewest_words) if self._focus >= FEWEST_STEPS - 1 else fewest_words
        if apart and ((self._made and not self._many) or not self._paths):
            fewest = min(_FEWEST_WORDS, fewest)
        return self.new_words >= fewest * steps

    @property
    def new_words(self) -> int:
        """How many words the stretch has that were not known before it."""
        return self.vocabulary.unknown(self._stretch_said).bit_count()

    @property
    def coherence(self) -> float:
        """The share of its new words that a step of the stretch has from the steps before it, on average."""
        return self._links / (len(self.steps) - 1) if len(self.steps) > 1 else 0.0

    @property
    def is_one_thing(self) -> bool:
        """Whether what is done shows that it is one thing: it is talked about throughout, or something is made.

        Whoever looks at one thing after another does neither.
        """
        return self._talked == len(self.steps) or self._made > _MOSTLY_LOOKS * len(self.steps)

    @property
    def comes_back(self) -> bool:
        """Whether any step of the stretch comes back to what others of it have said or named, not only the last one.

        Whoever goes from one thing to the next, by whatever was found there, does not.
        """
        return self._recurring > 0 or self._focus > 0

    def observe(self, step: StepFeatures) -> bool:
        """Take the next step in; whether it is off the topic."""
        topic = step.topic
        counted = self._count(step)
        weight = self._weigh(step, counted)
        if weight > 0.0 and not self.steps and self.vocabulary.catch_up():
            counted = self._count(step)  # it may speak of what was in the midst of a long result
            weight = self._weigh(step, counted)
        fresh = self.vocabulary.unknown(topic.spoken | topic.brought)
        self.weight = min(_MOST_WEIGHT, max(0.0, self.weight + weight))
        if self.weight <= 0.0 or (self.steps and step.index - self.steps[0] > _LONGEST):
            self._return(topic, counted)
        else:
            self._go_on(step, weight > 0.0)
        self._fresh.append(fresh)
        self._calls.append(step.call)
        self._failed = step.failed
        self._cut = step.result_size > len(step.result_excerpt)
        self._take_in_result(step)
        if self._cut and not self.weight and is_at_home(counted):
            self.vocabulary.put_off(step.observation)
        return weight > 0.0 and self.weight > 0.0

    def _count(self, step: StepFeatures) -> Counted:
        """How many words the step has of each kind, and how many of them are known."""
        topic, known = step.topic, self.vocabulary.known
        brought, size = (0, 0) if step.speaks_only else (topic.brought, topic.brought_size)
        return [
            (self._said, topic.said_size, known.held(topic.said, topic.said_size)),
            (self._called, topic.called_size, known.held(topic.called, topic.called_size)),
            (self._results, size, self.vocabulary.spoken.held(brought, size)),
            (self._codes, topic.coded_size, known.held(topic.coded, topic.coded_size)),
        ]

    def _weigh(self, step: StepFeatures, counted: Counted) -> float:
        if step.index < self._settled or _is_foreign(step.thought):
            return 0.0
        if not self.weight and self._keeps_to_topic(step.topic, step.speaks_only):
            return 0.0  # it cannot be more at its topic than it is
        said, called, results, codes = [habit.weigh(words, known) if words else 0.0 for habit, words, known in counted]
        origin = step.origin
        if origin.settled and origin.given and not origin.fresh and not origin.tied:
            codes = min(0.0, codes)  # where somebody is served, ids that were given are what it is about
        weight = said * min(1.0, counted[0][1] / _FEW_SAID) + called + codes + min(0.0, results)
        topic = step.topic
        if self.weight and self._keeps_to_topic(topic, step.speaks_only):
            weight = min(weight, 0.0)
        elif self.vocabulary.names_known(topic.named):
            weight = min(weight, _MOST_WITH_KNOWN_NAME)
        if weight > 0.0:
            weight = self._doubt(step, weight)
        return max(-_MOST_OF_A_STEP, min(_MOST_OF_A_STEP, weight))

    def _doubt(self, step: StepFeatures, weight: float) -> float:
        """What is left of a weight where something else explains the step."""
        if not self.steps and (weight < _LEAST_TO_LEAVE or self._follows_lead(step.topic.spoken)):
            return 0.0
        if step.call in self._calls or waits(step):
            return 0.0
        if inquires(step):
            return min(weight, _MOST_OF_AN_INQUIRY)
        return min(weight, _MOST_IN_DOUBT) if self._failed or self._cut else weight

    def _follows_lead(self, words: TopicSet) -> bool:
        """Whether it goes on with the task or with what the steps right before it brought up, or answers a failure."""
        size, vocabulary = words.bit_count(), self.vocabulary
        if size <= _FEW_WORDS and vocabulary.task_size <= _SHORT_TASK and words & vocabulary.task:
            return True
        led = (words & reduce(or_, self._fresh, 0)).bit_count()
        return led > (0.0 if self._failed else _LED) * size

    def _keeps_to_topic(self, topic: StepTopic, speaks_only: bool) -> bool:
        """Whether a step is plainly at the topic, however new its words are."""
        vocabulary = self.vocabulary
        if vocabulary.speaks_of_task(topic.spoken):
            return True
        size = topic.brought_size
        if speaks_only or size < _TELLING_RESULT:
            return False
        return vocabulary.known.held(topic.brought, size) >= _OLD_RESULT * size

    def _does_the_same(self, step: StepFeatures) -> bool:
        """Whether a call does to one more item what the last one did to another: work on many, not one thing made."""
        before, self._last_made = self._last_made, step.call_names
        return before != 0 and overlap(before, step.call_names) >= _SAME_BUT_FOR_THE_ITEM

    def _return(self, topic: StepTopic, counted: Counted) -> None:
        """The run is at its topic, and whatever it did on the way belongs to it."""
        for habit, words, known in counted:
            if words:
                habit.learn(words, known)
        self.vocabulary.speak(topic.spoken, topic.named)
        if self.steps:
            self.vocabulary.bring(self._stretch)
            self.vocabulary.speak(self._stretch_said, self._named)
            self._forget()

    def _go_on(self, step: StepFeatures, off: bool) -> None:
        topic, words = step.topic, step.topic.spoken
        self._last = step.index
        if off:
            new = self.vocabulary.unknown(words)
            if self.steps:
                link = (new & self._stretch).bit_count() / max(1, new.bit_count())
                self._links += max(link, _REFERENCE) if refers(step) else link
                self._focus += topic.named & self._named != 0
            self.steps.append(step.index)
            if not is_aside(step):  # one aside after the other is not one thing, whatever is done in them
                self._talked += step.speaks_only and not asks_back(step)
                if step.role.writes or step.role.changes:
                    self._made += 1
                    self._many += self._does_the_same(step)
            self._familiar += self.vocabulary.names_known(topic.named)
            self._paths += "/" in step.arguments and "://" not in step.arguments
            size = words.bit_count()
            self.words += size
            self.known += self.vocabulary.known.held(words, size)
            self._recurring += new & (self._stretch if step.speaks_only else self._said_before) != 0
            self._said_before = self._stretch_said
            self._stretch_said |= words
        self._stretch |= words
        self._named |= topic.named

    def _take_in_result(self, step: StepFeatures) -> None:
        brought = step.topic.brought
        if not step.speaks_only:
            if self.weight > 0.0:
                self._stretch |= brought
            else:
                self.vocabulary.bring(brought)
            return
        if self.steps and takes_up(step):
            self.vocabulary.speak(self._stretch, self._named)
            self._forget()
        if self.steps:
            self._stretch |= brought  # a short answer follows where it is led
        else:
            self.vocabulary.speak(brought)


def _is_foreign(text: str) -> bool:
    return not text.isascii() and len(text.encode("ascii", "ignore")) < (1 - _FOREIGN_SCRIPT) * len(text)
