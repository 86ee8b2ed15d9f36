"""A struct on its way out as JSON, without the detours that a response of any kind and media type has to make."""

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
from litestar import Response
from litestar.connection import Request
from litestar.types import Receive, Scope, Send

from .headers import JSON
from .problems import Answer

Content = TypeVar("Content")
encoded = msgspec.json.Encoder().encode


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
        return Sending(self.status_code or 200, named(self.headers), encoded(self.content))


class Sending:
    """An answer that is ready to be sent."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
        self.status = status
        self.headers = [*headers, JSON, (b"content-length", b"%d" % len(body))]
        self.body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


def refusing(answer: Answer) -> Sending:
    """An error that is ready to be sent."""
    return Sending(answer.status, named(answer.headers), answer.encoded())


def named(headers: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI has them."""
    return [(name.encode(), value.encode()) for name, value in headers.items()]
