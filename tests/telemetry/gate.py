"""A door in front of a real server: while it is shut connections are refused and those that are open break."""

from __future__ import annotations

import asyncio
import contextlib
import threading


class Gate:
    """Forwards connections on a port of its own to another one, while it is open."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port = 0
        self.open()

    def open(self) -> None:
        """Let connections through, on the same port as before."""
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result(5)

    def shut(self) -> None:
        """Refuse new connections and break the others."""
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(5)

    def close(self) -> None:
        """Leave nothing behind."""
        self.shut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _open(self) -> None:
        if self._server is None:
            self._server = await asyncio.start_server(self._forward, "127.0.0.1", self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _shut(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.sleep(0.05)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(*self._target)
        self._writers |= {writer, back}
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await asyncio.gather(self._copy(reader, back), self._copy(there, writer))
        self._writers -= {writer, back}

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()
