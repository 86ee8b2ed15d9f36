"""Whether a server answers, knows the key, and works."""

from collections.abc import Iterator

from ..._version import __version__
from ...errors import Rejected
from ..sources.remote import RemoteSource
from .finding import Finding, ok, problem, warning

TOPIC = "server"
USED = ("events", "incremental", "interrupts", "near_misses", "patterns", "task")
"""The additions that our client uses where a server has them."""


def answering(source: RemoteSource) -> Iterator[Finding]:
    """Who answers, what it can do, whether its parts work, and who we are to it."""
    health = source.health()
    yield ok(TOPIC, f"{source.where} answers: version {health.version}")
    if health.version != __version__:
        yield warning(
            TOPIC,
            f"this is {__version__}, the server is {health.version}",
            "they understand one another; upgrade the older",
        )
    missing = [name for name in USED if name not in health.capabilities]
    if missing:
        yield warning(TOPIC, f"it cannot do {', '.join(missing)}: agents work without", "upgrade the server")
    else:
        yield ok(TOPIC, f"capabilities: {', '.join(health.capabilities)}")
    yield from _parts(source)
    yield from _key(source)


def _parts(source: RemoteSource) -> Iterator[Finding]:
    ready = source.ready()
    parts = {name: ready.get(name) for name in ("database", "index", "embedder") if name in ready}
    broken = [name for name, state in parts.items() if state != "ok"]
    if broken:
        yield problem(TOPIC, f"not available: {', '.join(broken)}", "its log says why")
    elif parts:
        yield ok(TOPIC, f"{', '.join(parts)}: ok")


def _key(source: RemoteSource) -> Iterator[Finding]:
    try:
        identity = source.identity()
    except Rejected as error:
        yield problem("key", str(error))
        return
    if identity.is_admin:
        yield ok("key", "valid: an admin's, for every organisation")
        yield warning("key", "agents with an admin key write for any organisation", "give agents one of `keys create`")
    else:
        project = f", project {identity.project_id}" if identity.project_id else ""
        yield ok("key", f"valid: {identity.key_id} of organisation {identity.org_id}{project}")
