"""A Qdrant cluster for tests: that outlives the engines on it, and fails to order.

It is Qdrant's own local mode in this process; where REASONBLOCKS_TEST_QDRANT_URL names a real cluster, it is that one.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
from qdrant_client import AsyncQdrantClient, models

from reasonblocks.engine.index.cluster.client import Cluster
from reasonblocks.engine.index.cluster.index import ClusterIndex
from reasonblocks.engine.index.cluster.record import Record
from reasonblocks.engine.index.cluster.settings import MEMORY, QdrantOptions
from reasonblocks.engine.index.leadership import Leadership, always
from support.contents import Contents, direction
from support.parts import PATIENCE

URL = os.environ.get("REASONBLOCKS_TEST_QDRANT_URL", "").strip() or MEMORY
"""Read here: no test sees the variable itself."""
Call = Callable[[], Awaitable[Any]]
Fault = Callable[[str, Call], Awaitable[Any]]
"""Stands between our code and the client: is told the method, and makes the call or does not."""


class OutOfOrder(Exception):
    """What a cluster says that does not work."""


class Rig:
    """A cluster, and what is wrong with it."""

    def __init__(self) -> None:
        self.prefix = f"test-{secrets.token_hex(4)}"
        self.fault: Fault | None = None
        self.calls: list[str] = []
        """The methods that were called and let through."""
        self._lock = threading.Lock()
        self._shared = AsyncQdrantClient(MEMORY) if URL == MEMORY else None

    def client(self) -> AsyncQdrantClient:
        """The cluster itself, without faults."""
        return self._shared or AsyncQdrantClient(url=URL, check_compatibility=False)

    def make(self, *, leadership: Leadership = always, previous: str | None = None, **options: Any) -> Any:
        """What makes an index on this cluster, as `opened` takes it; with patience, where a test is not about time."""
        settings = QdrantOptions(prefix=self.prefix, **{"timeout": PATIENCE, **options})

        def make(database: Any, follower: Any, embedding: Any, sources: Any) -> ClusterIndex:
            cluster = Cluster(URL, settings, lambda: Through(self, self.client()))  # type: ignore[arg-type,return-value]
            return ClusterIndex(
                database,
                follower,
                embedding,
                sources,
                cluster,
                prefix=self.prefix,
                leadership=leadership,
                previous_embeddings=previous,
            )

        return make

    async def names(self) -> set[str]:
        """Our collections."""
        found = await self.quietly(lambda client: client.get_collections())
        return {one.name for one in found.collections if one.name.startswith(self.prefix)}

    async def wipe(self) -> None:
        """Somebody removes everything."""
        for name in await self.names():
            await self.quietly(lambda client, name=name: client.delete_collection(name))

    async def contents(self, name: str) -> Contents:
        """What a collection holds."""

        async def scroll(client: AsyncQdrantClient) -> Any:
            return await client.scroll(name, limit=10_000, with_payload=True, with_vectors=True)

        records, _ = await self.quietly(scroll)
        held = {
            record.payload["item"]: (
                record.payload["scope"],
                record.payload.get("failure_type"),
                direction(np.asarray(record.vector, np.float32)),
            )
            for record in records
        }
        assert len(held) == len(records)
        return held

    async def quietly(self, ask: Callable[[AsyncQdrantClient], Awaitable[Any]]) -> Any:
        """Ask without faults; on a thread, since the local mode blocks."""

        async def alone() -> Any:
            client = self.client()
            try:
                return await self.in_turn(lambda: ask(client))
            finally:
                if self._shared is None:
                    await client.close()

        return await asyncio.to_thread(lambda: asyncio.run(alone()))

    async def in_turn(self, call: Call) -> Any:
        """The local mode is for one thread at a time."""
        while not self._lock.acquire(blocking=False):  # noqa: ASYNC110  the others are on other threads
            await asyncio.sleep(0.001)
        try:
            return await call()
        finally:
            self._lock.release()


class Through:
    """A client with a fault between."""

    def __init__(self, rig: Rig, client: AsyncQdrantClient) -> None:
        self._rig = rig
        self._client = client

    def __getattr__(self, method: str) -> Callable[..., Awaitable[Any]]:
        async def called(*arguments: Any, **named: Any) -> Any:
            async def call() -> Any:
                self._rig.calls.append(method)
                return await self._rig.in_turn(lambda: getattr(self._client, method)(*arguments, **named))

            fault = self._rig.fault
            return await (fault(method, call) if fault is not None else call())

        return called

    async def upsert(self, name: str, points: list[models.PointStruct], **named: Any) -> Any:
        """As the client's; half of the points may get through."""
        call = self.__getattr__("upsert")
        if self._rig.fault is half_done:
            await self._rig.in_turn(lambda: self._client.upsert(name, points[: len(points) // 2 + 1], **named))
            raise OutOfOrder("the connection broke off in the middle")
        return await call(name, points, **named)

    async def close(self) -> None:
        """The cluster stays."""
        if self._rig._shared is None:
            await self._client.close()


async def away(method: str, _call: Call) -> Any:
    """Nothing gets through."""
    raise OutOfOrder(f"connection refused ({method})")


async def silent(_method: str, _call: Call) -> Any:
    """Nothing is ever answered."""
    await asyncio.sleep(3600)


async def forgetful(method: str, call: Call) -> Any:
    """What is written arrives, and the answer to it is lost."""
    answer = await call()
    if method in ("upsert", "delete", "create_collection", "delete_collection"):
        raise OutOfOrder("the connection broke off before the answer")
    return answer


async def half_done(_method: str, call: Call) -> Any:
    """Of what is written a part arrives (see `Through.upsert`); all else works."""
    return await call()


def record_of(index: Any) -> Record:
    """What is known about the cluster."""
    return index._desk.record


@asynccontextmanager
async def rigged() -> AsyncIterator[Rig]:
    """A cluster, left empty."""
    rig = Rig()
    try:
        yield rig
    finally:
        rig.fault = None
        await rig.wipe()
