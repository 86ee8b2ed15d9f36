"""Silent runs are closed, what is too old goes, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.runs.house import House, finish, start, step
from reasonblocks.engine.principal import LOCAL
from reasonblocks.engine.runs import upkeep as upkeep_module
from reasonblocks.engine.runs.upkeep import DAY_SECONDS, Upkeep
from reasonblocks.engine.store.values import now
from reasonblocks.runtime.contain import incidents
from support.cluster import Place


def upkeep_of(house: House, **settings: Any) -> Upkeep:
    return Upkeep(house.store.database, house.store.transactions, **{"stale_after": 60.0, **settings})


async def age(house: House, seconds: float, *run_ids: str) -> None:
    """Nothing was heard of these runs for so long."""
    for run_id in run_ids:
        await house.store.execute(
            "UPDATE runs SET last_seen_at = :seen WHERE run_id = :run", seen=now() - seconds, run=run_id
        )


async def outcomes(house: House) -> dict[str, str | None]:
    return {run.run_id: run.outcome for run in await house.runs.list(LOCAL)}


async def test_c06_silent_run_is_closed_as_abandoned(house: House) -> None:
    """Only one without a sign of life for the whole time, and only if it has no outcome."""
    await house.events(start("silent"), start("lively"), start("done"), finish("failure: X", "done"))
    await age(house, 61, "silent", "done")
    await age(house, 50, "lively")
    assert await upkeep_of(house).sweep() == 1
    assert await outcomes(house) == {"silent": "abandoned", "lively": None, "done": "failure: X"}
    silent = await house.show("silent")
    assert silent.status == "finished"
    assert silent.finished_at is not None
    assert await upkeep_of(house).sweep() == 0


async def test_c06_interrupted_run_is_not_silent(house: House) -> None:
    """A run that waits for a person may wait for ever; once it goes on, silence counts again."""
    for run_id in ("told", "marked", "resumed"):
        await house.start(run_id)
    await house.runs.interrupt(LOCAL, "told")
    await house.events(step(0, "marked", metadata={"reasonblocks": {"interrupted": True}}))
    await house.events({"type": "run_interrupt", "run_id": "resumed"}, step(0, "resumed"))
    await age(house, 1e6, "told", "marked", "resumed")
    assert await upkeep_of(house).sweep() == 1
    assert await outcomes(house) == {"told": None, "marked": None, "resumed": "abandoned"}


@pytest.mark.parametrize(
    "metadata",
    [
        {"interrupted": True},
        {"reasonblocks": {"interrupted": "yes"}},
        {"reasonblocks": ["interrupted"]},
        {"a": {"interrupted": True}},
    ],
)
async def test_only_our_own_mark_says_interrupted(house: House, metadata: dict[str, Any]) -> None:
    """What users put into metadata keeps no run open."""
    await house.events(start(), step(0, metadata=metadata))
    await age(house, 61, "r")
    assert await upkeep_of(house).sweep() == 1


async def test_any_number_of_silent_runs(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are closed a portion at a time."""
    monkeypatch.setattr(upkeep_module, "SILENT_AT_ONCE", 4)
    names = [f"run{number}" for number in range(10)]
    await house.events(*map(start, names))
    await age(house, 61, *names)
    assert await upkeep_of(house).sweep() == 10


async def test_what_is_too_old_goes_with_all_that_belongs_to_it(house: House) -> None:
    """Runs by their last sign of life, with steps and scores, and traces; the rest stays."""
    for run_id in ("old", "young"):
        await house.start(run_id)
        await house.step(0, run_id)
    await age(house, 3.1 * DAY_SECONDS, "old")
    await age(house, 2.9 * DAY_SECONDS, "young")
    for trace_id, days in (("old", 3.1), ("young", 2.9)):
        await house.store.execute(
            "INSERT INTO traces (org_id, trace_id, step_count, body, created_at) VALUES ('a', :id, 0, '{}', :made)",
            id=trace_id,
            made=now() - days * DAY_SECONDS,
        )
    assert await upkeep_of(house).prune() == 0
    assert await upkeep_of(house, keep_days=3).prune() == 2
    assert await outcomes(house) == {"young": None}
    for table in ("steps", "evaluations", "traces"):
        assert await house.store.query(f"SELECT count(*) FROM {table}") == [(1,)]
    assert await house.store.query("SELECT trace_id FROM traces") == [("young",)]


async def test_old_runs_go_in_small_batches(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """No transaction deletes more than a few steps, unless one run has them; writers come in between."""
    monkeypatch.setattr(upkeep_module, "STEPS_AT_ONCE", 10)
    monkeypatch.setattr(upkeep_module, "BETWEEN_SECONDS", 0.0)
    sizes = {"a": 6, "b": 6, "c": 25, "d": 0, "e": 0, "f": 3}
    for run_id, size in sizes.items():
        await house.events(start(run_id), *(step(index, run_id) for index in range(size)))
    await age(house, 2 * DAY_SECONDS, *sizes)
    batches: list[int] = []
    original = upkeep_module._delete_runs

    def counted(connection: Any, ids: list[int], before: float) -> int:
        batches.append(len(ids))
        return original(connection, ids, before)

    monkeypatch.setattr(upkeep_module, "_delete_runs", counted)
    assert await upkeep_of(house, keep_days=1).prune() == 6
    assert batches == [1, 1, 1, 3]
    assert await house.store.query("SELECT count(*) FROM steps") == [(0,)]


async def test_run_that_comes_back_while_old_ones_go_stays(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sign of life at the last moment counts."""
    await house.events(start("r"), step(0))
    await age(house, 2 * DAY_SECONDS, "r")
    upkeep = upkeep_of(house, keep_days=1)
    find = upkeep._old_runs

    async def then_alive(before: float) -> list[list[int]]:
        found = await find(before)
        await house.events(step(1))
        return found

    monkeypatch.setattr(upkeep, "_old_runs", then_alive)
    assert await upkeep.prune() == 0
    assert (await house.show()).step_count == 2


async def test_background_does_it_all_and_the_chores(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once at the start and again and again; a chore that fails keeps none of the others from being done."""
    done: list[str] = []
    rounds = asyncio.Event()

    async def fail() -> None:
        raise ZeroDivisionError

    async def work() -> None:
        done.append("work")
        if len(done) >= 3:
            rounds.set()

    monkeypatch.setattr(incidents, "counts", {})
    monkeypatch.setattr(upkeep_module, "MOST_EVERY_SECONDS", 0.01)
    await house.start()
    await age(house, 61, "r")
    upkeep = upkeep_of(house, chores=[fail, work])
    upkeep.start()
    async with asyncio.timeout(20):
        await rounds.wait()
    await upkeep.aclose()
    assert await outcomes(house) == {"r": "abandoned"}
    finished = len(done)
    await asyncio.sleep(0.03)
    assert len(done) == finished
    assert incidents.counts["upkeep: ZeroDivisionError"] == finished


async def test_chores_are_done_once_more_at_the_end(house: House, place: Place) -> None:
    """What is written now and then is written before the end."""
    done: list[str] = []

    async def work() -> None:
        done.append("work")

    upkeep = upkeep_of(house, chores=[work])
    upkeep.start()
    await asyncio.sleep(0)
    await upkeep.aclose()
    assert done[-1:] == ["work"]
