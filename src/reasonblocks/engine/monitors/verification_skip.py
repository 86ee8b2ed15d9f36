"""verification_skip: the work is called done although the last change was never tried, or the last trial failed.

A change of code is open until something is run after it. One whose own result shows the new state needs no further
proof, and neither does what is no code: an order that was updated, a word in a manual.
"""

import re
from itertools import islice

from ..answers import Evidence
from .base import NOTHING, Fading, MonitorState, Reading
from .features import StepFeatures, quote
from .words import phrases

_AFTER_FAILURE = 0.7
_NEVER_TRIED = 0.65
_ONLY_LOOKED_AT = 0.3
_SHOWN = 200
"""Characters of a result that shows more than that the change was taken."""
_FINISHED = re.compile(
    r"\b(?:added|complete|completed|created|done|final answer|finished|fixed|implemented|ready(?: to submit)?|resolved"
    r"|solved|updated)\b",
    re.IGNORECASE,
)
_MOST_MATCHES = 32
_BEFORE = 90
"""Characters in front of such a word that say what is finished."""
_OF_THE_WORK = re.compile(
    r"\b(?:task|issue|problem|bug|fix|feature|implementation|work|everything|(?:tasks|steps|requirements|changes))\b"
    r"[^.\n]{0,40}\b(?:is|are|has been|have been|was|were)\b[^.\n]{0,25}$",
    re.IGNORECASE,
)
_BY_ITSELF = re.compile(
    r"\b(?:I(?:'ve| have) (?:now )?(?:successfully |fully )?|successfully |we(?:'re| are) )$", re.IGNORECASE
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

    def start(self, task: str) -> MonitorState:
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
        said = _called_done(step.thought)
        if said is None or _ADMITS.search(step.thought):
            return None
        if self._failure is not None and self._worked:
            reason = "The work is called done, but the last thing that was run had failed."
            return _reading(_AFTER_FAILURE, reason, self._failure, step, said)
        if self._change is None:
            return None  # an answer was looked for, and none of the work is open
        score = _ONLY_LOOKED_AT if self._looked else _NEVER_TRIED
        reason = "The work is called done, but nothing was run after the last change."
        return _reading(score, reason, self._change, step, said)

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


def _called_done(thought: str) -> str | None:
    """The words that call the work done."""
    # From each word that ends something back to its subject: the other way round, crafted text costs far more.
    for match in islice(_FINISHED.finditer(thought), _MOST_MATCHES):
        before = thought[max(0, match.start() - _BEFORE) : match.start()]
        subject = _BY_ITSELF.search(before) or _OF_THE_WORK.search(before)
        if subject is not None:
            return quote(subject.group() + match.group())
        if match.group().lower() in ("final answer", "ready to submit"):
            return match.group()
    return None


def _reading(score: float, reason: str, before: tuple[int, str], step: StepFeatures, said: str) -> Reading:
    index, text = before
    return (
        Reading(score, Evidence(VerificationSkip.name, reason, [index, step.index], [said, text])) if score else NOTHING
    )
