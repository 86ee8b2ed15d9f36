"""What every request passes before it is routed, and every answer on its way out: one layer, which costs little."""

import asyncio
import contextlib
import itertools
import logging
import re
import secrets
import time
from typing import TYPE_CHECKING, Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from .answer import named
from .auth import Doorkeeper, presented
from .bodies import drained
from .cors import Cors
from .exchange import EXCHANGE
from .headers import Wardrobe
from .lane import Lane, Operation
from .limiter import neighbourhood
from .logs import LOGGER, note
from .paths import VERSION, routable
from .problems import Answer, Refusal, explained
from .request import VISIT, Visit
from .streams import STREAM_PATH, Streams, while_good

if TYPE_CHECKING:
    from ..engine.engine import Engine
    from .settings import ServerSettings

_START = secrets.token_hex(5)
_numbers = itertools.count(1)
_ID = re.compile(rb"[A-Za-z0-9_\-.]{1,128}")
PROBES = frozenset(VERSION + path for path in ("/health", "/ready"))
OPEN_PATHS = PROBES | {VERSION + path for path in ("/openapi.json", "/docs")}
"""What needs no key."""
ROOT = f"{VERSION}/"
MOST_HEADERS = 256
FAREWELL_SECONDS = 1.0
"""How long the end of a stream may take that the server ends: its reader may have stopped reading."""
LONGEST_LOGGED_PATH = 200


class Front:
    """An ASGI layer: request id, path, CORS, key, rate, headers, log."""

    def __init__(self, app: ASGIApp, settings: "ServerSettings", lane: Lane) -> None:
        self._app = app
        self._lane = lane
        self.engine: Engine
        """Set before the first request; the application's own state would be asked for it twice, at a price."""
        self._doorkeeper = Doorkeeper(settings)
        self._streams = Streams(settings.max_streams)
        self._cors = Cors(settings.cors_origins)
        self._wardrobe = Wardrobe(self._cors)
        self._max_body = settings.max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request through to its answer."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        await Passage(self, scope, receive, send).go()


class Passage:
    """One request on its way."""

    __slots__ = (
        "_ended",
        "_front",
        "_headers",
        "_method",
        "_receive",
        "_scope",
        "_send",
        "_started",
        "_status",
        "_visit",
    )

    def __init__(self, front: Front, scope: Any, receive: Receive, send: Send) -> None:
        self._front = front
        self._scope = scope
        self._method = scope["method"]
        self._receive = receive
        self._send = send
        self._started = time.perf_counter()
        self._status = 0
        self._ended = False
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self._visit = scope[VISIT] = Visit(_request_id(self._headers.get(b"x-request-id")), scope.get(EXCHANGE))

    async def go(self) -> None:
        """Admit, route, answer and log."""
        try:
            try:
                operation = self._short_way()
                admitted = operation is not None or await self._admitted()
                streaming = admitted and self._method == "GET" and self._scope["path"] == STREAM_PATH
                if streaming:
                    self._front._streams.enter(self._key_id())
            except Exception as error:
                await self._refuse(explained(error, self._visit.request_id))
            else:
                if streaming:
                    await self._stream()
                elif operation is not None:
                    await self._do(operation)
                elif admitted:
                    await self._front._app(self._scope, self._receive, self.send)
        finally:
            self._log()

    def _short_way(self) -> Operation | None:
        """What is asked for, if the short lane has it and the caller is known already."""
        front, headers, visit = self._front, self._headers, self._visit
        operation = front._lane.operation(self._scope, headers, visit)
        if operation is not None:
            visit.principal = front._doorkeeper.recognise(front.engine.keys, headers.get(b"authorization"))
        return operation if visit.principal is not None else None

    async def _do(self, operation: Operation) -> None:
        """Have a request of the short lane answered."""
        visit = self._visit
        answer = await operation.answer(self._front.engine, visit, self._receive)
        if answer.status == 200 and visit.exchange is not None and b"origin" not in self._headers:
            head = self._front._wardrobe.json(len(answer.body), visit.request_id.encode())
            if visit.exchange.answer(head, answer.body):
                self._status, self._ended = 200, True
                return
        await answer(self._scope, self._receive, self.send)

    def _key_id(self) -> str:
        principal = self._visit.principal
        assert principal is not None  # whoever is admitted where a key is needed has one
        return principal.key_id

    async def _stream(self) -> None:
        """Pass on a request whose answer has no end, but ends it with its key."""
        keys = self._front.engine.keys
        key = presented(self._headers.get(b"authorization")) or ""

        async def good() -> bool:
            return await keys.authenticate(key) is not None

        try:
            await while_good(self._front._app(self._scope, self._receive, self.send), good)
        finally:
            self._front._streams.leave(self._key_id())
        if self._status and not self._ended:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL_SECONDS):
                    await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _admitted(self) -> bool:
        """Whether the request is to be routed; a preflight and the root are answered here."""
        scope, headers, front = self._scope, self._headers, self._front
        path = routable(scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape"))
        scope["path"] = path = path[:-1] if path[-1] == "/" and path[:-1] in OPEN_PATHS else path
        self._visit.length = _length(headers.get(b"content-length"))
        self._visit.waits = b"expect" in headers
        self._check_headers()
        if self._method == "OPTIONS":
            preflight = front._cors.preflight(headers)
            if preflight is not None:
                front._doorkeeper.count_visit(self._address(), probe=False)
                await self._reply(204, preflight, b"")
                return False
            # Litestar's own answer names but one method of a path, its refusal of an unknown one names all.
            scope["method"] = "TRACE"
        if path == ROOT and self._method in ("GET", "HEAD"):
            front._doorkeeper.count_visit(self._address(), probe=False)
            await self._reply(307, [(b"location", b"docs"), (b"content-length", b"0")], b"")
            return False
        if path in OPEN_PATHS:
            front._doorkeeper.count_visit(self._address(), probe=path in PROBES)
            if self._method == "HEAD" and path in PROBES:
                # A copy: the server in front of us goes by its own to know that an answer has no body.
                self._scope = dict(scope, method="GET")
        else:
            keys, authorization = front.engine.keys, headers.get(b"authorization")
            principal = front._doorkeeper.recognise(keys, authorization)
            if principal is None:
                principal = await front._doorkeeper.admit(keys, authorization, self._address())
            self._visit.principal = principal
        if b"content-encoding" in headers:
            _check_coding(headers[b"content-encoding"])
        return True

    def _address(self) -> str:
        client = self._scope.get("client")
        return neighbourhood(client[0]) if client else ""

    def _check_headers(self) -> None:
        given = self._scope["headers"]
        if len(given) > MOST_HEADERS:
            raise Refusal(431, f"the request has {len(given)} headers; expected {MOST_HEADERS} at most")
        if len(given) > len(self._headers) and sum(name == b"authorization" for name, _ in given) > 1:
            raise Refusal(400, "the request has more than one Authorization header; send one")

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer, with the headers that all answers have."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message["headers"] = self._front._wardrobe.dressed(
                message["headers"], self._visit.request_id.encode(), self._headers.get(b"origin")
            )
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
            if self._method == "HEAD":
                message["body"] = b""
        await self._send(message)

    async def _refuse(self, answer: Answer) -> None:
        headers = named(answer.headers)
        visit = self._visit
        endless = b"transfer-encoding" in self._headers or (visit.length or 0) > self._front._max_body
        if visit.waits or (endless and not await drained(self._receive)):
            headers.append((b"connection", b"close"))
        await self._reply(answer.status, [*headers, (b"content-type", b"application/json")], answer.encoded())

    async def _reply(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        if body:
            headers = [*headers, (b"content-length", b"%d" % len(body))]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body, "more_body": False})

    def _log(self) -> None:
        if not LOGGER.isEnabledFor(logging.INFO):
            return
        scope, principal = self._scope, self._visit.principal
        note(
            logging.INFO,
            "request",
            request_id=self._visit.request_id,
            method=self._method,
            path=scope.get("path_template") or scope["path"][:LONGEST_LOGGED_PATH],
            status=self._status,
            ms=round((time.perf_counter() - self._started) * 1000, 2),
            org=principal.org_id if principal else None,
            key_id=principal.key_id if principal else None,
        )


def _request_id(given: bytes | None) -> str:
    """The id that the client gave, if it is one, or a new one."""
    if given is not None and _ID.fullmatch(given):
        return given.decode("ascii")
    return f"{_START}-{next(_numbers)}"


def _check_coding(header: bytes) -> None:
    coding = header.decode("latin-1").strip()
    if coding.lower() not in ("", "identity"):
        raise Refusal(
            415,
            f"the body has the content-encoding {coding[:40]!r}; send it as it is, without one",
            {"accept-encoding": "identity"},
        )


def _length(header: bytes | None) -> int | None:
    """The announced length of the body; what is no number is left to the HTTP parser, which has seen it already."""
    return int(header) if header is not None and header.isdigit() else None
