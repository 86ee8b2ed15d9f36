"""Closing an index in a cluster: between two steps of the leader, and soon."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from reasonblocks.engine.index.cluster import client as client_module
from reasonblocks.engine.index.cluster import index as index_module
from reasonblocks.engine.index.cluster.record import load
from reasonblocks.runtime.contain import incidents
from support.clustered import ADMIN, assert_right, e2, until
from support.parts import PATIENCE, Parts, opened
from support.qdrant import Rig, away, silent


class Held:
    """A cluster that takes its time over a write, and answers when it is told to."""

    def __init__(self) -> None:
        self.began, self.may_end = asyncio.Event(), asyncio.Event()
        self.pattern_id = ""
        self._loop = asyncio.get_running_loop()

    async def __call__(self, method: str, call: Callable[[], Awaitable[Any]]) -> Any:
        answer = await call()
        if method == "upsert":
            self._loop.call_soon_threadsafe(self.began.set)
            while not self.may_end.is_set():  # noqa: ASYNC110  it is set on another loop
                await asyncio.sleep(0.005)
        return answer


async def in_a_step(rig: Rig, parts: Parts) -> Held:
    """A pattern is written, and its change is on the way to the cluster."""
    held = Held()
    rig.fault = held
    held.pattern_id = (await parts.patterns.create(ADMIN, e2("written before the close"))).pattern_id
    async with asyncio.timeout(PATIENCE):
        await held.began.wait()
    return held


async def test_a_close_waits_for_the_step_and_for_no_other(
    tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a step has brought to the cluster is in the record as well, and the next step is left to somebody else."""
    monkeypatch.setattr(client_module, "WRITE_SECONDS", 20.0)
    monkeypatch.setattr(index_module, "CLOSE_SECONDS", 20.0)
    noted = dict(incidents.counts)
    async with opened(tmp_path, make_index=rig.make()) as parts:
        held = await in_a_step(rig, parts)
        closing = asyncio.create_task(parts.index.aclose())
        await asyncio.sleep(0.05)
        assert not closing.done()
        await parts.patterns.create(ADMIN, e2("written during the close"))
        held.may_end.set()
        await closing
        async with parts.database.reading() as connection:
            record, _ = await load(connection)
        assert record is not None
        assert record.serving is not None
        assert record.serving.change == f"pattern/{held.pattern_id}"
    assert incidents.counts == noted
    rig.fault = None
    async with opened(tmp_path, make_index=rig.make()) as parts:
        await assert_right(rig, parts)


async def test_a_close_cuts_off_a_step_that_takes_too_long(
    tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that never answers holds up no close for longer than it may, and loses nothing."""
    monkeypatch.setattr(client_module, "WRITE_SECONDS", 1_000.0)
    monkeypatch.setattr(index_module, "CLOSE_SECONDS", 0.1)
    async with opened(tmp_path, make_index=rig.make()) as parts:
        await in_a_step(rig, parts)
        began = time.monotonic()
        await parts.index.aclose()
        assert time.monotonic() - began < PATIENCE
    rig.fault = None
    async with opened(tmp_path, make_index=rig.make()) as parts:
        await assert_right(rig, parts)


@pytest.mark.parametrize("fault", [None, away, silent], ids=lambda fault: getattr(fault, "__name__", "none"))
async def test_a_close_waits_for_no_pause(
    tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch, fault: Any
) -> None:
    """Whether there is nothing to do, or what there was has failed."""
    monkeypatch.setattr(index_module, "CLOSE_SECONDS", 1_000.0)
    async with opened(tmp_path, make_index=rig.make()) as parts:
        monkeypatch.setattr(index_module, "FIRST_PAUSE", 1_000.0)
        monkeypatch.setattr(index_module, "LONGEST_PAUSE", 1_000.0)
        rig.fault = fault
        if fault is not None:
            await parts.patterns.create(ADMIN, e2("cannot be brought"))
            await until(lambda: "changes wait" in parts.index.state())
        async with asyncio.timeout(PATIENCE):
            await parts.index.aclose()
