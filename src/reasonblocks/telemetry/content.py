"""What the spans of a step say: pure functions from what is known about it to attributes."""

from collections.abc import Mapping
from typing import Any

from ..api.wire import encode
from ..types import MonitorEvaluation, StepLogEntry
from . import semantics

Attributes = dict[str, Any]


def add_step(attributes: Attributes, entry: StepLogEntry) -> None:
    """What was decided for a call, without any text of the conversation; what is not known is left out."""
    attributes[semantics.STEP_FSM_STATE] = entry.fsm_state
    attributes[semantics.STEP_MODEL_MS] = entry.latency_ms
    if entry.difficulty is not None:
        attributes[semantics.STEP_DIFFICULTY] = entry.difficulty
    if entry.composite is not None:
        attributes[semantics.STEP_COMPOSITE] = entry.composite
    if entry.failure_type is not None:
        attributes[semantics.STEP_FAILURE_TYPE] = entry.failure_type
    if entry.skipped_reason is not None:
        attributes[semantics.STEP_SKIPPED_REASON] = entry.skipped_reason
    if entry.injection_sources:
        attributes[semantics.STEP_INJECTION_SOURCES] = tuple(entry.injection_sources)
    if entry.monitors_fired:
        attributes[semantics.STEP_MONITORS_FIRED] = tuple(entry.monitors_fired)
    if entry.errors:
        attributes[semantics.STEP_ERRORS] = tuple(entry.errors)
    if entry.tool_calls:
        attributes[semantics.STEP_ACTION] = ", ".join(entry.tool_calls)


def add_response(attributes: Attributes, about: Mapping[str, Any]) -> None:
    """What the provider said about its answer; each of them has its own words for it."""
    if isinstance(model := about.get("model_name") or about.get("model"), str):
        attributes[semantics.RESPONSE_MODEL] = model
    if isinstance(reason := about.get("finish_reason") or about.get("stop_reason"), str):
        attributes[semantics.FINISH_REASONS] = (reason,)
    if isinstance(identity := about.get("id"), str) and identity:
        attributes[semantics.RESPONSE_ID] = identity


def evaluated(evaluation: MonitorEvaluation, *, explained: bool) -> list[Attributes]:
    """The attributes of one event per score of the monitors."""
    fired = evaluation.fired
    events: list[Attributes] = [
        {
            semantics.EVALUATION_NAME: name,
            semantics.EVALUATION_SCORE: score,
            semantics.EVALUATION_LABEL: semantics.FIRED if name in fired else semantics.NOT_FIRED,
        }
        for name, score in evaluation.scores.items()
    ]
    if explained and fired and evaluation.intervention_text:
        for event in events:
            if event[semantics.EVALUATION_LABEL] == semantics.FIRED:
                event[semantics.EVALUATION_EXPLANATION] = evaluation.intervention_text
    return events


# -- texts, only where the user wants them in spans ------------------------------------------------


def texts(event: Mapping[str, Any]) -> Attributes:
    """The texts of a step event, which has been through the user's `redact`."""
    parts: list[dict[str, Any]] = []
    if event.get("thought"):
        parts.append({"type": "text", "content": event["thought"]})
    if event.get("action"):
        parts.append({"type": "tool_call", "name": event["action"], "arguments": event.get("action_input")})
    attributes: Attributes = {semantics.OUTPUT_MESSAGES: as_json([{"role": "assistant", "parts": parts}])}
    if event.get("observation") is not None:
        attributes[semantics.STEP_OBSERVATION] = str(event["observation"])
    if event.get("intervention_texts"):
        attributes[semantics.STEP_INTERVENTION_TEXTS] = tuple(str(text) for text in event["intervention_texts"])
    return attributes


def asked(task: str) -> str:
    """What the run was asked to do, as the conventions write messages."""
    return as_json([{"role": "user", "parts": [{"type": "text", "content": task}]}])


def as_json(value: Any) -> str:
    """A value as text."""
    return encode(value).decode("utf-8", "replace")
