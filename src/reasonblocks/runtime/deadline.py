"""The budget of a step: one for everything we do before a model call."""

REDUCED_SECONDS = 0.1
"""What a step gets after one has used up its whole budget, until one succeeds."""


class StepBudget:
    """How long the next step may take; shared by all runs of one backend."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._exhausted = False

    def allowance(self) -> float:
        """Seconds for the step that starts now."""
        return min(self.seconds, REDUCED_SECONDS) if self._exhausted else self.seconds

    def settle(self, *, used_up: bool, answered: bool) -> None:
        """Take note of how a step ended: whether its time ran out, whether any answer came."""
        if used_up:
            self._exhausted = True
        elif answered:
            self._exhausted = False
