"""semantic_loop: the same is done again and again, and the result does not change.

Call, result and progress count together. A repetition is a call that is made again with the same result (or fails in
the same way), also in other words. A change to the world in between makes it a retry; new results in between thin it
out; waiting for something may take its time.
"""

from collections import deque

import msgspec

from ..answers import Evidence
from .base import NOTHING, Fading, MonitorState, Reading
from .features import StepFeatures
from .words import WordSet, overlap, size

WINDOW = 12
"""Steps that are compared."""
_SCORES = (0.0, 0.0, 0.3, 0.65, 0.8, 0.9, 0.95)
"""By how often the same was done."""
_DENSE = 0.5
"""At this share of repetitions among the steps since the first one, nothing else of note is happening."""
_REWORDED = 0.5
_FEWEST_SPOKEN = 8
"""Words of a message that is worth comparing."""
_PATIENCE = 6
"""So many looks at something that runs elsewhere count as one."""


class SemanticLoop:
    """Repetition without progress."""

    name = "semantic_loop"
    failure_type = "loop"
    description = "The same calls, or reworded ones, are made again and again, and their results do not change."

    def start(self) -> MonitorState:
        """The memory of a run that has not begun."""
        return _State()


class _Done(msgspec.Struct, frozen=True, gc=False):
    """What a later step is compared with."""

    index: int
    action: str
    call: bytes
    target: bytes
    words: WordSet
    result: bytes
    failure: bytes
    lookup: bool
    changes: bool
    changes_before: int
    """How many new changes had been made by then: the state of things it was done on."""
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
        same = [earlier for earlier in self._window if _is_repeated(earlier, done)]
        if same:
            done = msgspec.structs.replace(done, repeats=True)
        elif step.role.changes and not step.failed:
            self._changes += 1
        self._window.append(done)
        return self._fading.next(self._found(step, same) if same else None)

    def _found(self, step: StepFeatures, same: list[_Done]) -> Reading:
        times = len(same) + 1
        counted = times if not (step.role.waits or step.unfinished) else 1 + (times - 1) // _PATIENCE
        score = _SCORES[min(counted, len(_SCORES) - 1)] * min(1.0, self._density(same[0].index) / _DENSE)
        return Reading(score, _evidence(step, same)) if score else NOTHING

    def _density(self, since: int) -> float:
        later = [done.repeats for done in self._window if done.index > since]
        return sum(later) / len(later)


def _done(step: StepFeatures, changes_before: int) -> _Done:
    return _Done(
        index=step.index,
        action=step.action,
        call=step.call,
        target=step.target,
        words=step.call_words,
        result=step.result,
        failure=step.failure,
        lookup=step.role.looks,
        changes=step.role.changes,
        changes_before=changes_before,
    )


def _is_repeated(earlier: _Done, now: _Done) -> bool:
    same_failure = now.failure != b"" and now.failure == earlier.failure
    if now.result != earlier.result and not same_failure:
        return False
    if now.changes_before != earlier.changes_before and not now.changes:
        return False  # tried again on another state of things; a change itself that is made again is no such trial
    if now.call == earlier.call:
        return True
    reworded = now.target == earlier.target and bool(now.action) and overlap(now.words, earlier.words) >= _REWORDED
    return reworded and (now.lookup or same_failure)


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
