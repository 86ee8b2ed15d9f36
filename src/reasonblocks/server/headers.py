"""The headers that every answer of ours has."""

from collections.abc import Iterable

from .cors import Cors

Headers = list[tuple[bytes, bytes]]
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
)
POLICY = b"content-security-policy"
CLOSED_POLICY = (POLICY, b"default-src 'none'; frame-ancestors 'none'")
"""For answers that are no pages; one that is brings its own."""
JSON = (b"content-type", b"application/json")
_LENGTH = b"content-length"
_ID = b"x-request-id"


class Wardrobe:
    """Dresses answers."""

    def __init__(self, cors: Cors) -> None:
        self._cors = cors
        json = self.dressed([JSON, (_LENGTH, b"%d")], b"%b", None)
        self._json = b"".join(b"%b: %b\r\n" % header for header in json)

    def dressed(self, headers: Iterable[tuple[bytes, bytes]], request_id: bytes, origin: bytes | None) -> Headers:
        """The headers of an answer to a request from a page of `origin`, with those that all have."""
        dressed = [*headers, *SECURITY_HEADERS, (_ID, request_id)]
        if not any(name == POLICY for name, _ in dressed):
            dressed.append(CLOSED_POLICY)
        return dressed + self._cors.headers(origin)

    def json(self, length: int, request_id: bytes) -> bytes:
        """The same for JSON of so many bytes that no page asked for, as the lines of an answer."""
        return self._json % (length, request_id)
