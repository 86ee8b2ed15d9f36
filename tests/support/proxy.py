"""A way to a server that can be cut, as networks are."""

from __future__ import annotations

import asyncio
import contextlib


class Proxy:
    """Passes bytes to a port of this machine and back, on the event loop of the test."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    async def open(self) -> None:
        """Let connections through, on the same port as before."""
        self._server = await asyncio.start_server(self._connect, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """End all connections and refuse new ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, back}
        with contextlib.suppress(OSError):
            await asyncio.gather(_pass(reader, back), _pass(there, writer))
        self._writers -= {writer, back}


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while chunk := await reader.read(65_536):
            writer.write(chunk)
            await writer.drain()
    finally:
        writer.transport.abort()
