"""A server in this process around a real engine in memory, with keys for two organisations."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from litestar import Litestar

from reasonblocks.engine.engine import Engine
from reasonblocks.secret import Secret
from reasonblocks.server.app import create_app
from reasonblocks.server.settings import ServerSettings

ADMIN_KEY = "static-admin-key"
SETTINGS: dict[str, Any] = {"keys": (Secret(ADMIN_KEY),), "anonymous_rate": 1e6, "anonymous_burst": 1_000_000}


@dataclass
class House:
    """An engine, an application around it, and keys for it."""

    engine: Engine
    app: Litestar
    acme_key: str
    rival_key: str

    def client(self, key: str | None, app: Litestar | None = None) -> httpx.AsyncClient:
        """A client without a network in between; errors of the application are raised here."""
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(app or self.app, client=("192.0.2.1", 4711)),
            base_url="http://rb-api.test",
            headers={"authorization": f"Bearer {key}"} if key else {},
        )

    @asynccontextmanager
    async def another_app(self, *, short_lane: bool = True, **settings: Any) -> AsyncIterator[Litestar]:
        """The same engine behind other settings."""
        app = create_app(ServerSettings(**(SETTINGS | settings)), self.engine, short_lane=short_lane)
        async with app.lifespan():
            yield app


@asynccontextmanager
async def opened() -> AsyncIterator[House]:
    """A house of its own."""
    settings = ServerSettings(**SETTINGS)
    engine = await Engine.open(settings.engine())
    try:
        _, acme_key = await engine.keys.create("acme")
        _, rival_key = await engine.keys.create("rival")
        app = create_app(settings, engine)
        async with app.lifespan():
            yield House(engine, app, acme_key, rival_key)
    finally:
        await engine.aclose()
