"""Paths: with and without a version, and ids inside them, which are decoded only once the route is found.

A run id may hold slashes, which clients send as `%2F`. Servers hand over a path in which that is a slash already,
so routes are found by the raw one.
"""

import re
from functools import lru_cache
from urllib.parse import quote, unquote_to_bytes

VERSION = "/v1"
_KEPT = "-._~:@!$&'()*+,;="
"""What may stand in a segment of a path as it is; all else is encoded."""
_RUN = re.compile(rf"(?P<before>{VERSION}/monitor/runs/)(?P<run_id>.+?)(?P<after>/steps|/finish)?")


@lru_cache(4_096)
def routable(raw_path: bytes) -> str:
    """The path that a route has, in one spelling: whatever the client encoded, and with or without a version."""
    path = raw_path.decode("latin-1")
    if "%" in path:
        path = "/".join(map(_respelled, path.split("/")))
    if not path.startswith(f"{VERSION}/"):
        path = VERSION + path
    run = _RUN.fullmatch(path)
    if run is not None and "/" in run["run_id"]:
        # Some clients and proxies leave or make slashes of those in a run id. Here it can only be meant as one.
        path = f"{run['before']}{run['run_id'].strip('/').replace('/', '%2F')}{run['after'] or ''}"
    return path


def _respelled(segment: str) -> str:
    return quote(unquote_to_bytes(segment), safe=_KEPT) if "%" in segment else segment


def decoded(segment: str) -> str:
    """The id that a segment holds; `UnicodeDecodeError` if it is no text."""
    return unquote_to_bytes(segment).decode() if "%" in segment else segment
