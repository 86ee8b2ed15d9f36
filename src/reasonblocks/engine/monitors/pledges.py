"""Checks of an agent's own: one that it puts off, and one that does not bear out what it then says.

Nor does one bear anything out that came to nothing: a page that could not be opened confirms no answer.
"""

import re
from typing import NamedTuple

import msgspec

from .features import StepFeatures
from .roles import runs_commands
from .verdicts import speaks_against
from .waivers import is_unable
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
_NOT_THERE = re.compile(r"no such file|(?:not|n't) (?:be )?(?:exist|found)|cannot (?:access|find|open)", re.IGNORECASE)
_FILE = re.compile(r"(?<![\w.-])[\w-][\w.-]{0,60}\.[a-zA-Z]\w{0,4}\b(?![\w./-])")
"""The name of a file, without its folder."""
_GONE = re.compile(
    r"\b(?:absent|clean\w*|delet\w*|drop\w*|gone|missing|mov\w*|never|no|none|not|nothing|obsolete|old|remov\w*|renam\w*"
    r"|replac\w*|skip\w*|unable|unavailable|without)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_BORNE_OUT = re.compile(
    r"\b(?:attest|affirm|back|confirm|corroborat|substantiat|support|validat|verif|vouch)(?:e?s|ie[sd]|e?d)\b"
    r"|\b(?:bears?|bearing|bore|borne) (?:\w+ ){0,3}out\b|\b(?:agrees?|in (?:agreement|line)|tallies) with\b"
    r"|\b(?:as|is|was|are|were) (?:\w+ )?(?:given|listed|printed|quoted|reported|shown|stated|written)"
    r" (?:by|in|on|there)\b"
    r"|\baccording to (?:its|the|this|that) "
    r"(?:article|document|entry|listing|page|paper|record|report|site|source|text)"
    r"|\b(?:article|document|entry|listing|page|paper|record|report|site|source|text)(?:['\u2019]s)?(?: \w+){0,3}? "
    r"(?:agrees|gives|has it|lists|puts|reports|says|shows|spells|states)\b"
    r"|\b(?:beyond|no|without)(?: any| a)? doubt\b|\b(?:checked|compared|verified) (?:\w+ ){0,3}(?:against|with)\b",
    re.IGNORECASE,
)
_NOT_BORNE_OUT = re.compile(
    r"\b(?:cannot|if|never|no(?! doubt)|none|nor|not|nothing|once|should|unable|until|whether"
    r"|without(?! (?:any |a )?doubt)|would)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_SENTENCES = re.compile(r"(?<=[.!?])\s|\n")


def borne_out(text: str) -> bool:
    """Whether a text says of a source that it confirms what is told."""
    return any(
        _BORNE_OUT.search(part) is not None and _NOT_BORNE_OUT.search(part) is None
        for part in _SENTENCES.split(text[:_LONGEST_ANSWER])
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
    missing: str = ""
    """The file that a look did not find."""
    refused: str = ""
    """What a look at one thing said, if it came to nothing."""

    @classmethod
    def of(cls, step: StepFeatures, *, researches: bool = False) -> "Check":
        """A call as it is kept; where nothing was made, an answer comes from what was looked at."""
        thought = step.thought if len(step.thought) <= _LONGEST_THOUGHT else ""
        value = step.arguments
        missing = _missing(step)
        refused = _refused(step) if researches else ""
        if not step.role.looks or not _SHORTEST_VALUE <= len(value) <= _LONGEST_VALUE or "\n" in value:
            return cls(step.index, thought, "", step.result_excerpt if missing else "", missing, refused)
        return cls(step.index, thought, value, step.result_excerpt, missing, refused)


def _refused(step: StepFeatures) -> str:
    """What came back of a look at one thing that could not be had."""
    if not step.role.looks or step.role.searches or runs_commands(step.action) or not speaks_against(step):
        return ""
    return step.result_excerpt


def _missing(step: StepFeatures) -> str:
    """The one file that a look was for, and that is not there."""
    if not step.role.looks or not 0 < step.result_size <= _TAIL or _NOT_THERE.search(step.result_excerpt) is None:
        return ""
    names = set(_FILE.findall(step.result_excerpt)) or set(_FILE.findall(step.arguments[:_LONGEST_ANSWER]))
    return names.pop() if len(names) == 1 else ""


class Unkept(NamedTuple):
    """What a conclusion leaves out."""

    before: str
    """What was said, or found, before it."""
    reason: str
    beyond_excuse: bool = False
    """Whether it makes no difference that something else is said to have failed."""


def unkept(check: Check, text: str) -> Unkept | None:
    """What a conclusion right after a call leaves out: that its check was put off, or looked for in vain."""
    if sought_in_vain(check, text):
        return Unkept(check.result, "An answer is given that was looked for in the step before, and not found.")
    if check.refused and borne_out(text) and not is_unable(text):
        reason = "What is told is said to be borne out, but the look in the step before came to nothing."
        return Unkept(check.refused, reason)
    if put_off(check.thought):
        reason = "The work is called done, but the check that was put off in the step before was never made."
        return Unkept(check.thought, reason)
    if said_to_be_there(check, text):
        reason = "The work is called done with a file that was looked for in the step before, and not found."
        return Unkept(check.result, reason, beyond_excuse=True)
    return None


def said_to_be_there(check: Check, text: str) -> bool:
    """Whether a text speaks of the file that a look did not find, as if it was there."""
    if not check.missing or check.missing not in text:
        return False
    return not any(_GONE.search(line) for line in text.split("\n") if check.missing in line)


def sought_in_vain(check: Check, answer: str) -> bool:
    """Whether a look for a certain value did not find it, and an answer begins with it all the same."""
    if not check.value:
        return False
    sought = split(check.value)
    answered = split(answer[:_LONGEST_ANSWER])
    if not sought or sought[0] not in answered or f" {' '.join(sought)} " not in f" {' '.join(answered)} ":
        return False
    return _IN_VAIN.search(check.result[-_TAIL:]) is not None
