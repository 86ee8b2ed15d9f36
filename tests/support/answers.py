"""The answers of a well-behaved rb-api, in wire form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

JSON = dict[str, Any]

MONITORS = (
    "claim_contradiction",
    "semantic_loop",
    "verification_skip",
    "cyclic_compression",
    "late_sprawl",
    "silent_topic_drift",
)

DEFAULT_FIELDS: dict[str, JSON] = {
    "e1": {
        "observation": "The settings loader reads the old file although the new one exists.",
        "recommended_action": "Remove the cached settings, then load once and compare.",
        "task_context_embedding_text": "A service that keeps serving outdated settings.",
    },
    "e2": {
        "diagnosis": "The same question is asked again in other words.",
        "intervention": "Write down what is known and name the one missing fact.",
        "anti_pattern": "Asking a fourth time.",
        "trigger_state": {"trajectory_description": "Several nearly identical calls in a row."},
    },
    "e3": {
        "instruction": "State what you expect before each call.",
        "meta_reasoning_prompt": "What would prove me wrong?",
    },
}
DEFAULT_SIMILARITY = {"e1": 0.9, "e2": 0.8, "e3": 0.0}
DEFAULT_FAILURE_TYPE = {"e1": None, "e2": "loop", "e3": None}


def healthy(composite: float = 0.02, scores: dict[str, float] | None = None, fired: Sequence[str] = ()) -> JSON:
    """Build the answer of monitors that want nothing injected."""
    return {
        "inject": False,
        "intervention_text": None,
        "failure_type": None,
        "injection_path": None,
        "intervention_source": None,
        "fired": list(fired),
        "pattern_id": None,
        "scores": dict.fromkeys(MONITORS, 0.02) | (scores or {}),
        "composite": composite,
    }


def inject(
    text: str,
    fired: Sequence[str] = ("semantic_loop",),
    failure_type: str | None = "loop",
    composite: float = 0.7,
    source: str = "template",
    path: str = "strong",
) -> JSON:
    """Build the answer of monitors that want `text` injected."""
    answer = healthy(composite, dict.fromkeys(fired, 0.9), fired)
    return answer | {
        "inject": True,
        "intervention_text": text,
        "failure_type": failure_type,
        "injection_path": path,
        "intervention_source": source,
    }


def pattern(
    tier: str,
    pattern_id: str | None = None,
    similarity: float | None = None,
    failure_type: str | None = None,
    model_family: str = "",
    source_trace_id: str | None = None,
    **fields: Any,
) -> JSON:
    """Build one trace of a retrieval; `fields` replace the tier's default ones altogether."""
    return {
        "tier": tier,
        "level": tier,
        "pattern_id": pattern_id or f"{tier}-standin",
        "similarity": DEFAULT_SIMILARITY.get(tier, 0.0) if similarity is None else similarity,
        "failure_type": failure_type or DEFAULT_FAILURE_TYPE.get(tier),
        "fields": fields or dict(DEFAULT_FIELDS.get(tier, {})),
        "model_family": model_family,
        "source_trace_id": source_trace_id,
    }


def default_patterns() -> dict[str, list[JSON]]:
    """Build what a fresh stand-in holds: one E1, two E2 and two E3 patterns."""
    return {
        "e1": [pattern("e1", "e1-1")],
        "e2": [
            pattern("e2", "e2-1"),
            pattern(
                "e2",
                "e2-2",
                similarity=0.75,
                diagnosis="An edit was made before the failure was understood.",
                intervention="Reproduce the failure with one command first.",
                anti_pattern="Editing on a guess.",
                trigger_state={"trajectory_description": "An edit follows directly on an error."},
            ),
        ],
        "e3": [
            pattern("e3", "e3-1"),
            pattern("e3", "e3-2", instruction="Report only what you have seen yourself."),
        ],
    }
