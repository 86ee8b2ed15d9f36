"""Connections before there is a request: how large a head may be, how long it may take, how many there may be."""

import asyncio
import json
import sys

import pytest

from reasonblocks.server import connection, run
from reasonblocks.server.run import most_connections
from server.house import House
from server.wire import answered, listener

GET = b"GET /health HTTP/1.1\r\nhost: x\r\n"
END = b"\r\n"


@pytest.mark.parametrize(
    "filler",
    [b"a:\r\n" * 200_000, b"x-long: " + b"a" * 1_000_000, b"x: " + b"a" * 900 + b"\r\n"],
    ids=["many", "long", "endless"],
)
async def test_a_head_over_the_limit_is_refused(house: House, filler: bytes) -> None:
    """With 431 and the reason, before all of it was sent; others are served meanwhile."""
    async with listener(house) as port:
        parts = [GET, *([filler] * (1_000 if len(filler) < 1_000 else 1))]
        status, body = await answered(port, *parts)
        assert (status, "65536 bytes" in json.loads(body)["detail"]) == (431, True)
        assert (await answered(port, GET, b"connection: close\r\n", END))[0] == 200


async def test_a_head_within_the_limit_is_taken_and_a_body_is_no_head(house: House) -> None:
    """60 KB of headers are fine, a large body as well, and a second request after it."""
    large = b"x-large: " + b"a" * 60_000 + b"\r\n"
    body = b" " * 900_000 + b'{"steps": []}'
    post = (
        b"POST /v1/monitors/evaluate HTTP/1.1\r\nhost: x\r\nauthorization: Bearer static-admin-key\r\n"
        b"content-length: %d\r\n\r\n" % len(body)
    )
    async with listener(house) as port:
        assert (await answered(port, GET + large + b"connection: close\r\n" + END))[0] == 200
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(post + body + GET + large + b"connection: close\r\n" + END)
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        assert answer.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize(
    ("sent", "status"), [(b"", 0), (b"\r\n", 0), (b"GET /hea", 408), (GET + b"x: y", 408)], ids=str
)
async def test_a_head_that_does_not_come_is_not_waited_for(
    house: House, monkeypatch: pytest.MonkeyPatch, sent: bytes, status: int
) -> None:
    """Neither for the rest of one nor for the first word."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.1)
    async with listener(house) as port:
        assert (await answered(port, sent))[0] == status


async def test_a_connection_that_was_used_may_be_idle(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """But the next head has to come as quickly as the first, once it begins."""
    monkeypatch.setattr(connection, "HEAD_SECONDS", 0.1)
    async with listener(house) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):
            writer.write(GET + END)
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            assert head.startswith(b"HTTP/1.1 200 ")
            await reader.readexactly(length)
            await asyncio.sleep(0.3)
        writer.write(GET)
        assert (await asyncio.wait_for(reader.read(), 10)).startswith(b"HTTP/1.1 408 ")
        writer.close()


async def test_what_is_no_http_is_refused_as_all_else(house: House) -> None:
    """In JSON, with a detail."""
    async with listener(house) as port:
        status, body = await answered(port, b"nonsense\r\n\r\n")
        assert (status, isinstance(json.loads(body)["detail"], str)) == (400, True)


async def test_there_are_only_so_many_connections(house: House) -> None:
    """One more is told so at once, and let in when another has gone."""
    async with listener(house, max_connections=2) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        status, body = await answered(port, GET + END)
        assert (status, "too many connections" in json.loads(body)["detail"]) == (503, True)
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        await asyncio.sleep(0.1)
        assert (await answered(port, GET, b"connection: close\r\n", END))[0] == 200


async def test_a_probe_for_the_head_gets_no_body_over_the_wire(house: House) -> None:
    """Which would be taken for the next answer."""
    async with listener(house) as port:
        request = b"HEAD /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
        assert await answered(port, request) == (200, b"")


def test_connections_leave_room_for_the_files_of_the_engine() -> None:
    """Whatever is wanted, the system's limit is not reached by connections alone."""
    assert most_connections(1) == 1
    assert 1 <= most_connections(10**9) <= 10**9


def test_without_the_fast_parser_there_is_the_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has limits of its own."""
    assert run._protocol() is connection.GuardedProtocol
    monkeypatch.setitem(sys.modules, "reasonblocks.server.connection", None)
    monkeypatch.delattr("reasonblocks.server.connection")
    assert run._protocol() == "h11"
