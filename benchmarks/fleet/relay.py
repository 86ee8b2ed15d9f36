"""What goes over the wire between agents and a server, counted on the way."""

import asyncio
import re
import threading
from collections import Counter

_REQUEST = re.compile(rb"(?:GET|POST|PATCH|DELETE) (/[^ ?]*)[^ ]* HTTP/1\.1\r\n")
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)\r\n", re.IGNORECASE)


class Relay:
    """Passes bytes to a port of this machine and back, on a thread of its own."""

    def __init__(self, target: int, kept_path: str) -> None:
        self._target = target
        self._kept_path = kept_path
        self.kept: list[bytes] = []
        """Whole requests for that path, to be made again."""
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)
        self.port = 0
        self.requests: Counter[str] = Counter()
        """By their path."""
        self.refused = 0
        """Answers that say that there is too much to do."""
        self.up = self.down = 0
        """Bytes of HTTP; what TCP and TLS add is not in them."""

    def __enter__(self) -> "Relay":
        self._thread.start()
        self._started.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        async def listen() -> None:
            server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
            self.port = server.sockets[0].getsockname()[1]
            self._started.set()

        self._loop.run_until_complete(listen())
        self._loop.run_forever()

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        try:
            await asyncio.gather(self._ask(reader, back), self._answer(there, writer))
        except OSError:
            pass
        finally:
            writer.close()
            back.close()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(262_144):
            self.up += len(chunk)
            # A client waits for an answer before it asks again, so a request begins where a chunk does.
            if (found := _REQUEST.match(chunk)) is not None:
                path = found[1].decode()
                self.requests[path] += 1
                if path == self._kept_path and _is_whole(chunk):
                    self.kept.append(chunk)
            writer.write(chunk)
            await writer.drain()
        writer.write_eof()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while chunk := await reader.read(262_144):
            self.down += len(chunk)
            self.refused += chunk.startswith((b"HTTP/1.1 503", b"HTTP/1.1 429"))
            writer.write(chunk)
            await writer.drain()


def _is_whole(request: bytes) -> bool:
    head, _, body = request.partition(b"\r\n\r\n")
    length = _LENGTH.search(head + b"\r\n")
    return length is not None and len(body) == int(length[1])
