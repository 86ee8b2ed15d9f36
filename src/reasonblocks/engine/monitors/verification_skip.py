"""verification_skip: the work is called done although the last change was never tried, or the last trial failed.

A change of code is open until something is run after it. One whose own result shows the new state needs no further
proof, and neither does what is no code: a word in a manual. Where somebody is told that an order was changed, a call
must have changed it. A step ends the work if it hands it in, says so, or is the first without a call in a run of calls.
"""

from ..answers import Evidence
from .base import Fading, MonitorState, Reading
from .conclusions import admits_no_trial, called_done, goes_on, owns_failure
from .features import StepFeatures, quote
from .reports import Reports
from .roles import runs_commands

_AFTER_FAILURE = 0.75
_NEVER_TRIED = 0.7
_ONLY_LOOKED_AT = 0.4
_SHOWN = 200
"""Characters of a result that shows more than that the change was taken."""
_FEWEST_CALLS = 3
_MOSTLY = 8
"""So many calls for each step without one, and a step without one stands out."""
_LONGEST_TEXT = 3_000


class VerificationSkip:
    """A conclusion without a proof."""

    name = "verification_skip"
    failure_type = "unverified"
    description = "The work is called done although the last change was never tried, or the last trial failed."

    def start(self, task: str) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State()


class _State:
    __slots__ = ("_calls", "_change", "_fading", "_failure", "_looked", "_owned", "_reports", "_spoken", "_worked")

    def __init__(self) -> None:
        self._calls = 0
        self._spoken = 0
        self._change: tuple[int, str] | None = None
        """The newest change that nothing was run after."""
        self._looked = False
        self._worked = False
        """Whether there is anything that could be verified."""
        self._failure: tuple[int, str] | None = None
        """The newest trial, if it failed and nothing was run with success after it."""
        self._owned = False
        """Whether that failure was spoken of since."""
        self._reports = Reports()
        self._fading = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        found = self._found(step) or self._reports.observe(step)
        self._remember(step)
        return self._fading.next(found)

    def _found(self, step: StepFeatures) -> Reading | None:
        if self._failure is not None:
            self._owned = self._owned or owns_failure(step.thought)
        if self._change is None and self._failure is None:
            return None
        said = self._conclusion(step)
        if said is None:
            return None
        text = _text_of(step)
        if self._failure is not None and self._worked and not self._owned and not owns_failure(text):
            reason = "The work is called done, but the last thing that was run had failed."
            if self._change is not None:
                reason = (
                    "The work is called done, but the last trial failed, and nothing was run after the change since."
                )
            return _reading(_AFTER_FAILURE, reason, self._failure, step, said)
        if self._change is None or admits_no_trial(text):
            return None  # an answer was looked for, and none of the work is open
        reason = "The work is called done, but nothing was run after the last change."
        if self._looked:
            reason = "The work is called done, but after the last change it was only looked at."
        return _reading(_ONLY_LOOKED_AT if self._looked else _NEVER_TRIED, reason, self._change, step, said)

    def _conclusion(self, step: StepFeatures) -> str | None:
        """The words, or the call, with which a step ends the work."""
        if step.role.ends:
            return called_done(step.thought) or step.call_quote()
        if not step.speaks_only or not step.thought.strip() or goes_on(step.thought):
            return None
        said = called_done(step.thought)
        if said is None and self._calls >= _FEWEST_CALLS and self._calls >= _MOSTLY * self._spoken:
            said = step.thought_quote()
        return said

    def _remember(self, step: StepFeatures) -> None:
        if step.speaks_only:
            self._spoken += 1
            return
        self._calls += 1
        role = step.role
        if role.notes or role.ends:
            return
        if role.writes and not step.failed:
            self._worked = True
        if role.runs:
            self._failure = (step.index, step.result_quote()) if step.failed else None
            self._owned = False
            self._change = None
        elif role.writes:
            if not step.failed:
                # An editor shows what it wrote by itself; in a shell it was asked for.
                self._looked = step.result_size >= _SHOWN and runs_commands(step.action)
                self._change = (step.index, step.call_quote())
        elif not step.failed and (role.looks or step.result_size >= _SHOWN):
            self._looked = True


def _text_of(step: StepFeatures) -> str:
    """What a step says, be it in its thought or in what it hands in."""
    return f"{step.thought}\n{step.arguments[:_LONGEST_TEXT]}" if step.role.ends else step.thought


def _reading(score: float, reason: str, before: tuple[int, str], step: StepFeatures, said: str) -> Reading:
    index, text = before
    return Reading(score, Evidence(VerificationSkip.name, reason, [index, step.index], [quote(said), text]))
