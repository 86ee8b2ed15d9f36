"""late_sprawl: after a run has settled, one thing after another is begun that has to do with nothing before it.

Work over many files is not sprawl, nor is following a lead: what is counted are steps that are off the task and all
that the run has been about, and off each other as well. A stretch that stays with one such thing is drift.
"""

from collections import deque

from ..answers import Evidence
from .base import NOTHING, Fading, MonitorState, Reading
from .beginnings import WINDOW, Beginnings
from .detours import Detours
from .diversions import Diversions
from .features import StepFeatures, quote
from .silent_topic_drift import LATE
from .untouched import LookUp, Untouched
from .wishes import Wish

ENOUGH = 2.9
"""Beginnings among the latest steps that leave no doubt."""
_FOUND = 0.75
_PER_BEGINNING = 0.1
_HINT = 0.1
"""What is less than enough scores so much for each beginning."""
_MOST_HINT = 0.34
_BEGINS = 0.5
"""A step that is shown begins at least so much."""
_MOST_QUOTES = 3
_DETOUR, _ONE_THING = 0.75, 0.62
"""Looks at one thing after the other that nothing led to; if they seem to be one thing, it is rather drift."""
_UNTOUCHED, _DIVERTED = 0.75, 0.7
"""Look-ups in a row that were for nothing; questions by the way that a person wants to get back from."""


class LateSprawl:
    """New beginnings where an end was due."""

    name = "late_sprawl"
    failure_type = "sprawl"
    description = "Late in the run one new thing after another is begun that has little to do with what came before."

    def start(self, task: str) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State(task)


class _State:
    __slots__ = (
        "_beginnings",
        "_diversions",
        "_early",
        "_quotes",
        "_shown",
        "_untouched",
        "_wished",
    )

    def __init__(self, task: str) -> None:
        self._beginnings = Beginnings(task)
        self._early = False
        self._wished = Wish()
        self._quotes: deque[tuple[int, str]] = deque(maxlen=WINDOW)
        self._untouched = Untouched(task)
        self._diversions = Diversions()
        self._shown = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        shown = self._shown.next(self._show(step))
        begun = self._begun(step)
        return shown if shown.score > begun.score else begun

    def _show(self, step: StepFeatures) -> Reading | None:
        """What a step shows at once: look-ups that were for nothing, or a person who is led from thing to thing."""
        row, remarks = self._untouched.observe(step), self._diversions.listen(step)
        detour = step.ask(Detours)
        if self._wished.holds:
            return None
        if detour and detour.is_late:
            reason = "Late in the run things were looked at that nothing led to, "
            reason += "and what comes after has none of it." if detour.over else "and no step before had a word of it."
            evidence = Evidence(LateSprawl.name, reason, detour.steps, detour.quotes[-_MOST_QUOTES:])
            return Reading(_ONE_THING if detour.one_thing else _DETOUR, evidence)
        return _left(row) if row else _diverted(remarks) if remarks else None

    def _begun(self, step: StepFeatures) -> Reading:
        begun = self._beginnings.observe(step)
        if step.index < LATE or self._early:
            # What has begun before anything could be late is not late either, until the run comes back to something.
            self._early = begun >= _BEGINS
            self._beginnings.latest.clear()
            return NOTHING
        if begun >= _BEGINS:
            self._quotes.append((step.index, step.thought_quote() or step.call_quote()))
        total = self._beginnings.total if begun else 0.0
        self._wished.listen(step)
        if total < 1.0:
            return NOTHING
        if total < ENOUGH or self._wished.holds:
            return Reading(min(_MOST_HINT, _HINT * total))
        return Reading(min(1.0, _FOUND + _PER_BEGINNING * (total - ENOUGH)), self._evidence())

    def _evidence(self) -> Evidence:
        steps = [index for index, value in self._beginnings.latest if value >= _BEGINS]
        reason = (
            f"{len(steps)} of the last {len(self._beginnings.latest)} steps that say anything begin something new "
            f"(steps {steps[0]} to {steps[-1]}): most of their words were in neither the task nor any step before, "
            "and none goes on with the one before."
        )
        quotes = [quote for index, quote in self._quotes if index in steps][-_MOST_QUOTES:]
        return Evidence(LateSprawl.name, reason, steps, quotes)


def _left(row: list[LookUp]) -> Reading:
    steps = [one.index for one in row]
    reason = (
        f"{len(row)} look-ups, one thing after the other (steps {steps[0]} to {steps[-1]}), have nothing to do with "
        "what was then said or done: it uses neither what they asked for nor what they brought."
    )
    return Reading(
        _UNTOUCHED, Evidence(LateSprawl.name, reason, steps, [quote(one.call) for one in row[-_MOST_QUOTES:]])
    )


def _diverted(remarks: list[tuple[int, str]]) -> Reading:
    reason = (
        "The person says that this is not what they came for, of one message after the other, each about another thing."
    )
    return Reading(
        _DIVERTED, Evidence(LateSprawl.name, reason, [at for at, _ in remarks], [said for _, said in remarks])
    )
