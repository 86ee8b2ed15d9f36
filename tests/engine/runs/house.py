"""The runs of an engine put together from their real parts, and a shorter way to say things to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from engine.store.opened import Store, opened
from reasonblocks.engine.answers import EventsReceipt, Run, RunWithSteps, StepScores
from reasonblocks.engine.monitors.evaluation import Evaluator
from reasonblocks.engine.monitors.registry import BUILT_IN
from reasonblocks.engine.monitors.suite import MonitorSuite
from reasonblocks.engine.monitors.trajectories import Trajectories
from reasonblocks.engine.principal import LOCAL, Principal
from reasonblocks.engine.requests import RunFinish, RunStart, Step
from reasonblocks.engine.runs.live import Live
from reasonblocks.engine.runs.scoring import weighing
from reasonblocks.engine.runs.service import Runs
from support.cluster import Place

ACME, RIVAL, ADMIN = Principal("1", "acme"), Principal("2", "rival"), Principal("3")
SUITE = MonitorSuite(BUILT_IN)  # which reads a file, and that is not for an event loop
WEB, OPS = Principal("4", "acme", "web"), Principal("5", "acme", "ops")


@dataclass
class House:
    """Runs, and everything around them."""

    store: Store
    runs: Runs
    live: Live
    evaluator: Evaluator

    async def start(self, run_id: str = "r", principal: Principal = LOCAL, **fields: Any) -> Run:
        """A run begins."""
        return await self.runs.start(principal, msgspec.convert({"run_id": run_id, **fields}, RunStart))

    async def step(
        self,
        index: int,
        run_id: str = "r",
        principal: Principal = LOCAL,
        org_id: str | None = None,
        **fields: Any,
    ) -> StepScores:
        """A step by itself."""
        step = msgspec.convert({"step_index": index, **fields}, Step)
        return await self.runs.step(principal, run_id, step, org_id)

    async def finish(
        self, outcome: str, run_id: str = "r", principal: Principal = LOCAL, org_id: str | None = None
    ) -> Run:
        """A run ends."""
        return await self.runs.finish(principal, run_id, RunFinish(outcome=outcome), org_id)

    async def events(self, *events: dict[str, Any], principal: Principal = LOCAL) -> EventsReceipt:
        """Many events at once."""
        return await self.runs.events(principal, [msgspec.json.encode(event) for event in events])

    async def show(self, run_id: str = "r", principal: Principal = LOCAL, org_id: str | None = None) -> RunWithSteps:
        """A run with its steps."""
        return await self.runs.show(principal, run_id, org_id)


def start(run_id: str = "r", **fields: Any) -> dict[str, Any]:
    """A `run_start` among other events."""
    return {"type": "run_start", "run_id": run_id, **fields}


def step(index: int, run_id: str = "r", **fields: Any) -> dict[str, Any]:
    """A `step` among other events."""
    return {"type": "step", "run_id": run_id, "step_index": index, **fields}


def finish(outcome: str, run_id: str = "r") -> dict[str, Any]:
    """A `run_finish` among other events."""
    return {"type": "run_finish", "run_id": run_id, "outcome": outcome}


@asynccontextmanager
async def house_at(place: Place, *, scoring: bool = False) -> AsyncIterator[House]:
    """A house on a database; with `scoring` the background works as well."""
    async with opened(place) as store:
        trajectories = Trajectories(SUITE)
        evaluator = Evaluator(trajectories)
        live = Live()
        runs = Runs(store.database, store.transactions, trajectories, weighing(evaluator), live)
        if scoring:
            runs.open()
        try:
            yield House(store, runs, live, evaluator)
        finally:
            await runs.aclose()
