"""Alive and ready. No key is needed for these."""

import logging
from typing import Any, Literal

import msgspec
from litestar import get
from litestar.openapi.datastructures import ResponseSpec

from ..._version import __version__
from ..answer import JsonAnswer
from ..logs import note
from ..request import ApiRequest
from .described import NO_KEY, open_refusals

CAPABILITIES = ["events", "incremental", "interrupts", "losses", "near_misses", "patterns", "task"]
State = Literal["ok", "unavailable"]


class Health(msgspec.Struct):
    """The answer of GET /health."""

    status: Literal["ok"]
    version: str
    capabilities: list[str]
    """What this server can do beyond the first version of the protocol."""


class Readiness(msgspec.Struct, omit_defaults=True):
    """The answer of GET /ready."""

    status: Literal["ready", "not ready"]
    database: State
    index: State
    embedder: State
    detail: str | msgspec.UnsetType = msgspec.UNSET


@get(
    "/health",
    operation_id="health",
    summary="Is it alive?",
    tags=["health"],
    security=NO_KEY,
    responses=open_refusals(),
)
async def health() -> Health:
    """Whether the process answers, and what it can do. Touches no database."""
    return Health("ok", __version__, CAPABILITIES)


@get(
    "/ready",
    operation_id="ready",
    summary="Is it ready to work?",
    tags=["health"],
    security=NO_KEY,
    responses=open_refusals()
    | {503: ResponseSpec(Readiness, generate_examples=False, description="A part is missing; says which.")},
)
async def ready(request: ApiRequest) -> JsonAnswer[Readiness]:
    """Whether database, index and embedder work. Why not is in the log, since anybody may ask."""
    parts: dict[str, Any] = request.engine.health()
    states: dict[str, State] = {
        name: "ok" if parts.get(name) == "ok" else "unavailable" for name in ("database", "index", "embedder")
    }
    missing = {name: parts.get(name) for name, state in states.items() if state != "ok"}
    if not missing:
        return JsonAnswer(Readiness("ready", **states))
    note(logging.WARNING, "not ready", request_id=request.visit.request_id, **missing)
    answer = Readiness("not ready", **states, detail=f"not available: {', '.join(missing)}")
    return JsonAnswer(answer, status_code=503)


HANDLERS = (health, ready)
