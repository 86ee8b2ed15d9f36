"""Streams that stay open: no more than so many for a key, and none for a key that is no longer good."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

from ..engine.errors import Busy, StoreError
from .paths import VERSION
from .problems import Refusal, retry_after

STREAM_PATH = f"{VERSION}/monitor/stream"
CHECK_SECONDS = 0.5
"""How often a stream's key is looked at; the engine asks the database much less often, once for all its streams."""


class Streams:
    """The streams that are open, by key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: Counter[str] = Counter()

    def enter(self, key_id: str) -> None:
        """Count a stream that is opened; a `Refusal` for one too many."""
        if self._held[key_id] >= self._most:
            raise Refusal(
                429, f"this key holds {self._most} streams already, which is the most it may; close one", retry_after(5)
            )
        self._held[key_id] += 1

    def leave(self, key_id: str) -> None:
        """Count one less."""
        self._held[key_id] -= 1
        if not self._held[key_id]:
            del self._held[key_id]


async def while_good(stream: Awaitable[None], good: Callable[[], Awaitable[bool]]) -> None:
    """Run a stream to its end, or until its key is good no more."""
    running = asyncio.ensure_future(stream)
    try:
        while not (await asyncio.wait({running}, timeout=CHECK_SECONDS))[0]:
            if not await _still(good):
                return
        running.result()
    finally:
        if not running.done():
            running.cancel()
            await asyncio.wait({running})
            if not running.cancelled():
                running.exception()  # it was to end, and did


async def _still(good: Callable[[], Awaitable[bool]]) -> bool:
    try:
        return await good()
    except (Busy, StoreError):
        return True  # nobody knows at the moment; it is asked again
