"""late_sprawl: late in a run one thing after another is begun that has little to do with what came before.

Work over many files is not sprawl: what is counted are thoughts that announce something further, in words the run has
hardly used, in a run that had kept to its words until then. The next item of a list that is filled in is none either.
"""

from collections import deque

from ..answers import Evidence
from .base import NOTHING, MonitorState, Reading
from .features import StepFeatures
from .vocabulary import Vocabulary
from .words import phrases, size

LATE = 10
"""The first step that can be late."""
WINDOW = 8
_FEWEST_WORDS = 5
_NEW = 0.35
"""At this share of known words or less, a thought is about something else."""
_SCORES = (0.0, 0.15, 0.35, 0.65, 0.8, 0.9)
"""By how many of the last steps began something new."""
_FURTHER = phrases(
    "additionally, also, another, as well, at it, besides, bonus, by the way, could extend, could improve, extra",
    "furthermore, in addition, might as well, moreover, nice to have, on top of, optional*, separate*, side note",
    "side task, unrelated, while i'm here, while we're here, worth adding, worth exploring, worth trying",
)


class LateSprawl:
    """New beginnings where an end was due."""

    name = "late_sprawl"
    failure_type = "sprawl"
    description = "Late in the run one new thing after another is begun that has little to do with what came before."

    def start(self, task: str) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State()


class _State:
    __slots__ = ("_acts", "_begun", "_vocabulary")

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._acts: deque[bytes] = deque(maxlen=WINDOW)
        """The tools of the last steps."""
        self._begun: deque[tuple[int, str]] = deque(maxlen=WINDOW)

    def observe(self, step: StepFeatures) -> Reading:
        words = step.thought_words | step.call_words
        begins = (
            step.index >= LATE
            and size(words) >= _FEWEST_WORDS
            and self._vocabulary.settled
            and self._vocabulary.share_known(words) <= _NEW
            and not self._is_next_item(step)
            and _FURTHER.search(step.thought) is not None
        )
        self._acts.append(step.tool)
        if begins:
            self._begun.append((step.index, step.thought_quote()))
            self._vocabulary.known |= words | step.result_words
        else:
            # What a result brought up is known as well: to follow it is no tangent.
            self._vocabulary.take_in(words, step.result_words)
        while self._begun and self._begun[0][0] <= step.index - WINDOW:
            self._begun.popleft()
        return self._reading()

    def _is_next_item(self, step: StepFeatures) -> bool:
        """Whether it does to another thing what was done before; new code is not an item of a list."""
        return step.role.may_change and not step.role.writes and step.tool in self._acts

    def _reading(self) -> Reading:
        begun = self._begun
        if not begun:
            return NOTHING
        return Reading(
            _SCORES[min(len(begun), len(_SCORES) - 1)],
            Evidence(
                LateSprawl.name,
                f"In the last {WINDOW} steps {len(begun)} things were begun in words the run had hardly used before.",
                [index for index, _ in begun],
                [text for _, text in begun][-3:],
            ),
        )
