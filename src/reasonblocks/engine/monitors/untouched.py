"""Look-ups in a row that were for nothing: what comes after them has nothing of what they were for or brought.

Whoever serves a person looks up what the next message or the next change is made of; and once that is done which was
asked for, there is nothing left to look up before it is told. Whoever searches pages asks for
what the answer needs: some searches lead nowhere, but not most of them, each in words that nobody had used before and
that nobody uses afterwards. It is only known at the end of the row, when something is said, done or handed in.
"""

from collections import deque

import msgspec

from .features import StepFeatures
from .partaking import is_content
from .roles import role_of
from .topics import TopicSet, topic_of_task
from .words import WordSet

_LATE = 8
"""Before this step a run still finds out what it has to deal with."""
_MOST_CALLS, _MOST_TOOLS = 12, 1_000
_FEWEST_CALLS, _FEWEST_TOOLS = 4, 3
"""For a person: so many look-ups in a row, with so many tools..."""
_FEWEST_GOT = 3
"""...of which so many got an answer: what failed cannot be used."""
_AFTER_DEED, _LOOKS_AFTER_DEED = 3, 2
"""So many calls that are for nothing, and so many of them look-ups, once something was done; one more may be used."""
_MOST_QUOTED = 300
_SEARCHES = 6
"""Searches and pages that are looked at together."""
_FEWEST_OFF, _MOST_ON = 3, 2
"""So many of them have new words, each its own, that are left; so many others may be among them."""
_NEW = 0.4
"""The share of its words that nobody had used before."""


class LookUp(msgspec.Struct, frozen=True, gc=False):
    """One look-up of a row, as far as it is compared with what follows."""

    index: int
    call: str
    """As it was written, for a quotation."""
    tool: bytes
    looks: bool
    """Whether it does nothing but look something up."""
    got: bool
    """Whether it had an answer."""
    fresh: TopicSet
    """What it and its result are about and nothing before was."""
    numbers: WordSet
    """The numbers it brought first."""
    unspoken: TopicSet
    """Those of its own words that nobody had used."""
    size: int
    """How many words of its own it has."""
    page: bool
    """Whether it searches for pages, or opens one."""


_ELSEWHERE = LookUp(-1, "", b"", False, False, 0, 0, 0, 0, False)
"""A call that is none of a row of pages, where nobody is served."""


class Untouched:
    """The look-ups since something was said, done or handed in."""

    __slots__ = ("_answered", "_deed", "_known", "_numbers", "_row", "_spoken", "_tools")

    def __init__(self, task: str) -> None:
        self._known: TopicSet = topic_of_task(task)[0]
        """What anything was about..."""
        self._spoken: TopicSet = self._known
        """...and what was said or asked for."""
        self._numbers: WordSet = 0
        self._row: deque[LookUp] = deque(maxlen=_MOST_CALLS)
        self._answered = False
        """Whether a person takes part."""
        self._deed = False
        """Whether something was done since, and nobody wants anything more."""
        self._tools: set[bytes] = set()
        """What was called before the row."""

    def observe(self, step: StepFeatures) -> list[LookUp] | None:
        """Take the next step in; the look-ups that it leaves untouched, if they make a row."""
        role, topic = step.role, step.topic
        if role.notes and not step.speaks_only:
            return None
        found = None
        if step.speaks_only or role.changes or role.ends or (role.runs and not self._answered):
            if self._deed:
                found = self._after_deed(step)
            if not found and step.index >= _LATE and len(self._row) >= _FEWEST_CALLS:
                found = self._of_service(step) if self._answered else self._of_research(topic.spoken)
            if len(self._tools) < _MOST_TOOLS:
                self._tools.update(one.tool for one in self._row)
            self._row.clear()
            if step.speaks_only:
                self._deed = self._deed and is_content(step)
            else:
                self._deed = self._answered and role.changes and not step.failed
            self._answered = self._answered or (step.speaks_only and step.observation != "")
        else:
            page = _is_of_pages(step)
            if page or self._answered:
                self._row.append(self._look_up(step, page))
            else:
                self._row.append(_ELSEWHERE)
                self._tools.add(step.tool)
        self._known |= topic.spoken | topic.brought
        self._spoken |= topic.spoken
        self._numbers |= step.thought_numbers | step.result_numbers
        return found

    def _look_up(self, step: StepFeatures, page: bool) -> LookUp:
        topic = step.topic
        own = topic.called | topic.coded
        return LookUp(
            step.index,
            f"{step.action} {step.arguments[:_MOST_QUOTED]}",
            step.tool,
            step.role.looks,
            not step.failed,
            (topic.spoken | topic.brought) & ~self._known,
            step.result_numbers & ~self._numbers,
            own & ~self._spoken,
            own.bit_count(),
            page,
        )

    def _after_deed(self, step: StepFeatures) -> list[LookUp] | None:
        words, numbers = step.topic.spoken, step.thought_numbers
        row = [one for one in self._row if one.got and not (one.fresh & words or one.numbers & numbers)]
        enough = len(row) >= _AFTER_DEED and sum(one.looks for one in row) >= _LOOKS_AFTER_DEED
        one_kind = len({one.tool for one in row}) == 1  # a list that is gone through, of which one was wanted
        return row if enough and not one_kind and len(self._row) - len(row) <= 1 else None

    def _of_service(self, step: StepFeatures) -> list[LookUp] | None:
        row = list(self._row)
        tools = {one.tool for one in row}
        # Whoever has gone over to another business altogether has other tools: that is drift.
        if len(tools) < _FEWEST_TOOLS or tools.isdisjoint(self._tools) or sum(one.got for one in row) < _FEWEST_GOT:
            return None
        words, numbers = step.topic.spoken, step.thought_numbers
        return None if any(one.fresh & words or one.numbers & numbers for one in row) else row

    def _of_research(self, words: TopicSet) -> list[LookUp] | None:
        """The newest searches of which most went elsewhere, each somewhere else."""
        latest = list(self._row)[-_SEARCHES:]
        one_kind = len({one.tool for one in latest}) == 1  # one page after the other may be a list that is gone through
        if not words or one_kind or not all(one.page for one in latest):
            return None
        off: list[LookUp] = []
        met = words
        for count, one in enumerate(reversed(latest), 1):
            if one.unspoken and not one.unspoken & met and one.unspoken.bit_count() >= _NEW * one.size:
                off.append(one)
                met |= one.unspoken
            if count - len(off) > _MOST_ON:
                return None
            if count >= _FEWEST_CALLS and len(off) >= _FEWEST_OFF:
                return off[::-1]
        return None


def _is_of_pages(step: StepFeatures) -> bool:
    if "://" in step.arguments:
        return True
    return step.role.searches and " " in step.arguments and not role_of(step.action, ()).runs
