"""Events into the tables: any number of them in one transaction, with few statements."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Float, bindparam, case, cast, func, insert, select, update

from ..errors import EngineError
from ..principal import Principal
from ..store import tenants
from ..store.prepared import InsertNew, PreparedQuery, UpdateEach
from ..store.schema import runs, steps
from ..store.values import dump
from ..store.words import each
from .decoding import STEP_COLUMNS, Entry, NewRun
from .ledger import Ledger, RunState

_STATE = (
    runs.c.id,
    runs.c.org_id,
    runs.c.project_id,
    runs.c.run_id,
    runs.c.task_profile,
    runs.c.task,
    runs.c.outcome,
    runs.c.finished_at,
    runs.c.last_seen_at,
    runs.c.interrupted_at,
    runs.c.step_count,
    runs.c.total_tokens,
    runs.c.lost_steps,
    runs.c.loss_cause,
)
"""In the order of the fields of `RunState`."""
_named = each(bindparam("run_ids")).table_valued("value")  # any number of ids in one parameter
_select_states = select(*_STATE).where(runs.c.run_id.in_(select(_named.c.value)))
_held = PreparedQuery(_select_states, ("run_ids",))
_held_in_org = PreparedQuery(_select_states.where(runs.c.org_id == bindparam("org")), ("run_ids", "org"))
# Whoever adds to runs has them for itself until it is done, in one order for all; SQLite has one writer anyway.
_taken_states = _select_states.order_by(runs.c.id).with_for_update(key_share=True)
_taken = PreparedQuery(_taken_states, ("run_ids",))
_taken_in_org = PreparedQuery(_taken_states.where(runs.c.org_id == bindparam("org")), ("run_ids", "org"))

_insert_steps = InsertNew(steps, ("run", "step_index", "created_at", *STEP_COLUMNS))

_CHANGING = (
    "outcome",
    "finished_at",
    "last_seen_at",
    "interrupted_at",
    "step_count",
    "total_tokens",
    "lost_steps",
    "loss_cause",
)
_COUNTING = ("last_seen_at", "step_count", "total_tokens")
"""What changes while a run goes on."""
_count_runs = UpdateEach(runs, _COUNTING)
_update_runs = UpdateEach(runs, _CHANGING)

_FILLED = ("agent_name", "task", "model", "framework", "codebase_id", "metadata")
"""What a second `run_start` may still tell, if the first one did not."""
_fill_runs = (
    update(runs)
    .where(runs.c.id == bindparam("this"))
    .values(
        {
            name: case(
                (runs.c[name] == ("{}" if name == "metadata" else ""), bindparam(f"new_{name}")), else_=runs.c[name]
            )
            for name in _FILLED
        }
    )
)


@dataclass(slots=True)
class Applied:
    """What became of the events of one transaction."""

    results: list[RunState | EngineError]
    """For each event the run it was about, or why it was refused."""
    ahead: list[RunState] = field(default_factory=list)
    """Runs that got steps, all of them new."""
    behind: list[RunState] = field(default_factory=list)
    """Runs that got steps of which some had come before."""
    finished: list[RunState] = field(default_factory=list)
    """Those that have ended."""


def apply(
    connection: Connection,
    entries: Sequence[Entry | EngineError],
    principal: Principal,
    org_id: str | None,
    now: float,
) -> Applied:
    """Apply events in order. One that is refused has no effect; the others have."""
    ledger = Ledger(principal, org_id, now)
    run_ids = {entry.run_id for entry in entries if not isinstance(entry, EngineError)}
    ledger.hold(_states(connection, run_ids, principal, _taken, _taken_in_org))
    results: list[RunState | EngineError] = []
    for entry in entries:
        try:
            results.append(entry if isinstance(entry, EngineError) else ledger.apply(entry))
        except EngineError as refusal:
            results.append(refusal)
    touched = {id(result): result for result in results if not isinstance(result, EngineError)}
    applied = Applied(results)
    _write(connection, list(touched.values()), applied, now)
    return applied


def held_states(connection: Connection, run_ids: set[str], principal: Principal) -> list[RunState]:
    """The runs of these ids that the caller might mean."""
    return _states(connection, run_ids, principal, _held, _held_in_org)


def _states(
    connection: Connection, run_ids: set[str], principal: Principal, all_of_them: PreparedQuery, in_org: PreparedQuery
) -> list[RunState]:
    if not run_ids:
        return []
    if principal.org_id is None:
        rows = all_of_them.run(connection, dump(list(run_ids)))
    else:
        rows = in_org.run(connection, dump(list(run_ids)), principal.org_id)
    return [RunState(*row) for row in rows]


def _write(connection: Connection, states: list[RunState], applied: Applied, now: float) -> None:
    _insert_runs(connection, [state for state in states if not state.id], now)
    _fill(connection, states)
    with_steps = [state for state in states if state.steps]
    rows = [(state.id, index, now, *step.values) for state in with_steps for index, step in state.steps.items()]
    if _insert_steps.run(connection, rows) == len(rows):
        applied.ahead = with_steps
        for state in with_steps:
            tokens = sum(step.tokens for step in state.steps.values())
            state.count(state.step_count + len(state.steps), state.total_tokens + tokens)
    else:
        expected = {state.id: state.step_count + len(state.steps) for state in with_steps}
        _count_again(connection, with_steps)
        for state in with_steps:
            (applied.ahead if state.step_count == expected[state.id] else applied.behind).append(state)
    applied.finished = [state for state in states if state.outcome is not None]
    # An outcome that is written, be it the same one, costs as much again as all the rest: it is in an index.
    going_on = [state for state in states if not state.turned]
    _count_runs.run(connection, [(s.last_seen_at, s.step_count, s.total_tokens, s.id) for s in going_on])
    _update_runs.run(connection, [_run_row(state) for state in states if state.turned])


def _run_row(state: RunState) -> tuple[Any, ...]:
    return (
        state.outcome,
        state.finished_at,
        state.last_seen_at,
        state.interrupted_at,
        state.step_count,
        state.total_tokens,
        state.lost_steps,
        state.loss_cause,
        state.id,
    )


def _insert_runs(connection: Connection, states: list[RunState], now: float) -> None:
    """Give new runs their rows, as their first `run_start` has it."""
    if not states:
        return
    tenants.ensure(connection, {(state.org_id, state.project_id) for state in states}, now)
    connection.execute(insert(runs), [_new_row(state, state.starts.pop(0), now) for state in states])
    held = _held.run(connection, dump([state.run_id for state in states]))
    ids = {(row.org_id, row.run_id): row.id for row in held}
    for state in states:
        state.id = ids[state.org_id, state.run_id]


def _new_row(state: RunState, event: NewRun, now: float) -> dict[str, Any]:
    start = event.start
    return {
        "org_id": state.org_id,
        "project_id": state.project_id,
        "run_id": state.run_id,
        "agent_name": start.agent_name or "",
        "task": state.task,
        "model": start.model or "",
        "framework": start.framework or "",
        "codebase_id": start.codebase_id or "",
        "task_profile": state.task_profile,
        "metadata": event.metadata,
        "started_at": now,
        "last_seen_at": now,
    }


def _fill(connection: Connection, states: list[RunState]) -> None:
    rows = [
        {
            "this": state.id,
            "new_metadata": event.metadata,
            **{f"new_{name}": getattr(event.start, name) or "" for name in _FILLED if name != "metadata"},
        }
        for state in states
        for event in state.starts
    ]
    if rows:
        connection.execute(_fill_runs, rows)


def _count_again(connection: Connection, states: list[RunState]) -> None:
    """Some of the steps had come before: ask the table how many there are."""
    counted = connection.execute(
        select(steps.c.run, func.count(), func.sum(cast(steps.c.tokens, Float)))
        .where(steps.c.run.in_([state.id for state in states]))
        .group_by(steps.c.run)
    )
    totals = {run: (count, tokens) for run, count, tokens in counted}
    for state in states:
        count, tokens = totals[state.id]
        state.count(count, int(tokens))
