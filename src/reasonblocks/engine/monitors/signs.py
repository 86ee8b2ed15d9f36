"""Signs of trouble that add up over a run: counts that say how it has gone so far, and prove nothing alone.

A sign only ever grows, each step is looked at once, and what is kept does not grow with the run. How much each sign
means for each monitor is in `calibration.json`; see `suspicion.py`.
"""

import re

from .features import StepFeatures
from .words import WordSet, count_numbers, size, split, word_set

NAMES = (
    "steps",
    "same_target",
    "unfinished",
    "failures",
    "failing",
    "numbers",
    "capitals",
    "hedges",
    "announcements",
    "said",
    "restated",
    "stretch",
    "searches",
    "read",
    "new_words",
    "unsupported",
    "unfollowed",
)
"""All signs, in the order in which `Signs.values` gives them."""

_HEDGES = frozenset(
    "apparently assume assumed assuming assumption guess likely maybe might perhaps possibly presumably probably seem "
    "seems should suspect think unclear unsure".split()
)
_ANNOUNCES = frozenset("going let ll need next now then will".split())
_TELLING = _HEDGES | _ANNOUNCES
_CAPITALS = re.compile(r"[A-Z][A-Z]+")
"""Abbreviations and codes, for the most part: what is named by them is seldom explained."""
_POINT = re.compile(r"\n[^\S\n]*[1-9]")
"""A point of a plan, with the line break before it."""
_TARGETS = 8_192
"""Places for the targets of calls, a bit each: two that share one are rare, and count as one."""
_FADES = 0.8
"""What is left of a failure one step later."""


class Signs:
    """What has added up in one run."""

    __slots__ = (
        "_counts",
        "_known",
        "_planned",
        "_said",
        "_stretch",
        "_supported",
        "_targets",
        "_tool",
        "_trouble",
    )

    def __init__(self, task: str) -> None:
        self._counts = dict.fromkeys(NAMES, 0.0)
        self._targets = 0
        """A bit for each target there was."""
        self._known: WordSet = 0
        """The words of all results."""
        self._supported: WordSet = word_set(set(split(task)))
        """These, and those of the task."""
        self._said: WordSet = 0
        self._tool = b""
        self._stretch = 0
        """Calls of the same tool since another one was called."""
        self._planned = 0
        """How many points the longest plan has."""
        self._trouble = 0.0
        """Failures, of which the older ones count less."""

    def observe(self, step: StepFeatures) -> None:
        """Add one step."""
        counts = self._counts
        counts["steps"] += 1
        self._hear(step)
        self._watch(step)
        counts["searches"] += step.role.searches
        counts["unfinished"] += step.unfinished
        counts["failures"] += step.failed
        self._trouble = self._trouble * _FADES + step.failed
        counts["failing"] = max(counts["failing"], self._trouble)

    def values(self) -> dict[str, float]:
        """Each sign as it stands; not to be changed by the caller."""
        return self._counts

    def _hear(self, step: StepFeatures) -> None:
        """What the thought adds."""
        counts = self._counts
        if not step.thought:
            return
        if telling := list(filter(_TELLING.__contains__, step.said)):
            hedges = sum(map(_HEDGES.__contains__, telling))
            counts["hedges"] += hedges
            counts["announcements"] += len(telling) - hedges
        counts["numbers"] += count_numbers(step.thought) if step.codes else 0
        counts["capitals"] += len(_CAPITALS.findall(step.thought))
        counts["said"] += len(step.thought)
        words = step.thought_words
        counts["restated"] += size(words & self._said)
        counts["unsupported"] += size(words ^ (words & self._supported))
        self._said |= words

    def _watch(self, step: StepFeatures) -> None:
        """What the call and its result add."""
        counts = self._counts
        if step.action:
            place = 1 << int.from_bytes(step.target[:4]) % _TARGETS
            if self._targets & place:
                counts["same_target"] += 1
            self._targets |= place
            self._stretch = self._stretch + 1 if step.tool == self._tool else 1
            self._tool = step.tool
            counts["stretch"] = max(counts["stretch"], self._stretch)
        counts["read"] += step.result_size
        new = step.result_words ^ (step.result_words & self._known)
        if new:
            counts["new_words"] += size(new)
            self._known |= new
            self._supported |= new
        self._follow(step)

    def _follow(self, step: StepFeatures) -> None:
        """Whether a plan with many points ends after few calls."""
        points = len(_POINT.findall(f"\n{step.thought}")) if step.codes else 0
        ends = step.role.ends or (step.speaks_only and self._planned and not points)
        if ends:
            left = self._planned - self._targets.bit_count()
            self._counts["unfollowed"] = max(self._counts["unfollowed"], float(left))
        self._planned = max(self._planned, points)
