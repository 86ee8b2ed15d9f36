"""Qdrant's local mode behind the part of its REST interface that we use, on loopback: for the client by URL.

As a program it stays, and prints its address: for REASONBLOCKS_TEST_QDRANT_URL, where there is no cluster to be had.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from qdrant_client import AsyncQdrantClient, models

from reasonblocks.engine.index.cluster.thread import _run_for_ever

Work = Callable[[AsyncQdrantClient, str, Any], Awaitable[Any]]
Trouble = Callable[[web.Request], Awaitable[web.Response | None]]
"""What happens to a request instead; none: nothing."""


class Front:
    """A server that can be stopped and started again on its port; what it holds stays."""

    def __init__(self, api_key: str | None = None) -> None:
        self._client = AsyncQdrantClient(":memory:")
        self._api_key = api_key
        self._loop = asyncio.new_event_loop()
        self._runner: web.AppRunner | None = None
        self.port = 0
        self.trouble: Trouble | None = None
        self.seen: list[tuple[str, str, Any]] = []
        """Method, path and body of every request that was let in."""
        self._thread = threading.Thread(target=_run_for_ever, args=(self._loop,), name="qdrant front", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it is, also while it is stopped."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Answer from now on."""
        await self._there(self._start())

    async def stop(self) -> None:
        """Be gone, with all connections."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            await self._there(runner.cleanup())

    async def aclose(self) -> None:
        """Be gone for ever."""
        await self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)

    async def collections(self) -> list[str]:
        """The names of all collections."""
        return [one.name for one in (await self._there(self._client.get_collections())).collections]

    async def count(self, name: str) -> int:
        """How many points a collection has."""
        return (await self._there(self._client.count(name))).count

    async def _there(self, work: Any) -> Any:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def _start(self) -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _answer(self, request: web.Request) -> web.Response:
        if self.trouble is not None and (answer := await self.trouble(request)) is not None:
            return answer
        if self._api_key is not None and request.headers.get("api-key") != self._api_key:
            return web.Response(status=401, text="Invalid API key or JWT")
        body = json.loads(await request.read() or b"null")
        self.seen.append((request.method, request.path, body))
        path = "/collections//all" if request.path == "/collections" else request.path
        _, _, name, *rest = path.split("/")
        work = ROUTES.get((request.method, "/".join(rest)))
        if work is None:
            return web.Response(status=404, text=f"no route {request.method} {request.path}")
        try:
            result = await work(self._client, name, body)
        except ValueError as error:
            return web.json_response({"status": {"error": str(error)}, "time": 0.0}, status=404)
        return web.json_response({"result": _plain(result), "status": "ok", "time": 0.0})


def _plain(result: Any) -> Any:
    if isinstance(result, list):
        return [_plain(one) for one in result]
    return result.model_dump(mode="json") if hasattr(result, "model_dump") else result


async def _exists(client: AsyncQdrantClient, name: str, _body: Any) -> Any:
    return {"exists": await client.collection_exists(name)}


async def _info(client: AsyncQdrantClient, name: str, _body: Any) -> Any:
    return await client.get_collection(name)


async def _create(client: AsyncQdrantClient, name: str, body: Any) -> Any:
    return await client.create_collection(name, models.CreateCollection(**body).vectors)


async def _drop(client: AsyncQdrantClient, name: str, _body: Any) -> Any:
    return await client.delete_collection(name)


async def _index(_client: AsyncQdrantClient, _name: str, body: Any) -> Any:
    models.CreateFieldIndex(**body)
    return {"operation_id": 0, "status": "completed"}


async def _upsert(client: AsyncQdrantClient, name: str, body: Any) -> Any:
    return await client.upsert(name, models.PointsList(**body).points)


async def _delete(client: AsyncQdrantClient, name: str, body: Any) -> Any:
    return await client.delete(name, models.PointIdsList(**body).points)


async def _retrieve(client: AsyncQdrantClient, name: str, body: Any) -> Any:
    asked = models.PointRequest(**body)
    return await client.retrieve(name, asked.ids, with_payload=asked.with_payload)


async def _scroll(client: AsyncQdrantClient, name: str, body: Any) -> Any:
    asked = models.ScrollRequest(**body)
    points, following = await client.scroll(
        name,
        scroll_filter=asked.filter,
        limit=asked.limit,
        offset=asked.offset,
        with_payload=asked.with_payload,
        with_vectors=asked.with_vector or False,
    )
    return {"points": _plain(points), "next_page_offset": following}


async def _count(client: AsyncQdrantClient, name: str, _body: Any) -> Any:
    return await client.count(name)


async def _query(client: AsyncQdrantClient, name: str, body: Any) -> Any:
    searches = [one.model_copy(update={"params": None}) for one in models.QueryRequestBatch(**body).searches]
    return await client.query_batch_points(name, searches)


async def _all(client: AsyncQdrantClient, _name: str, _body: Any) -> Any:
    return await client.get_collections()


async def _set(client: AsyncQdrantClient, name: str, body: Any) -> Any:
    asked = models.SetPayload(**body)
    return await client.set_payload(name, asked.payload, asked.points)


ROUTES: dict[tuple[str, str], Work] = {
    ("GET", "all"): _all,
    ("GET", "exists"): _exists,
    ("GET", ""): _info,
    ("PUT", ""): _create,
    ("DELETE", ""): _drop,
    ("PUT", "index"): _index,
    ("PUT", "points"): _upsert,
    ("POST", "points/delete"): _delete,
    ("POST", "points"): _retrieve,
    ("POST", "points/payload"): _set,
    ("POST", "points/scroll"): _scroll,
    ("POST", "points/count"): _count,
    ("POST", "points/query/batch"): _query,
}


@asynccontextmanager
async def front(api_key: str | None = None) -> AsyncIterator[Front]:
    """A server that answers."""
    made = Front(api_key)
    await made.start()
    try:
        yield made
    finally:
        await made.aclose()


async def _stay() -> None:
    async with front() as there:
        print(there.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_stay())
