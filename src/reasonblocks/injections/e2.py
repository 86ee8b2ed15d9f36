"""E2: failure modes that agents share."""

from ..api.backend import Query
from ..api.facade import E2_TOP_K, ReasonBlocksAPI
from ..types import PendingInjection, TraceState
from .base import NEAR_MISSES, BaseInjection, look_up

THOUGHTS = 5


class E2Injection(BaseInjection):
    """Up to two shared patterns, narrowed by the kind of failure the monitors named."""

    max_calls = 1

    def __init__(self, api: ReasonBlocksAPI) -> None:
        self._api = api

    async def retrieve(self, state: TraceState) -> list[PendingInjection]:
        """The best matches for the last five thoughts."""
        context = state.last_thoughts(THOUGHTS)
        query = Query("e2", context, E2_TOP_K, state.model, state.failure_type, NEAR_MISSES)
        return await look_up(self, self._api, query, THOUGHTS)

    def refusal(self) -> str | None:
        """Whatever the api says."""
        return self._api.refusal()
