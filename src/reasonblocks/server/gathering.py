"""A transport that sends the head of an answer together with its body.

uvicorn writes them one after the other, and uvloop hands each write to the system at once: two calls of the system and
two packets for every answer, of which a client waits for the second.
"""

import asyncio
from typing import Any

MOST_GATHERED = 65_536
"""Bytes that are not kept back any longer, so that a writer who goes on is told when to pause."""


class Gathering:
    """Keeps what is written until it is `flush`ed, which happens of itself before the event loop's next turn."""

    __slots__ = ("_gathered", "_loop", "_size", "_transport", "get_extra_info", "is_closing")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._gathered: list[bytes] = []
        self._size = 0
        self.get_extra_info = transport.get_extra_info
        self.is_closing = transport.is_closing

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Take what is to be sent."""
        if not self._gathered:
            self._loop.call_soon(self.flush)
        self._gathered.append(data)
        self._size += len(data)
        if self._size > MOST_GATHERED:
            self.flush()

    def send(self, data: bytes) -> None:
        """Send this at once, after what was taken."""
        self.flush()
        self._transport.write(data)

    def flush(self) -> None:
        """Send what was taken."""
        if self._gathered:
            gathered, self._gathered, self._size = self._gathered, [], 0
            self._transport.write(b"".join(gathered))

    def write_eof(self) -> None:
        """Send what was taken, and nothing more."""
        self.flush()
        self._transport.write_eof()

    def close(self) -> None:
        """Send what was taken, and close."""
        self.flush()
        self._transport.close()
