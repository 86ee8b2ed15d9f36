"""E1: what worked before in runs of one's own organisation."""

from typing import ClassVar

from ..api.facade import ReasonBlocksAPI
from ..types import PendingInjection, TraceState
from .base import BaseInjection, pending

THOUGHTS = 3


class E1Injection(BaseInjection):
    """The closest pattern of one's own runs; asked for only where the monitors gave a reason."""

    max_calls = 1
    needs_signal: ClassVar[bool] = True

    def __init__(self, api: ReasonBlocksAPI) -> None:
        self._api = api

    async def retrieve(self, state: TraceState) -> list[PendingInjection]:
        """The best match for the last three thoughts."""
        found = await self._api.fetch_e1_pattern(state.last_thoughts(THOUGHTS), model=state.model)
        return [pending(self, found)] if found else []

    def refusal(self) -> str | None:
        """Whatever the api says."""
        return self._api.refusal()
