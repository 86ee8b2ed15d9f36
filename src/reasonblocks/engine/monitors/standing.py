"""What a run holds so far, and where it suddenly holds the opposite.

Two answers to the same question exclude each other only if it is asked of the same thing: the sentences share names,
and where a name is not enough, ideas. An appeal to what was said before makes up for a name. Whatever changed the
thing since, or told of it, excuses.
"""

from collections import deque
from collections.abc import Iterator
from functools import reduce
from itertools import islice
from operator import or_
from typing import NamedTuple

from .appeals import APPEAL
from .claim_words import ANY_ONE, FILLS
from .features import StepFeatures
from .marks import ANSWER, APPEALS, CONDITION, DIGIT, OPPOSES, SPEAKER, SPEAKERS, STATE, questions
from .remarks import Remark
from .stance_words import (
    ANSWERING,
    NEEDED,
    OF_A_PERSON,
    OF_MANY,
    OF_SOMETHING,
    OF_TWO,
    QUESTION_BITS,
    REACHED,
    TOLD_BY_NOTHING,
    WITH_AN_OBJECT,
)
from .stances import LONGEST, Held, Stance, held_in, words_of_names
from .words import WordSet, split, word_set

_MOST_STEPS = 10
_MOST_HELD = 32
_LONGEST_RESULT = 6_000
_KINDS = _SAYS, _DENIES, _VALUE = 1, 2, 4
_AGAINST = [_DENIES * (may & _SAYS) | (_SAYS | _DENIES) * (may >> 1 & 1) | may & _VALUE for may in range(8)]
"""By what a sentence is, which others it may exclude: to say something plainly excludes only who denies."""
_SHORT = 16
"""Words of a sentence that gives a value and little else."""
_VALUES = 1
"""The bit of all questions that are answered by a number or a place."""
_LISTS = frozenset('-*>|\u2022"/0123456789')
"""What lines of lists, tables and code begin with."""
_PLANS = frozenset("ll need should want will".split())
"""What follows `I` in a plan."""
_TELLS_TO = frozenset("click from import let please use".split())
_MOST_LOOKS = 6
"""Pairs of sentences that are looked at closely after a step."""
_APPEALED = 2
"""So many ideas in common show what an appeal is to."""
_PAIR = 2
_TELLS = 3
"""With so many words of a sentence a person has spoken of it."""
_PALE = FILLS | ANSWERING
"""Words that do not say what is spoken of."""
_ID = 2
"""An id counts for so much."""


class Opposite(NamedTuple):
    """A sentence that holds the opposite of an earlier one."""

    question: str
    at: int
    earlier: str
    text: str


class _Kept(NamedTuple):
    """A sentence, and its ideas; what it holds is looked at when it has to be."""

    at: int
    text: str
    bits: WordSet
    may: int
    """In what it may exclude others."""
    asked: int
    """The questions that its words may answer."""
    may_appeal: bool
    """Whether it has a word of an appeal to what was said before."""

    @property
    def held(self) -> Held:
        return held_in(self.text)

    @property
    def appeals(self) -> bool:
        """Whether it appeals to what was said before."""
        return self.may_appeal and APPEAL.search(self.text) is not None


class _Event(NamedTuple):
    """What a step did and brought."""

    at: int
    changed: bool
    given: set[str]
    result: str
    heard: WordSet
    answered: bool
    """Whether what was heard are the words of a person."""


class _Pair(NamedTuple):
    """Two answers to the same question."""

    past: _Kept
    earlier: Stance
    now: _Kept
    stance: Stance

    @property
    def question(self) -> str:
        return self.stance.question.partition(" ")[0]

    @property
    def shared(self) -> frozenset[str]:
        """The names that they have in common."""
        return (self.stance.names & self.past.held.tokens) | (self.earlier.names & self.now.held.tokens)

    @property
    def common(self) -> WordSet:
        """The ideas that their sentences have in common."""
        return self.past.held.ideas & self.now.held.ideas & ~FILLS

    def same_thing(self) -> bool:
        """Whether the question is asked of the same thing both times."""
        earlier, stance, shared = self.earlier, self.stance, self.shared
        forth, back = earlier.names <= self.now.held.tokens, stance.names <= self.past.held.tokens
        if not shared:
            return not (earlier.names and stance.names) and self._is_plain_enough()
        if not (forth or back) or (self.question in OF_TWO and earlier.names and stance.names and not (forth and back)):
            return False
        if (
            self.question in WITH_AN_OBJECT
            and not self._same_object()
            and (len(shared) < _PAIR or self.question != "there")
        ):
            return False
        if self.question in OF_SOMETHING and self._speak_of_others():
            return False
        weight = sum(_ID if any(map(str.isdigit, name)) else 1 for name in shared)
        ideas = self.common & ~word_set(split(" ".join(shared))) & ~ANSWERING
        return weight + ideas.bit_count() >= NEEDED.get(self.question, 1)

    def _is_plain_enough(self) -> bool:
        """Whether it is clear what is spoken of though no name says it."""
        if self.stance.question == OF_A_PERSON:
            return True
        if self.question == "there" and not self._same_object():
            return False
        ideas = (self.common & ~ANY_ONE & ~ANSWERING).bit_count()
        return ideas >= _APPEALED and self.now.appeals

    def _same_object(self) -> bool:
        return self.earlier.object & self.stance.object & ~FILLS != 0

    def _speak_of_others(self) -> bool:
        """Whether each says it in plain words of something else, and only what surrounds it is the same."""
        one, other = (self.earlier.object & ~_PALE, self.stance.object & ~_PALE)
        return one.bit_count() >= _PAIR and other.bit_count() >= _PAIR and not one & other

    def excused_by(self, event: _Event) -> bool:
        """Whether a step may have changed the thing, or told of it."""
        question, shared, answer = self.question, self.shared, self.stance.answer
        news = self.stance.ideas & ~word_set(shared) & ~FILLS
        if event.answered and (event.heard & self.now.held.ideas & ~(ANY_ONE | FILLS)).bit_count() >= _TELLS:
            return True
        if (
            event.changed
            and question != "wanted"
            and (shared & event.given or not any(map(str.isdigit, "".join(shared))))
        ):
            return True
        if question == "proved":
            return answer == "yes"
        if question in TOLD_BY_NOTHING or not shared:
            return False
        result = event.result.lower()
        if not all(name in result for name in shared):
            return False
        return answer in result if answer not in ("yes", "!yes") and answer[0] != "!" else event.heard & news != 0


class Standing:
    """What was held in the last steps."""

    __slots__ = ("_events", "_ever", "_kept")

    def __init__(self) -> None:
        self._kept: dict[int, deque[_Kept]] = {kind: deque(maxlen=_MOST_HELD) for kind in _KINDS}
        """By kind what was said."""
        self._ever: WordSet = 0
        self._events: deque[_Event] = deque(maxlen=_MOST_STEPS)

    def next(self, step: StepFeatures, remarks: list[Remark]) -> list[Opposite]:
        """Take the next step in: what it holds against earlier ones."""
        found: list[Opposite] = []
        said = [_kept(remark, may) for remark in remarks if (may := _may(remark))]
        if said:
            pairs = (pair for now in said if now.bits & self._ever for pair in self._pairs(now))
            for past, now in islice(pairs, _MOST_LOOKS):
                found += self._excluded(past, now)
            for now in said:
                self._ever |= now.bits
                for kind in _KINDS:
                    if now.may & kind:
                        self._kept[kind].append(now)
        changed = (step.role.changes or step.role.writes) and not step.role.ends
        result = step.observation[:_LONGEST_RESULT]
        self._events.append(_Event(step.index, changed, step.given, result, step.result_words, step.speaks_only))
        return found

    def _pairs(self, now: _Kept) -> Iterator[tuple[_Kept, _Kept]]:
        """A sentence with each of those of the last steps that it may exclude, the latest first.

        Most sentences have nothing to do with each other, so what takes long is put off until something is in common.
        """
        since = self._events[0].at if self._events else now.at
        bits, names, asked, appeals = now.bits, -1, 0, False
        for kind in _KINDS:
            if not kind & _AGAINST[now.may]:
                continue
            for past in reversed(self._kept[kind]):
                if past.at < since:
                    break
                both = past.asked & now.asked
                if kind != _VALUE and not both:
                    continue
                common = past.bits & bits
                if not common:
                    continue
                several = common & (common - 1) != 0
                if kind != _VALUE and not (several or both & ~OF_MANY):
                    continue
                if names < 0:
                    names, appeals = words_of_names(now.text), now.appeals
                plain = several and (appeals or kind == _VALUE)
                if not (common & names or plain or words_of_names(past.text) & common):
                    continue
                asked = asked or _asked_by(now.held)
                if not asked:
                    return
                if asked & (_VALUES if kind == _VALUE else past.asked):
                    yield past, now

    def _excluded(self, past: _Kept, now: _Kept) -> Iterator[Opposite]:
        for stance in now.held.stances:
            for earlier in past.held.stances:
                if stance.question != earlier.question or not excludes(earlier.answer, stance.answer):
                    continue
                pair = _Pair(past, earlier, now, stance)
                if pair.same_thing() and not any(e.at >= past.at and pair.excused_by(e) for e in self._events):
                    yield Opposite(stance.question, past.at, past.text, now.text)


def _kept(remark: Remark, may: int) -> _Kept:
    may_appeal = remark.marks & APPEALS != 0 or not remark.text.isascii()
    return _Kept(remark.index, remark.text, remark.bits, may, questions(remark.marks), may_appeal)


def _may(remark: Remark) -> int:
    """In what a sentence may exclude others: it denies something, says something plainly, or gives a value."""
    words, marks = remark.words, remark.marks
    may = _VALUE if marks & (STATE | DIGIT) and len(words) <= _SHORT else 0
    if marks & OPPOSES:
        may |= _DENIES
    elif marks & ANSWER:
        may |= _SAYS
    if not may or marks & CONDITION or len(words) > LONGEST or words[0] in _TELLS_TO:
        return 0
    text = remark.text.lstrip()
    if text[0] in _LISTS or text.startswith("# ") or ("=" in text and "`" not in text):
        return 0
    planned = marks & SPEAKER and not SPEAKERS.isdisjoint(words[:2]) and not _PLANS.isdisjoint(words[1:3])
    return 0 if planned else may


def _asked_by(held: Held) -> int:
    """The questions that a sentence does answer."""
    questions = [stance.question.partition(" ")[0] for stance in held.stances]
    return reduce(or_, [QUESTION_BITS.get(question, _VALUES) for question in questions], 0)


def excludes(one: str, other: str) -> bool:
    """Whether two answers to the same question cannot both hold, the second after the first."""
    if one[0] == "!" or other[0] == "!":
        return one != other and one.lstrip("!") == other.lstrip("!")
    return one != other and other not in REACHED
