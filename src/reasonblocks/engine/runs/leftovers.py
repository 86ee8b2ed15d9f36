"""Runs with steps that were stored and never scored, since the process ended in between; found a portion at a time."""

from sqlalchemy import Executable, exists, func, select

from ..store.database import Database
from ..store.schema import evaluations, runs, steps
from .scoring import RunRef

LOOKED_THROUGH = 1_000
"""Runs that are looked through at once."""
_scored = exists().where(evaluations.c.run == steps.c.run, evaluations.c.step_index == steps.c.step_index)


class Leftovers:
    """Goes through the runs that were seen since some time, once, the newest first."""

    def __init__(self, database: Database, seen_since: float = 0.0, stored_before: float | None = None) -> None:
        self._database = database
        self._seen_since = seen_since
        unscored = [steps.c.run == runs.c.id, ~_scored]
        if stored_before is not None:
            unscored.append(steps.c.created_at < stored_before)
        self._has_unscored = exists().where(*unscored)
        self._before: int | None = None
        """The id of the last run that was looked at."""
        self.more = True
        """Whether there are runs that were not looked at."""

    async def portion(self) -> list[RunRef]:
        """Those of the next runs that have steps without scores, the newest first."""
        async with self._database.reading() as connection:
            lowest, count = (await connection.execute(_range(self._before, self._seen_since))).one()
            self.more = count == LOOKED_THROUGH
            found = select(runs).where(runs.c.id >= (lowest or 0), self._has_unscored).order_by(runs.c.id.desc())
            if self._before is not None:
                found = found.where(runs.c.id < self._before)
            rows = (await connection.execute(found)).all() if count else []
        self._before = lowest
        return [RunRef(row.id, row.org_id, row.project_id, row.run_id, row.task_profile, row.task) for row in rows]


def _range(before: int | None, seen_since: float) -> Executable:
    """The lowest id of the next runs, and how many they are."""
    newest = select(runs.c.id).order_by(runs.c.id.desc()).limit(LOOKED_THROUGH)
    if before is not None:
        newest = newest.where(runs.c.id < before)
    if seen_since:
        newest = newest.where(runs.c.last_seen_at >= seen_since)
    ids = newest.subquery()
    return select(func.min(ids.c.id), func.count())
