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

import msgspec

from .all_along import is_all_along
from .claim_words import ANY_ONE, FILLS
from .features import StepFeatures
from .remarks import Remark
from .replies import told_in
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
from .stances import Held, Stance, held_in, words_of_names
from .wordings import DENIES, SAYS, UNREAD, VALUE
from .words import WordSet, split, word_set

_MOST_STEPS = 10
_MOST_HELD = 32
_LONGEST_RESULT = 6_000
_KINDS = SAYS, DENIES, VALUE
_AGAINST = [DENIES * (may & SAYS) | (SAYS | DENIES) * (may >> 1 & 1) | may & VALUE for may in range(8)]
"""By what a sentence is, which others it may exclude: to say something plainly excludes only who denies."""
_VALUES = 1
"""The bit of all questions that are answered by a number or a place."""
_MOST_LOOKS = 6
"""Pairs of sentences that are looked at closely after a step."""
_APPEALED = 2
"""So many ideas in common show what an appeal is to."""
_PAIR = 2
_VALUED = frozenset("count date from number status to".split())
"""Questions that are answered by a value."""
_TELLS = 3
"""With so many words of a sentence a person has spoken of it."""
_PALE = FILLS | ANSWERING
"""Words that do not say what is spoken of."""
_ID = 2
"""An id counts for so much."""
_SHORT = 2
"""Digits of a number that is in most texts as a part of something else."""


class Opposite(NamedTuple):
    """A sentence that holds the opposite of an earlier one."""

    question: str
    at: int
    earlier: str
    text: str


class Event(msgspec.Struct, frozen=True, gc=False):
    """What a step did and brought."""

    at: int
    changed: bool
    ran: bool
    given: set[str]
    result: str
    heard: WordSet
    answered: bool
    """Whether what was heard are the words of a person."""

    def told(self, *, valued: bool) -> WordSet:
        """The stems of what a person tells; their wishes tell nothing but what they want to have as a value."""
        return self.heard if valued else told_in(self.result).words

    @classmethod
    def of(cls, step: StepFeatures) -> "Event":
        """What is kept of a step."""
        changed = (step.role.changes or step.role.writes) and not step.role.ends
        if step.failed and not step.role.runs:
            changed = False  # what was refused has changed nothing; a script may have done a part of it
        result = step.observation[:_LONGEST_RESULT]
        return cls(step.index, changed, step.role.runs, step.given, result, step.result_words, step.speaks_only)


class _Pair(NamedTuple):
    """Two answers to the same question."""

    past: Remark
    holding: Held
    earlier: Stance
    now: Remark
    held: Held
    stance: Stance

    @property
    def question(self) -> str:
        return self.stance.question.partition(" ")[0]

    @property
    def shared(self) -> frozenset[str]:
        """The names that they have in common."""
        return (self.stance.names & self.holding.tokens) | (self.earlier.names & self.held.tokens)

    @property
    def common(self) -> WordSet:
        """The ideas that their sentences have in common."""
        return self.holding.ideas & self.held.ideas & ~FILLS

    def same_thing(self) -> bool:
        """Whether the question is asked of the same thing both times."""
        earlier, stance, shared = self.earlier, self.stance, self.shared
        forth, back = earlier.names <= self.held.tokens, stance.names <= self.holding.tokens
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
        return ideas >= _APPEALED and self.now.said.appeals

    def _same_object(self) -> bool:
        return self.earlier.object & self.stance.object & ~FILLS != 0

    def _speak_of_others(self) -> bool:
        """Whether each says it in plain words of something else, and only what surrounds it is the same."""
        one, other = (self.earlier.object & ~_PALE, self.stance.object & ~_PALE)
        return one.bit_count() >= _PAIR and other.bit_count() >= _PAIR and not one & other

    def excused_by(self, event: Event) -> bool:
        """Whether a step may have changed the thing, or told of it."""
        question, shared, answer = self.question, self.shared, self.stance.answer
        news = self.stance.ideas & ~word_set(shared) & ~FILLS
        if (
            event.answered
            and (event.told(valued=question in _VALUED) & self.held.ideas & ~(ANY_ONE | FILLS)).bit_count() >= _TELLS
        ):
            return True
        if (
            event.changed
            and question != "wanted"
            and not is_all_along(self.now.said.text)
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
        return tells(result, answer) if answer not in ("yes", "!yes") and answer[0] != "!" else event.heard & news != 0


_Kept = tuple[int, WordSet, Remark]
"""A sentence with the questions that its words may answer, and its ideas, by which most are ruled out."""


class Standing:
    """What was held in the last steps."""

    __slots__ = ("_events", "_ever", "_kept")

    def __init__(self) -> None:
        self._kept: dict[int, deque[_Kept]] = {kind: deque(maxlen=_MOST_HELD) for kind in _KINDS}
        """By kind what was said."""
        self._ever: WordSet = 0
        self._events: deque[Event] = deque(maxlen=_MOST_STEPS)

    def next(self, event: Event, remarks: list[Remark]) -> list[Opposite]:
        """Take the next step in: what it holds against earlier ones."""
        found: list[Opposite] = []
        said = [remark for remark in remarks if remark.said.may]
        if said:
            self._forget()
            pairs = (pair for now in said if now.bits & self._ever for pair in self._pairs(now))
            for past, now in islice(pairs, _MOST_LOOKS):
                found += self._excluded(past, now)
            for now in said:
                self._ever |= now.bits
                for kind in _KINDS:
                    if now.said.may & kind:
                        self._kept[kind].append((now.said.asked, now.bits, now))
        self._events.append(event)
        return found

    def _forget(self) -> None:
        """Let go of what was said before the last steps."""
        since = self._events[0].at if self._events else 0
        for kept in self._kept.values():
            while kept and kept[0][-1].index < since:
                kept.popleft()

    def _pairs(self, now: Remark) -> Iterator[tuple[Remark, Remark]]:
        """A sentence with each of those of the last steps that it may exclude, the latest first.

        Most sentences have nothing to do with each other, so what takes long is put off until something is in common.
        """
        said = now.said
        bits, questions, answers, names = now.bits, said.asked, said.answers, said.names
        if not answers:
            return
        unnamed = not names and not said.appeals  # then it is up to the others to say what is spoken of
        for kind in _KINDS:
            valued = kind == VALUE
            if not kind & _AGAINST[said.may] or (valued and not answers & _VALUES):
                continue
            for asked, their_bits, past in reversed(self._kept[kind]):
                if not valued and (not asked & questions or not asked & answers or (unnamed and not past.said.names)):
                    continue
                common = their_bits & bits
                if not common:
                    continue
                theirs = past.said
                several = common & (common - 1) != 0
                if not (valued or several or asked & questions & ~OF_MANY):
                    continue
                if names == UNREAD:
                    names = said.names = words_of_names(said.text)
                    unnamed = not names and not said.appeals
                if not (names & common or (several and (valued or said.appeals))):
                    if theirs.names == UNREAD:
                        theirs.names = words_of_names(theirs.text)
                    if not theirs.names & common:
                        continue
                if answers == UNREAD:
                    answers = said.answers = _asked_by(held_in(said.text))
                    if not answers:
                        return
                if answers & (_VALUES if valued else asked):
                    yield past, now

    def _excluded(self, past: Remark, now: Remark) -> Iterator[Opposite]:
        holding, held = held_in(past.said.text), held_in(now.said.text)
        for stance in held.stances:
            for earlier in holding.stances:
                if stance.question != earlier.question or not excludes(earlier.answer, stance.answer):
                    continue
                pair = _Pair(past, holding, earlier, now, held, stance)
                if pair.same_thing() and not any(e.at >= past.index and pair.excused_by(e) for e in self._events):
                    yield Opposite(stance.question, past.index, past.said.text, now.said.text)


def tells(result: str, value: str) -> bool:
    """Whether a result has a value in it; a short number has to stand there by itself: `page1.txt` tells of no 1."""
    if value not in result:
        return False
    return len(value) > _SHORT or not value.isdigit() or value in split(result)


def _asked_by(held: Held) -> int:
    """The questions that a sentence does answer."""
    questions = [stance.question.partition(" ")[0] for stance in held.stances]
    return reduce(or_, [QUESTION_BITS.get(question, _VALUES) for question in questions], 0)


def excludes(one: str, other: str) -> bool:
    """Whether two answers to the same question cannot both hold, the second after the first."""
    if one[0] == "!" or other[0] == "!":
        return one != other and one.lstrip("!") == other.lstrip("!")
    return one != other and other not in REACHED
