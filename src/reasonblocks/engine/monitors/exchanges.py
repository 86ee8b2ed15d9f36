"""A person is told or asked much the same again and again, and what comes back holds nothing new.

The words may be others each time. That it is one matter shows in what the messages name: there is always something of
what the ones before had named, and nothing that stands for another thing. That nothing comes of it shows in the
answers, which have no figure and hardly a word that had not been said or read before.
"""

import re
from collections import deque
from functools import reduce
from itertools import chain
from operator import or_

from ..answers import Evidence
from .announcements import WORDS_ABOUT_SAYING
from .asked_again import WORDS_AROUND
from .asking import WORDS_ABOUT_TELLING
from .base import Reading
from .consents import WORDS_ASKS_FOR_IT, WORDS_SAYS_YES
from .features import StepFeatures, quote
from .lexicon import OF_ANY_TASK, stem
from .quick import lower
from .standstill import TAKES_LEAVE, states
from .words import WordSet, size, split, word_set

_FEWEST = 4
"""Messages in a row that are too many."""
_SCORES = (0.68, 0.8, 0.9)
_MOST, _RECENT = 8, 24
"""Messages that are shown; steps of which it is known what was said and read."""
_MOST_SAID = 45
"""Words of a message that is about one matter."""
_LONGEST_ANSWER = 40
"""Words of an answer that may hold nothing new."""
_SHORT_ANSWER = 20
"""Words of an answer that only grants or repeats something, in whatever words."""
_FEW, _FEW_FRESH = 3, 2
"""Words of a message that names one thing and little else, and the words that may be new in any."""
_STATED = 1
"""Mere statements that count like the others: more of them are for another monitor to see."""
_NEWS, _NEWS_BESIDE_A_YES = 1, 4
"""Words of an answer that nobody had used yet: a figure of speech perhaps."""
_IN_COMMON, _OTHER, _FRESH = 0.3, 0.5, 0.5
"""Of what a message names: what the others named, what is known of other things, and what nobody had named."""
_COURTESY = (
    "afraid anything apologies apologise apologize appreciate away bit frustrate frustrating frustration glad great "
    "happy inconvenience kind left little long meantime patience pleasure problem soon sorry today unfortunately "
    "welcome worry"
)
_AROUND_A_MATTER = frozenset(
    map(stem, chain(WORDS_AROUND, WORDS_ABOUT_TELLING, WORDS_ABOUT_SAYING, WORDS_ASKS_FOR_IT, _COURTESY.split()))
)
"""With which anything is told or asked: the stems one by one, for a set of so many would have a place for any word."""
_NO_NEWS = _AROUND_A_MATTER | frozenset(map(stem, chain(WORDS_SAYS_YES, OF_ANY_TASK.split())))
_GRANTS = re.compile(r"\W*(?:again|as i|i (?:already|just)|ok|okay|same|still|sure|yeah|yep|yes|yup)\b", re.IGNORECASE)
_CODE_NAME = re.compile(r"\w+_\w+")
"""What is named like this is one thing, and another one is another."""
_ASKS = word_set("agree agreement answer approval approve authorise authorize confirm consent permission reply".split())
"""With one of these something is asked for, however it is put."""
_IN_VAIN = frozenset("again already change changed did done same still tried".split())
"""With one of these somebody answers who was told to do something, or knows it all."""
_FIELD = re.compile(r"\"\w+\"\s?:")
"""The name of a field, where a message is a record."""
_MONITOR = "semantic_loop"


class Exchanges:
    """The messages in a row that are about one matter."""

    __slots__ = ("_codes", "_heard", "_named", "_quote", "_recent", "_stated", "_steps")

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._quote = ""
        self._named: WordSet = 0
        """What the messages of the row named..."""
        self._heard: WordSet = 0
        """...and the answers."""
        self._codes: frozenset[str] = frozenset()
        self._stated = 0
        """Messages that ask for nothing."""
        self._recent: deque[tuple[WordSet, ...]] = deque(maxlen=_RECENT)
        """What was said and read; put together only where it is asked for, for that is seldom."""

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if it is one message too many."""
        found = None
        if step.speaks_only and step.observation:
            found = self._listen(step)
        elif not step.speaks_only:
            self._steps = []
        self._recent.append(
            (step.thought_words, step.thought_numbers, step.given_words, step.result_words, step.result_numbers)
        )
        return found

    def _listen(self, step: StepFeatures) -> Reading | None:
        known = reduce(or_, chain.from_iterable(self._recent), 0) if len(step.heard) <= _LONGEST_ANSWER else 0
        if not _holds_nothing_new(step, known):
            self._steps = []  # neither one more message of a row nor the first one of another
            return None
        matter = _matter(step)
        codes = _codes(step.thought)
        if not self._steps or not self._is_the_same(step, matter, codes, known):
            self._begin(step, matter, codes)
            return None
        self._steps = [*self._steps[1 - _MOST :], step.index]
        self._named |= matter
        self._heard |= step.result_words | step.result_numbers
        self._codes |= codes
        self._stated += _merely_states(step)
        over = len(self._steps) - self._stated - _FEWEST + (0 < self._stated <= _STATED)
        if over < 0:
            return None
        reason = f"{len(self._steps)} messages in a row are about the same matter, and no answer held anything new."
        quotes = [self._quote, step.thought_quote(), quote(step.observation)]
        return Reading(_SCORES[min(over, len(_SCORES) - 1)], Evidence(_MONITOR, reason, list(self._steps), quotes))

    def _begin(self, step: StepFeatures, matter: WordSet, codes: frozenset[str]) -> None:
        if not (matter > 0 and _is_about_one_matter(step, matter)):
            self._steps = []
            return
        self._steps = [step.index]
        self._quote = step.thought_quote()
        self._named, self._heard, self._codes = matter, step.result_words | step.result_numbers, codes
        self._stated = int(_merely_states(step))

    def _is_the_same(self, step: StepFeatures, matter: WordSet, codes: frozenset[str], known: WordSet) -> bool:
        if not _is_about_one_matter(step, matter) or (self._codes and codes - self._codes):
            return False
        common = size(matter & (self._named | self._heard))
        if common < max(1 if size(matter) <= _FEW else 2, _IN_COMMON * size(matter)):
            return False
        unnamed = matter & ~(self._named | self._heard)
        if step.thought_numbers & ~known or size(unnamed & known) > _OTHER * size(matter):
            return False  # what is known and was not named is another thing; a new word is one more for the same
        return size(unnamed & ~known) <= max(_FEW_FRESH, _FRESH * size(matter))


def _is_about_one_matter(step: StepFeatures, matter: WordSet) -> bool:
    """Whether a message may be one of those that are given again."""
    return size(matter) <= _MOST_SAID and not TAKES_LEAVE.are_in(lower(step.thought))


def _merely_states(step: StepFeatures) -> bool:
    return states(step) and not step.thought_words & _ASKS and _IN_VAIN.isdisjoint(step.heard)


def _holds_nothing_new(step: StepFeatures, known: WordSet) -> bool:
    if len(step.heard) > _LONGEST_ANSWER or step.result_numbers & ~(known | step.thought_numbers):
        return False
    heard = word_set([word for word in step.heard if stem(word) not in _NO_NEWS])
    news = size(heard & ~(known | step.thought_words))
    grants = len(step.heard) <= _SHORT_ANSWER and _GRANTS.match(step.observation) is not None
    return news <= (_NEWS_BESIDE_A_YES if grants else _NEWS)


def _matter(step: StepFeatures) -> WordSet:
    """What a message names."""
    words = split(_FIELD.sub(" ", step.thought)) if step.thought[:1] == "{" else step.said
    return word_set([word for word in words if stem(word) not in _AROUND_A_MATTER]) | step.thought_numbers


def _codes(message: str) -> frozenset[str]:
    """The names of functions and the like in a message; the fields of a record are none."""
    if "_" not in message or message[:1] == "{":
        return frozenset()
    return frozenset(_CODE_NAME.findall(message))
