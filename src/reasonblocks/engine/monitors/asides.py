"""Asides: what a step adds though nobody asked for it, in the words of somebody who knows that.

"While we're at it, it might be worth looking at the receipts, too": an addition, and a tentative one. Either alone is
in every healthy run; both together, in a few words, hardly ever twice within a few steps. So it is with what would be
nice to have done to the names, the comments or the spelling.
"""

from functools import lru_cache

from .features import StepFeatures
from .words import Phrases

_LONGEST = 45
"""Words of an aside; whoever speaks at length adds something and doubts something in any case."""
_ADDS = Phrases(
    "additionally, along the way, also, another, apart from that, as a bonus, as long as i, as long as we, as well",
    "besides, by the way, extra, furthermore, in addition, incidentally, may as well, might as well, moreover",
    "next idea, next thought, on a different note, on a related note, on a side note, on another note",
    "on top of that, on top of this, one more, one other, separately, side note, since i have, since i'm",
    "since we have, since we're, speaking of, then there are, then there is, then there's, too, unrelated",
    "while at it, while i am, while i have, while i'm, while we are, while we have, while we're",
)
_TENTATIVE = Phrases(
    "as an experiment, at some point, benefit, benefits, consider, considered, considering, could, curiosity",
    "curious, deserve, deserves, eventually, fun, going forward, have you thought, idea, ideas, improve, improved",
    "improvement, improvements, in future, in general, in the future, interesting, may, maybe, might, next time",
    "nice, one day, opportunities, opportunity, option, optional, optionally, perhaps, possibly, prefer, preference",
    "preferences, preferred, some day, someday, wonder, wondering, worth, would also, would be, would have",
    "would it, would make, would you",
)
_TIDIES = Phrases(
    "benchmark, benchmarking, benchmarks, changelog, clean up, cleaned up, cleaner, cleaning up, cleanup, coverage",
    "docstring, docstrings, formatting, future-proof, future-proofing, hard-coded, hardcoded, linter, linting",
    "logging, modernise, modernising, modernize, modernizing, naming, neater, nice to have, nice-to-have, nicer",
    "polish, polished, polishing, prettier, readability, readable, readme, refactor, refactored, refactoring",
    "rename, renamed, renaming, spelling, tidied, tidier, tidy, tidying, type annotations, type hints, typo, typos",
)
"""What can be done to any piece of work once it is done, whatever it was for."""
_CHECKS = frozenset("correct correctly regression regressions test tests verify".split())
"""Who wants to be surer of what was done adds a check, which is the opposite of an aside."""


def is_aside(step: StepFeatures) -> bool:
    """Whether a step adds something that it says itself might as well be left."""
    words, thought = step.said, step.thought
    if not 0 < len(words) <= _LONGEST or not _TENTATIVE.may_be_in(thought, words) or not _CHECKS.isdisjoint(words):
        return False
    return (_ADDS.may_be_in(thought, words) or _TIDIES.may_be_in(thought, words)) and _is_said(thought)


@lru_cache(maxsize=64)
def _is_said(thought: str) -> bool:
    """The answer for a thought that may be one; several monitors ask, one after the other."""
    return _TENTATIVE.found_in(thought) and (_ADDS.found_in(thought) or _TIDIES.found_in(thought))
