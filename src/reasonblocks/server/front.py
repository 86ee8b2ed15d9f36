"""What every request passes before it is routed, and every answer on its way out: one layer, which costs little."""

import itertools
import logging
import re
import secrets
import time
from typing import TYPE_CHECKING, Any

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from .auth import Doorkeeper
from .bodies import drained
from .cors import Cors
from .limiter import neighbourhood
from .logs import note
from .paths import VERSION, routable
from .problems import Answer, explained
from .request import VISIT, Visit

if TYPE_CHECKING:
    from .settings import ServerSettings

_START = secrets.token_hex(5)
_numbers = itertools.count(1)
_ID = re.compile(rb"[A-Za-z0-9_\-.]{1,128}")
OPEN_PATHS = frozenset(VERSION + path for path in ("/health", "/ready", "/openapi.json", "/docs"))
"""What needs no key."""
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)
POLICY = b"content-security-policy"
CLOSED_POLICY = (POLICY, b"default-src 'none'; frame-ancestors 'none'")
"""For answers that are no pages; one that is brings its own."""
LONGEST_LOGGED_PATH = 200


class Front:
    """An ASGI layer: request id, path, CORS, key, rate, headers, log."""

    def __init__(self, app: ASGIApp, settings: "ServerSettings") -> None:
        self._app = app
        self._doorkeeper = Doorkeeper(settings)
        self._cors = Cors(settings.cors_origins)
        self._max_body = settings.max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take a request through to its answer."""
        if scope["type"] != ScopeType.HTTP:
            await self._app(scope, receive, send)
            return
        await Passage(self, scope, receive, send).go()


class Passage:
    """One request on its way."""

    __slots__ = ("_front", "_headers", "_method", "_receive", "_scope", "_send", "_started", "_status", "_visit")

    def __init__(self, front: Front, scope: Any, receive: Receive, send: Send) -> None:
        self._front = front
        self._scope = scope
        self._method = scope["method"]
        self._receive = receive
        self._send = send
        self._started = time.perf_counter()
        self._status = 0
        self._headers: dict[bytes, bytes] = dict(scope["headers"])
        self._visit = scope[VISIT] = Visit(_request_id(self._headers.get(b"x-request-id")))

    async def go(self) -> None:
        """Admit, route, answer and log."""
        try:
            try:
                admitted = await self._admitted()
            except Exception as error:
                await self._refuse(explained(error, self._visit.request_id))
            else:
                if admitted:
                    await self._front._app(self._scope, self._receive, self.send)
        finally:
            self._log()

    async def _admitted(self) -> bool:
        """Whether the request is to be routed; a preflight is answered here."""
        scope, headers, front = self._scope, self._headers, self._front
        scope["path"] = routable(scope.get("raw_path") or scope["path"].encode("utf-8", "surrogateescape"))
        self._visit.length = _length(headers.get(b"content-length"))
        self._visit.waits = b"expect" in headers
        client = scope.get("client")
        address = neighbourhood(client[0]) if client else ""
        preflight = front._cors.preflight(scope["method"], headers)
        if preflight is not None:
            front._doorkeeper.count_anonymous(address)
            await self._reply(204, preflight, b"")
            return False
        if scope["method"] == "OPTIONS":
            # Litestar's own answer names but one method of a path, its refusal of an unknown one names all.
            scope["method"] = "TRACE"
        if scope["path"] in OPEN_PATHS:
            front._doorkeeper.count_anonymous(address)
        else:
            keys = scope["litestar_app"].state.engine.keys
            self._visit.principal = await front._doorkeeper.admit(keys, headers.get(b"authorization"), address)
        return True

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer, with the headers that all answers have."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = [*message["headers"], *SECURITY_HEADERS, (b"x-request-id", self._visit.request_id.encode())]
            if not any(name == POLICY for name, _ in message["headers"]):
                headers.append(CLOSED_POLICY)
            headers += self._front._cors.headers(self._headers.get(b"origin"))
            message["headers"] = headers
        await self._send(message)

    async def _refuse(self, answer: Answer) -> None:
        headers = [(name.encode(), value.encode()) for name, value in answer.headers.items()]
        visit = self._visit
        endless = b"transfer-encoding" in self._headers or (visit.length or 0) > self._front._max_body
        if visit.waits or (endless and not await drained(self._receive)):
            headers.append((b"connection", b"close"))
        await self._reply(answer.status, [*headers, (b"content-type", b"application/json")], answer.encoded())

    async def _reply(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        if body:
            headers = [*headers, (b"content-length", b"%d" % len(body))]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    def _log(self) -> None:
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


def _length(header: bytes | None) -> int | None:
    """The announced length of the body; what is no number is left to the HTTP parser, which has seen it already."""
    return int(header) if header is not None and header.isdigit() else None
