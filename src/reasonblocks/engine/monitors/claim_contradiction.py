"""claim_contradiction: a claim is turned round without a word, or made against the result it follows.

A claim holds until something may have changed: after any call that is not a mere lookup, and after any answer of a
person, nothing said before is compared. A change of mind that is acknowledged is none of this.
"""

import re
from collections import deque
from itertools import islice

from ..answers import Evidence
from .base import Fading, MonitorState, Reading
from .claims import Claim, exclude_each_other
from .features import StepFeatures, quote
from .words import phrases

_MOST_CLAIMS = 24
_TURNED_ROUND = 0.65
_AGAINST_RESULT = 0.62
_ACKNOWLEDGED = phrases(
    "actually, although, apolog*, but, changed, contrary, correction, despite, earlier, even though, except, however",
    "i see, in fact, instead, misread, mistak*, misunder*, no longer, now, oh, oops, only, previous*, realis*, realiz*",
    "revis*, sorry, still, though, turns out, unlike, updat*, wait, was wrong, whereas, yet",
)
_SUCCESS = re.compile(
    r"\b(?:(?:all|the|every|these|our) (?:\w{1,30} ){0,2}tests? (?:now )?(?:pass|passed|succeed|succeeded)\b"
    r"|(?:works?|worked|ran|runs|executed|completed|compiles|compiled) (?:as expected|correctly|perfectly|successfully)"
    r"|(?:without (?:any )?errors?|no errors))",
    re.IGNORECASE,
)
_MOST_MATCHES = 8
_PLANNED = phrases(
    "aim*, before, can, check*, could, ensur*, expect*, fix*, goal, handle, hope*, how, if, let, let's, make sure",
    "making sure, may, might, must, need*, once, should, so, so that, target, to, try*, unless, until, verify*, want*",
    "when, whether, why, will, would, until",
)
"""In front of a success these make it one that is still to come."""
_BEFORE = 200
_ENDS_SENTENCE = re.compile(r"[.!?\n]")
_TROUBLE = phrases(
    "but, cannot, could not, couldn't, didn't, error, exit code, fail*, fix, however, instead, issue, missing, not",
    "problem, unfortunately, unrelated, warning, wrong",
)


class ClaimContradiction:
    """Claims that cannot both be true."""

    name = "claim_contradiction"
    failure_type = "contradiction"
    description = "A claim is turned round without a word, or stands against the result it follows."

    def start(self, task: str) -> MonitorState:
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
                if exclude_each_other(claim, earlier):
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
        said = _claimed_success(step.thought)
        if said is None or _TROUBLE.search(step.thought):
            return None
        index, result = self._failure
        reason = "Success is claimed right after a result that says otherwise."
        return _reading(_AGAINST_RESULT, reason, [index, step.index], [said, result])

    def _remember(self, step: StepFeatures) -> None:
        answered = step.speaks_only and step.result_size > 0
        if step.role.may_change or answered:
            self._claims.clear()
        else:
            self._claims.extend((step.index, claim) for claim in step.claims)
        if not step.speaks_only:
            self._failure = (step.index, step.result_quote()) if step.failed and step.role.runs else None


def _claimed_success(thought: str) -> str | None:
    """A success that is stated, and neither planned nor asked for."""
    for match in islice(_SUCCESS.finditer(thought), _MOST_MATCHES):
        before = _ENDS_SENTENCE.split(thought[max(0, match.start() - _BEFORE) : match.start()])[-1]
        end = _ENDS_SENTENCE.search(thought, match.end(), match.end() + _BEFORE)
        asked = end is not None and end.group() == "?"
        if not asked and not _PLANNED.search(before):
            return match.group()
    return None


def _reading(score: float, reason: str, steps: list[int], quotes: list[str]) -> Reading:
    return Reading(score, Evidence(ClaimContradiction.name, reason, steps, quotes))
