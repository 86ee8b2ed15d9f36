"""Checks of an agent's own: one that it puts off, and one that does not bear out what it then says."""

import re

import msgspec

from .features import StepFeatures
from .words import split

_LONGEST_VALUE = 80
_LONGEST_ANSWER = 600
_TAIL = 300
_SHORTEST_VALUE = 2
_LONGEST_THOUGHT = 240
"""In a longer one, what is still to be checked may have been checked by its end."""

_CHECK = r"(?:check|confirm|cross-check|double-check|test|validat|verif)\w*"
_PUT_OFF = re.compile(
    rf"\b{_CHECK}\b[^.\n]{{0,50}}\b(?:afterwards?|another (?:step|time)|later|next step|subsequent\w*)\b"
    rf"|\b(?:later|next step|not yet|remains|still|yet)\b[^.,\n]{{0,30}}\b{_CHECK}\b"
    rf"|\b(?:must|needs?|requires?|wants|awaits?) (?:\w+ ){{0,2}}{_CHECK}\b"
    r"|\b(?:for now|placeholder|preliminary|provisional\w*|tentative\w*|unconfirmed|unverified)\b",
    re.IGNORECASE,
)
_IN_PUT_OFF = (
    "afterward another await later must need next step now placeholder prelimin provision remain requir still "
    "subsequent tentative unconfirmed unverified want yet"
).split()
"""One of these is in whatever matches."""
_IN_VAIN = re.compile(
    r"\b(?:not|never|n't) (?:\w+ ){0,2}(?:appear\w*|contain\w*|exist|found|mention\w*|occur\w*|present)\b"
    r"|\b(?:0|no|zero) (?:\w+ ){0,2}(?:hits?|match\w*|mentions?|occurrences?|results?)\b|\bnothing found\b",
    re.IGNORECASE,
)


def put_off(thought: str) -> bool:
    """Whether a thought says that something has to be checked, but not now."""
    if not 0 < len(thought) <= _LONGEST_THOUGHT:
        return False
    return any(map(thought.lower().__contains__, _IN_PUT_OFF)) and _PUT_OFF.search(thought) is not None


class Check(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a call, to be held against what is said after it."""

    index: int
    thought: str
    """Empty for one that is too long to put anything off."""
    value: str
    """What was looked for; empty if it is no look for a certain value."""
    result: str
    """Of such a look, head and tail."""

    @classmethod
    def of(cls, step: StepFeatures) -> "Check":
        """A call as it is kept."""
        thought = step.thought if len(step.thought) <= _LONGEST_THOUGHT else ""
        value = step.arguments
        if not step.role.looks or not _SHORTEST_VALUE <= len(value) <= _LONGEST_VALUE or "\n" in value:
            return cls(step.index, thought, "", "")
        return cls(step.index, thought, value, step.result_excerpt)


def sought_in_vain(check: Check, answer: str) -> bool:
    """Whether a look for a certain value did not find it, and an answer begins with it all the same."""
    if not check.value:
        return False
    sought = split(check.value)
    answered = split(answer[:_LONGEST_ANSWER])
    if not sought or sought[0] not in answered or f" {' '.join(sought)} " not in f" {' '.join(answered)} ":
        return False
    return _IN_VAIN.search(check.result[-_TAIL:]) is not None
