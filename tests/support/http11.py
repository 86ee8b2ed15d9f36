"""Just enough HTTP/1.1 for a server that wants to misbehave on purpose."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus

HEAD_END = b"\r\n\r\n"


class MalformedRequestError(Exception):
    """The bytes on the connection are not an HTTP/1.1 request."""


@dataclass(frozen=True, slots=True)
class Message:
    """One complete request as it was sent."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def keep_alive(self) -> bool:
        """Whether the client wants to use the connection again."""
        return self.headers.get("connection", "").lower() != "close"


class RequestReader:
    """Turns the bytes of one connection into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: tuple[str, str, dict[str, str]] | None = None

    def feed(self, data: bytes) -> None:
        """Take what arrived."""
        self._buffer += data

    def next(self) -> Message | None:
        """Give the next complete message, or None while it is incomplete."""
        if self._head is None:
            end = self._buffer.find(HEAD_END)
            if end < 0:
                return None
            self._head = parse_head(bytes(self._buffer[:end]))
            del self._buffer[: end + len(HEAD_END)]
        method, target, headers = self._head
        body = self._take_body(headers)
        if body is None:
            return None
        self._head = None
        return Message(method, target, headers, body)

    def _take_body(self, headers: dict[str, str]) -> bytes | None:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            return self._take_chunks()
        length = int(headers.get("content-length", "0"))
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        return body

    def _take_chunks(self) -> bytes | None:
        parts: list[bytes] = []
        position = 0
        while True:
            line_end = self._buffer.find(b"\r\n", position)
            if line_end < 0:
                return None
            size = int(bytes(self._buffer[position:line_end]).split(b";")[0], 16)
            start = line_end + 2
            position = start + size + 2
            if len(self._buffer) < position:
                return None
            if size == 0:
                del self._buffer[:position]
                return b"".join(parts)
            parts.append(bytes(self._buffer[start : start + size]))


def parse_head(head: bytes) -> tuple[str, str, dict[str, str]]:
    """Split a request's head into method, target and lower-case headers."""
    lines = head.decode("latin-1").split("\r\n")
    parts = lines[0].split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        raise MalformedRequestError(lines[0])
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, separator, value = line.partition(":")
        if not separator:
            raise MalformedRequestError(line)
        headers[name.strip().lower()] = value.strip()
    return parts[0], parts[1], headers


def response(status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None) -> bytes:
    """Build a response; `length` announces another length than the body has."""
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    fields = {
        "content-type": "application/json",
        "content-length": str(len(body) if length is None else length),
    }
    fields |= headers or {}
    lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join(lines).encode("latin-1") + HEAD_END + body
