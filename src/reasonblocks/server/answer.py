"""A struct on its way out as JSON, without the detours that a response of any kind and media type has to make."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from litestar import Response
from litestar.connection import Request
from litestar.types import Receive, Scope, Send

Content = TypeVar("Content")
_encoder = msgspec.json.Encoder()
_JSON = (b"content-type", b"application/json")


class JsonAnswer(Response[Content]):
    """What a route hands back, or makes itself where status or headers are not those of the route."""

    def __init__(
        self, content: Content, *, status_code: int = 200, headers: Mapping[str, str] | None = None, **_: Any
    ) -> None:
        self.content = content
        self.status_code = status_code
        self.headers = dict(headers or {})

    def to_asgi_response(self, app: object, request: Request[Any, Any, Any], **_: Any) -> "Sending":  # type: ignore[override]
        """The answer as ASGI has it; what Litestar would merge into it, no route of ours sets."""
        named = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        return Sending(self.status_code or 200, named, _encoder.encode(self.content))


class Sending:
    """An answer that is ready to be sent."""

    __slots__ = ("_body", "_headers", "_status")

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self._status = status
        self._headers = [*headers, _JSON, (b"content-length", b"%d" % len(body))]
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self._status, "headers": self._headers})
        await send({"type": "http.response.body", "body": self._body, "more_body": False})
