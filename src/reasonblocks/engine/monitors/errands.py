"""Errands that nobody sent anyone on: a service looks things up between two messages, and nothing comes of them.

What is looked up for a person ends in the next message, or in the next change. What does not, and was asked for with
values that nobody had named and no result had brought, was about something else.
"""

from collections import deque

import msgspec

from .features import StepFeatures, quote
from .partaking import is_content
from .provenance import STEPS_TO_WAIT, ids_in
from .topics import TopicSet, topic_of_task, topic_set
from .words import WordSet

_FEWEST_STRANGE = 2
"""Calls with values from nowhere, or notes about something new."""
_MOSTLY = 0.5
"""The share of such ones among the calls from the first of them to the next message."""
_NOTED, _NEW_NOTE = 4, 0.6
"""A note about something new has so many new words, and this share of them."""
_LINKED = 0.5
"""The share of calls that go on with an earlier one, if they are about one thing."""
_MOST_OWN = 500
_BY_CHANCE = 0.13
"""The share of the words of a message that may be in what was looked up all the same."""
_MOST_CALLS = 16
_MOST_HEARD, _MOST_READ = 24, 16_000
"""Results that are searched for a value, and characters of each."""
_QUOTED = 600
"""Characters that a quotation is made of."""
_SHORTEST_RECORD = 4
"""Characters: a shorter answer is an empty one."""


class _Call(msgspec.Struct, frozen=True, gc=False):
    """One call between two messages, as far as it is compared with the next of them."""

    index: int
    call: str
    looks: bool
    foreign: bool
    """Whether what it brought is not about what the run has dealt with, as far as ids tell."""
    notes: bool
    given: set[str]
    words: TopicSet
    """What it was given."""
    about: TopicSet
    """The same with what it brought."""
    numbers: WordSet
    result: str


class Errand(msgspec.Struct, frozen=True):
    """Calls that were for nothing."""

    steps: list[int]
    quotes: list[str]
    one_thing: bool
    """Whether they go on with each other, or something was noted about them."""
    after_deed: bool
    """Whether they came once all was done."""


class Errands:
    """The calls of a service since somebody last spoke, or since something was changed."""

    __slots__ = ("_answered", "_calls", "_deed", "_heard", "_known", "_known_before", "_numbers", "_own")

    def __init__(self, task: str) -> None:
        self._known = self._known_before = topic_of_task(task)[0]
        """What anything was about, and what was before the first of the calls."""
        self._numbers: WordSet = 0
        self._own = set(ids_in(task[:_MOST_READ]))
        """The ids that the person has named."""
        self._calls: list[_Call] = []
        self._heard: deque[str] = deque(maxlen=_MOST_HEARD)
        """The results before the first of the calls."""
        self._answered = self._deed = False
        """Whether a person takes part, and whether something was done and they want no more."""

    def observe(self, step: StepFeatures) -> Errand | None:
        """Take the next step in; the calls that it shows to have been for nothing, if there are enough."""
        if not self._answered and step.index > STEPS_TO_WAIT:
            return None
        role, topic = step.role, step.topic
        ends = step.speaks_only or (role.changes and not role.writes) or role.ends
        found = None
        if ends:
            if self._answered and len(self._calls) >= _FEWEST_STRANGE:
                found = self._for_nothing(topic.spoken, step.thought_numbers)
            self._heard.extend(one.result for one in self._calls)
            self._heard.append(step.observation[:_MOST_READ])
            if step.speaks_only and len(self._own) < _MOST_OWN:
                self._own |= ids_in(step.observation[:_MOST_READ])
            self._calls.clear()
            self._deed = self._deed and is_content(step) if step.speaks_only else not step.failed
            self._answered = self._answered or (step.speaks_only and step.observation != "")
            self._numbers |= step.thought_numbers | step.result_numbers
        elif self._answered and len(self._calls) < _MOST_CALLS and not step.failed:
            self._calls.append(_read(step, self._numbers))
        self._known |= topic.spoken | topic.brought
        if ends:
            self._known_before = self._known
        return found

    def _for_nothing(self, words: TopicSet, numbers: WordSet) -> Errand | None:
        if not words:
            return None
        strange = self._strange_calls()
        if len(strange) < _FEWEST_STRANGE:
            return None
        since = len(self._calls) - self._calls.index(strange[0])
        if len(strange) < _MOSTLY * since:
            return None
        about: TopicSet = 0
        told: WordSet = 0
        for one in strange:
            about |= one.about
            told |= one.numbers
        used = (about & ~self._known_before & words).bit_count() + (told & numbers).bit_count()
        if used > _BY_CHANCE * words.bit_count():
            return None
        steps, quotes = [one.index for one in strange], [quote(one.call) for one in strange]
        return Errand(steps, quotes, self._is_one_thing(strange), self._deed)

    def _is_one_thing(self, calls: list[_Call]) -> bool:
        about: TopicSet = 0
        links = 0
        for one in calls:
            links += one.words & ~self._known_before & about != 0
            about |= one.about
        return links >= _LINKED * (len(calls) - 1) or any(one.notes for one in calls)

    def _strange_calls(self) -> list[_Call]:
        """Those that have to do with nothing that was known, or with the results of such ones alone."""
        strange: list[_Call] = []
        heard = list(self._heard)
        for call in self._calls:
            if self._is_strange(call, heard):
                strange.append(call)
            else:
                heard.append(call.result)
        return strange

    def _is_strange(self, call: _Call, heard: list[str]) -> bool:
        new = call.words & ~self._known_before
        enough = max(_NOTED, _NEW_NOTE * call.words.bit_count()) if call.notes else 1
        if new.bit_count() < enough or not (call.notes or (call.looks and call.foreign)):
            return False
        if not self._own.isdisjoint(ids_in(call.result)):
            return False  # it is about the person
        # What stands deep in a long result is not among the words that are kept of it.
        words = [word for word in call.given if topic_set((word,)) & new and not _stands_in(word, heard)]
        return len(words) >= enough


def _stands_in(word: str, texts: list[str]) -> bool:
    return any(word in text.lower() for text in texts)


def _read(step: StepFeatures, numbers: WordSet) -> _Call:
    topic, role = step.topic, step.role
    got = step.result_size > _SHORTEST_RECORD
    words = topic.called | topic.coded
    return _Call(
        step.index,
        f"{step.action} {step.arguments[:_QUOTED]}",
        role.looks and got,
        step.origin.strange or not step.origin.fresh,
        role.notes,
        step.given,
        words,
        words | topic.said | topic.brought,
        step.result_numbers & ~numbers,
        step.observation[:_MOST_READ],
    )
