"""verification_skip: the work is called done although the last change was never tried, or the last trial failed.

A change is open until something is run after it. One whose own result shows the new state needs no further proof.
"""

import re

from ..answers import Evidence
from .base import NOTHING, Fading, MonitorState, Reading
from .features import StepFeatures
from .words import phrases

_AFTER_FAILURE = 0.7
_NEVER_TRIED = 0.65
_ONLY_LOOKED_AT = 0.3
_SHOWN = 200
"""Characters of a result that shows more than that the change was taken."""
_FINISHED = "(?:added|complete|completed|created|done|finished|fixed|implemented|ready|resolved|solved|updated)"
_DONE = re.compile(
    r"\b(?:task|issue|problem|bug|fix|feature|implementation|work|everything|(?:tasks|steps|requirements|changes))\b"
    rf"[^.\n]{{0,40}}\b(?:is|are|has been|have been|was|were)\b[^.\n]{{0,25}}\b{_FINISHED}\b"
    rf"|\bI(?:'ve| have) (?:now )?(?:successfully |fully )?{_FINISHED}\b|\bsuccessfully {_FINISHED}\b"
    r"|\bfinal answer\b|\bready to submit\b|\bwe(?:'re| are) done\b",
    re.IGNORECASE,
)
_ADMITS = phrases(
    "already broken, already fail*, can't, cannot, could not, couldn't, did not, fail*, let me, let's, next, not able",
    "not tested, not verified, now i, pre-existing, preexisting, unable, unfortunately, unrelated, untested, verified",
    "verify",
)


class VerificationSkip:
    """A conclusion without a proof."""

    name = "verification_skip"
    failure_type = "unverified"
    description = "The work is called done although the last change was never tried, or the last trial failed."

    def start(self) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State()


class _State:
    __slots__ = ("_change", "_fading", "_failure", "_looked", "_worked")

    def __init__(self) -> None:
        self._change: tuple[int, str] | None = None
        """The newest change that nothing was run after."""
        self._looked = False
        self._worked = False
        """Whether there is anything that could be verified."""
        self._failure: tuple[int, str] | None = None
        """The newest trial, if it failed and nothing was changed after it."""
        self._fading = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        found = self._found(step) if step.speaks_only or step.role.ends else None
        self._remember(step)
        return self._fading.next(found)

    def _found(self, step: StepFeatures) -> Reading | None:
        if self._change is None and self._failure is None:
            return None
        said = _DONE.search(step.thought)
        if said is None or _ADMITS.search(step.thought):
            return None
        if self._failure is not None and self._worked:
            reason = "The work is called done, but the last thing that was run had failed."
            return _reading(_AFTER_FAILURE, reason, self._failure, step, said.group())
        if self._change is None:
            return None  # an answer was looked for, and none of the work is open
        score = _ONLY_LOOKED_AT if self._looked else _NEVER_TRIED
        reason = "The work is called done, but nothing was run after the last change."
        return _reading(score, reason, self._change, step, said.group())

    def _remember(self, step: StepFeatures) -> None:
        if step.speaks_only or step.role.notes:
            return
        self._worked |= step.role.writes
        if step.role.runs:
            self._failure = (step.index, step.result_quote()) if step.failed else None
            self._change = None
        elif step.role.writes and step.result_size < _SHOWN:
            self._change, self._looked, self._failure = (step.index, step.call_quote()), False, None
        elif step.role.looks:
            self._looked = True


def _reading(score: float, reason: str, before: tuple[int, str], step: StepFeatures, said: str) -> Reading:
    index, text = before
    return (
        Reading(score, Evidence(VerificationSkip.name, reason, [index, step.index], [said, text])) if score else NOTHING
    )
