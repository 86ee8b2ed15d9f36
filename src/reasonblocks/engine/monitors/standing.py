"""What a run holds so far, and where it suddenly holds the opposite.

Two answers to the same question exclude each other only if it is asked of the same thing: the sentences share names,
and where a name is not enough, ideas. An appeal to what was said before makes up for a name. Whatever changed the
thing since, or told of it, excuses.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from .appeals import APPEAL
from .claim_words import ANY_ONE, FILLS
from .features import StepFeatures
from .remarks import Remark
from .stance_words import (
    ANSWERING,
    ANSWERS,
    NEEDED,
    OF_A_PERSON,
    OF_TWO,
    REACHED,
    TOLD_BY_NOTHING,
    WITH_AN_OBJECT,
)
from .stances import Held, Stance, held_in
from .words import WordSet, split, word_set

_MOST_STEPS = 12
_MOST_HELD = 96
_LONGEST_RESULT = 20_000
_APPEALED = 2
"""So many ideas in common show what an appeal is to."""
_PAIR = 2
_TELLS = 3
"""With so many words of a sentence a person has spoken of it."""
_ID = 2
"""An id counts for so much."""


class Opposite(NamedTuple):
    """A sentence that holds the opposite of an earlier one."""

    question: str
    at: int
    earlier: str
    text: str


class _Kept(NamedTuple):
    """A sentence, and what it holds."""

    at: int
    text: str
    held: Held


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
        return ideas >= _APPEALED and APPEAL.search(self.now.text) is not None

    def _same_object(self) -> bool:
        return self.earlier.object & self.stance.object & ~FILLS != 0

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
        result = event.result[:_LONGEST_RESULT].lower()
        if not all(name in result for name in shared):
            return False
        return answer in result if answer not in ("yes", "!yes") and answer[0] != "!" else event.heard & news != 0


class Standing:
    """What was held in the last steps."""

    __slots__ = ("_events", "_kept")

    def __init__(self) -> None:
        self._kept: deque[_Kept] = deque(maxlen=_MOST_HELD)
        self._events: deque[_Event] = deque(maxlen=_MOST_STEPS)

    def next(self, step: StepFeatures, remarks: list[Remark]) -> list[Opposite]:
        """Take the next step in: what it holds against earlier ones."""
        found: list[Opposite] = []
        said: list[_Kept] = []
        for remark in remarks:
            words = remark.words
            if ANSWERS.isdisjoint(words) and words[0] != "no" and not remark.has_number:
                continue
            held = held_in(remark.text)
            if held.stances:
                said.append(_Kept(step.index, remark.text, held))
                found += self._opposed(said[-1])
        self._kept.extend(said)
        changed = (step.role.changes or step.role.writes) and not step.role.ends
        self._events.append(
            _Event(step.index, changed, step.given, step.observation, step.result_words, step.speaks_only)
        )
        return found

    def _opposed(self, now: _Kept) -> Iterator[Opposite]:
        """What a sentence excludes of all that was held in the last steps, the latest first."""
        since = self._events[0].at if self._events else now.at
        for past in reversed(self._kept):
            if past.at < since:
                break
            for stance in now.held.stances:
                for earlier in past.held.stances:
                    if stance.question != earlier.question or not excludes(earlier.answer, stance.answer):
                        continue
                    pair = _Pair(past, earlier, now, stance)
                    if pair.same_thing() and not any(e.at >= past.at and pair.excused_by(e) for e in self._events):
                        yield Opposite(stance.question, past.at, past.text, now.text)


def excludes(one: str, other: str) -> bool:
    """Whether two answers to the same question cannot both hold, the second after the first."""
    if one[0] == "!" or other[0] == "!":
        return one != other and one.lstrip("!") == other.lstrip("!")
    return one != other and other not in REACHED
