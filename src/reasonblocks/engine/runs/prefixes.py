"""The beginning of a run as the tables have it, for a process that has not seen it and is asked to go on with it."""

import asyncio
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, and_, select

from ...runtime.contain import contain
from ..monitors.features import ObservedStep
from ..monitors.trajectories import Beginning
from ..store.database import Database, asked_again
from ..store.schema import runs, steps

PAGE = 200
"""Steps that are read at once."""
WAIT_SECONDS = 0.5
"""How long an agent waits for it before its client is told to send the steps."""


class Prefixes:
    """Reads the first steps of runs. Only on the event loop of the database, where a server's requests are."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._loop = asyncio.get_running_loop()

    async def read(self, org_id: str, project_id: str | None, run_id: str, have: int, wanted: int) -> Beginning | None:
        """A page of steps from `have` on, up to `wanted` or the first that is missing; `None` if it cannot be told."""
        if asyncio.get_running_loop() is not self._loop:
            return None
        meant = [runs.c.org_id == org_id, runs.c.run_id == run_id]
        if project_id is not None:
            meant.append(runs.c.project_id == project_id)

        with contain("the stored steps of a run"):
            async with asyncio.timeout(WAIT_SECONDS):
                return await _read(self._database, and_(*meant), have, min(wanted, have + PAGE))
        return None


@asked_again
async def _read(database: Database, meant: ColumnElement[bool], have: int, wanted: int) -> Beginning | None:
    async with database.reading() as connection:
        run = (await connection.execute(select(runs.c.id, runs.c.task).where(meant))).first()
        if run is None:
            return None
        between = steps.c.step_index.between(have, wanted - 1)
        rows = (await connection.execute(_steps.where(steps.c.run == run.id, between))).all()
    return Beginning(run.task, _without_gap(rows, have))


_steps = select(
    steps.c.step_index, steps.c.thought, steps.c.action, steps.c.action_input, steps.c.observation, steps.c.is_error
).order_by(steps.c.step_index)


def _without_gap(rows: Sequence[Any], first: int) -> list[ObservedStep]:
    """The steps up to the first that is missing: it may not have arrived yet."""
    found: list[ObservedStep] = []
    for index, *values in rows:
        if index != first + len(found):
            break
        found.append(ObservedStep.of(*values))
    return found
