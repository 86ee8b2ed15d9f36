"""Watchers see the steps that are theirs to see, and know what they missed."""

from __future__ import annotations

import asyncio

import pytest

from engine.runs.house import ACME, ADMIN, RIVAL, WEB
from reasonblocks.engine.principal import Principal
from reasonblocks.engine.runs.live import Live, StepScored


def scored(index: int, org: str = "acme", project: str = "web") -> StepScored:
    return StepScored(run_id="r", step_index=index, org_id=org, project_id=project, total_score=0.5, fired=["x"])


EVENTS = [scored(0), scored(1, project="ops"), scored(2, org="rival"), scored(3, org="rival", project="ops")]


@pytest.mark.parametrize(
    ("principal", "org", "project", "expected"),
    [
        (ACME, None, None, [0, 1]),
        (ACME, "rival", None, [0, 1]),
        (ACME, None, "ops", [1]),
        (WEB, None, "ops", [0]),
        (RIVAL, "acme", "web", [2]),
        (ADMIN, None, None, [0, 1, 2, 3]),
        (ADMIN, "rival", None, [2, 3]),
        (ADMIN, None, "ops", [1, 3]),
    ],
)
async def test_c25_watchers_see_what_is_theirs(
    principal: Principal, org: str | None, project: str | None, expected: list[int]
) -> None:
    """An org's own steps, whatever it asks for; an admin's choice otherwise."""
    live = Live()
    watcher = live.subscribe(principal, org, project)
    live.publish(EVENTS)
    watcher.close()
    assert [event["step_index"] async for event in watcher] == expected


async def test_watching_begins_with_the_subscription() -> None:
    """What was published before is not seen, what is published before the first look is."""
    live = Live()
    live.publish([scored(0)])
    watcher = live.subscribe(ACME)
    live.publish([scored(1)])
    assert await anext(watcher) == {
        "run_id": "r",
        "step_index": 1,
        "org_id": "acme",
        "project_id": "web",
        "total_score": 0.5,
        "fired": ["x"],
    }


async def test_slow_watcher_loses_the_oldest_and_is_told() -> None:
    """The queue is bounded; the next event says how many gave way, once, and others lose nothing."""
    live = Live(most_waiting=3)
    slow, quick = live.subscribe(ACME), live.subscribe(ACME)
    for index in range(5):
        live.publish([scored(index)])
        assert (await anext(quick))["step_index"] == index
    first, second = await anext(slow), await anext(slow)
    assert (first["step_index"], first["lost"], second["step_index"]) == (2, 2, 3)
    assert "lost" not in second
    assert (slow.lost, quick.lost) == (2, 0)


async def test_watcher_waits_for_the_next_event() -> None:
    """Whoever waits is woken, one at a time for each event."""
    live = Live()
    watcher = live.subscribe(ACME)
    waiting = asyncio.create_task(anext(watcher))
    await asyncio.sleep(0)
    assert not waiting.done()
    live.publish([scored(7)])
    assert (await waiting)["step_index"] == 7


async def test_whoever_stops_watching_leaves_nothing_behind() -> None:
    """A closed subscription takes nothing any more and ends."""
    live = Live()
    async with live.subscribe(ACME) as watcher:
        assert len(live) == 1
    live.publish([scored(0)])
    assert len(live) == 0
    assert [event async for event in watcher] == []


async def test_close_ends_every_subscription() -> None:
    """Nobody waits for an engine that has stopped; who comes later is told at once."""
    live = Live()
    watcher = live.subscribe(ADMIN)
    waiting = asyncio.create_task(anext(watcher, None))
    await asyncio.sleep(0)
    live.close()
    assert await waiting is None
    assert [event async for event in live.subscribe(ADMIN)] == []
    assert len(live) == 0
