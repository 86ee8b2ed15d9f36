"""silent_topic_drift: several steps in a row share next to no words with all that came before, and nobody said why.

The topic is whatever thoughts, calls and results have been about. A step that is off it adds nothing to it, so a
stretch is measured against what came before the stretch. Where words cannot tell, nothing is said: in a run that never
kept to its words, in scripts that do not part them, and of a stretch that hangs together and so is a part of the work.
"""

from ..answers import Evidence
from .base import NOTHING, MonitorState, Reading
from .features import StepFeatures
from .vocabulary import Vocabulary
from .words import WordSet, covered, phrases, size

SETTLED = 4
"""The steps at the start that make the topic."""
_FEWEST_WORDS = 8
_OFF_TOPIC = 0.15
"""At this share of known words or less a step is off the topic."""
_SCORES = (0.0, 0.1, 0.2, 0.4, 0.65, 0.75, 0.85)
"""By how many steps in a row are off it."""
_COHERENT = 0.2
"""With this share of words from the stretch it is in, a step goes on with it."""
_FOREIGN = 0.15
"""At this share of characters beyond ASCII the words of a text are not known well enough."""
_MOST_QUOTES = 3
_SAYS_WHY = phrases(
    "as requested, back to, different approach, different task, different topic, instead, move on, moving on",
    "new question, new request, new task, new topic, next item, next part, next task, switch*, turning to, you asked",
)


class SilentTopicDrift:
    """A stretch off the topic."""

    name = "silent_topic_drift"
    failure_type = "drift"
    description = "Several steps in a row have next to nothing in common with the run before them, and nobody said why."

    def start(self, task: str) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State()


class _State:
    __slots__ = ("_off", "_stretch", "_topic")

    def __init__(self) -> None:
        self._topic = Vocabulary()
        self._off: list[tuple[int, str]] = []
        self._stretch: WordSet = 0
        """The words of the steps that are off the topic."""

    def observe(self, step: StepFeatures) -> Reading:
        words = step.thought_words | step.call_words
        if step.index < SETTLED:
            self._topic.take_in(words, step.result_words)
        elif size(words) >= _FEWEST_WORDS:
            self._judge(step, words)
        if step.speaks_only:
            self._topic.known |= step.result_words  # what a person says is the topic
        return self._reading()

    def _judge(self, step: StepFeatures, words: WordSet) -> None:
        if self._is_off(step, words):
            self._off.append((step.index, step.thought_quote()))
            del self._off[: -len(_SCORES)]
            self._stretch |= words | step.result_words
            return
        self._topic.take_in(words, step.result_words | self._stretch)
        self._off.clear()
        self._stretch = 0

    def _is_off(self, step: StepFeatures, words: WordSet) -> bool:
        return (
            self._topic.settled
            and self._topic.share_known(words) <= _OFF_TOPIC
            and covered(words, self._stretch) < _COHERENT
            and not _is_foreign(step.thought)
            and not _SAYS_WHY.search(step.thought)
        )

    def _reading(self) -> Reading:
        off = self._off
        if not off:
            return NOTHING
        return Reading(
            _SCORES[min(len(off), len(_SCORES) - 1)],
            Evidence(
                SilentTopicDrift.name,
                f"{len(off)} steps in a row share next to no words with the rest of the run.",
                [index for index, _ in off],
                [text for _, text in off][-_MOST_QUOTES:],
            ),
        )


def _is_foreign(text: str) -> bool:
    return not text.isascii() and len(text.encode("ascii", "ignore")) < (1 - _FOREIGN) * len(text)
