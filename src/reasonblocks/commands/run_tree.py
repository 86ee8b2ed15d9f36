"""Stored runs in the shape that `tree.py` draws, which is that of a trace file."""

from datetime import datetime
from typing import Any

import msgspec

from ..engine.answers import Run, RunWithSteps, StoredStepAnswer
from ..telemetry.sqlite_reading import Row, TracedRun
from .sources.base import Source

DETAILS = ("difficulty", "fsm_state", "composite", "scores", "latency_ms")
"""What a trace file has columns for and a store keeps in `metadata.reasonblocks` of a step."""


def traced(source: Source, run: RunWithSteps, seen: frozenset[tuple[str, str]] = frozenset()) -> TracedRun:
    """A run with the runs that came of it."""
    known = seen | {(run.org_id, run.run_id)}
    children = [child for child in source.children(run) if (child.org_id, child.run_id) not in known]
    return TracedRun(_facts(run), [_step(step) for step in run.steps], [traced(source, one, known) for one in children])


def seconds(moment: str | None) -> float | None:
    """A time of the wire as seconds since 1970."""
    return None if moment is None else datetime.fromisoformat(moment).timestamp()


def _facts(run: Run) -> Row:
    return {
        "run_id": run.run_id,
        "agent_name": run.agent_name,
        "task": run.task,
        "metadata": run.metadata,
        "outcome": run.outcome,
        "interrupted_at": None,
        "steps": run.step_count,
        "tokens": run.total_tokens,
        "began": seconds(run.started_at),
        "finished_at": seconds(run.finished_at),
    }


def details_of(step: StoredStepAnswer) -> dict[str, Any]:
    """What our client has said about a step; empty where another one reported it."""
    details = step.metadata.get("reasonblocks")
    return details if isinstance(details, dict) else {}


def _step(step: StoredStepAnswer) -> Row:
    details = details_of(step)
    row: Row = msgspec.structs.asdict(step)
    row.update({name: details.get(name) for name in DETAILS})
    if not details:  # another client's: all that is known is what the monitors said afterwards
        row.update(composite=step.total_score, scores=step.scores, monitors_fired=step.monitors_fired or step.fired)
    return row
