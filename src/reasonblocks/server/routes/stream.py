"""The steps of a caller's organisation as they come in."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
from litestar import get
from litestar.openapi.datastructures import ResponseSpec
from litestar.response import Stream

from ...engine.runs.live import Subscription
from ..auth import presented
from ..request import ApiRequest
from .described import OrgInQuery, ProjectInQuery, refusals

SSE = "text/event-stream"
HEARTBEAT = b": still here\n\n"


@get(
    "/monitor/stream",
    operation_id="stream",
    summary="Steps as they come in",
    tags=["runs"],
    media_type=SSE,
    responses=refusals(422)
    | {200: ResponseSpec(str, generate_examples=False, media_type=SSE, description="`ready`, then `step` events.")},
)
async def stream(request: ApiRequest, org_id: OrgInQuery = "", project_id: ProjectInQuery = "") -> Stream:
    """Server-sent events: `ready`, then `step` with run_id, step_index, org_id, project_id, total_score and fired."""
    engine, principal = request.engine, request.principal
    key = presented(request.headers.get("authorization", "").encode("latin-1")) or ""

    async def still_valid() -> bool:
        return await engine.keys.authenticate(key) is not None

    return Stream(
        events(
            lambda: engine.live.subscribe(principal, org_id or None, project_id or None),
            still_valid,
            request.settings.heartbeat_seconds,
        ),
        media_type=SSE,
        headers={"x-accel-buffering": "no"},  # a proxy that collects events before it passes them on defeats them
    )


async def events(
    subscribe: Callable[[], Subscription], still_valid: Callable[[], Awaitable[bool]], heartbeat: float
) -> AsyncIterator[bytes]:
    """The stream's lines, until the client leaves, its key is revoked or the engine stops.

    The subscription begins with the first line: a client that is gone by then leaves nothing behind.
    """
    subscription = subscribe()
    arriving: asyncio.Task[Any] | None = None
    checked = time.monotonic()
    try:
        yield encoded("ready", {})
        while True:
            arriving = arriving or asyncio.create_task(_next(subscription))
            done, _ = await asyncio.wait({arriving}, timeout=heartbeat)
            if time.monotonic() - checked >= heartbeat:
                if not await still_valid():
                    return
                checked = time.monotonic()
            if not done:
                yield HEARTBEAT
            elif (step := arriving.result()) is None:
                return
            else:
                arriving = None
                yield encoded("step", step)
    finally:
        if arriving is not None:
            arriving.cancel()
        subscription.close()


async def _next(subscription: Subscription) -> dict[str, Any] | None:
    """The next step, or `None` when there will be no more: a task cannot end in StopAsyncIteration."""
    return await anext(subscription, None)


def encoded(event: str, data: Any) -> bytes:
    """One event as the wire has it; JSON has no line breaks of its own."""
    return b"event: %b\ndata: %b\n\n" % (event.encode(), msgspec.json.encode(data))


HANDLERS = (stream,)
