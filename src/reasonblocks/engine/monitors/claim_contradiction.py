"""claim_contradiction: a claim is turned round without a word, or made against the result it follows.

A claim holds until what it is about may have changed: after a call that changes it, or a result or an answer that
speaks of it, what was said before is not compared. A change of mind that is acknowledged is none of this.
"""

import re
from collections import deque
from collections.abc import Iterator
from itertools import islice, product

import msgspec

from ..answers import Evidence
from .alignment import aligned
from .appeals import without_appeal
from .base import Fading, MonitorState, Reading
from .claims import Claim
from .conflicts import conflict, nearly
from .denied_deeds import DeniedDeeds
from .disputes import DONE, Disputes
from .durations import Durations
from .features import StepFeatures, quote
from .records import Records
from .remarks import Remark, Remarks, remarks_of
from .replies import told_in
from .restatements import Restatements, one_number_apart
from .standing import Event, Standing
from .turnabouts import Turnabouts
from .turns import TURNS
from .whose_failure import WhoseFailure
from .wordings import LONGEST_QUOTED
from .words import Phrases, WordSet, number_set, overlap, phrases, size, split, token_set, word_set

_MOST_STEPS = 20
"""How far apart two claims may be."""
_ABOUT, _MOSTLY = 0.5, 0.75
"""The share of the ideas of a claim in a result that is about it, and in one that may well have taught it."""
_TELLING = 3
"""So many words of a fact in one result, and the result is about the fact."""
_OPPOSITE = 0.64
_SCORES = {"denial": 0.7, "place": 0.65, "value": 0.65}
_NEARLY = 0.45
_AGAINST_RESULT = 0.65
_REASONS = {
    "denial": "One claim denies the other",
    "place": "Two claims put the same thing in different places",
    "value": "Two claims give the same thing different values",
    "opposite": "Two statements about the same thing exclude each other",
    "nearly": "One claim seems to deny the other",
}
_NEAR = 250
"""Characters around a claim in which a change of mind is looked for."""
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
"""Words that own up to a change of mind, near by."""
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
_YET = re.compile(r"\byet\b", re.IGNORECASE)
"""With a negation it tells of no change."""
_FROM_NOW = re.compile(r"\bfrom now\b", re.IGNORECASE)
"""This tells when something will be, not what it is by now."""
_AGO = re.compile(r"\b(?:earlier|previously|yet)\b", re.IGNORECASE)
"""When something is said to have been done is no change of mind either."""
_IN_SUCCESS = (
    *"pass succeed correctly perfectly successfully".split(),
    *("as expected", "out error", "any error", "no error"),
)
"""One of these is in whatever matches: to look for a text is many times as fast as to match."""
_MOST_MATCHES = 8
_PLANNED = phrases(
    "aim*, before, can, check*, could, ensur*, expect*, fix*, goal, handle, hope*, how, if, let, let's, make sure",
    "making sure, may, might, must, need*, once, should, so, so that, target, to, try*, unless, until, verify*",
    "want*, when, whether, why, will, would, until",
)
"""In front of a success these make it one that is still to come."""
_BEFORE = 200
_ENDS_SENTENCE = re.compile(r"[.!?\n]")
_TROUBLE = Phrases(
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
        return _State(task)


class _State:
    __slots__ = ("_denied", "_fading", "_failure", "_happened", "_opposing", "_remarks", "_restated")

    def __init__(self, task: str) -> None:
        self._restated = Restatements(task)
        self._opposing = Standing(), Disputes(), Records(), Turnabouts(), WhoseFailure(), Durations()
        self._denied = DeniedDeeds()
        self._remarks = Remarks()
        self._happened: deque[_Happened] = deque(maxlen=_MOST_STEPS)
        self._failure: tuple[int, str] | None = None
        self._fading = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        remarks = remarks_of(step.index, step.sentences)
        denied = self._done_all_the_same(step, remarks)
        opposed = self._opposed(step, remarks) or denied
        found = self._turned_back(step, remarks) or self._turned_round(step, remarks) or self._against_result(step)
        if opposed and (found is None or found.score < opposed.score):
            found = opposed
        self._remember(step, remarks)
        return self._fading.next(found)

    def _turned_back(self, step: StepFeatures, remarks: list[Remark]) -> Reading | None:
        """What is said again in the same words, but turned round."""
        for turned in self._restated.next(step, remarks):
            if _acknowledged(step.thought, turned.text, turned.earlier):
                continue
            if turned.kind == "value" and not one_number_apart(turned.earlier, turned.text):
                continue
            reason = f"{_REASONS[turned.kind]}, and nothing about it was learned since step {turned.at}."
            quotes = [quote(turned.earlier), quote(turned.text)]
            return _reading(_SCORES[turned.kind], reason, [turned.at, step.index], quotes)
        return None

    def _opposed(self, step: StepFeatures, remarks: list[Remark]) -> Reading | None:
        """What is held of a thing against what was held of it before, in whatever words."""
        event = Event.of(step)
        for opposite in [found for memory in self._opposing for found in memory.next(event, remarks)]:
            said = _FROM_NOW.sub("", without_appeal(opposite.text))
            said = (_AGO if opposite.question == DONE else _YET).sub("", said)
            if not _acknowledged(without_appeal(step.thought), said, opposite.earlier):
                reason = f"{_REASONS['opposite']}, and nothing about it was learned since step {opposite.at}."
                quotes = [quote(opposite.earlier), quote(opposite.text)]
                return _reading(_OPPOSITE, reason, [opposite.at, step.index], quotes)
        return None

    def _done_all_the_same(self, step: StepFeatures, remarks: list[Remark]) -> Reading | None:
        """What is denied to have been done, but was."""
        for denied in self._denied.next(step, remarks):
            if not _acknowledged(step.thought, _YET.sub("", denied.text), denied.earlier):
                reason = f"What is said not to have been done was done in step {denied.at}."
                quotes = [quote(denied.earlier), quote(denied.text)]
                return _reading(_OPPOSITE, reason, [denied.at, step.index], quotes)
        return None

    def _turned_round(self, step: StepFeatures, remarks: list[Remark]) -> Reading | None:
        doubtful: Reading | None = None
        for remark in filter(self._remarks.may_exclude, remarks):
            text = _beginning(remark)
            for kind, past, earlier, claim in self._excluded(remark):
                if self._may_differ(past.index, earlier, claim, kind) or _acknowledged(step.thought, text):
                    continue
                before = _beginning(past)
                if kind == "value" and not one_number_apart(before, text):
                    continue
                reason = f"{_REASONS[kind]}, and nothing about it was changed or learned since step {past.index}."
                quotes = [quote(before), quote(text)]
                reading = _reading(_SCORES.get(kind, _NEARLY), reason, [past.index, step.index], quotes)
                if kind in _SCORES:
                    return reading
                doubtful = reading
        return doubtful

    def _excluded(self, remark: Remark) -> Iterator[tuple[str, Remark, Claim, Claim]]:
        """Earlier claims that a sentence excludes, and in what; of those about the very same fact the last one."""
        settled: set[str] = set()
        claims: list[Claim] | None = None
        for past in self._remarks.that_may_exclude(remark):
            held = past.said.taken_apart
            if held is not None and not held:
                continue
            if claims is None:
                claims = remark.said.claims()
            if not claims:
                return
            for claim, earlier in product(claims, past.said.claims() if held is None else held):
                same = earlier.key == claim.key
                if same:
                    if claim.key in settled:
                        continue
                    settled.add(claim.key)
                if kind := _kind(earlier, claim, same):
                    yield kind, past, earlier, claim

    def _may_differ(self, index: int, earlier: Claim, claim: Claim, kind: str) -> bool:
        """Whether something happened after a claim was made that may have changed the fact, or taught it."""
        if not self._happened or self._happened[0].index > index:
            return True  # too long ago to be sure
        return any(past.index >= index and past.may_bear_on(claim, earlier, kind) for past in self._happened)

    def _against_result(self, step: StepFeatures) -> Reading | None:
        if self._failure is None:
            return None
        said = _claimed_success(step.thought)
        if said is None or _TROUBLE.are_in(step.thought, step.said):
            return None
        index, result = self._failure
        reason = "Success is claimed right after a result that says otherwise."
        return _reading(_AGAINST_RESULT, reason, [index, step.index], [said, result])

    def _remember(self, step: StepFeatures, remarks: list[Remark]) -> None:
        self._happened.append(_happened(step))
        self._remarks.add(remarks, self._happened[0].index)
        if not step.speaks_only:
            self._failure = (step.index, step.result_quote()) if step.failed and step.role.runs else None


class _Happened(msgspec.Struct, frozen=True, gc=False):
    """What a step changed, tried and brought."""

    index: int
    changed: WordSet
    tried: bool
    heard: WordSet
    numbers: WordSet
    reply: str
    """What a person answered."""

    def may_bear_on(self, claim: Claim, earlier: Claim, kind: str) -> bool:
        """Whether the fact that two claims are about may be another after this step, or is better known."""
        about = claim.about | earlier.about
        if self.changed and (not about or self.changed & about == about):
            return True
        if claim.says & _OUTCOMES and self.tried:
            return True
        if kind == "value":
            return self._brought(claim)
        if self.reply and self._told_of(claim):
            return True
        if not about and self.tried and overlap(claim.heard, self.heard) >= _MOSTLY:
            return True
        if about and self.heard & claim.named != claim.named:
            return False
        return size(claim.says) >= _TELLING and self.heard & claim.says == claim.says

    def _told_of(self, claim: Claim) -> bool:
        """Whether a person told something that a claim may be about; a wish in the same words tells nothing."""
        words, is_short = told_in(self.reply)
        if words & claim.named != claim.named:
            return False
        return words & claim.heard != 0 or (is_short and not claim.about)

    def _brought(self, claim: Claim) -> bool:
        if self.heard & claim.named != claim.named or (not claim.named and overlap(claim.heard, self.heard) < _ABOUT):
            return False
        values = [value for _, value in (*claim.amounts, *claim.states)] or [
            value.rpartition(":")[2] for value in claim.values.split()
        ]
        words = split(" ".join(values))
        numbers, states = number_set(words), word_set(words)
        return self.numbers & numbers == numbers and self.heard & states == states


def _kind(earlier: Claim, claim: Claim, same: bool) -> str:
    """In what two claims exclude each other; empty if they do not."""
    kind = ""
    if same:
        kind = conflict(earlier, claim)
    elif claim.names and earlier.names == claim.names:
        kind = nearly(earlier, claim)
    return kind if kind in _SCORES else aligned(earlier, claim) or kind


def _beginning(remark: Remark) -> str:
    """A sentence as it was said, or the beginning of it."""
    return remark.said.text.strip()[:LONGEST_QUOTED]


def _happened(step: StepFeatures) -> _Happened:
    changes = step.role.changes and not step.role.ends
    return _Happened(
        step.index,
        changed=token_set(step.given) if changes else 0,
        tried=step.role.runs,
        heard=step.result_words,
        numbers=step.result_numbers,
        reply=step.observation if step.speaks_only else "",
    )


def _acknowledged(thought: str, text: str, earlier: str = "") -> bool:
    """Whether a change of mind is owned up to, in the sentence itself or near it."""
    turn = TURNS.search(text)
    if turn is not None and turn[0] not in earlier:
        return True
    start = max(0, thought.find(text[:60]))
    after = start + len(text)
    end = _ENDS_SENTENCE.search(thought, after + 1)
    following = thought[after : min(end.start() if end else len(thought), after + _NEAR)]
    return (
        _TAKES_BACK.search(thought, max(0, start - _NEAR), after) is not None
        or _TOOK_BACK.search(following) is not None
    )


def _claimed_success(thought: str) -> str | None:
    """A success that is stated, and neither planned nor asked for."""
    if not any(map(thought.lower().__contains__, _IN_SUCCESS)):
        return None
    for match in islice(_SUCCESS.finditer(thought), _MOST_MATCHES):
        before = _ENDS_SENTENCE.split(thought[max(0, match.start() - _BEFORE) : match.start()])[-1]
        end = _ENDS_SENTENCE.search(thought, match.end(), match.end() + _BEFORE)
        asked = end is not None and end.group() == "?"
        if not asked and not _PLANNED.search(before):
            return match.group()
    return None


def _reading(score: float, reason: str, steps: list[int], quotes: list[str]) -> Reading:
    return Reading(score, Evidence(ClaimContradiction.name, reason, steps, quotes))
