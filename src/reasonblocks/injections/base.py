"""The base of every injection, ours and yours."""

from collections.abc import Awaitable
from typing import ClassVar

from ..types import ETrace, PendingInjection, TraceState


class BaseInjection:
    """A source of guidance: override `retrieve`, plain or async.

    An instance is shared by all runs and holds no state of a run: how often it fired is counted on the run.
    """

    max_calls: int | None = None
    """How often it may fire in one run; `None` is as often as it has something to say."""
    on_first_call: bool = False
    """Whether it may run before the first model call, when there is no thought yet."""
    in_fast: bool = False
    """Whether it runs while the agent sails through easy steps."""
    needs_signal: ClassVar[bool] = False
    """Whether it runs only where the monitors gave a reason (the E1 gate)."""

    def retrieve(self, state: TraceState) -> list[PendingInjection] | Awaitable[list[PendingInjection]]:
        """What to put in front of the model now; an empty list is no guidance."""
        raise NotImplementedError(f"{type(self).__name__} does not say what to inject: override retrieve(state)")

    def refusal(self) -> str | None:
        """Why asking would fail right now, if that is known without asking."""
        return None


def pending(source: object, trace: ETrace) -> PendingInjection:
    """A retrieved pattern, waiting for the model that it will be rendered for."""
    return PendingInjection(
        source=type(source).__name__,
        tier=trace.tier,
        fields=trace.fields,
        pattern_id=trace.pattern_id,
        similarity=trace.similarity,
        failure_type=trace.failure_type,
    )
