"""claim_contradiction: a claim is turned round without a word, or made against the result it follows.

A claim holds until what it is about may have changed: after a call that changes it, or a result or an answer that
speaks of it, what was said before is not compared. A change of mind that is acknowledged is none of this.
"""

import re
from collections import OrderedDict, deque
from itertools import islice

import msgspec

from ..answers import Evidence
from .alignment import aligned
from .base import Fading, MonitorState, Reading
from .claims import Claim
from .conflicts import conflict, nearly
from .features import StepFeatures, quote
from .words import WordSet, number_set, overlap, phrases, size, split, token_set, word_set

_MOST_FACTS = 192
_MOST_STEPS = 20
"""How far apart two claims may be."""
_MOST_ABOUT = 6
"""Claims that are remembered of each name."""
_MOST_RECENT = 40
"""Claims that are remembered whatever they are about."""
_ABOUT, _MOSTLY = 0.5, 0.75
"""The share of the ideas of a claim in a result that is about it, and in one that may well have taught it."""
_TELLING = 3
"""So many words of a fact in one result, and the result is about the fact."""
_SCORES = {"denial": 0.7, "place": 0.65, "value": 0.65}
_NEARLY = 0.45
_AGAINST_RESULT = 0.65
_REASONS = {
    "denial": "One claim denies the other",
    "place": "Two claims put the same thing in different places",
    "value": "Two claims give the same thing different values",
    "nearly": "One claim seems to deny the other",
}
_NEAR = 250
"""Characters around a claim in which a change of mind is looked for."""
_TURNS = phrases(
    "actually, after all, although, but, despite, earlier, even though, except, however, in fact, instead, no longer",
    "changed to, converted, downgraded, increased to, moved to, reduced to, set to, switched to, updated, upgraded",
    "now, oh, previous*, though, turned out, turns out, unlike, wait, whereas, yet",
)
"""Words that tell of a change where they stand in the sentence itself."""
_TAKES_BACK = phrases(
    "amend*, apolog*, assumed, changes that, changes this, closer inspection, closer look, closer reading",
    "contradicts my, contradicts what",
    "contrary, correct myself, correct what, corrected, correction, differs from, disregard, double-check*, had said",
    "had it backwards, hasty, hmm, hold on, i had, i said, i thought, i was, initially, looking again, looking back",
    "looking closer, misread, mistak*, misunder*, my bad, my earlier, my error, my first, my previous, on reflection",
    "on review",
    "on second look, on second thought, oops, originally, overlook*, re-check*, re-examin*, re-read, realis*, realiz*",
    "recheck*, reconsider*, reread, retract*, revis*, scratch that, scratch what, sorry, spoke too soon, strike that",
    "take back, take that back, too quick, turned out, turns out, wait, was off, was wrong, were wrong, wrong about",
)
"""Words that own up to one, near by."""
_TOOK_BACK = phrases(
    "assumed, at first, corrected, correction, differs from, earlier, got it wrong, got that wrong, got this wrong",
    "had said, i had",
    "i misread, i said, i thought, i was, misread, misremember*, misunder*, mistak*, overlook*, previously, retract*",
    "revis*, spoke too soon, take back, take that back, was off, was wrong, were wrong",
)
"""The same in the sentence after it."""
_OUTCOMES = word_set("pass works succeed reproduc fail".split())
_SUCCESS = re.compile(
    r"\b(?:(?:all|the|every|these|our) (?:\w{1,30} ){0,2}tests? (?:now )?(?:pass|passed|succeed|succeeded)\b"
    r"|(?:works?|worked|ran|runs|executed|completed|compiles|compiled) (?:as expected|correctly|perfectly|successfully)"
    r"|(?:without (?:any )?errors?|no errors))",
    re.IGNORECASE,
)
_MOST_MATCHES = 8
_PLANNED = phrases(
    "aim*, before, can, check*, could, ensur*, expect*, fix*, goal, handle, hope*, how, if, let, let's, make sure",
    "making sure, may, might, must, need*, once, should, so, so that, target, to, try*, unless, until, verify*",
    "want*, when, whether, why, will, would, until",
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
    __slots__ = ("_about", "_fading", "_failure", "_happened", "_recent", "_said", "_said_of")

    def __init__(self) -> None:
        self._said: OrderedDict[str, tuple[int, Claim]] = OrderedDict()
        """By fact what was said of it last; what was not spoken of longest goes first."""
        self._said_of: OrderedDict[tuple[str, ...], tuple[int, Claim]] = OrderedDict()
        """The same by the things that are named."""
        self._about: OrderedDict[str, deque[tuple[int, Claim]]] = OrderedDict()
        """By name the last claims that have it."""
        self._recent: deque[tuple[int, Claim]] = deque(maxlen=_MOST_RECENT)
        """The last claims that say much."""
        self._happened: deque[_Happened] = deque(maxlen=_MOST_STEPS)
        self._failure: tuple[int, str] | None = None
        self._fading = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        found = self._turned_round(step) or self._against_result(step)
        self._remember(step)
        return self._fading.next(found)

    def _turned_round(self, step: StepFeatures) -> Reading | None:
        doubtful: Reading | None = None
        for claim in step.claims:
            kind, held = "", self._said.get(claim.key)
            if held is not None:
                kind = conflict(held[1], claim)
            elif claim.names and (held := self._said_of.get(claim.names)) is not None:
                kind = nearly(held[1], claim)
            if kind not in _SCORES:
                other_kind, other = self._in_other_words(claim)
                kind, held = (other_kind, other) if other_kind else (kind, held)
            if not kind or held is None or self._may_differ(*held, claim, kind) or _acknowledged(step.thought, claim):
                continue
            index, earlier = held
            reason = f"{_REASONS[kind]}, and nothing about it was changed or learned between step {index} and this one."
            score = _SCORES.get(kind, _NEARLY)
            reading = _reading(score, reason, [index, step.index], [quote(earlier.text), quote(claim.text)])
            if kind in _SCORES:
                return reading
            doubtful = reading
        return doubtful

    def _in_other_words(self, claim: Claim) -> tuple[str, tuple[int, Claim] | None]:
        """The claim among the last ones about the same that excludes this one, and in what."""
        known = [self._about[name] for name in claim.names if name in self._about]
        for held in (past for claims in known for past in reversed(claims)):
            if kind := aligned(held[1], claim):
                return kind, held
        if not known:
            bag = claim.bag
            for held in reversed(self._recent):
                if (held[1].bag & bag).bit_count() > 1 and (kind := aligned(held[1], claim)):
                    return kind, held
        return "", None

    def _may_differ(self, index: int, earlier: Claim, claim: Claim, kind: str) -> bool:
        """Whether something happened after a claim was made that may have changed the fact, or taught it."""
        if not self._happened or self._happened[0].index > index:
            return True  # too long ago to be sure
        return any(past.index >= index and past.may_bear_on(claim, earlier, kind) for past in self._happened)

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
        for claim in step.claims:
            self._said[claim.key] = (step.index, claim)
            self._said.move_to_end(claim.key)
            if claim.names:
                self._said_of[claim.names] = (step.index, claim)
                self._said_of.move_to_end(claim.names)
            for name in claim.names:
                if name not in self._about:
                    self._about[name] = deque(maxlen=_MOST_ABOUT)
                self._about[name].append((step.index, claim))
                self._about.move_to_end(name)
            if size(claim.bag) >= _TELLING:
                self._recent.append((step.index, claim))
        while len(self._about) > _MOST_FACTS:
            self._about.popitem(last=False)
        while len(self._said) > _MOST_FACTS:
            self._said.popitem(last=False)
        while len(self._said_of) > _MOST_FACTS:
            self._said_of.popitem(last=False)
        self._happened.append(_happened(step))
        if not step.speaks_only:
            self._failure = (step.index, step.result_quote()) if step.failed and step.role.runs else None


class _Happened(msgspec.Struct, frozen=True, gc=False):
    """What a step changed, tried and brought."""

    index: int
    changed: WordSet
    tried: bool
    heard: WordSet
    numbers: WordSet
    answered: bool
    """Whether what was heard are the words of a person."""

    def may_bear_on(self, claim: Claim, earlier: Claim, kind: str) -> bool:
        """Whether the fact that two claims are about may be another after this step, or is better known."""
        about = claim.about | earlier.about
        if self.changed and (not about or self.changed & about == about):
            return True
        if claim.says & _OUTCOMES and self.tried:
            return True
        if kind == "value":
            return self._brought(claim)
        if self.answered and self.heard & claim.named == claim.named and (self.heard & claim.heard or not about):
            return True
        if not about and self.tried and overlap(claim.heard, self.heard) >= _MOSTLY:
            return True
        if about and self.heard & claim.named != claim.named:
            return False
        return size(claim.says) >= _TELLING and self.heard & claim.says == claim.says

    def _brought(self, claim: Claim) -> bool:
        if self.heard & claim.named != claim.named or (not claim.named and overlap(claim.heard, self.heard) < _ABOUT):
            return False
        values = [value for _, value in (*claim.amounts, *claim.states)] or [
            value.rpartition(":")[2] for value in claim.values.split()
        ]
        words = split(" ".join(values))
        numbers, states = number_set(words), word_set(words)
        return self.numbers & numbers == numbers and self.heard & states == states


def _happened(step: StepFeatures) -> _Happened:
    changes = step.role.changes and not step.role.ends
    return _Happened(
        step.index,
        changed=token_set(step.given) if changes else 0,
        tried=step.role.runs,
        heard=step.result_words,
        numbers=step.result_numbers,
        answered=step.speaks_only,
    )


def _acknowledged(thought: str, claim: Claim) -> bool:
    """Whether a change of mind is owned up to, in the sentence itself or near it."""
    if _TURNS.search(claim.text):
        return True
    start = max(0, thought.find(claim.text[:60]))
    after = start + len(claim.text)
    end = _ENDS_SENTENCE.search(thought, after + 1)
    following = thought[after : min(end.start() if end else len(thought), after + _NEAR)]
    return (
        _TAKES_BACK.search(thought, max(0, start - _NEAR), after) is not None
        or _TOOK_BACK.search(following) is not None
    )


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
