"""One thing that is tried in one way after the other and fails with the very same words each time.

To try once or twice in another way is how problems are solved. Where nothing but a flag, a quote or the spelling of a
path differs, and the answer never does, it is the same attempt.
"""

import re
from typing import NamedTuple

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures
from .words import WordSet, size, split

_FEWEST, _FEWEST_IN_VAIN = 4, 5
"""Attempts that are too many: with a failure that says why, and with nothing but an empty answer."""
_TELLING = 3
"""Words of a failure that says why."""
_FAILS, _IN_VAIN = 0.66, 0.62
_OPTION = re.compile(r"(?:^|\s)--?\w\S*")
_MONITOR = "semantic_loop"
_NOTHING = frozenset(("", "[]", "{}", "null", "none", "no results", "no results found"))


class _Attempt(NamedTuple):
    """A call that failed, or found nothing."""

    at: int
    tool: bytes
    outcome: bytes
    about: frozenset[str] | WordSet
    """What has to be the same: all words but options; of a search that found nothing, all but plain words."""
    quote: str


class Failing:
    """The attempts in a row that came to the same."""

    __slots__ = ("_row",)

    def __init__(self) -> None:
        self._row: list[_Attempt] = []

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if it is one attempt too many."""
        if step.speaks_only or step.role.waits or not (step.failed or _is_empty(step)):
            self._row = []
            return None
        tells = step.failed and size(step.result_words) >= _TELLING
        about = frozenset(split(_OPTION.sub(" ", step.command))) if tells else step.call_names
        now = _Attempt(step.index, step.tool, step.result, about, step.call_quote())
        if self._row and not _same(self._row[-1], now):
            self._row = []
        self._row = [*self._row[-8:], now]
        if len(self._row) < (_FEWEST if tells else _FEWEST_IN_VAIN):
            return None
        reason = f"{len(self._row)} calls in a row that hardly differ came to the very same."
        quotes = [self._row[0].quote, now.quote, step.result_quote()]
        steps = [attempt.at for attempt in self._row]
        return Reading(
            _FAILS if tells else _IN_VAIN, Evidence(_MONITOR, reason, steps, [text for text in quotes if text])
        )


def _is_empty(step: StepFeatures) -> bool:
    """Whether a look found nothing; a change that prints nothing has worked."""
    looks = step.role.looks or step.role.searches
    return looks and not step.role.changes and step.result_excerpt.strip().lower() in _NOTHING


def _same(one: _Attempt, other: _Attempt) -> bool:
    return one.tool == other.tool and one.outcome == other.outcome and one.about == other.about
