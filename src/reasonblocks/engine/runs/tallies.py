"""What adds up over the steps of runs: which monitors fired, what guidance was given, and what came of it.

Counted here and not by the database, in which lists are JSON: only the rows that say something are read.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncConnection

from ..answers import Guidance, parent_of
from ..store.database import Database
from ..store.schema import evaluations, runs, steps
from ..store.values import load

AT_ONCE = 500
"""Rows that are counted before others on the event loop get their turn."""
MONITORS = "MonitorSteeringInjection"
"""The source of what the monitors have said."""
STANDING_RULES = "E3Injection"
"""The source of what every run is told."""
_NONE = "[]"
_with_evaluation = and_(evaluations.c.run == steps.c.run, evaluations.c.step_index == steps.c.step_index)

RunKey = tuple[str, str]
"""The organisation and the id of a run."""


async def fired_in(database: Database, wanted: Collection[RunKey]) -> dict[RunKey, Counter[str]]:
    """On how many steps of each of these runs each monitor fired; as stored with the step, or found afterwards."""
    query = (
        select(runs.c.org_id, runs.c.run_id, steps.c.monitors_fired, evaluations.c.fired)
        .select_from(steps.join(runs).outerjoin(evaluations, _with_evaluation))
        .where(
            tuple_(runs.c.org_id, runs.c.run_id).in_(list(wanted)),
            or_(steps.c.monitors_fired != _NONE, evaluations.c.fired != _NONE),
        )
    )
    found: dict[RunKey, Counter[str]] = {}
    async with database.reading() as connection:
        for org_id, run_id, told, seen in await connection.execute(query):
            # What a client reports of a step is about the steps before it, what is scored includes it: one thing, told
            # twice. Only where nothing was scored the report counts.
            names = load(seen) if seen is not None else load(told)
            found.setdefault((org_id, run_id), Counter()).update(names)
    return found


async def children_of(database: Database, org_id: str, run_id: str) -> list[str]:
    """The ids of the runs that name this one as their parent, in the order they began."""
    query = (
        select(runs.c.run_id, runs.c.metadata)
        .where(runs.c.org_id == org_id, runs.c.metadata.contains('"parent_run_id"', autoescape=True))
        .order_by(runs.c.started_at, runs.c.id)
    )
    async with database.reading() as connection:
        rows = (await connection.execute(query)).all()
    return [row.run_id for row in rows if parent_of(load(row.metadata)) == run_id]


# -- guidance --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _RunTally:
    """What is known of one run while its rows come by."""

    outcome: str
    given: dict[int, set[str]] = field(default_factory=dict)
    """By step: the monitors that had something said before it."""
    fired: dict[int, set[str]] = field(default_factory=dict)
    guided: bool = False


async def guidance_in(connection: AsyncConnection, seen: Sequence[ColumnElement[bool]]) -> Guidance:
    """What was said in the visible runs, and what came of it."""
    counted = Counter[str]()
    tallies: dict[int, _RunTally] = {}
    rows = await connection.stream(
        select(
            steps.c.run, steps.c.step_index, steps.c.injection_sources, steps.c.monitors_fired, evaluations.c.fired,
            runs.c.outcome,
        )
        .select_from(steps.join(runs).outerjoin(evaluations, _with_evaluation))
        .where(or_(steps.c.injection_sources != _NONE, evaluations.c.fired != _NONE), *seen)
    )  # fmt: skip
    async for portion in rows.partitions(AT_ONCE):
        for row in portion:
            tally = tallies.setdefault(row.run, _RunTally(row.outcome or "running"))
            sources = load(row.injection_sources)
            counted.update(sources)
            tally.guided = tally.guided or any(source != STANDING_RULES for source in sources)
            tally.fired[row.step_index] = set(load(row.fired) or ())
            if MONITORS in sources:
                tally.given[row.step_index] = set(load(row.monitors_fired))
        await asyncio.sleep(0)
    guided = Counter(tally.outcome for tally in tallies.values() if tally.guided)
    everyone = Counter({row.outcome or "running": row.number for row in await connection.execute(_outcomes(seen))})
    scored = {row.run: row.last for row in await connection.execute(_scored(seen))}
    effects = Counter(effect for run, tally in tallies.items() for effect in _effects(tally, scored.get(run, -1)))
    return Guidance(
        steps_by_source=dict(counted.most_common()),
        fell_silent=effects["silent"],
        fired_again=effects["again"],
        not_known=effects["unknown"],
        guided_outcomes=dict(guided.most_common()),
        unguided_outcomes=dict((everyone - guided).most_common()),
    )


def _effects(tally: _RunTally, last_scored: int) -> list[str]:
    """For each time that a monitor had guidance given, what it did on the next two steps."""
    effects = []
    for step, monitors in tally.given.items():
        after = set().union(*(tally.fired.get(later, set()) for later in (step, step + 1)))
        if monitors & after:
            effects.append("again")
        else:
            effects.append("silent" if step < last_scored else "unknown")
    return effects


def _scored(seen: Sequence[ColumnElement[bool]]) -> Any:
    """The last step of each guided run that the monitors have seen."""
    guided = select(steps.c.run).where(steps.c.injection_sources != _NONE)
    return (
        select(evaluations.c.run, func.max(evaluations.c.step_index).label("last"))
        .select_from(evaluations.join(runs))
        .where(evaluations.c.run.in_(guided), *seen)
        .group_by(evaluations.c.run)
    )


def _outcomes(seen: Sequence[ColumnElement[bool]]) -> Any:
    return select(runs.c.outcome, func.count().label("number")).where(*seen).group_by(runs.c.outcome)
