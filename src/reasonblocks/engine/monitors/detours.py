"""Detours: a few looks at something else, after which a run goes on where it was, as if nothing had been.

Whoever explores looks at new things all the time, and then speaks of what was found. A detour shows when it is over:
hardly anything that its steps spoke of was spoken of before, nothing led there, and the step after it speaks of what
the run was at before, and of nothing that was asked for or found on the way. One that goes on for several steps in
words that not even a result had shows before it is over.
"""

from collections import deque
from collections.abc import Sequence
from itertools import pairwise

import msgspec

from .beginnings import infers
from .features import StepFeatures, quote
from .inquiry import inquires
from .lists import goes_through_a_list
from .topics import TopicSet, topic_of_task
from .waiting import waits
from .words import Phrases

_FEWEST, _MOST = 3, 6
"""Steps of a detour."""
_SHORTLY = 3
"""Steps before it, in which what led there would stand, and what is gone on with after it."""
_NEW, _MOSTLY_NEW = 0.3, 0.6
"""The share of words that nobody had spoken of, in each step and in all of them."""
_FEWEST_NEW = 5
"""So many such words in all."""
_LED = 0.34
"""With a greater share of its new words from shortly before, a first step was led there."""
_OF_TASK = 0.6
"""With a greater share of words of the task it is about the task."""
_BACK = 0.34
"""The share of words spoken of before the detour, in the step that comes back."""
_BY_CHANCE = 0.04
"""The share of its words that may be some of the detour all the same."""
_LONGEST_THOUGHT = 45
"""Words of a thought; whoever speaks at length explains what it is for."""
_TROUBLE = frozenset(
    "alternative alternatively broke broken cause causes error errors exception fail failed failing fails failure "
    "failures instead issue issues problem problems traceback warning warnings workaround wrong".split()
)
"""Who meets with trouble looks anywhere for a way out."""
_ABSENT = Phrases("cannot access, command not found, no module named, no such file, not found, not installed")
_WORKS = frozenset("build building compile run running test testing tests verify verifying".split())
"""Whoever looks for a thing that is not there has an answer; whoever needs it for the work meets with trouble."""
_UNDER_WAY = ((3, 0.6, 0.1, 0.0), (4, 0.4, 0.25, _LED))
"""Of a detour that is not over: its steps, the share of words in each that were not in any result either, the greatest
share of words of the task, and of the first step's words from shortly before."""
_SETTLED = 5
"""The first step of such a one."""
_QUOTED = 600
"""Characters that a quotation is made of."""
_LATE = 6
"""From this step on, looks at one unconnected thing after the other are no longer a way to begin."""
_CONCLUDES = 0.5
"""Where this share of the steps draws conclusions, something is being found out."""
_LINKED = 0.5
"""The share of steps that go on with an earlier one of the detour, if it is about one thing."""


class _Glance(msgspec.Struct, frozen=True, gc=False):
    """One step, as far as it is compared with those around it."""

    index: int
    plain: bool
    """Whether it may be one of a detour: a short look, without a word that it looks for a cause."""
    concludes: bool
    """Whether it draws a conclusion."""
    failed: bool
    after_failure: bool
    """Whether the step before it failed, if only without a word."""
    words: TopicSet
    said: TopicSet
    """Those of them that the thought has: a path has many words that say little."""
    named: TopicSet
    brought: TopicSet
    between: TopicSet
    """What calls without a word have brought since the step before it."""
    spoken_before: TopicSet
    """What was spoken of before it..."""
    known_before: TopicSet
    """...what anything was about..."""
    named_before: TopicSet
    """...and the files, symbols and ids that were named."""
    thought: str
    action: str
    arguments: str
    command: str

    @property
    def size(self) -> int:
        """How many words it has."""
        return self.words.bit_count()

    @property
    def quote(self) -> str:
        """What it says, or does without a word."""
        return quote(self.thought or f"{self.action} {self.arguments}")


class Detour(msgspec.Struct, frozen=True):
    """Steps that had nothing to do with what was done before and after them."""

    steps: list[int]
    quotes: list[str]
    one_thing: bool
    """Whether the steps hang together."""
    hops: bool
    """Whether they do not, but each is led to by what the one before it found."""
    over: bool
    """Whether the run has come back."""

    @property
    def is_late(self) -> bool:
        """Whether the run had got so far that looking around was no way to begin any more."""
        return self.steps[0] >= _LATE


class Detours:
    """The latest steps of a run in which nobody is served."""

    __slots__ = ("_answered", "_between", "_failed", "_known", "_latest", "_named", "_spoken", "_task")

    def __init__(self, task: str) -> None:
        self._task, self._named = topic_of_task(task)
        self._known = self._spoken = self._task
        self._between: TopicSet = 0
        """By calls without a word since the last step that had any."""
        self._latest: deque[_Glance] = deque(maxlen=_MOST + _SHORTLY)
        self._failed = False
        self._answered = False
        """Whether a person takes part, who may have asked for anything."""

    def observe(self, step: StepFeatures) -> Detour | None:
        """Take the next step in; the detour that it comes back from, if there is one."""
        if self._answered or not self._task:
            return None
        topic = step.topic
        words = topic.spoken
        found: Detour | None = None
        if words:
            found = self._comes_back(words)
            if found:
                self._latest.clear()  # it is told once
            glance = self._glance(step)
            self._latest.append(glance)
            if glance.plain and not found and words & ~self._known:
                found = self._is_under_way()
            self._spoken |= words
            self._named |= topic.named
            self._between = 0
        else:
            self._between |= topic.brought
        self._failed = step.failed
        self._answered = step.speaks_only and step.observation != ""
        self._known |= words | topic.brought
        return found

    def _glance(self, step: StepFeatures) -> _Glance:
        topic, role = step.topic, step.role
        looks = not (step.speaks_only or role.writes or role.changes or role.notes or role.ends)
        plain = looks and topic.spoken & ~self._spoken_of_old() != 0 and _is_short_look(step)
        return _Glance(
            step.index,
            plain,
            plain and infers(step),
            step.failed,
            self._failed,
            topic.spoken,
            topic.said,
            topic.named,
            topic.brought,
            self._between,
            self._spoken,
            self._known,
            self._named,
            step.thought[:_QUOTED],
            step.action,
            step.arguments[:_QUOTED],
            step.command[:_QUOTED],
        )

    def _spoken_of_old(self) -> TopicSet:
        """What was spoken of before any detour that may be under way."""
        latest = self._latest
        return latest[-_MOST].spoken_before if len(latest) >= _MOST else self._task

    def _comes_back(self, words: TopicSet) -> Detour | None:
        latest = self._latest
        if len(latest) <= _FEWEST or not (latest[-1].plain and latest[-2].plain and latest[-3].plain):
            return None
        if words & latest[-1].words & ~latest[-_FEWEST].spoken_before:
            return None  # it goes on
        glances = list(latest)
        longest: Sequence[_Glance] = ()
        for count in range(_FEWEST, min(_MOST, len(glances) - 1) + 1):
            row = glances[-count:]
            if not row[0].plain:
                break
            if self._is_detour(row, glances[-count - _SHORTLY : -count], words):
                longest = row
        return _told(longest, over=True) if longest else None

    def _is_under_way(self) -> Detour | None:
        """A detour that is not over yet, if there can be no doubt of it."""
        glances = list(self._latest)
        for count, new, of_task, led in _UNDER_WAY:
            row, before = glances[-count:], glances[-count - _SHORTLY : -count]
            first = row[0]
            if not before or first.index < _SETTLED or not all(one.plain for one in row) or first.after_failure:
                continue
            if any(_new(one, first.known_before) < new for one in row):
                continue
            if any(one.named & first.named_before for one in row):
                continue
            if self._leads_nowhere(row, before, of_task, led):
                return _told(row, over=False)
        return None

    def _leads_nowhere(
        self, row: Sequence[_Glance], before: Sequence[_Glance], of_task: float, most_led: float
    ) -> bool:
        """Whether these steps are not about the task, answer no failure, and were not led to."""
        if sum(one.concludes for one in row) >= _CONCLUDES * len(row) or _is_of_a_list(row, before):
            return False
        total = sum(one.size for one in row)
        if sum((one.words & self._task).bit_count() for one in row) > of_task * total or _answers_failure(row):
            return False
        brought = self._task | row[0].between
        for one in before:
            brought |= one.brought | one.between
        own = row[0].words & ~row[0].spoken_before
        return (own & brought).bit_count() <= most_led * own.bit_count()

    def _is_detour(self, row: Sequence[_Glance], before: Sequence[_Glance], words: TopicSet) -> bool:
        """Whether nothing leads to these steps, and nothing of them is left in the words of the step after them."""
        first = row[0]
        spoken, size = first.spoken_before, words.bit_count()
        if first.after_failure or (words & spoken).bit_count() < _BACK * size:
            return False
        new: TopicSet = 0
        for one in row:
            new |= one.words & ~spoken
        if new.bit_count() < _FEWEST_NEW or any(one.named & first.named_before for one in row):
            return False
        shares = [_new(one, spoken) for one in row]
        if min(shares) < _NEW or sum(shares) < _MOSTLY_NEW * len(row):
            return False
        recent = self._task
        for one in before:
            recent |= one.words
        if not words & recent or not self._leads_nowhere(row, before, _OF_TASK, _LED):
            return False
        found = self._between
        for one in row:
            found |= one.brought | one.between
        return (words & (new | found & ~first.known_before)).bit_count() <= _BY_CHANCE * size


def _told(row: Sequence[_Glance], *, over: bool) -> Detour:
    return Detour([one.index for one in row], [one.quote for one in row], _is_one_thing(row), _hops(row), over)


def _new(glance: _Glance, old: TopicSet) -> float:
    """The share of words that are not among the old ones, in what it says or in all of it."""
    said, words = glance.said, glance.words
    share = (words & ~old).bit_count() / words.bit_count()
    return max(share, (said & ~old).bit_count() / said.bit_count()) if said else share


def _is_short_look(step: StepFeatures) -> bool:
    """Whether it gives no reason for what it looks at, and is no look at the next of many."""
    words = step.said
    if len(words) > _LONGEST_THOUGHT or not _TROUBLE.isdisjoint(words):
        return False
    if not step.topic.said and " " not in step.arguments and "://" not in step.arguments:
        return False
    if step.failed and not (_WORKS.isdisjoint(words) and _ABSENT.are_in(step.result_excerpt, step.heard)):
        return False
    return not (inquires(step) or waits(step))


def _is_of_a_list(row: Sequence[_Glance], before: Sequence[_Glance]) -> bool:
    """Whether these steps go on with a list that the run was going through before them."""
    glances = [*before[-1:], *row]
    return len({one.action for one in glances}) == 1 and goes_through_a_list([one.command for one in glances])


def _answers_failure(row: Sequence[_Glance]) -> bool:
    """Whether a step of it goes on with one that failed: then there is a reason for it."""
    return any(one.failed and (one.words | one.brought) & after.words for one, after in pairwise(row))


def _is_one_thing(row: Sequence[_Glance]) -> bool:
    """Whether its steps speak of the same; to be led from one thing to the next by what was found there is not that."""
    first, brought = row[0], 0
    seen, links = 0, 0
    for one in row:
        links += one.words & seen != 0
        seen |= one.words & ~first.spoken_before | brought
        brought = one.brought & ~first.known_before
    return links >= _LINKED * (len(row) - 1)


def _hops(row: Sequence[_Glance]) -> bool:
    led = [one.brought & ~row[0].known_before & after.words != 0 for one, after in pairwise(row)]
    return not _is_one_thing(row) and sum(led) >= _LINKED * len(led)
