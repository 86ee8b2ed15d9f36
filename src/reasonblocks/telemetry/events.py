"""The events of a run in the fields of the wire, and the user's redaction of them."""

from collections.abc import Callable
from typing import Any

from ..api import wire
from ..api.backend import Event
from ..limits import MAX_OUTCOME, MAX_TASK
from ..runtime.contain import contain
from ..types import StepLogEntry, StepRecord
from . import semantics

TEXTS = ("thought", "action", "action_input", "observation", "task", "outcome")
Redact = Callable[[Event], Event | None]


def run_start(facts: dict[str, Any]) -> Event:
    """`run_start` from the facts a run began with."""
    return {**facts, "type": "run_start", "task": wire.cap(str(facts.get("task", "")), MAX_TASK)}


def step(run_id: str, record: StepRecord, entry: StepLogEntry, details: dict[str, Any]) -> Event:
    """`step`: what one model call said and did, what came back, and what was injected into it."""
    return {
        "type": "step",
        "run_id": run_id,
        "step_index": record.step_index,
        "thought": wire.cap(record.thought),
        "action": wire.cap(record.action),
        "action_input": wire.cap(record.action_input),
        "observation": wire.cap(record.observation),
        "is_error": record.observation_is_error,
        "tokens": entry.tokens,
        "input_tokens": entry.input_tokens,
        "output_tokens": entry.output_tokens,
        "cache_read_tokens": entry.cache_read_tokens,
        "step_model": entry.model_id,
        "injections": entry.injections,
        "injection_sources": entry.injection_sources,
        "intervention_texts": entry.intervention_texts,
        "monitors_fired": entry.monitors_fired,
        "failure_type": entry.failure_type,
        "metadata": {"reasonblocks": details},
    }


def run_finish(run_id: str, outcome: str) -> Event:
    """`run_finish` with its outcome."""
    return {"type": "run_finish", "run_id": run_id, "outcome": outcome[:MAX_OUTCOME]}


def outcome_class(outcome: str) -> str:
    """Of the few kinds that a metric may tell apart."""
    return semantics.SUCCESS if outcome == semantics.SUCCESS else semantics.FAILURE


def run_interrupt(run_id: str) -> Event:
    """`run_interrupt`: the run waits for a person, and is not to be taken for dead."""
    return {"type": "run_interrupt", "run_id": run_id}


def redacted(event: Event, redact: Redact | None) -> Event | None:
    """The event as it may leave the process; `None` if the user, or a failing redaction, keeps it in."""
    if redact is None:
        return event
    result: Event | None = None
    with contain("redact"):
        result = _checked(redact(_copied(event)))
    if result is None:
        return None
    # What an event is and which run it belongs to is not text to redact: without it nothing can be delivered.
    kept: Event = {name: event[name] for name in ("type", "run_id", "step_index") if name in event}
    texts = {name: str(result[name]) for name in TEXTS if result.get(name) is not None}
    return {**result, **texts, **kept}


def _checked(result: object) -> Event | None:
    if result is None or isinstance(result, dict):
        return result
    raise TypeError(f"redact() gave a {type(result).__name__}; expected the event as a dict, or None to drop it")


def _copied(value: Any) -> Any:
    """A copy that may be changed in place at any depth."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value
