"""A stream of steps takes what it needs and leaves nothing behind."""

from collections.abc import Callable

import anyio
import httpx
import pytest

from reasonblocks.engine.principal import Principal
from reasonblocks.engine.runs.live import Live, StepScored
from reasonblocks.server import streams
from reasonblocks.server.routes.stream import HEARTBEAT, events
from server.house import House


async def valid() -> bool:
    """A key that is never revoked."""
    return True


async def until(condition: Callable[[], bool]) -> None:
    """Wait for it, but not for ever."""
    for _ in range(1_000):
        if condition():
            return
        await anyio.sleep(0.01)
    raise AssertionError("it did not happen within ten seconds")


def step(index: int, org: str = "acme") -> StepScored:
    return StepScored(run_id="r", step_index=index, org_id=org, project_id="p", total_score=0.5, fired=[])


async def test_nothing_is_missed_after_ready_and_a_left_stream_is_forgotten() -> None:
    """The subscription begins before `ready` is sent and ends when the reader leaves."""
    live = Live()
    stream = events(lambda: live.subscribe(Principal("k", "acme")), valid, heartbeat=60)
    assert len(live) == 0
    assert await anext(stream) == b"event: ready\ndata: {}\n\n"
    live.publish([step(0), step(1, "rival"), step(2)])
    assert b'"step_index":0' in await anext(stream)
    assert b'"step_index":2' in await anext(stream)
    assert len(live) == 1
    await stream.aclose()
    assert len(live) == 0


async def test_a_silent_stream_shows_that_it_lives_and_loses_nothing_by_it() -> None:
    """Comments while nothing happens; what comes next is still seen."""
    live = Live()
    stream = events(lambda: live.subscribe(Principal("k", "acme")), valid, heartbeat=0.01)
    await anext(stream)
    assert [await anext(stream) for _ in range(3)] == [HEARTBEAT] * 3
    live.publish([step(7)])
    seen = [await anext(stream) for _ in range(1)]
    assert b'"step_index":7' in b"".join(seen)
    await stream.aclose()


async def test_a_stream_ends_with_the_engine() -> None:
    """After what was still waiting."""
    live = Live()
    stream = events(lambda: live.subscribe(Principal("k", "acme")), valid, heartbeat=60)
    await anext(stream)
    live.publish([step(1)])
    live.close()
    assert [b'"step_index":1' in line async for line in stream] == [True]


async def test_a_cancelled_reader_leaves_no_subscription() -> None:
    """As when a client goes away while nothing happens."""
    live = Live()

    async def read() -> None:
        async for _ in events(lambda: live.subscribe(Principal("k", "acme")), valid, heartbeat=60):
            pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.wait_all_tasks_blocked()
        assert len(live) == 1
        tasks.cancel_scope.cancel()
    assert len(live) == 0


async def test_a_revoked_key_ends_its_stream() -> None:
    """At the next sign of life, silent or not."""
    live = Live()
    answers = iter([True, False])

    async def revoked_later() -> bool:
        return next(answers)

    stream = events(lambda: live.subscribe(Principal("k", "acme")), revoked_later, heartbeat=0.01)
    first, *rest = [line async for line in stream]
    assert first == b"event: ready\ndata: {}\n\n"
    assert set(rest) == {HEARTBEAT}
    assert len(live) == 0


async def test_a_stream_ends_soon_after_its_key(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before its next sign of life, and with a proper end."""
    monkeypatch.setattr(streams, "CHECK_SECONDS", 0.01)
    key, plain = await house.engine.keys.create("acme")
    async with house.client(plain) as client, anyio.create_task_group() as tasks:
        answers: list[httpx.Response] = []

        async def watch() -> None:
            answers.append(await client.get("/v1/monitor/stream"))

        tasks.start_soon(watch)
        await until(lambda: len(house.engine.live) == 1)
        await anyio.sleep(0.05)
        assert not answers
        await house.engine.keys.revoke(key.key_id)
        await until(lambda: bool(answers))
    assert answers[0].text == "event: ready\ndata: {}\n\n"
    assert len(house.engine.live) == 0


async def test_a_key_holds_only_so_many_streams(house: House) -> None:
    """One more is refused; another key is not concerned, and a stream that was left makes room."""
    async with (
        house.another_app(max_streams=2) as app,
        house.client(house.acme_key, app) as acme,
        house.client(house.rival_key, app) as rival,
    ):

        async def watch(client: httpx.AsyncClient) -> None:
            await client.get("/v1/monitor/stream")

        for _ in range(2):
            async with anyio.create_task_group() as tasks:
                for client in (acme, acme, rival):
                    tasks.start_soon(watch, client)
                await until(lambda: len(house.engine.live) == 3)
                refused = await acme.get("/v1/monitor/stream")
                assert (refused.status_code, "2 streams" in refused.json()["detail"]) == (429, True)
                assert refused.headers["retry-after"]
                tasks.cancel_scope.cancel()
            assert len(house.engine.live) == 0
