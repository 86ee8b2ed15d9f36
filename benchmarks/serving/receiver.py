"""A process that takes events as rb-api does and spans as a collector does, counts them, and does nothing else.

    python benchmarks/serving/receiver.py

prints the port that it listens on. `GET /counts` says how many requests, events and spans have come.
"""

import asyncio
import contextlib
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_HEALTH = msgspec.json.encode({"status": "ok", "capabilities": ["events", "incremental", "interrupts", "losses"]})


class Counts(msgspec.Struct):
    """What has come so far."""

    deliveries: int = 0
    """Requests with events."""
    events: int = 0
    exports: int = 0
    """Requests with spans."""
    spans: int = 0

    def add(self, before: "Counts", after: "Counts") -> None:
        """What has come between two looks."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(after, name) - getattr(before, name))


class Batch(msgspec.Struct):
    """The body of a delivery."""

    events: list[msgspec.Raw]


class Served:
    """Answers every request with what its path calls for."""

    def __init__(self) -> None:
        self._counts = Counts()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it is closed."""
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = _LENGTH.search(head)
                body = await reader.readexactly(int(length[1])) if length else b""
                answer = self._answer(head.split(b" ", 2)[1], body)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(answer), answer))
        writer.close()

    def _answer(self, path: bytes, body: bytes) -> bytes:
        counts = self._counts
        if path == b"/counts":
            return msgspec.json.encode(counts)
        if path == b"/v1/health":
            return _HEALTH
        if path == b"/v1/monitor/events":
            events = len(msgspec.json.decode(body, type=Batch).events)
            counts.deliveries += 1
            counts.events += events
            return b'{"accepted":%d,"rejected":[]}' % events
        if path.startswith(b"/v1/monitor/runs"):  # one by one, until the client knows what is offered
            counts.deliveries += 1
            counts.events += 1
        elif path == b"/v1/traces":
            request = ExportTraceServiceRequest.FromString(body)
            counts.exports += 1
            counts.spans += sum(len(scope.spans) for one in request.resource_spans for scope in one.scope_spans)
        return b""


@dataclass(frozen=True)
class Receiver:
    """Such a process, as whoever started it knows it."""

    url: str

    def counts(self) -> Counts:
        """What has come so far."""
        with urllib.request.urlopen(f"{self.url}/counts") as answer:
            return msgspec.json.decode(answer.read(), type=Counts)


@contextlib.contextmanager
def receiving() -> Iterator[Receiver]:
    """Start one, and end it afterwards."""
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    assert process.stdout is not None
    try:
        yield Receiver(f"http://127.0.0.1:{int(process.stdout.readline())}")
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


async def main() -> None:
    """Serve until a signal comes."""
    server = await asyncio.start_server(Served().serve, "127.0.0.1", 0, limit=2**24)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
