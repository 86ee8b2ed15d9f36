"""One client connection of the stand-in: reads requests, plays faults, writes answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import time
from dataclasses import dataclass, field
from typing import Any

from support import http11
from support.faults import UNSET, Fault, FaultPlan
from support.records import Book, Request
from support.service import Service, find_route

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
GARBAGE = b"<html><body>502 \xff\xfe upstream</body></html>"


@dataclass
class House:
    """What all connections of one stand-in share."""

    book: Book
    service: Service
    faults: FaultPlan
    connections: set[Connection] = field(default_factory=set)
    connections_total: int = 0
    listening: bool = False
    in_flight: set[int] = field(default_factory=set)
    """The identities of the requests that are neither answered nor given up."""

    def open(self) -> Connection:
        """Build the protocol of one new connection."""
        return Connection(self)


class Connection(asyncio.Protocol):
    """Serves one request at a time, and stops serving it when the client goes away."""

    _transport: asyncio.Transport

    def __init__(self, house: House) -> None:
        self._house = house
        self._reader = http11.RequestReader()
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Count the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._house.connections.add(self)
        self._house.connections_total += 1
        if not self._house.listening:
            self.reset()  # it was accepted just before the listener closed

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection and whatever was being answered."""
        self._house.connections.discard(self)
        if self._task is not None:
            self._task.cancel()

    def data_received(self, data: bytes) -> None:
        """Take what arrived."""
        self._reader.feed(data)
        self._advance()

    def reset(self) -> None:
        """Break the connection so that the client sees a reset."""
        sock = self._transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self._transport.abort()

    def _advance(self) -> None:
        if self._task is not None or self._transport.is_closing():
            return
        try:
            message = self._reader.next()
        except (http11.MalformedRequestError, ValueError) as error:
            self._house.book.violate(f"malformed request: {error}")
            self._transport.write(http11.response(400, b'{"detail":"malformed request"}'))
            self._transport.close()
            return
        if message is not None:
            # Recorded here and not in the task: the client may be gone before the task starts.
            request = read_request(message)
            self._house.in_flight.add(id(request))
            self._house.book.note(request)
            self._task = asyncio.get_running_loop().create_task(self._serve(request, message))
            self._task.add_done_callback(lambda task: self._served(task, request))

    def _served(self, task: asyncio.Task[None], request: Request) -> None:
        self._task = None
        self._house.in_flight.discard(id(request))
        if not task.cancelled():
            task.result()
            self._advance()

    async def _serve(self, request: Request, message: http11.Message) -> None:
        house = self._house
        try:
            with house.book.changed:
                fault = house.faults.strike(request)
            await self._answer(request, message.body, fault)
        except Exception as error:
            house.book.violate(f"the stand-in itself failed: {error!r}", request)
            self.reset()
        if not message.keep_alive:
            self._transport.close()

    async def _answer(self, request: Request, raw: bytes, fault: Fault) -> None:
        service = self._house.service
        early = service.handle(request, raw) if fault.applied else None
        if fault.latency:
            await asyncio.sleep(fault.latency)
        if fault.black_hole:
            await asyncio.get_running_loop().create_future()
        if fault.reset:
            self.reset()
        elif fault.hang_up:
            self._transport.close()
        elif (canned := canned_answer(fault)) is not None:
            status, body, headers = canned
            self._write_last(request, status, http11.response(status, body, headers))
        else:
            status, answer = early or service.handle(request, raw)
            await self._write_answer(request, status, answer, fault)

    async def _write_answer(self, request: Request, status: int, answer: Any, fault: Fault) -> None:
        if fault.huge and isinstance(answer, dict):
            answer = {"padding": "x" * fault.huge, **answer}
        body = json.dumps(answer).encode()
        if fault.truncated:
            self._write_last(request, status, http11.response(status, body[: len(body) // 2], length=len(body)))
            self._transport.close()
        elif fault.drip:
            self._transport.write(http11.response(status, b"", length=len(body)))
            for position in range(len(body) - 1):
                await asyncio.sleep(fault.drip)
                self._transport.write(body[position : position + 1])
            self._write_last(request, status, body[-1:])
        else:
            self._write_last(request, status, http11.response(status, body))

    def _write_last(self, request: Request, status: int, data: bytes) -> None:
        # The records come first: a client that has read its answer must find them complete.
        self._house.in_flight.discard(id(request))
        self._house.book.answered(request, status)
        self._transport.write(data)


def canned_answer(fault: Fault) -> tuple[int, bytes, dict[str, str]] | None:
    """Give the answer of a fault that needs no right one."""
    if fault.redirect is not None:
        return 307, b"", {"location": fault.redirect}
    if fault.status is not None:
        headers = {} if fault.retry_after is None else {"retry-after": str(fault.retry_after)}
        return fault.status, json.dumps({"detail": f"injected {fault.status}"}).encode(), headers
    if fault.garbage:
        return 200, GARBAGE, {}
    if fault.answer is not UNSET:
        return 200, json.dumps(fault.answer).encode(), {}
    return None


def read_request(message: http11.Message) -> Request:
    """Turn a message into the record of it."""
    path = message.target.partition("?")[0]
    route, run_id = find_route(path)
    try:
        body = json.loads(message.body) if message.body else {}
    except ValueError:
        body = {}
    return Request(
        method=message.method,
        path=path,
        route=route,
        body=body if isinstance(body, dict) else {},
        headers=message.headers,
        at=time.monotonic(),
        run_id=run_id,
        size=len(message.body),
    )
