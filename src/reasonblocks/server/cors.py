"""Which pages may call from a browser. Keys travel in a header, never in a cookie, so no credentials are involved."""

from collections.abc import Mapping, Sequence

from .settings import ANY_ORIGIN

Headers = list[tuple[bytes, bytes]]
_VARY = (b"vary", b"origin")
_PREFLIGHT: Headers = [
    (b"access-control-allow-methods", b"GET, POST, PATCH, DELETE"),
    (b"access-control-allow-headers", b"authorization, content-type, x-request-id"),
    (b"access-control-max-age", b"600"),
]
_EXPOSED = (b"access-control-expose-headers", b"x-request-id, retry-after")


class Cors:
    """An allowlist of origins; empty is none, and then no answer has any header of this kind."""

    def __init__(self, origins: Sequence[str]) -> None:
        self._any = ANY_ORIGIN in origins
        self._origins = frozenset(origin.lower().encode("ascii", "ignore") for origin in origins)

    def headers(self, origin: bytes | None) -> Headers:
        """What an answer to a page of this origin carries."""
        if not self._origins:
            return []
        allowed = self._allowed(origin)
        if not allowed:
            return [] if self._any else [_VARY]
        shown = [(b"access-control-allow-origin", allowed), _EXPOSED]
        return shown if self._any else [*shown, _VARY]

    def preflight(self, headers: Mapping[bytes, bytes]) -> Headers | None:
        """The further headers of the answer to OPTIONS of a browser that asks first; `None` for any other."""
        asks = b"access-control-request-method" in headers
        return list(_PREFLIGHT) if asks and self._allowed(headers.get(b"origin")) else None

    def _allowed(self, origin: bytes | None) -> bytes | None:
        if origin is None:
            return None
        if self._any:
            return b"*"
        return origin if origin.lower() in self._origins else None
