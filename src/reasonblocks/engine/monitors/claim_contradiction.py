"""claim_contradiction: a claim is turned round without a word, or made against the result it follows.

A claim holds until something may have changed: after any call that is not a mere lookup, and after any answer of a
person, nothing said before is compared. A change of mind that is acknowledged is none of this.
"""

import re
from collections import deque

from ..answers import Evidence
from .base import Fading, MonitorState, Reading
from .claims import Claim
from .features import StepFeatures, quote
from .words import alike, phrases

_MOST_CLAIMS = 24
_SAME_SUBJECT = 0.8
_TURNED_ROUND = 0.65
_AGAINST_RESULT = 0.62
_ACKNOWLEDGED = phrases(
    "actually, although, apolog*, but, changed, contrary, correction, despite, earlier, even though, except, however",
    "i see, in fact, instead, misread, mistak*, misunder*, no longer, now, oh, oops, only, previous*, realis*, realiz*",
    "revis*, sorry, still, though, turns out, unlike, updat*, wait, was wrong, whereas, yet",
)
_SUCCESS = re.compile(
    r"\b(?:(?:all|the|every|these|our) (?:\w+ ){0,2}tests? (?:now )?(?:pass|passed|succeed|succeeded)\b"
    r"|(?:works?|worked|ran|runs|executed|completed|compiles|compiled) (?:as expected|correctly|perfectly|successfully)"
    r"|(?:without (?:any )?errors?|no errors))",
    re.IGNORECASE,
)
_TROUBLE = phrases(
    "but, cannot, could not, couldn't, didn't, error, exit code, fail*, fix, however, instead, issue, missing, not",
    "problem, unfortunately, unrelated, warning, wrong",
)


class ClaimContradiction:
    """Claims that cannot both be true."""

    name = "claim_contradiction"
    failure_type = "contradiction"
    description = "A claim is turned round without a word, or stands against the result it follows."

    def start(self) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State()


class _State:
    __slots__ = ("_claims", "_fading", "_failure")

    def __init__(self) -> None:
        self._claims: deque[tuple[int, Claim]] = deque(maxlen=_MOST_CLAIMS)
        self._failure: tuple[int, str] | None = None
        self._fading = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        found = self._turned_round(step) or self._against_result(step)
        self._remember(step)
        return self._fading.next(found)

    def _turned_round(self, step: StepFeatures) -> Reading | None:
        if not self._claims or not step.claims:
            return None
        for claim in step.claims:
            for index, earlier in self._claims:
                if claim.denied != earlier.denied and alike(claim.words, earlier.words) >= _SAME_SUBJECT:
                    if _ACKNOWLEDGED.search(step.thought):
                        return None
                    reason = "Two claims about the same thing exclude each other, and nothing was changed in between."
                    return _reading(
                        _TURNED_ROUND, reason, [index, step.index], [quote(earlier.text), quote(claim.text)]
                    )
        return None

    def _against_result(self, step: StepFeatures) -> Reading | None:
        if self._failure is None:
            return None
        said = _SUCCESS.search(step.thought)
        if said is None or _TROUBLE.search(step.thought):
            return None
        index, result = self._failure
        reason = "Success is claimed right after a result that says otherwise."
        return _reading(_AGAINST_RESULT, reason, [index, step.index], [said.group(), result])

    def _remember(self, step: StepFeatures) -> None:
        answered = step.speaks_only and step.result_size > 0
        if step.role.may_change or answered:
            self._claims.clear()
        else:
            self._claims.extend((step.index, claim) for claim in step.claims)
        if not step.speaks_only:
            self._failure = (step.index, step.result_quote()) if step.failed and step.role.runs else None


def _reading(score: float, reason: str, steps: list[int], quotes: list[str]) -> Reading:
    return Reading(score, Evidence(ClaimContradiction.name, reason, steps, quotes))
