"""A server whose database is away says so, and works again when it is back."""

from __future__ import annotations

import asyncio

import httpx

from reasonblocks.engine.engine import Engine
from reasonblocks.engine.settings import EngineSettings
from reasonblocks.secret import Secret
from reasonblocks.server.app import create_app
from reasonblocks.server.settings import ServerSettings
from support.cluster import Cluster
from support.parts import PATIENCE, WordEmbeddings
from support.proxy import Proxy

KEY = "away-admin-key"


async def test_database_that_is_away_is_a_503_with_retry_after(
    cluster: Cluster, database_name: str, postgres_url: str
) -> None:
    """Reads, ingests and /ready say so at once; nothing is acknowledged that was not stored."""
    proxy = Proxy(cluster.port)
    await proxy.open()
    url = cluster.url(database_name, host="127.0.0.1", port=proxy.port)
    engine = await Engine.open(EngineSettings(database_url=url, embeddings=WordEmbeddings(), static_keys=(KEY,)))
    app = create_app(ServerSettings(keys=(Secret(KEY),)), engine)
    try:
        async with (
            app.lifespan(),
            httpx.AsyncClient(
                transport=httpx.ASGITransport(app),
                base_url="http://rb-api.test",
                headers={"authorization": f"Bearer {KEY}"},
            ) as client,
        ):
            events = {"events": [{"type": "run_start", "run_id": "r"}]}
            assert (await client.get("/v1/ready")).status_code == 200
            await proxy.cut()
            for answer in (
                await client.get("/v1/monitor/runs"),
                await client.post("/v1/monitor/events", json=events),
                await client.post("/v1/monitor/runs", json={"run_id": "r"}),
            ):
                assert answer.status_code == 503
                assert int(answer.headers["retry-after"]) >= 1
                assert answer.json() == {"detail": "the database cannot be used at the moment"}
            ready = await client.get("/v1/ready")
            assert (ready.status_code, ready.json()["database"]) == (503, "unavailable")
            assert (await client.post("/v1/monitors/evaluate", json={"steps": []})).status_code == 200

            await proxy.open()
            async with asyncio.timeout(PATIENCE):
                while (await client.get("/v1/ready")).status_code != 200:  # noqa: ASYNC110  nothing tells of it
                    await asyncio.sleep(0.1)
            assert (await client.get("/v1/monitor/runs")).json() == []
            assert (await client.post("/v1/monitor/events", json=events)).json()["accepted"] == 1
    finally:
        await engine.aclose()
        await proxy.cut()


async def test_engine_closes_while_its_database_is_away(
    cluster: Cluster, database_name: str, postgres_url: str, no_threads_left: None
) -> None:
    """A server that is told to stop during an outage ends in order."""
    proxy = Proxy(cluster.port)
    await proxy.open()
    url = cluster.url(database_name, host="127.0.0.1", port=proxy.port)
    engine = await Engine.open(EngineSettings(database_url=url, embeddings=WordEmbeddings()))
    await proxy.cut()
    async with asyncio.timeout(PATIENCE):
        await engine.aclose()
