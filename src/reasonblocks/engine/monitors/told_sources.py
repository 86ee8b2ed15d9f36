"""Something could not be got, and is named as the source all the same: `After reviewing the transcript, ...`."""

import re
from functools import lru_cache

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures, quote
from .roles import runs_commands
from .waivers import plain

_NAME = "verification_skip"
_NOT_GOT = 0.7
_LONGEST_TEXT, _MOST_OPEN = 4_000, 8
_LONGEST_DENIAL = 4_000
_THING = r"(?:(?:a|an|any|its|that|the|this|your|\w+'s) )?(?:[\w-]{1,30} ){0,2}?"
_SOURCE = (
    r"(abstract|appendix|archive|article|attachment|audio|bibliography|captions?|chapter|chart|contract|dataset|diagram"
    r"|document|email|figure|footage|footnote|image|invoice|ledger|letter|logs?|manual|map|memo|message|metadata|minutes"
    r"|page|paper|pdf|photo|picture|policy|profile|receipt|recording|register|report|review|schedule|screenshot|slides?"
    r"|source|spreadsheet|statement|subtitles?|summary|table|thread|ticket|transcripts?|video|website|wiki)"
)
"""What one reads, watches or listens to."""
_DENIED = re.compile(
    r"\b(?:cannot|can't|could not|couldn't|did not|didn't|failed to|not able to|unable to) "
    r"(?:access|display|download|extract|fetch|find|get|load|locate|obtain|open|parse|play|read|retrieve|view) "
    rf"{_THING}{_SOURCE}\b"
    rf"|\bno (?:[\w-]{{1,30}} ){{0,2}}?{_SOURCE} (?:(?:is|was|are|were|could be) )?"
    r"(?:available|exists?|found|on file|present|retrieved)\b"
    rf"|\b{_SOURCE} (?:(?:is|are|was|were) )?"
    r"(?:not (?:available|found|loaded|accessible)|unavailable|missing|could not be|cannot be)\b"
)
_DENYING = frozenset("can cannot could couldn did didn failed missing no not unable unavailable".split())
"""One of these words is in whatever matches."""
_SOURCES = frozenset(
    "abstract appendix archive article attachment audio bibliography caption captions chapter chart contract dataset "
    "diagram document email figure footage footnote image invoice ledger letter log logs manual map memo message "
    "metadata minutes page paper pdf photo picture policy profile receipt recording register report review schedule "
    "screenshot slide slides source spreadsheet statement subtitle subtitles summary table thread ticket transcript "
    "transcripts video videos website wiki".split()
)
_NOT, _GETS = (
    frozenset("cannot failed not t unable".split()),
    frozenset(
        "access display download extract fetch find get load locate obtain open parse play read retrieve view".split()
    ),
)
_IS_THERE = frozenset("accessible available exist exists file found loaded present retrieved".split())
_IS_NOT_THERE = frozenset("missing unavailable".split())
"""As much of it is in the words of whatever matches."""
_USED = (
    r"(?:(?:after|by|from|having|on|upon|when) )?(?:(?:analy[sz]|cross-?check|check|consult|examin|inspect"
    r"|listen(?:ing)? to|open|pars|read|review|stud|view|watch)(?:ed|i?ed|ing|ying)?(?: through| over)?|according to"
    r"|as per|based on|confirmed by|cross-?referenc\w+(?: with| against)?|from|in line with|per|shown (?:by|in)"
    r"|stated in|verified (?:against|by|in|with))"
)
_SHOWS = r"(?:confirm|contain|give|indicate|list|mention|quote|read|report|reveal|say|show|state)s?\b"
_NOT_SO = re.compile(r"\b(?:cannot|could|if|no|not|should|unable|unavailable|until|will|without|would)\b|n't\b|\?")
_SENTENCES = re.compile(r"(?<=[.!?;])\s|\n")


class ToldSources:
    """What could not be got so far."""

    __slots__ = ("_open",)

    def __init__(self) -> None:
        self._open: dict[str, tuple[int, str]] = {}
        """By its name the step that could not get it, and a quotation."""

    def take(self, step: StepFeatures) -> None:
        """Take a call in."""
        role = step.role
        if role.notes or role.ends or role.writes or not step.result_size or runs_commands(step.action):
            return
        may_deny = step.result_size <= _LONGEST_DENIAL and not role.runs and _may_deny(step.heard)
        if not (may_deny or self._open):
            return
        said = plain(step.result_excerpt)
        denied = _denied(said) if may_deny else {}
        for name in [name for name in self._open if name in said and name not in denied]:
            del self._open[name]
        for name, sentence in denied.items():
            if len(self._open) < _MOST_OPEN:
                self._open[name] = (step.index, quote(sentence))

    def compare(self, step: StepFeatures, text: str) -> Reading | None:
        """What is wrong with a text that tells what was found."""
        if not self._open:
            return None
        said = plain(text[:_LONGEST_TEXT])
        denied: dict[str, str] | None = None
        for name, (index, denial) in self._open.items():
            if name not in said:
                continue
            for sentence in _SENTENCES.split(text[:_LONGEST_TEXT]):
                told = plain(sentence)
                if name not in told or _NOT_SO.search(told):
                    continue
                if denied is None:
                    denied = _denied(said)
                if denied:
                    return None
                if _is_used(name).search(told):
                    reason = "What is told is said to come from something that could not be got."
                    quotes = [quote(sentence.strip()), denial]
                    return Reading(_NOT_GOT, Evidence(_NAME, reason, [index, step.index], quotes))
        return None


@lru_cache(maxsize=64)
def _is_used(name: str) -> re.Pattern[str]:
    """How it is put that a source of this name was used."""
    return re.compile(
        rf"\b{_USED} (?:the |its |this |that |both )?(?:[\w-]{{1,30}} ){{0,2}}?{name}\b|\b{name} {_SHOWS}"
    )


def _may_deny(heard: set[str]) -> bool:
    """Whether a result may say that something could not be got; quickly said of most that they do not."""
    if _DENYING.isdisjoint(heard) or _SOURCES.isdisjoint(heard):
        return False
    if not _IS_NOT_THERE.isdisjoint(heard):
        return True
    negated = not _NOT.isdisjoint(heard)
    if not _IS_THERE.isdisjoint(heard):
        return negated or "no" in heard
    return negated and ("be" in heard or not _GETS.isdisjoint(heard))


def _denied(said: str) -> dict[str, str]:
    """What a plain text says could not be got, by its name."""
    return {_name(found): found[0] for found in _DENIED.finditer(said)}


def _name(found: re.Match[str]) -> str:
    name: str = next(group for group in found.groups() if group)
    return name.removesuffix("s") if name not in ("minutes", "metadata") else name
