"""E2: failure modes that agents share."""

from ..api.facade import ReasonBlocksAPI
from ..types import PendingInjection, TraceState
from .base import BaseInjection, pending

THOUGHTS = 5


class E2Injection(BaseInjection):
    """Up to two shared patterns, narrowed by the kind of failure the monitors named."""

    max_calls = 1

    def __init__(self, api: ReasonBlocksAPI) -> None:
        self._api = api

    async def retrieve(self, state: TraceState) -> list[PendingInjection]:
        """The best matches for the last five thoughts."""
        context = state.last_thoughts(THOUGHTS)
        found = await self._api.fetch_e2_patterns(context, state.failure_type, model=state.model)
        return [pending(self, trace) for trace in found]

    def refusal(self) -> str | None:
        """Whatever the api says."""
        return self._api.refusal()
