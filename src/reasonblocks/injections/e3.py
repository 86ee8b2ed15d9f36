"""E3: standing rules, once per run."""

from ..api.backend import Query
from ..api.facade import E3_TOP_K, ReasonBlocksAPI
from ..types import PendingInjection, TraceState
from .base import NEAR_MISSES, BaseInjection, look_up


class E3Injection(BaseInjection):
    """All standing rules, on the first call, or on the next one whose lookup succeeds."""

    max_calls = 1
    on_first_call = True

    def __init__(self, api: ReasonBlocksAPI) -> None:
        self._api = api

    async def retrieve(self, state: TraceState) -> list[PendingInjection]:
        """Every rule there is, up to 32."""
        return await look_up(self, self._api, Query("e3", "", E3_TOP_K, state.model, near_misses=NEAR_MISSES))

    def refusal(self) -> str | None:
        """Whatever the api says."""
        return self._api.refusal()
