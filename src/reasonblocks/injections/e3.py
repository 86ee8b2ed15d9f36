"""E3: standing rules, once per run."""

from ..api.facade import ReasonBlocksAPI
from ..types import PendingInjection, TraceState
from .base import BaseInjection, pending


class E3Injection(BaseInjection):
    """All standing rules, on the first call, or on the next one whose lookup succeeds."""

    max_calls = 1
    on_first_call = True

    def __init__(self, api: ReasonBlocksAPI) -> None:
        self._api = api

    async def retrieve(self, state: TraceState) -> list[PendingInjection]:
        """Every rule there is, up to 32."""
        found = await self._api.fetch_e3_patterns(model=state.model)
        return [pending(self, trace) for trace in found]

    def refusal(self) -> str | None:
        """Whatever the api says."""
        return self._api.refusal()
