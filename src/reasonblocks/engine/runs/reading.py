"""Runs as they are listed, shown and summed up."""

import asyncio
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Float, and_, cast, func, select, true
from sqlalchemy.ext.asyncio import AsyncConnection

from ..answers import Evidence, HealthSummary, Run, RunWithSteps, StoredStepAnswer
from ..errors import Invalid
from ..principal import Principal
from ..store.database import Database, asked_again
from ..store.schema import evaluations, runs, steps
from ..store.values import load, shown, shown_or_none
from ..store.words import each
from .ingest import held_states
from .ledger import meant
from .tallies import guidance_in

MOST_LISTED = 1_000
MOST_OUTCOMES = 200
"""Different outcomes that a summary tells apart."""
AT_ONCE = 100
"""Steps that are made ready before others on the event loop get their turn."""

_steps_with_scores = (
    select(
        steps,
        evaluations.c.scores,
        evaluations.c.composite,
        evaluations.c.fired,
        evaluations.c.evidence,
    )
    .outerjoin(evaluations, and_(evaluations.c.run == steps.c.run, evaluations.c.step_index == steps.c.step_index))
    .order_by(steps.c.step_index)
)


class RunReader:
    """Answers questions about runs, as far as the one who asks may know."""

    def __init__(self, database: Database, monitors: Sequence[str]) -> None:
        self._database = database
        self._monitors = tuple(monitors)

    @asked_again
    async def listed(
        self, principal: Principal, limit: int, offset: int, org_id: str | None, project_id: str | None
    ) -> list[Run]:
        """Runs, newest first."""
        if not 1 <= limit <= MOST_LISTED:
            raise Invalid(f"limit is {limit}; expected 1 to {MOST_LISTED}", location=("limit",))
        if not 0 <= offset < 2**63:
            raise Invalid(f"offset is {offset}; expected 0 or more", location=("offset",))
        query = (
            select(runs)
            .where(*visible(principal, org_id, project_id))
            .order_by(runs.c.started_at.desc(), runs.c.id.desc())
            .limit(limit)
            .offset(offset)
        )
        async with self._database.reading() as connection:
            return [shown_run(row) for row in await connection.execute(query)]

    @asked_again
    async def shown(self, principal: Principal, run_id: str, org_id: str | None) -> RunWithSteps:
        """A run with its steps and their scores; `NotFound` also for one of somebody else."""
        async with self._database.reading() as connection:
            states = await connection.run_sync(held_states, {run_id}, principal)
            found = meant(states, run_id, principal, org_id).id
            row = (await connection.execute(select(runs).where(runs.c.id == found))).one()
            told = await self._steps(connection, found)
        return RunWithSteps(**run_fields(row), steps=told)

    async def _steps(self, connection: AsyncConnection, run: int) -> list[StoredStepAnswer]:
        told: list[StoredStepAnswer] = []
        rows = await connection.stream(_steps_with_scores.where(steps.c.run == run))
        async for portion in rows.partitions(AT_ONCE):
            told += map(_shown_step, portion)
            await asyncio.sleep(0)
        return told

    @asked_again
    async def summary(self, principal: Principal, org_id: str | None, project_id: str | None) -> HealthSummary:
        """Counts, outcomes and firing rates of the runs that are visible."""
        seen = visible(principal, org_id, project_id)
        async with self._database.reading() as connection:
            totals = (await connection.execute(_totals(seen))).one()
            outcomes = {row.outcome: row.number for row in await connection.execute(_outcomes(seen))}
            injected = (await connection.execute(_injected(seen))).scalar_one()
            scored = (await connection.execute(_scored(seen))).scalar_one()
            fired = {row.value: row.number for row in await connection.execute(_fired(seen))}
            guidance = await guidance_in(connection, seen)
        if totals.open:
            outcomes["running"] = outcomes.get("running", 0) + totals.open
        return HealthSummary(
            runs=totals.runs,
            open_runs=totals.open,
            steps=totals.steps,
            outcomes=outcomes,
            firing_rates={name: round(fired.get(name, 0) / scored, 4) if scored else 0.0 for name in self._monitors},
            scored_steps=scored,
            injected_steps=injected,
            total_tokens=int(totals.tokens),
            guidance=guidance,
        )


def visible(principal: Principal, org_id: str | None, project_id: str | None) -> list[ColumnElement[bool]]:
    """What limits a listing of runs to those that the caller may see."""
    limits: list[ColumnElement[bool]] = []
    org, project = principal.visible_org(org_id), principal.visible_project(project_id)
    if org is not None:
        limits.append(runs.c.org_id == org)
    if project is not None:
        limits.append(runs.c.project_id == project)
    return limits


def _totals(seen: Sequence[ColumnElement[bool]]) -> Any:
    return select(
        func.count().label("runs"),
        func.count().filter(runs.c.outcome.is_(None)).label("open"),
        func.coalesce(func.sum(runs.c.step_count), 0).label("steps"),
        # as a float: the sum of all tokens may be more than an integer of the database holds
        func.coalesce(func.sum(cast(runs.c.total_tokens, Float)), 0.0).label("tokens"),
    ).where(*seen)


def _outcomes(seen: Sequence[ColumnElement[bool]]) -> Any:
    return (
        select(runs.c.outcome, func.count().label("number"))
        .where(runs.c.outcome.is_not(None), *seen)
        .group_by(runs.c.outcome)
        .order_by(func.count().desc(), runs.c.outcome)
        .limit(MOST_OUTCOMES)
    )


def _injected(seen: Sequence[ColumnElement[bool]]) -> Any:
    return select(func.count()).select_from(steps.join(runs)).where(steps.c.injection_sources != "[]", *seen)


def _scored(seen: Sequence[ColumnElement[bool]]) -> Any:
    return select(func.count()).select_from(evaluations.join(runs)).where(*seen)


def _fired(seen: Sequence[ColumnElement[bool]]) -> Any:
    monitor = each(evaluations.c.fired).table_valued("value")
    return (
        select(monitor.c.value, func.count().label("number"))
        .select_from(evaluations.join(runs).join(monitor, true()))
        .where(evaluations.c.fired != "[]", *seen)
        .group_by(monitor.c.value)
    )


def shown_run(row: Any) -> Run:
    """A row of `runs` as it is listed."""
    return Run(**run_fields(row))


def run_fields(row: Any) -> dict[str, Any]:
    """The fields of `answers.Run`."""
    return {
        "run_id": row.run_id,
        "org_id": row.org_id,
        "project_id": row.project_id,
        "agent_name": row.agent_name,
        "task": row.task,
        "model": row.model,
        "framework": row.framework,
        "codebase_id": row.codebase_id,
        "task_profile": row.task_profile,
        "metadata": load(row.metadata),
        "status": "running" if row.outcome is None else "finished",
        "outcome": row.outcome,
        "started_at": shown(row.started_at),
        "finished_at": shown_or_none(row.finished_at),
        "last_seen_at": shown(row.last_seen_at),
        "step_count": row.step_count,
        "total_tokens": row.total_tokens,
        "lost_steps": row.lost_steps,
        "loss_cause": row.loss_cause,
    }


def _shown_step(row: Any) -> StoredStepAnswer:
    return StoredStepAnswer(
        step_index=row.step_index,
        thought=row.thought,
        action=row.action,
        action_input=row.action_input,
        observation=row.observation,
        is_error=row.is_error,
        tokens=row.tokens,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cache_read_tokens=row.cache_read_tokens,
        step_model=row.step_model,
        injections=load(row.injections),
        injection_sources=load(row.injection_sources),
        intervention_texts=load(row.intervention_texts),
        monitors_fired=load(row.monitors_fired),
        failure_type=row.failure_type,
        metadata=load(row.metadata),
        created_at=shown(row.created_at),
        scores=load(row.scores),
        total_score=row.composite,
        fired=load(row.fired),
        evidence=None if row.evidence is None else [Evidence(**one) for one in load(row.evidence)],
    )
