"""semantic_loop: the same is done again and again, and the result does not change.

Call, result and progress count together. A repetition is a call that is made again with the same result (or fails in
the same way), also in other words. A change to the world in between makes it a retry, and so does a call of which
nothing is known; new results in between thin it out; waiting for something may take its time; and a click that is
merely acknowledged may well have moved on.
"""

from collections import deque

import msgspec

from ..answers import Evidence
from .base import NOTHING, Fading, MonitorState, Reading
from .features import StepFeatures
from .words import WordSet, alike, overlap, size, split

WINDOW = 12
"""Steps that are compared."""
_SCORES = (0.0, 0.0, 0.3, 0.65, 0.8, 0.9, 0.95)
"""By how often the same was done."""
_DENSE = 0.5
"""At this share of repetitions among the steps since the first one, nothing else of note is happening."""
_REWORDED = 0.5
"""Of the words of the shorter search, where both found the same about what they have in common."""
_SAME_QUESTION = 0.6
"""Of all words of both, where the result is one that different questions may well have in common."""
_TELLS_MUCH = 40
"""Characters of a result that hardly comes up twice by chance."""
_REFUSAL = 120
"""Characters at the start of a result that say whether anything was found."""
_MERE_RECEIPT = 80
"""Characters of a result that may only say that something was done."""
_MUCH_SAID = 6
"""Words of a call that nobody has cause to make twice, such as a message."""
_DENIES = frozenset("cannot couldn didn empty no none not nothing null unable unchanged unknown without zero 0".split())
_FINDS_NOTHING = _DENIES | frozenset("sold sorry stock unavailable unfortunately".split())
_FEWEST_SPOKEN = 8
"""Words of a message that is worth comparing."""
_WAITING = 2
"""Looks at something that runs elsewhere never count as more: how long it takes cannot be known."""


class SemanticLoop:
    """Repetition without progress."""

    name = "semantic_loop"
    failure_type = "loop"
    description = "The same calls, or reworded ones, are made again and again, and their results do not change."

    def start(self, task: str) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State()


class _Done(msgspec.Struct, frozen=True, gc=False):
    """What a later step is compared with."""

    index: int
    acts: bool
    """Whether there is a call at all."""
    call: bytes
    target: bytes
    words: WordSet
    result: bytes
    failure: bytes
    lookup: bool
    changes: bool
    receipt: bool
    """Whether the result only says that something was done."""
    changes_before: int
    """How many new changes had been made by then: the state of things it was done on."""
    changes_after: int
    repeats: bool = False


class _State:
    __slots__ = ("_changes", "_fading", "_window")

    def __init__(self) -> None:
        self._window: deque[_Done] = deque(maxlen=WINDOW)
        self._changes = 0
        self._fading = Fading()

    def observe(self, step: StepFeatures) -> Reading:
        if step.speaks_only and size(step.thought_words) < _FEWEST_SPOKEN:
            return self._fading.next(None)
        done = _done(step, self._changes)
        same = [earlier for earlier in self._window if _is_repeated(earlier, done, step)]
        if same:
            done = msgspec.structs.replace(done, repeats=True)
        elif (step.role.changes or step.role.unknown) and not step.failed:
            self._changes += 1
            done = msgspec.structs.replace(done, changes_after=self._changes)
        self._window.append(done)
        return self._fading.next(self._found(step, same) if same else None)

    def _found(self, step: StepFeatures, same: list[_Done]) -> Reading:
        times = len(same) + 1
        counted = min(times, _WAITING) if step.role.waits or step.unfinished else times
        score = _SCORES[min(counted, len(_SCORES) - 1)] * min(1.0, self._density(same[0].index) / _DENSE)
        return Reading(score, _evidence(step, same)) if score else NOTHING

    def _density(self, since: int) -> float:
        later = [done.repeats for done in self._window if done.index > since]
        return sum(later) / len(later)


def _done(step: StepFeatures, changes_before: int) -> _Done:
    return _Done(
        index=step.index,
        acts=not step.speaks_only,
        call=step.call,
        target=step.target,
        words=step.call_words,
        result=step.result,
        failure=step.failure,
        lookup=step.role.looks,
        changes=step.role.changes,
        receipt=_is_receipt(step),
        changes_before=changes_before,
        changes_after=changes_before,
    )


def _is_receipt(step: StepFeatures) -> bool:
    """Whether an act is merely acknowledged: what it brought about shows elsewhere. The same edit twice is the same."""
    acts = (step.role.changes or step.role.unknown) and not step.role.writes
    if not acts or step.failed or step.result_size > _MERE_RECEIPT or size(step.call_words) >= _MUCH_SAID:
        return False
    return _DENIES.isdisjoint(split(step.result_excerpt))


def _is_repeated(earlier: _Done, now: _Done, step: StepFeatures) -> bool:
    if now.receipt:
        return False
    same_failure = now.failure != b"" and now.failure == earlier.failure
    if now.result != earlier.result and not same_failure:
        return False
    if now.changes_before != earlier.changes_after and not now.changes:
        return False  # tried again on another state of things; a change itself that is made again is no such trial
    if now.call == earlier.call:
        return True
    if now.target != earlier.target or not now.acts or not (now.lookup or same_failure):
        return False
    return _is_reworded(earlier.words, now.words, step)


def _is_reworded(earlier: WordSet, now: WordSet, step: StepFeatures) -> bool:
    """Whether two questions with the same result are one."""
    common = earlier & now
    if step.role.searches and common & step.result_words and _finds_something(step):
        return overlap(earlier, now) >= _REWORDED
    # A word in place of another one asks for another thing: the blue shirt is out of stock like the red one.
    return common in (earlier, now) and alike(earlier, now) >= _SAME_QUESTION


def _finds_something(step: StepFeatures) -> bool:
    if step.failed or step.result_size < _TELLS_MUCH:
        return False
    return _FINDS_NOTHING.isdisjoint(split(step.result_excerpt[:_REFUSAL]))


def _evidence(step: StepFeatures, same: list[_Done]) -> Evidence:
    span = step.index - same[0].index + 1
    if step.speaks_only:
        what = "the same message was given"
    elif all(earlier.call == step.call for earlier in same):
        what = "the same call was made"
    else:
        what = "the same was asked in other words"
    how = "failed in the same way" if step.failed else "brought the same result"
    return Evidence(
        monitor=SemanticLoop.name,
        reason=f"Within {span} steps {what} {len(same) + 1} times and {how} each time.",
        steps=[*(earlier.index for earlier in same), step.index],
        quotes=[text for text in (step.call_quote(), step.result_quote()) if text],
    )
