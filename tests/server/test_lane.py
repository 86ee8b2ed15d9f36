"""The short lane: what it answers is what the routes answer, and what is unusual it leaves to them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx
import msgspec
import pytest
from litestar import Litestar

from reasonblocks.engine import keys
from reasonblocks.engine.errors import Busy, StoreError
from reasonblocks.server.lane import LANE
from server.house import House
from server.wire import listener, said

ORIGIN = "https://app.example.com"
EVALUATE, RETRIEVE, EVENTS = "/v1/monitors/evaluate", "/v1/traces/retrieve", "/v1/monitor/events"
STEP = {"thought": "I run the tests again.", "action": "run", "action_input": "pytest"}
_DATE = re.compile(rb"date: [^\r]+\r\n")
DEEP = b"[" * 5_000 + b"]" * 5_000


def encoded(body: object) -> bytes:
    """A body as it is sent."""
    return body if isinstance(body, bytes) else msgspec.json.encode(body)


GOOD: dict[str, tuple[Any, ...]] = {
    EVALUATE: (
        {"steps": [STEP] * 4, "model": "gpt-x"},
        {"steps": [STEP], "run_id": "lane", "offset": 0},
        {"steps": [STEP, STEP, STEP], "weights": {"semantic_loop": 0.5}, "org_id": "rival"},
        {"steps": []},
    ),
    RETRIEVE: (
        {"context": "x", "tier": "e3", "top_k": 2},
        {"context": "I run the same test again and again.", "tier": "e2", "failure_type": "loop"},
        {"context": "x", "level": "e1"},
    ),
    EVENTS: (
        {"events": []},
        {"events": [{"type": "run_start", "run_id": "lane"}, {"type": "nonsense"}, {"type": "step", "run_id": "?"}]},
        b'{"events": [{"type": "run_start", "run_id": "lane", "metadata": {"a": %b}}]}' % DEEP,
        b'{"events": [{"type": "run_start", "run_id": "lane", "task": "\\ud800"}]}',
    ),
}
BAD: tuple[Any, ...] = (
    b"",
    b" ",
    b"null",
    b"[]",
    b"{",
    b'{"steps": [{"thought": "\xff"}], "events": "\xff"}',
    b'{"steps": [], "extra": ' + DEEP + b"}",
    b'{"steps": [{"thought": "\\ud800"}], "context": "\\ud800", "tier": "e3"}',
    {"steps": 1, "context": 1, "events": 1},
    {"steps": [STEP], "run_id": "lane-conflict", "offset": 7, "context": "x", "tier": "e9", "events": [{}] * 501},
    {"steps": [STEP], "offset": 7, "context": "x"},
    b" " * 3_001,
)


class Sent(NamedTuple):
    """A request."""

    path: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    method: str = "POST"
    chunked: bool = False


def corpus() -> Iterator[Sent]:
    """Good and bad ones, plain and unusual ones."""
    for path in sorted(LANE):
        for body in (*GOOD[path], *BAD):
            yield Sent(path, encoded(body))
        plain = encoded(GOOD[path][0])
        yield Sent(path.removeprefix("/v1"), plain)
        yield Sent(path.replace("/mon", "/%6don").replace("/tra", "/%74ra"), plain)
        yield Sent(path + "/", plain)
        yield Sent(path + "?org_id=rival", plain)
        yield Sent(path + "?org_id=" + "x" * 300, plain)
        yield Sent(path, plain, chunked=True)
        yield Sent(path, b" " * 3_001, chunked=True)
        for method in ("GET", "PUT", "HEAD", "OPTIONS", "DELETE"):
            yield Sent(path, plain, method=method)
        for header in (
            ("authorization", ""),
            ("authorization", "Bearer nope"),
            ("content-encoding", "gzip"),
            ("content-encoding", "identity"),
            ("content-type", "text/plain"),
            ("host", "not a host"),
            ("host", ""),
            ("origin", ORIGIN),
            ("origin", "https://evil.example.com"),
            ("x-request-id", "another one, which is none"),
        ):
            yield Sent(path, plain, (header,))


CORPUS = tuple(corpus())


@pytest.fixture(autouse=True)
def known_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lane is for keys that need not be looked up."""
    monkeypatch.setattr(keys, "TRUSTED_SECONDS", 600.0)


@asynccontextmanager
async def both(house: House) -> AsyncIterator[tuple[Litestar, Litestar]]:
    """The same engine with the lane and without it."""
    settings: dict[str, Any] = {"cors_origins": (ORIGIN,), "max_body": 3_000}
    async with house.another_app(**settings) as short, house.another_app(short_lane=False, **settings) as long:
        yield short, long


@asynccontextmanager
async def callers(house: House) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """One of each."""
    async with (
        both(house) as (short, long),
        house.client(house.acme_key, short) as first,
        house.client(house.acme_key, long) as second,
    ):
        await first.get("/v1/monitor/me")
        yield first, second


async def pieces(body: bytes) -> AsyncIterator[bytes]:
    """A body of which nobody says how long it is."""
    yield body[:1_000]
    yield body[1_000:]


async def answer(client: httpx.AsyncClient, sent: Sent) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """All there is to an answer."""
    content = pieces(sent.body) if sent.chunked else sent.body
    headers = {"x-request-id": "one", **dict(sent.headers)}
    got = await client.request(sent.method, sent.path, content=content, headers=headers)
    told = [(name, value) for name, value in got.headers.raw if headers["x-request-id"] == "one" or name[:2] != b"x-"]
    return got.status_code, told, got.content


async def test_both_ways_give_the_same_answer(house: House) -> None:
    """Status, headers in their order and body, for what is good, bad or unusual."""
    statuses = set()
    async with callers(house) as (first, second):
        for sent in CORPUS:
            expected = await answer(second, sent)
            assert await answer(first, sent) == expected, sent
            statuses.add(expected[0])
    assert statuses >= {200, 400, 401, 405, 409, 413, 415, 422}


@pytest.mark.parametrize("error", [Busy("too much", retry_after=2.3), StoreError("full"), ZeroDivisionError("x")])
async def test_what_the_engine_cannot_is_explained_alike(
    house: House, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """With the same headers, whoever it is that explains."""

    async def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(house.engine.retriever, "retrieve", fail)
    sent = Sent(RETRIEVE, encoded({"context": "x", "tier": "e3"}))
    async with callers(house) as (first, second):
        expected = await answer(second, sent)
        assert await answer(first, sent) == expected
        assert expected[0] in (500, 503)


def over_the_wire(house: House, sent: Sent) -> bytes:
    """The bytes of a request, and of another one that ends the connection."""
    headers = {"host": "x", "authorization": f"Bearer {house.acme_key}", "x-request-id": "one"} | dict(sent.headers)
    if sent.chunked:
        headers["transfer-encoding"] = "chunked"
        body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(sent.body), sent.body)
    else:
        headers["content-length"] = str(len(sent.body))
        body = sent.body
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    last = "GET /health HTTP/1.1\r\nhost: x\r\nx-request-id: last\r\nconnection: close\r\n\r\n"
    return f"{sent.method} {sent.path} HTTP/1.1\r\n{lines}\r\n".encode() + body + last.encode()


async def test_both_ways_send_the_same_bytes(house: House) -> None:
    """Also where the lane hands its answer to the connection as a whole, and to requests that wait behind it."""
    async with both(house) as (short, long), listener(house, short) as first, listener(house, long) as second:
        for sent in CORPUS:
            if sent.body and dict(sent.headers).get("x-request-id") is None:
                request = over_the_wire(house, sent)
                expected, got = [_DATE.sub(b"", await said(port, request)) for port in (second, first)]
                assert got == expected, sent
                assert got.count(b"HTTP/1.1 ") == 2, sent


async def test_what_is_plain_does_not_reach_the_router(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the lane would be in vain; what is unusual is routed."""
    routed: list[str] = []

    async def app(scope: Any, *_: object) -> None:
        routed.append(scope["path"])
        await house.app.asgi_handler._app(scope, *_)

    async with house.another_app() as another, house.client(house.acme_key, another) as client:
        await client.get("/v1/monitor/me")
        monkeypatch.setattr(another.asgi_handler, "_app", app)
        for path in sorted(LANE):
            for version in ("/v1", ""):
                plain = encoded(GOOD[path][0])
                assert (await client.post(version + path.removeprefix("/v1"), content=plain)).status_code == 200
            assert routed == []
            await client.post(path + "?org_id=x", content=plain)
            assert routed == [path]
            routed.clear()


async def test_a_body_that_comes_bit_by_bit_is_waited_for(house: House) -> None:
    """The lane takes it as soon as it is there."""
    request = over_the_wire(house, Sent(EVALUATE, encoded(GOOD[EVALUATE][0])))
    at = request.index(b"\r\n\r\n") + 10
    async with listener(house) as port:
        answers = await said(port, request[:at], request[at : at + 20], request[at + 20 :])
        assert answers.count(b"HTTP/1.1 200 OK") == 2
