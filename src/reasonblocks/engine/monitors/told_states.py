"""A record shows that something is open, off or refused, and the message after it says that it is through.

What counts is the newest look before the message: one state, and no change since. Whoever tells the state itself, asks,
or speaks of what will be, is left alone.
"""

import re

from ..answers import Evidence
from .base import Reading
from .conclusions import asks, goes_on, opening
from .features import StepFeatures, quote
from .quick import quick
from .troubles import owns_trouble
from .verdicts import tells_of_failure
from .waivers import plain
from .words import split

_NAME = "verification_skip"
_SAID_THROUGH = 0.7
_SHORT_STATE = 40
_LONGEST = 600
_SHORTEST_WORD = 2
_STATE = re.compile(r"stat(?:e|us)[\"']?\s{0,2}[:=]\s{0,2}[\"']?([a-z][\w -]{1,40})")
"""A field that says how far something is."""
_NOT_THROUGH = quick(
    r"await\w*|backorder\w*|barred|block\w*|cancel\w*|closed|deactivat\w*|declin\w*|delay\w*|delinquent|denied|disabled"
    r"|disconnected|down|draft|due|error|expired|fail\w*|frozen|held|hold|in progress|in review|inactive|incomplete"
    r"|initiated|invalid|locked|lost|missing|no|none|not|off|offline|on hold|open|overdue|past due|paus\w*|pending"
    r"|processing|queued|rejected|requested|restricted|scheduled|suspend\w*|terminated|unavailable|unconfirmed|unpaid"
    r"|unverified|unsettled|void"
)
_THROUGH = (
    r"(?:activat\w+|active|approved|available|back(?: (?:in|on|online|up))?|cleared|complete[d]?|confirmed|connected"
    r"|credited|delivered|done|enabled|fixed|fulfilled|good to go|in order|issued|lifted|live|online|open(?:ed)?|paid"
    r"|posted|processed|ready|received|recovered|reactivated|reconnected|refunded|reinstated|released|renewed|resolved"
    r"|restored|resumed|running|set|settled|shipped|sorted|through|unblocked|unlocked|up(?: and running)?|valid"
    r"|working)"
)
_SAID = re.compile(
    rf"\b(?:(?:has|have)(?: \w+)? been|(?:is|are|'s|'re)(?: all| fully| both)? (?:now|back|again)|(?:is"
    rf"|are)(?: \w+)? already"
    rf"|went|gone|came|come|comes|got|now) (?:\w+ ){{0,2}}?{_THROUGH}\b"
    rf"|\b(?:is|are|'s|'re) (?:\w+ ){{0,2}}?{_THROUGH} (?:again|now|once more)\b"
    r"|\b(?:has|have) (?:\w+ )?(?:arrived|cleared|come (?:in|through)|gone (?:out|through)|landed|reached us|resumed)\b"
    r"|\b(?:came|went) (?:in|out|through)\b"
)
_FLAG = re.compile(r"[\"']?\b(\w{3,40})[\"']?\s{0,2}[:=]\s{0,2}(?:false\b|\"(?:no|off|disabled|inactive)\")")
_IN_FLAG = ("false", '"no"', '"off"', '"disabled"', '"inactive"')
"""A field that says that something is not so."""
_IS_ON = re.compile(rf"\b(?:is|are|'s|'re|been|now) (?:\w+ ){{0,2}}?(?:on|{_THROUGH})\b")
_IS_FINE = re.compile(
    rf"\b(?:is|are|'s|'re|looks?|works?) (?:\w+ ){{0,2}}?(?:all right|alright|fine|good|normal(?:ly)?|ok|okay"
    rf"|perfect(?:ly)?|{_THROUGH})\b"
)
_OF_A_FLAG = frozenset("active allowed enabled has is on paid ready state status valid".split())
"""Words in the name of a field that do not say what it is about."""
_MOST_FLAGS = 6
_USUAL = frozenset(("in progress", "initiated", "open", "pending", "processing", "requested", "scheduled"))
"""States in which a thing is from the beginning, and in which it can be changed."""
_NOT_TOLD = re.compile(
    r"\b(?:after|as soon as|before|cannot|if|never|no|not|once|only|should|unless|until|when|whether|will|would|yet)\b"
    r"|n't\b|'ll\b|\?"
)
_SENTENCES = re.compile(r"(?<=[.!?;])\s|\n")


class ToldStates:
    """What the newest look says of how far something is."""

    __slots__ = ("_flags", "_look", "_made", "_short", "_shown")

    def __init__(self) -> None:
        self._look: StepFeatures | None = None
        """The newest call, if it is a look; it is only read where somebody speaks after it."""
        self._made = False
        """Whether anything was ever changed: an order that waits for its delivery may well have been changed."""
        self._shown: tuple[int, str, str] | None = None
        """The look, a quotation of it, and the state, if it is one that is not through."""
        self._flags: tuple[int, str, list[set[str]]] | None = None
        """The look, a quotation, and what its fields say is not so, each by the words of its name."""
        self._short: set[str] = set()
        """The words of the look and its result, if that is no more than a state."""

    def take(self, step: StepFeatures) -> None:
        """Take a call in."""
        if not step.role.notes:
            self._made = self._made or (step.role.changes and not step.failed)
            self._look = step if (step.role.looks or step.role.unknown) and not step.failed else None

    def forget(self) -> None:
        """Somebody has answered."""
        self._look = None

    def _read(self, look: StepFeatures) -> None:
        self._shown = self._flags = None
        self._short = set()
        result = look.result_excerpt.lower()
        states = {state.strip() for state in _STATE.findall(result)} if "stat" in result else set()
        if not states and 0 < look.result_size <= _SHORT_STATE:
            states = {result.strip()}
            self._short = {*split(look.action.replace("_", " ")), *look.given, *look.heard}
        if look.result_size <= _LONGEST and any(map(result.__contains__, _IN_FLAG)):
            flags = [_words_of(name) for name in _FLAG.findall(result)]
            if 0 < len(flags) <= _MOST_FLAGS:
                self._flags = (look.index, look.result_quote(), flags)
        if len(states) == 1 and _NOT_THROUGH.are_in(state := states.pop().replace("_", " ")):
            usual = self._made and state in _USUAL
            self._shown = None if usual else (look.index, look.result_quote(), state)

    def compare(self, step: StepFeatures) -> Reading | None:
        """What is wrong with a message, if this is what was shown before it."""
        if self._look is None:
            return None
        self._read(self._look)
        if self._shown is None and self._flags is None:
            return None
        lead = plain(opening(step.thought))
        if asks(step.thought) or goes_on(step.thought) or owns_trouble(lead) or tells_of_failure(lead):
            return None
        parts = [part for part in _SENTENCES.split(lead) if part and not _NOT_TOLD.search(part)]
        return self._compare_state(step, parts) or self._compare_flags(step, parts)

    def _compare_state(self, step: StepFeatures, parts: list[str]) -> Reading | None:
        if self._shown is None:
            return None
        index, shown, state = self._shown
        words = set(map(_beginning, split(plain(opening(step.thought)))))
        if any(_beginning(word) in words for word in split(state) if _NOT_THROUGH.are_in(word)):
            return None  # the state is told
        said = next((part for part in parts if _SAID.search(part) or self._is_fine(part)), None)
        return None if said is None else _reading(step, said, index, shown)

    def _is_fine(self, part: str) -> bool:
        """Whether a sentence says that what was looked at is as it should be."""
        return _IS_FINE.search(part) is not None and not self._short.isdisjoint(_telling(split(part)))

    def _compare_flags(self, step: StepFeatures, parts: list[str]) -> Reading | None:
        if self._flags is None:
            return None
        index, shown, flags = self._flags
        for part in parts:
            if _IS_ON.search(part) and any(flag and flag.issubset(split(part)) for flag in flags):
                return _reading(step, part, index, shown)
        return None


def _reading(step: StepFeatures, said: str, index: int, shown: str) -> Reading:
    reason = "Something is reported as through, but the look right before shows that it is not."
    return Reading(_SAID_THROUGH, Evidence(_NAME, reason, [index, step.index], [quote(said), shown]))


def _words_of(name: str) -> set[str]:
    return {word for word in name.split("_") if word not in _OF_A_FLAG}


def _telling(words: list[str]) -> list[str]:
    return [word for word in words if len(word) > _SHORTEST_WORD]


def _beginning(word: str) -> str:
    return word[:5]
