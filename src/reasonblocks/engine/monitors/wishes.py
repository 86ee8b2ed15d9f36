"""Whether a person has asked for something else, so that whatever follows may be theirs."""

from .features import StepFeatures
from .provenance import turns_to_something_else

_HOLDS_FOR = 5
"""Steps for which such a wish explains what is done."""
_MOST_READ = 4_000


class Wish:
    """The latest wish of a person to turn to something else."""

    __slots__ = ("_until",)

    def __init__(self) -> None:
        self._until = 0

    @property
    def holds(self) -> bool:
        """Whether it still explains what is done."""
        return self._until > 0

    def listen(self, step: StepFeatures) -> None:
        """Take the next step in."""
        if step.speaks_only and step.observation and turns_to_something_else(step.observation[:_MOST_READ]):
            self._until = _HOLDS_FOR
        elif self._until:
            self._until -= 1
