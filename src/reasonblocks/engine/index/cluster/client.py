"""The cluster through Qdrant's own client: everything has a deadline, and everything that goes wrong one type."""

import asyncio
import functools
import time
import warnings
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

import httpx
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.http.exceptions import ResponseHandlingException

from ....runtime.breaker import Breaker
from ....runtime.contain import describe
from ..shard import Hit, Vector
from ..sources import Item
from ..thread import IndexFailure
from . import collection
from .settings import MEMORY, QdrantOptions
from .thread import LoopThread

Result = TypeVar("Result")
Connect = Callable[[], AsyncQdrantClient]
WRITE_SECONDS = 20.0
"""How long a request waits that no agent waits for."""
AT_ONCE = 64
"""Points in one request: 64 of 1,536 numbers are about 1 MB of JSON."""
_CONNECTIONS = httpx.Limits(max_connections=32, max_keepalive_connections=8)


class Cluster:
    """A Qdrant cluster; for any event loop."""

    def __init__(self, url: str, options: QdrantOptions, connect: Connect | None = None) -> None:
        self.url = url
        self._is_local = url == MEMORY
        """It searches without indexes and short vectors, and warns of both."""
        self._options = options
        self._connect = connect or (lambda: _connected(url, options))
        self._client: AsyncQdrantClient | None = None
        self._thread = LoopThread()
        self.breaker = Breaker()
        """Of lookups; what is written in the background has a patience of its own."""
        self.complaint = ""
        """What the last lookup that failed said."""

    async def open(self) -> None:
        """Make the client; nothing is sent, so a cluster that is away is no error here."""
        self._client = await asyncio.to_thread(self._connect)

    async def aclose(self) -> None:
        """Let go of the connections."""
        client, self._client = self._client, None
        if client is not None:
            try:
                await self._thread.run(client.close, WRITE_SECONDS)
            except Exception as error:  # nothing is lost with it
                self.complaint = describe(error)
        await self._thread.aclose()

    # -- lookups -------------------------------------------------------------------------------------

    def refusal(self) -> str | None:
        """Why a lookup would not even be tried now."""
        if self.breaker.refusal(time.monotonic()) is None:
            return None
        return f"{self.complaint}; it is asked again in a moment"

    async def search_all(
        self,
        name: str,
        vectors: Sequence[Vector],
        scope: str,
        failure_type: str | None,
        limit: int,
        least_cosine: float | None,
    ) -> list[list[Hit]]:
        """For each vector the nearest items of a scope, nearest first."""
        if (refusal := self.refusal()) is not None:
            raise IndexFailure(refusal)
        rescored = self._options.quantization != "none" and not self._is_local
        requests = [
            collection.query(vector, scope, failure_type, limit, least_cosine, rescored=rescored) for vector in vectors
        ]
        self.breaker.begin()
        try:
            found = await self._ask(
                lambda client: client.query_batch_points(name, requests), "a lookup", self._options.timeout
            )
        except IndexFailure as failure:
            self.complaint = str(failure)
            self.breaker.failed(time.monotonic())
            raise
        except BaseException:
            self.breaker.abandoned()
            raise
        self.breaker.succeeded()
        return [collection.hits(response) for response in found]

    # -- collections ---------------------------------------------------------------------------------

    async def fits(self, name: str, dimension: int) -> bool | None:
        """Whether a collection can hold vectors of a dimension; `None` if there is no such collection."""

        async def look(client: AsyncQdrantClient) -> bool | None:
            if not await client.collection_exists(name):
                return None
            return collection.fits(await client.get_collection(name), dimension)

        return await self._ask(look, f"looking at {name!r}")

    async def create(self, name: str, dimension: int) -> None:
        """Make a collection with its payload indexes; what of it is there already is left."""

        async def make(client: AsyncQdrantClient) -> None:
            if not await client.collection_exists(name):
                await client.create_collection(name, **collection.layout(dimension, self._options))
            if not self._is_local:
                for key, schema in collection.INDEXED.items():
                    await client.create_payload_index(name, key, field_schema=schema)

        await self._ask(make, f"making {name!r}")

    async def drop(self, name: str) -> None:
        """Remove a collection; one that is not there is no error."""

        async def remove(client: AsyncQdrantClient) -> None:
            if await client.collection_exists(name):
                await client.delete_collection(name)

        await self._ask(remove, f"removing {name!r}")

    # -- points --------------------------------------------------------------------------------------

    async def upsert(self, name: str, kind: str, items: Sequence[tuple[Item, Vector]]) -> None:
        """Put items in with their vectors; done when the cluster has them."""
        for start in range(0, len(items), AT_ONCE):
            part = [collection.stored(kind, *item) for item in items[start : start + AT_ONCE]]
            await self._ask(functools.partial(_upsert, name=name, points=part), "writing")

    async def remove(self, name: str, kind: str, item_ids: Sequence[str]) -> None:
        """Take items out; those that are not there are no error."""
        if item_ids:
            gone = collection.ids(kind, item_ids)
            await self._ask(lambda client: client.delete(name, gone, wait=True), "deleting")

    async def fingerprints(self, name: str, kind: str, item_ids: Sequence[str]) -> dict[str, str]:
        """Those of the items that are there."""
        wanted = collection.ids(kind, item_ids)
        found = await self._ask(
            lambda client: client.retrieve(name, wanted, with_payload=[collection.ITEM, collection.PRINT]), "reading"
        )
        payloads = [record.payload or {} for record in found]
        return {payload[collection.ITEM]: payload.get(collection.PRINT, "") for payload in payloads if payload}

    async def page(self, name: str, kind: str, after: str | None, limit: int) -> tuple[list[str], str | None]:
        """Some items of a kind, in the order of their points, and where to go on; `None` at the end."""
        records, following = await self._ask(
            lambda client: client.scroll(
                name,
                scroll_filter=collection.of_kind(kind),
                limit=limit,
                offset=after,
                with_payload=[collection.ITEM],
            ),
            "reading",
        )
        items = [record.payload[collection.ITEM] for record in records if record.payload]
        return items, None if following is None else str(following)

    async def count(self, name: str) -> int:
        """How many points there are, exactly."""
        return (await self._ask(lambda client: client.count(name, exact=True), "counting")).count

    async def _ask(
        self,
        ask: Callable[[AsyncQdrantClient], Coroutine[Any, Any, Result]],
        what: str,
        seconds: float | None = None,
    ) -> Result:
        """Ask the client on its own loop; whatever goes wrong is an `IndexFailure` that says so in one line."""
        client, limit = self._client, seconds or WRITE_SECONDS
        if client is None:
            raise IndexFailure("the vector index is not open: its engine was closed, or was opened before a fork")
        try:
            return await self._thread.run(lambda: ask(client), limit)
        except TimeoutError:
            raise IndexFailure(f"Qdrant at {self.url} did not answer {what} within {limit:g} s") from None
        except IndexFailure:
            raise
        except Exception as error:
            cause = error.source if isinstance(error, ResponseHandlingException) else error
            raise IndexFailure(f"Qdrant at {self.url} failed at {what}: {describe(cause)}") from error


async def _upsert(client: AsyncQdrantClient, name: str, points: list[models.PointStruct]) -> None:
    await client.upsert(name, points, wait=True)


def _connected(url: str, options: QdrantOptions) -> AsyncQdrantClient:
    """A client for a URL. Not for an event loop: it reads certificates."""
    with warnings.catch_warnings():
        # That a key goes over plain http is for whoever set the URL: inside a private network that is usual.
        warnings.simplefilter("ignore", UserWarning)
        if url == MEMORY:
            return AsyncQdrantClient(MEMORY)
        return AsyncQdrantClient(
            url=url,
            api_key=options.api_key.reveal() if options.api_key else None,
            timeout=int(WRITE_SECONDS) + 1,
            limits=_CONNECTIONS,
            check_compatibility=False,  # it would ask the cluster right here, and a cluster that is away is no error
        )
