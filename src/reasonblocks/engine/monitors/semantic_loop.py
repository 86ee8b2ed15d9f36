"""semantic_loop: the same is done again and again, and the result does not change.

Call, result and progress count together. A repetition is a call that is made again with the same result (or fails in
the same way), also in other words. A change to the world in between makes it a retry, and so does a call of which
nothing is known, the first time; new results in between thin it out; waiting for something may take its time; and a
click that is merely acknowledged may well have moved on.
"""

import re
from collections import deque

from ..answers import Evidence
from .agreeing import Agreeing
from .asked_again import AskedAgain
from .base import FIRE_THRESHOLD, NOTHING, Fading, MonitorState, Reading
from .complaints import AGAIN, Complaints
from .consents import Consents
from .doings import Done, done
from .exchanges import Exchanges
from .failing import Failing
from .features import StepFeatures, quote
from .idle_changes import IdleChanges
from .lists import goes_through_a_list
from .notices import Notices
from .pondering import Pondering
from .promises import Promises
from .repetition import SAME_FINDINGS, repetition, same_call, same_result
from .roles import runs_commands
from .same_ends import SameEnds
from .shown_again import ShownAgain
from .standstill import states
from .undoing import Undoing
from .vain import Vain
from .waiting import waits
from .words import covered, size

WINDOW = 12
"""Steps that are compared."""
_COMPLAINED, _ANNOYED = 2, 0.66
"""So many remarks that something was asked already are enough, and what they score."""
_SCORES = (0.0, 0.0, 0.15, 0.65, 0.8, 0.9, 0.95)
"""By how often the same was done."""
_DENSE = 0.5
"""At this share of repetitions among the steps since the first one, nothing else of note is happening."""
_FEWEST_SPOKEN = 8
"""Words of a message that is worth comparing."""
_SAYS_MUCH = 12
"""Words of a thought: whoever says much may yet get on, and whether that is so is for another monitor to see."""
_SAME_THOUGHT = 0.5
"""Of the words of a thought."""
_SENTENCE = re.compile(r"[`\"']?[A-Z`][\w`'\u2019.]*,? [\w`(]")
"""How no command begins."""
_TRIES = 3
"""Of what fails: many runs that end well give up only after the third, so that it takes one more to be a loop."""
_WAITING = 2
"""Looks at something that runs elsewhere never count as more."""


class SemanticLoop:
    """Repetition without progress."""

    name = "semantic_loop"
    failure_type = "loop"
    description = "The same calls, or reworded ones, are made again and again, and their results do not change."

    def start(self, task: str) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State()


class _State:
    __slots__ = (
        "_agreeing",
        "_asked_again",
        "_changes",
        "_complaints",
        "_consents",
        "_exchanges",
        "_fading",
        "_failing",
        "_idle_changes",
        "_notices",
        "_pondering",
        "_promises",
        "_same_ends",
        "_shown_again",
        "_undoing",
        "_vain",
        "_window",
    )

    def __init__(self) -> None:
        self._window: deque[Done] = deque(maxlen=WINDOW)
        self._agreeing = Agreeing()
        self._asked_again = AskedAgain()
        self._changes = 0
        self._complaints = Complaints(AGAIN, _asks_or_promises)
        self._consents = Consents()
        self._exchanges = Exchanges()
        self._failing = Failing()
        self._idle_changes = IdleChanges()
        self._notices = Notices()
        self._pondering = Pondering()
        self._promises = Promises()
        self._same_ends = SameEnds()
        self._shown_again = ShownAgain()
        self._undoing = Undoing()
        self._vain = Vain()
        self._fading = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        remarks = self._complaints.listen(step)
        others = (
            self._consents,
            self._failing,
            self._vain,
            self._promises,
            self._undoing,
            self._agreeing,
            self._asked_again,
            self._exchanges,
            self._shown_again,
            self._same_ends,
            self._notices,
            self._pondering,
            self._idle_changes,
        )
        other = max([found for one in others if (found := one.observe(step))], key=_score, default=None)
        if len(remarks) >= _COMPLAINED:
            other = _complained_of(remarks)
        now = done(step, self._changes)
        if step.speaks_only and size(step.thought_words) < _FEWEST_SPOKEN and not (now.answer or step.result_numbers):
            return self._fading.next(other)
        same = self._repeated(now, step)
        if same:
            now.repeats = True
            now.family = same[0][0].family
        elif self._is_new_change(step, now):
            self._changes += 1
            now.changes_after = self._changes
        self._window.append(now)
        found = self._found(step, now, same) if same else None
        if other is not None and (found is None or found.score < FIRE_THRESHOLD):
            found = other
        return self._fading.next(found)

    def _repeated(self, now: Done, step: StepFeatures) -> list[tuple[Done, float]]:
        """The steps that this one repeats, each with how far it does; also those that repeat the same one."""
        shares = [] if now.receipt else [repetition(earlier, now, step) for earlier in self._window]
        if not any(shares):
            return []
        family = next(earlier.family for earlier, share in zip(self._window, shares, strict=True) if share)
        most = max(shares)
        return [
            (earlier, most if earlier.family == family else share)
            for earlier, share in zip(self._window, shares, strict=True)
            if share or earlier.family == family
        ]

    def _is_new_change(self, step: StepFeatures, now: Done) -> bool:
        """Whether things are another way after it; what had been done before and came to the same does not count."""
        if step.failed or not (step.role.changes or step.role.unknown or _is_untold(step)):
            return False
        return not any(same_result(earlier, now) and same_call(earlier, now) for earlier in self._window)

    def _found(self, step: StepFeatures, now: Done, same: list[tuple[Done, float]]) -> Reading:
        """The worst that can be said of it: how often the same was done, since the step where that counts most."""
        patience = 1.0
        if size(step.thought_words) >= _SAYS_MUCH and not any(_thought_again(one, now, step) for one, _ in same):
            patience = SAME_FINDINGS
        waiting = self._waits(step, now, same[-1][0])
        best, since, times = 0.0, 0, 0.0
        for place in range(len(same) - 1, -1, -1):
            first, share = same[place]
            times += share * patience
            tries = 1 + len(same) - place
            counted = _counted(step, 1 + int(times + 0.01), tries, waiting and not self._turns_round(first))
            score = _SCORES[min(counted, len(_SCORES) - 1)] * min(1.0, self._density(first.index) / _DENSE)
            if score >= best:
                best, since = score, place
        if best and not waiting and self._goes_round(now):
            best = max(best, _SCORES[3] * patience)
        shown = [one for one, _ in same[since:]]
        if not best or _is_of_a_list(shown, now):
            return NOTHING
        return Reading(best, _evidence(step, shown))

    def _waits(self, step: StepFeatures, now: Done, last: Done) -> bool:
        """Whether it waits for something: whoever does looks in the same way each time."""
        if now.acts and now.call != last.call and not step.role.waits:
            return False
        return waits(step, any(one.call == now.call and one.result != now.result for one in self._window))

    def _goes_round(self, now: Done) -> bool:
        """Whether two calls were made in turn, twice, one after the other and with nothing said: A, B, A, B."""
        if len(self._window) < 4 or now.waits:
            return False
        one, two, one_again, two_again = list(self._window)[-4:]
        return (
            now.index - one.index == 3
            and one.call != two.call
            and (one.call, one.result) == (one_again.call, one_again.result)
            and (two.call, two.result) == (two_again.call, two_again.result)
        )

    def _turns_round(self, first: Done) -> bool:
        """Whether something else was repeated in between: whoever waits for one thing does not."""
        later = [one for one in self._window if one.index > first.index and one.family != first.family]
        return any(one.repeats and not one.waits for one in later)

    def _density(self, since: int) -> float:
        later = [one.repeats for one in self._window if one.index > since]
        return sum(later) / len(later)


def _complained_of(remarks: list[tuple[int, str]]) -> Reading:
    reason = f"The person has said {len(remarks)} times within a few messages that this was asked or answered already."
    quotes = [quote(remark) for _, remark in remarks]
    return Reading(_ANNOYED, Evidence(SemanticLoop.name, reason, [index for index, _ in remarks], quotes))


def _asks_or_promises(step: StepFeatures) -> bool:
    """Whether a message is no mere statement: who is told the same again is tired of another failure."""
    return not states(step)


def _score(reading: Reading) -> float:
    return reading.score


def _is_of_a_list(earlier: list[Done], now: Done) -> bool:
    """Whether calls that are so much alike are those of a list."""
    return all(one.tool == now.tool for one in earlier) and goes_through_a_list([one.said for one in (*earlier, now)])


def _thought_again(earlier: Done, now: Done, step: StepFeatures) -> bool:
    """Whether a thought beside a call was thought before; beside a search that finds the very same, in any words."""
    if earlier.thought == now.thought:
        return True
    same_finds = now.searches and earlier.searches and now.result == earlier.result
    return same_finds and covered(step.thought_words, earlier.thought_words) >= _SAME_THOUGHT


def _is_untold(step: StepFeatures) -> bool:
    """Whether a shell was handed sentences: what was really run, and what it changed, is not known."""
    return runs_commands(step.action) and _SENTENCE.match(step.arguments) is not None


def _counted(step: StepFeatures, times: int, tries: int, waiting: bool) -> int:
    """How often the same was done, less what patience asks for: how long something takes elsewhere cannot be known."""
    if step.failed:
        return 1 + (times - 1) // 2 if step.role.waits else times if tries > _TRIES else min(times, _TRIES - 1)
    return min(times, _WAITING) if waiting else times


def _evidence(step: StepFeatures, same: list[Done]) -> Evidence:
    span = step.index - same[0].index + 1
    exact = all(earlier.call == step.call for earlier in same)
    quotes = [step.call_quote(), step.result_quote()]
    if not exact:
        quotes.insert(0, quote(f"{step.action} {same[0].said}" if same[0].tool == step.tool else same[0].said))
    return Evidence(
        monitor=SemanticLoop.name,
        reason=f"Within {span} steps {_what(step, same, exact)} {len(same) + 1} times and {_outcome(step, same)}.",
        steps=[*(earlier.index for earlier in same), step.index],
        quotes=[text for text in quotes if text],
    )


def _what(step: StepFeatures, same: list[Done], exact: bool) -> str:
    if step.speaks_only:
        return "the same message was given" if exact else "the same was said or asked in other words"
    if exact:
        return "the same call was made"
    one_tool = all(earlier.tool == step.tool for earlier in same)
    return "the same was asked in other words" if one_tool else "the same was looked for by different calls"


def _outcome(step: StepFeatures, same: list[Done]) -> str:
    if step.failed:
        return "failed in the same way each time"
    if all(earlier.result == step.result for earlier in same):
        return "brought the same result each time"
    return "what came back held nothing new"
