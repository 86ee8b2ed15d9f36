"""Short words for what is done with an index in a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from reasonblocks.engine.index.cluster.record import Record
from reasonblocks.engine.principal import LOCAL, Principal
from reasonblocks.engine.requests import PatternCreate, RetrieveRequest
from support.contents import by_the_tables
from support.parts import PATIENCE, Parts
from support.qdrant import Rig, record_of

ADMIN = Principal("admin")


def e2(text: str, **settings: Any) -> PatternCreate:
    """An e2 pattern about this situation."""
    return PatternCreate("e2", {"diagnosis": text, "intervention": "stop"}, **settings)


async def found(parts: Parts, text: str) -> list[str]:
    """The ids of what a lookup by a text brings."""
    answer = await parts.retriever.retrieve(LOCAL, RetrieveRequest(text, "e2", top_k=50))
    return [trace.pattern_id for trace in answer.traces]


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that happens by itself."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110  what is waited for sets no event
            await asyncio.sleep(0.01)


async def in_the_end(look: Callable[[], Awaitable[Any]], expected: Any) -> None:
    """Wait until something looks as it should."""
    async with asyncio.timeout(PATIENCE):
        while await look() != expected:  # noqa: ASYNC110  what is waited for sets no event
            await asyncio.sleep(0.02)


async def held(rig: Rig, parts: Parts) -> Any:
    """What the collection in use holds."""
    await until(lambda: record_of(parts.index).serving is not None)
    return await rig.contents(record_of(parts.index).serving.name)


async def assert_right(rig: Rig, parts: Parts) -> None:
    """The collection in use holds what the tables say, and everything is well, once no other is being filled."""
    await parts.settle()
    model = parts.embedding.embedder.name
    await until(lambda: _is_of(record_of(parts.index), model))
    await until(lambda: parts.index.state() == "ok")
    expected = await by_the_tables(parts.database, model)
    assert await held(rig, parts) == expected
    assert expected


def _is_of(record: Record, model: str) -> bool:
    """Whether a model's collection is searched, and no other is about to be: until then a switch goes on."""
    return record.building is None and record.serving is not None and record.serving.target.model == model
