"""One thing that is tried in one way after the other and fails with the very same words each time.

To try once or twice in another way is how problems are solved. Where nothing but a flag, a quote or the spelling of a
path differs, and the answer never does, it is the same attempt.
"""

import re
from typing import NamedTuple

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures
from .words import WordSet, alike, size

_FEWEST, _FEWEST_IN_VAIN = 4, 5
"""Attempts that are too many: with a failure that says why, and with nothing but an empty answer."""
_ALIKE = 0.35
"""The share that two such calls have in common at least."""
_TELLING = 3
"""Words of a failure that says why."""
_FAILS, _IN_VAIN = 0.66, 0.62
_NUMBER = re.compile(r"\d{2,}")
_NOTHING = frozenset(("", "[]", "{}", "null", "none", "no results", "no results found"))


class _Attempt(NamedTuple):
    """A call that failed, or found nothing."""

    at: int
    tool: bytes
    outcome: bytes
    parts: WordSet
    numbers: frozenset[str]
    """Whoever looks for the next date or the next page asks for something else."""
    quote: str


class Failing:
    """The attempts in a row that came to the same."""

    __slots__ = ("_row",)

    def __init__(self) -> None:
        self._row: list[_Attempt] = []

    def observe(self, step: StepFeatures, monitor: str) -> Reading | None:
        """Take the next step in; what is found if it is one attempt too many."""
        if step.speaks_only or step.role.waits or not (step.failed or _is_empty(step)):
            self._row = []
            return None
        numbers = frozenset(_NUMBER.findall(step.arguments))
        now = _Attempt(step.index, step.tool, step.result, step.call_parts, numbers, step.call_quote())
        if self._row and not _same(self._row[-1], now):
            self._row = []
        self._row = [*self._row[-8:], now]
        tells = step.failed and size(step.result_words) >= _TELLING
        if len(self._row) < (_FEWEST if tells else _FEWEST_IN_VAIN):
            return None
        reason = f"{len(self._row)} calls in a row that hardly differ came to the very same."
        quotes = [self._row[0].quote, now.quote, step.result_quote()]
        steps = [attempt.at for attempt in self._row]
        return Reading(
            _FAILS if tells else _IN_VAIN, Evidence(monitor, reason, steps, [text for text in quotes if text])
        )


def _is_empty(step: StepFeatures) -> bool:
    """Whether a look found nothing; a change that prints nothing has worked."""
    looks = step.role.looks or step.role.searches
    return looks and not step.role.changes and step.result_excerpt.strip().lower() in _NOTHING


def _same(one: _Attempt, other: _Attempt) -> bool:
    if one.tool != other.tool or one.outcome != other.outcome or one.numbers != other.numbers:
        return False
    return alike(one.parts, other.parts) >= _ALIKE
