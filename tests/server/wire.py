"""A server of ours on this loop, and bytes over a real connection to it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from litestar import Litestar

from reasonblocks.server.run import Server, listening
from reasonblocks.server.settings import ServerSettings
from server.house import SETTINGS, House


@contextlib.asynccontextmanager
async def listener(house: House, app: Litestar | None = None, **settings: Any) -> AsyncIterator[int]:
    """The port of a server of ours on this loop."""
    server = Server(app or house.app, house.engine, ServerSettings(**(SETTINGS | settings)))
    server.config.lifespan = "off"  # the house has opened it
    with pytest.MonkeyPatch.context() as patch, listening("127.0.0.1", 0) as socket:
        patch.setattr(house.engine.live, "close", lambda: None)
        running = asyncio.create_task(server.serve(sockets=[socket]))
        try:
            yield socket.getsockname()[1]
        finally:
            server.should_exit = True
            await running


async def said(port: int, *parts: bytes) -> bytes:
    """All that is answered to what is sent, until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        with contextlib.suppress(ConnectionError):
            for part in parts:
                writer.write(part)
                await writer.drain()
        return await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()


async def answered(port: int, *parts: bytes) -> tuple[int, bytes]:
    """Status and body of the answer to what is sent, once the server has closed; 0 for none."""
    answer = await said(port, *parts)
    if not answer:
        return 0, b""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), body
