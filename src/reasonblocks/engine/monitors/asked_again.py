"""A person is asked for one thing again and again, and has no more to say to it than the first time.

What is asked for shows in what the question names, whatever words are around it; and that nothing comes of it, in that
the answers have hardly a word that the ones before them had not. To ask once more may be caution, and after a repair
another question stands in between.
"""

from ..answers import Evidence
from .accounts import NAMES
from .asking import ABOUT_TELLING, asks_for_something
from .base import Reading
from .features import StepFeatures, quote
from .words import WordSet, number_set, overlap, size, split, word_set

_FEWEST, _FEWEST_ONCE_MORE = 4, 3
"""Questions in a row that are too many, and where the answers themselves say that they are the same again."""
_ONCE_MORE = frozenset("again already before same still".split())
_TIMES_ONCE_MORE = 2
_SCORES = (0.72, 0.85, 0.92)
_MOST_ASKED = 24
"""Words of a question that is no more than one."""
_LONGEST_ANSWER = 30
"""Words of an answer to one question."""
_MOST_NEW = 2
"""Words of an answer that none of the answers before it had, nor the question."""
_SAME = 0.6
"""Of the words of a question, where nothing in it names a certain thing."""
_FEWEST_WORDS = 2
WORDS_AROUND = (
    "able aim answer ask attempt back begin case check clarify come confirm could double detail do ensure find first "
    "function get give go have help hold inform kindly know learn let like make may mean minute moment more need next "
    "now please possible proceed provide question quick reply report request result return run see send share show "
    "start state sure take tell test thank thanks time tool trouble try understand use verify want way whether "
    "would".split()
)
AROUND = word_set(WORDS_AROUND)
"""With which anybody is asked for anything."""
_MOST = 8
_MONITOR = "semantic_loop"


class AskedAgain:
    """The questions in a row that ask for one thing."""

    __slots__ = ("_about", "_heard", "_named", "_once_more", "_steps", "_text")

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._text = ""
        """The first one."""
        self._named: WordSet | None = None
        """The words of what it names, read where another one may be the same..."""
        self._about: WordSet = 0
        """...and all that it is about."""
        self._heard: WordSet = 0
        """What was said in the row."""
        self._once_more = 0
        """Answers which say that they are the same again."""

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if it is one question too many."""
        if not _asks_one_thing(step):
            if self._steps:
                self._forget()
            return None
        about = step.thought_words & ~AROUND
        if self._steps and not (self._heard_before(step) and self._is_the_same(about, step)):
            self._forget()
        if not self._steps:
            self._text, self._about = step.thought, about
        self._steps = [*self._steps[-_MOST:], step.index]
        self._heard |= step.result_words | step.result_numbers | step.thought_words | step.thought_numbers
        self._once_more += not _ONCE_MORE.isdisjoint(step.heard)
        few = _FEWEST_ONCE_MORE if self._once_more >= _TIMES_ONCE_MORE else _FEWEST
        over = len(self._steps) - few
        if over < 0:
            return None
        reason = f"{len(self._steps)} messages in a row ask for the same, and nothing new came back."
        quotes = [quote(self._text), step.thought_quote(), quote(step.observation)]
        return Reading(_SCORES[min(over, len(_SCORES) - 1)], Evidence(_MONITOR, reason, list(self._steps), quotes))

    def _is_the_same(self, about: WordSet, step: StepFeatures) -> bool:
        """Whether it names nothing but what the first one named, or has most of its words."""
        if self._named is None:
            self._named = _named(self._text)
        named = _named(step.thought)
        if named & ~self._named:
            return False
        if named:
            return True
        return size(about) >= _FEWEST_WORDS and overlap(about, self._about) >= _SAME

    def _heard_before(self, step: StepFeatures) -> bool:
        if len(step.heard) > _LONGEST_ANSWER or step.result_numbers & ~self._heard:
            return False
        return size(step.result_words & ~(self._heard | ABOUT_TELLING | AROUND)) <= _MOST_NEW

    def _forget(self) -> None:
        self._steps = []
        self._named = None
        self._about = self._heard = 0
        self._once_more = 0


def _asks_one_thing(step: StepFeatures) -> bool:
    if not step.speaks_only or not step.observation or size(step.thought_words) > _MOST_ASKED:
        return False
    return asks_for_something(step)


def _named(text: str) -> WordSet:
    """The words of what names a certain thing."""
    words = split(" ".join(NAMES.findall(text)))
    return word_set(words) | number_set(words)
