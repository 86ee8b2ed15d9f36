"""A connection before its request is understood: how much may come, and how long it may take.

The parser takes heads of any size and uvicorn waits for them for ever, so anybody could fill memory without a key.
"""

import asyncio
from http import HTTPStatus
from typing import Any

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .exchange import EXCHANGE, Exchange
from .gathering import Gathering

LARGEST_HEAD = 65_536
"""Bytes of a request's line and headers."""
HEAD_SECONDS = 15.0
"""How long a head may take to arrive, also the first one of a connection that says nothing at all."""
LINGER_SECONDS = 1.0
"""How long a refused client may go on sending: one that is cut off while it sends does not see the answer."""


class GuardedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with limits for what comes before a request is complete enough to be refused."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._most_connections = self.limit_concurrency
        self.limit_concurrency = None  # it would answer only after the head was read, and not in JSON
        self._gathering: Gathering
        self._between = True
        """Whether the next byte begins a message."""
        self._head_open = False
        self._heads = 0
        self._head_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        self._gathering = Gathering(transport, self.loop)
        super().connection_made(self._gathering)  # type: ignore[arg-type]
        if self._most_connections is not None and len(self.connections) > self._most_connections:
            self._refuse(503, "too many connections; try again later", b"retry-after: 5\r\n")
        else:
            self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._disarm()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        """Hand on what arrived, in pieces so small that a head over the limit is noticed before it is parsed."""
        if self._between and self._head_timer is None and len(data) < LARGEST_HEAD and not self._refused:
            heads = self._heads
            super().data_received(data)
            if self._between and heads != self._heads:
                return  # nothing but whole requests, as it almost always is: there is nothing to watch
            self._look_back(len(data), heads, in_head=True)
            data = b""
        while data and not self._refused and not self.transport.is_closing():
            in_head = self._head_open or self._between
            piece = data[: LARGEST_HEAD - self._head_bytes] if in_head else data[:LARGEST_HEAD]
            data = data[len(piece) :]
            heads = self._heads
            super().data_received(piece)
            self._look_back(len(piece), heads, in_head=in_head)
        if not self._refused and not self.transport.is_closing():
            self._watch()

    def _look_back(self, size: int, heads: int, *, in_head: bool) -> None:
        """Count what was handed on, if it was nothing but head."""
        whole = in_head and heads == self._heads
        self._head_bytes = self._head_bytes + size if self._head_open and whole else 0
        if self._head_bytes >= LARGEST_HEAD:
            self._refuse(431, f"the request line and headers have more than {LARGEST_HEAD} bytes")

    def on_message_begin(self) -> None:
        """The first byte of a head."""
        self._between, self._head_open = False, True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The last byte of a head."""
        self._head_open = False
        self._heads += 1
        super().on_headers_complete()
        self.scope[EXCHANGE] = Exchange(  # type: ignore[literal-required]
            self.cycle, self._gathering, self.server_state
        )

    def on_message_complete(self) -> None:
        """The last byte of a body."""
        self._between = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """The last byte of an answer."""
        self._gathering.flush()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the shape that all errors have."""
        self._refuse(400, msg)

    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _watch(self) -> None:
        """Set the clock that fits what is awaited now."""
        unread = not self._between and not self._answering()
        if self._head_open or unread:
            self._arm()
        elif self.cycle is not None:
            self._disarm()
            if not self._answering() and self.timeout_keep_alive_task is None:
                # The rest of a body that was refused stopped uvicorn's clock, and nothing else would start it again.
                self.timeout_keep_alive_task = self.loop.call_later(
                    self.timeout_keep_alive, self.timeout_keep_alive_handler
                )

    def _arm(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_SECONDS, self._late)

    def _disarm(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _late(self) -> None:
        self._head_timer = None
        if self._answering():
            self._arm()  # it is we who are not reading on
        elif self._head_open:
            self._refuse(408, f"the request line and headers did not arrive within {HEAD_SECONDS:g} seconds")
        else:
            self.transport.close()

    def _refuse(self, status: int, detail: str, header: bytes = b"") -> None:
        """Answer at once and close; within another answer there is no place for one."""
        self._refused = True
        self._disarm()
        self._unset_keepalive_if_required()
        if self._answering() or self.transport.is_closing():
            self.transport.close()
            return
        body = msgspec.json.encode({"detail": detail})
        self.transport.write(
            b"HTTP/1.1 %d %b\r\n%bcontent-type: application/json\r\ncontent-length: %d\r\n"
            b"cache-control: no-store\r\nx-content-type-options: nosniff\r\nconnection: close\r\n\r\n%b"
            % (status, HTTPStatus(status).phrase.encode(), header, len(body), body)
        )
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self._head_timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)
