"""The routes of rb-api: each asks the engine one thing and hands on what it says."""

from litestar import Router

from ..paths import VERSION
from . import findings, health, library, lookups, monitors, profiles, runs, stream, traces

_ROOMS = (health, lookups, monitors, runs, stream, profiles, traces, library, findings)


def versioned() -> Router:
    """Every route under /v1, as the OpenAPI document has it; the front knows them without a version, too."""
    return Router(VERSION, route_handlers=[handler for room in _ROOMS for handler in room.HANDLERS])
