"""Asides: what a step adds though nobody asked for it, in the words of somebody who knows that.

"While we're at it, it might be worth looking at the receipts, too": an addition, and a tentative one. Either alone is
in every healthy run; both together, in a few words, hardly ever twice within a few steps. So it is with what would be
nice to have done to the names, the comments or the spelling.
"""

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
    "as an experiment, at some point, benefit*, consider*, could, curiosity, curious, deserve*, eventually, fun",
    "going forward, have you thought, idea, ideas, improve*, in future, in general, in the future, interesting, may",
    "maybe, might, next time, nice, one day, opportunit*, option, optional*, perhaps, possibly, prefer*, some day",
    "someday, wonder*, worth, would also, would be, would have, would it, would make, would you",
)
_TIDIES = Phrases(
    "benchmark*, changelog, clean up, cleaned up, cleaner, cleaning up, cleanup, coverage, docstring*, formatting",
    "future-proof*, hard-coded, hardcoded, linter, linting, logging, modernis*, moderniz*, naming, neater",
    "nice to have, nice-to-have, nicer, polish*, prettier, readability, readable, readme, refactor*, renam*, spelling",
    "tidied, tidier, tidy*, type annotations, type hints, typo, typos",
)
"""What can be done to any piece of work once it is done, whatever it was for."""
_CHECKS = frozenset("correct correctly regression regressions test tests verify".split())
"""Who wants to be surer of what was done adds a check, which is the opposite of an aside."""


def is_aside(step: StepFeatures) -> bool:
    """Whether a step adds something that it says itself might as well be left."""
    words = step.said
    if not 0 < len(words) <= _LONGEST:
        return False
    if not _CHECKS.isdisjoint(words) or not _TENTATIVE.are_in(step.thought, words):
        return False
    return _ADDS.are_in(step.thought, words) or _TIDIES.are_in(step.thought, words)
