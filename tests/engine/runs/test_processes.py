"""Several processes on one data directory, and one that is killed: what was acknowledged is there, once."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from engine.runs.house import House, finish, house_at, start, step
from reasonblocks.engine.principal import LOCAL
from support.cluster import Place

REPORTER = """
import asyncio, sys
from pathlib import Path
from engine.runs.house import house_at, start, step
from support.cluster import Place

async def main():
    async with house_at(Path(sys.argv[1]), scoring=True) as house:
        await house.events(start(sys.argv[2]))
        for index in range(0, 10_000, 20):
            receipt = await house.events(*(step(index + place, sys.argv[2], tokens=1) for place in range(20)))
            assert receipt.accepted == 20, receipt
            print(index + 20, flush=True)

asyncio.run(main())
"""
TESTS = Path(__file__).parents[2]


async def test_two_writers_on_one_directory(place: Place) -> None:
    """Neither is refused, nothing is lost, and what both send is stored once."""
    async with house_at(place, scoring=True) as one, house_at(place, scoring=True) as other:
        await one.events(start("shared"))

        async def report(house: House, name: str) -> None:
            await house.events(start(name))
            for index in range(30):
                receipt = await house.events(step(index, name, tokens=1), step(index, "shared", tokens=1))
                assert receipt.accepted == 2

        await asyncio.gather(report(one, "one"), report(other, "other"))
        await one.events(finish("success", "other"))
        await one.runs.scorer.drained()
        await other.runs.scorer.drained()
        for house in (one, other):
            for run_id in ("one", "other", "shared"):
                run = await house.show(run_id)
                assert (run.step_count, run.total_tokens, len(run.steps)) == (30, 30, 30)
                assert all(shown.scores is not None for shown in run.steps)
        assert (await other.show("other")).outcome == "success"
        assert len(await one.runs.list(LOCAL)) == 3


async def test_database_in_memory(tmp_path: Path) -> None:
    """An engine that keeps nothing takes the same reports."""
    async with house_at(None, scoring=True) as house:
        receipts = await asyncio.gather(
            *(house.events(start(f"r{run}"), *(step(index, f"r{run}") for index in range(20))) for run in range(10))
        )
        await house.runs.scorer.drained()
        assert [receipt.accepted for receipt in receipts] == [21] * 10
        assert (await house.runs.summary(LOCAL)).scored_steps == 200
        shown = (await house.show("r3")).steps
        assert [(one.step_index, one.scores is not None) for one in shown] == [(index, True) for index in range(20)]


@pytest.mark.slow
def test_everything_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """A process that is killed while it stores leaves every step it acknowledged, none twice, and goes on."""
    chance = random.Random(7)
    for number in range(5):
        reporter = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(REPORTER), str(tmp_path), f"r{number}"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=TESTS,
        )
        assert reporter.stdout is not None
        first = reporter.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.3))
        reporter.send_signal(signal.SIGKILL)
        acknowledged = [int(line) for line in (first + reporter.stdout.read()).splitlines()]
        reporter.wait()
        reporter.stdout.close()
        asyncio.run(check(tmp_path, f"r{number}", acknowledged[-1]))


async def check(directory: Path, run_id: str, acknowledged: int) -> None:
    async with house_at(directory, scoring=True) as house:
        await house.runs.scorer.drained()
        run = await house.show(run_id)
        indices = [shown.step_index for shown in run.steps]
        assert indices == list(range(len(indices)))
        assert len(indices) >= acknowledged
        assert (run.step_count, run.total_tokens) == (len(indices), len(indices))
        assert all(shown.scores is not None for shown in run.steps)
        assert await house.store.query("PRAGMA integrity_check") == [("ok",)]
