"""Changes that are made and undone in turns: the same two, again and again, whatever is looked at in between."""

from itertools import pairwise
from typing import NamedTuple

from ..answers import Evidence
from .base import Reading
from .features import StepFeatures, quote
from .swaps import swap_of

_TURNS = 4
"""Changes: this, that, this again, that again."""
_MOST_STEPS = 14
_MOST = 6
_MOST_RAN = 256
"""Results of runs that are known again."""
_SCORES = (0.65, 0.75, 0.85)
_LONGEST_RECEIPT = 300
"""Characters of a result that may tell two turns of one switch from each other."""
_QUOTED = 300
"""Characters of a call that are kept."""
_MONITOR = "semantic_loop"


class _Change(NamedTuple):
    at: int
    tool: bytes
    call: bytes
    result: bytes
    said: str
    """The beginning of it."""
    swap: tuple[str, tuple[str, str]] | None
    """Where it puts what in place of what, if it says so."""


class Undoing:
    """The last changes, and what running things between them has shown."""

    __slots__ = ("_changes", "_ran", "_tested")

    def __init__(self) -> None:
        self._changes: list[_Change] = []
        self._ran: dict[bytes, None] = {}
        self._tested = 0

    def observe(self, step: StepFeatures) -> Reading | None:
        """Take the next step in; what is found if it turns back once too often."""
        role = step.role
        if role.runs and not role.changes:
            if step.result not in self._ran:
                self._tested = step.index  # it was tried out, and that showed something
                self._ran[step.result] = None
                if len(self._ran) > _MOST_RAN:
                    del self._ran[next(iter(self._ran))]
            return None
        if step.failed or step.speaks_only or not (role.changes or (role.unknown and step.result_size)):
            return None
        receipt = step.result if step.result_size <= _LONGEST_RECEIPT else b""
        now = _Change(
            step.index, step.tool, step.call, receipt, f"{step.action} {step.arguments[:_QUOTED]}", swap_of(step)
        )
        last = [one for one in self._changes if step.index - one.at <= _MOST_STEPS][1 - _MOST :]
        self._changes = [*last, now]
        turns = max(self._turns(), self._swapped())
        if turns < _TURNS:
            return None
        row = self._changes[-turns:]
        reason = f"The same two changes were made in turns, {turns} in all, so that each undoes the last one."
        evidence = Evidence(_MONITOR, reason, [one.at for one in row], [quote(row[-2].said), quote(row[-1].said)])
        return Reading(_SCORES[min(turns - _TURNS, len(_SCORES) - 1)], evidence)

    def _swapped(self) -> int:
        """How many of the last changes put back what the one before them took out, however that was written."""
        row = [one for one in self._changes if one.at > self._tested or not self._tested]
        turns = 1
        for before, one in pairwise(reversed(row)):
            if before.swap is None or one.swap is None or before.swap != _reversed(one.swap):
                break
            turns += 1
        return turns

    def _turns(self) -> int:
        """How many of the last changes go back and forth, with nothing tried out that showed anything new."""
        row = [one for one in self._changes if one.at > self._tested or not self._tested]
        if len(row) < _TURNS or row[-1].tool != row[-2].tool:
            return 0
        by_call = row[-1].call != row[-2].call
        marks = [one.call if by_call else one.result for one in row if one.tool == row[-1].tool]
        if marks[-1] == marks[-2] or (not by_call and any(one.call != row[-1].call for one in row[-_TURNS:])):
            return 0
        turns = 2
        while turns < len(marks) and marks[-turns - 1] == marks[-turns + 1]:
            turns += 1
        return turns


def _reversed(swap: tuple[str, tuple[str, str]]) -> tuple[str, tuple[str, str]]:
    where, (old, new) = swap
    return where, (new, old)
