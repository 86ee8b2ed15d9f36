"""E1: what worked before in runs of one's own organisation."""

from typing import ClassVar

from ..api.backend import Query
from ..api.facade import E1_TOP_K, ReasonBlocksAPI
from ..types import PendingInjection, TraceState
from .base import NEAR_MISSES, BaseInjection, look_up

THOUGHTS = 3


class E1Injection(BaseInjection):
    """The closest pattern of one's own runs; asked for only where the monitors gave a reason."""

    max_calls = 1
    needs_signal: ClassVar[bool] = True

    def __init__(self, api: ReasonBlocksAPI) -> None:
        self._api = api

    async def retrieve(self, state: TraceState) -> list[PendingInjection]:
        """The best match for the last three thoughts."""
        query = Query("e1", state.last_thoughts(THOUGHTS), E1_TOP_K, state.model, near_misses=NEAR_MISSES)
        return await look_up(self, self._api, query, THOUGHTS)

    def refusal(self) -> str | None:
        """Whatever the api says."""
        return self._api.refusal()
