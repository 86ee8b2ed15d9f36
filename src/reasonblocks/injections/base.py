"""The base of every injection, ours and yours."""

from collections.abc import Awaitable, Iterable
from typing import ClassVar

from ..api.backend import Query
from ..api.facade import ReasonBlocksAPI
from ..types import ETrace, Lookup, PendingInjection, TraceState

NEAR_MISSES = 3
"""Rejected patterns that are stored with a step, for each lookup."""


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


class Found(list[PendingInjection]):
    """What a lookup brought, as any list of guidance, with an account of the lookup."""

    __slots__ = ("lookup",)

    def __init__(self, pending: Iterable[PendingInjection], lookup: Lookup) -> None:
        super().__init__(pending)
        self.lookup = lookup


async def look_up(source: object, api: ReasonBlocksAPI, query: Query, thoughts: int = 0) -> Found:
    """Ask for patterns by the last `thoughts`, on behalf of an injection."""
    retrieved = await api.look_up(query)
    lookup = Lookup(
        source=type(source).__name__,
        tier=query.tier,
        thoughts=thoughts,
        failure_type=query.failure_type,
        near_misses=retrieved.near_misses[:NEAR_MISSES],
        told=retrieved.told,
        not_compared=retrieved.not_compared,
    )
    return Found((pending(source, trace) for trace in retrieved.traces), lookup)


def pending(source: object, trace: ETrace) -> PendingInjection:
    """A retrieved pattern, waiting for the model that it will be rendered for."""
    return PendingInjection(
        source=type(source).__name__,
        tier=trace.tier,
        fields=trace.fields,
        pattern_id=trace.pattern_id,
        similarity=trace.similarity,
        failure_type=trace.failure_type,
        gate=trace.gate,
    )
