"""Looks that are made again after a change, and show what was there before it."""

from functools import lru_cache

from .features import StepFeatures
from .words import WordSet, pieces

_MOST_LOOKS = 64
_LONGEST_NAME = 200
_SHORTEST = 20
"""Characters of a result that may tell one state from another."""
_RECORD = 160
"""Characters of one that is a record rather than a receipt."""


class Rereads:
    """What was looked up before the newest change, and whether a look since shows the same."""

    __slots__ = ("_change", "_looks", "_named", "unmoved")

    def __init__(self) -> None:
        self._looks: dict[bytes, bytes] = {}
        """The newest result of each look, from before the change if it was not made again since."""
        self._change: WordSet = 0
        """The words in the name of the tool that made the newest change; 0 if there is none to look at."""
        self._named: frozenset[str] = frozenset()
        """The values it was given."""
        self.unmoved: tuple[int, str] | None = None
        """The newest look that shows of something what it showed before it was changed."""

    def forget(self) -> None:
        """The change has been spoken of."""
        self._change, self.unmoved = 0, None

    def observe(self, step: StepFeatures) -> None:
        """Take a call in."""
        role = step.role
        if role.looks:
            self._take_look(step)
        elif not (step.failed or role.writes or role.runs or role.waits or role.notes):
            self._change, self.unmoved = _words_in(step.action[:_LONGEST_NAME]), None
            if role.changes and step.result_size >= _RECORD and step.result in self._looks.values():
                self.unmoved = (step.index, step.result_quote())
            self._named = frozenset(step.arguments.split("\n"))

    def _take_look(self, step: StepFeatures) -> None:
        before = self._looks.pop(step.call, b"")
        if step.failed or step.result_size < _SHORTEST:
            return
        self._looks[step.call] = step.result
        if len(self._looks) > _MOST_LOOKS:
            del self._looks[next(iter(self._looks))]
        if self._change and before and self._is_about_it(step):
            self.unmoved = (step.index, step.result_quote()) if before == step.result else None

    def _is_about_it(self, step: StepFeatures) -> bool:
        """Whether a look asks for what was changed: for the same values, by a name that has a word in common."""
        asked = step.arguments.split("\n")
        if not asked[0] or not self._named.issuperset(asked):
            return False
        return bool(_words_in(step.action[:_LONGEST_NAME]) & self._change)


@lru_cache(maxsize=4_096)
def _words_in(name: str) -> WordSet:
    return pieces(name)
