"""Inquiries: steps of somebody who looks for a cause, puts up one guess after another and rules most of them out.

What they look at is new each time and has little to do with the words of the task. That is the way to find a cause, and
neither a new beginning nor another topic.
"""

from .features import StepFeatures
from .words import Phrases

_LONGEST = 60
"""Words of a thought that is about one guess."""
_INQUIRES = Phrases(
    "as the cause, as the culprit, as the reason, bisect, bisecting, bisection, can't be the, cannot be the",
    "could be behind, could be to blame, could explain, culprit, culprits, does not explain, doesn't explain",
    "eliminate, eliminated, eliminates, eliminating, excluded, guess is, hypotheses, hypothesis, innocent",
    "is fine too, isn't it, isn't the cause, isn't the culprit, isn't the issue, isn't the problem",
    "isn't the reason, isolate, isolated, isolating, isolation, leaves only, makes no difference, might explain",
    "narrow, narrowed, narrowing, narrows, no difference, not guilty, not it, not that either, not the cause",
    "not the culprit, not the issue, not the problem, not the reason, nothing odd, nothing suspicious",
    "nothing unusual, possible cause, prime candidate, repro, reproduce, reproduced, reproduces, reproducible",
    "reproducing, root cause, rule out, ruled out, rules out, ruling out, same with, same without, suspect",
    "suspected, suspects, suspicion, suspicions, that leaves, theories, theory, to blame, why does, why is",
    "would explain",
)


def inquires(step: StepFeatures) -> bool:
    """Whether a step is about what may be the cause of something: a guess, or that one was wrong."""
    words = step.said
    return 0 < len(words) <= _LONGEST and _INQUIRES.are_in(step.thought, words)
