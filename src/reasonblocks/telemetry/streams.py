"""All the streams of a client: that to its backend, and one to each of its sinks."""

import asyncio
import time
from collections.abc import Sequence

from ..api.backend import Event
from .stream import DRAIN_SECONDS, TelemetryStream


class Streams:
    """Takes each event once and gives it to every stream; they are closed together, within one deadline."""

    def __init__(self, streams: Sequence[TelemetryStream]) -> None:
        self._streams = tuple(streams)

    def __bool__(self) -> bool:
        return bool(self._streams)

    def post(self, event: Event) -> None:
        """Take an event; never waits, may be called from a finaliser."""
        for stream in self._streams:
            stream.post(event)

    def flush(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Block until everything posted so far is dealt with; whether it was in time."""
        deadline = time.monotonic() + seconds
        late = [stream for stream in self._streams if not stream.flush(max(0.0, deadline - time.monotonic()))]
        return not late

    async def aflush(self, seconds: float = DRAIN_SECONDS) -> bool:
        """As `flush`, without blocking the event loop."""
        return all(await asyncio.gather(*(stream.aflush(seconds) for stream in self._streams)))

    def close(self) -> None:
        """Leave the runtime; the next event brings the streams back."""
        for stream in self._streams:
            stream.close()

    async def aclose(self) -> None:
        """As `close`, without blocking the event loop."""
        for stream in self._streams:
            await stream.aclose()

    def retire(self) -> None:
        """Nobody will post any more: each leaves when everything is delivered. Never waits, a finaliser calls it."""
        for stream in self._streams:
            stream.retire()
