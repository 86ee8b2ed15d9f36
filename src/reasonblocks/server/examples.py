"""Examples for the OpenAPI document and its page, by operation; tests decode each of them."""

from typing import Any

_STEP = {
    "thought": "The test still fails. Maybe I should run it again.",
    "action": "run_tests",
    "action_input": '{"path": "tests/test_parser.py"}',
    "observation": "1 failed, 11 passed",
    "observation_is_error": True,
}
_SCORES = {
    "claim_contradiction": 0.0142,
    "semantic_loop": 0.8,
    "verification_skip": 0.1325,
    "cyclic_compression": 0.0224,
    "late_sprawl": 0.0091,
    "silent_topic_drift": 0.0,
}
_RUN = {
    "run_id": "fix-parser-1",
    "agent_name": "fixer",
    "task": "Make the parser accept empty input.",
    "model": "claude-sonnet-4-5",
    "framework": "langchain",
    "task_profile": "coding",
    "metadata": {"ticket": "PARSE-7"},
}
_RUN_STEP = {
    "step_index": 0,
    "thought": _STEP["thought"],
    "action": _STEP["action"],
    "action_input": _STEP["action_input"],
    "observation": _STEP["observation"],
    "is_error": True,
    "tokens": 812,
}
_PATTERN_FIELDS = {
    "observation": "The fixtures of the parser are generated; editing them by hand is undone by the next build.",
    "recommended_action": "Change tools/make_fixtures.py and run it.",
    "task_context_embedding_text": "parser tests fail after a fixture was edited",
}

BODIES: dict[str, dict[str, Any]] = {
    "retrieve": {
        "context": (
            "It failed again with the same error message. Let me try a different flag, then another version, "
            "and retry the command with sudo."
        ),
        "tier": "e2",
        "failure_type": "loop",
        "top_k": 1,
    },
    "evaluate": {"steps": [_STEP] * 4, "model": "claude-sonnet-4-5", "task_profile": "coding"},
    "score": {"text": "Hmm, maybe the error comes from parser.read_header. Not sure."},
    "start_run": _RUN,
    "add_step": _RUN_STEP,
    "finish_run": {"outcome": "success"},
    "add_events": {
        "events": [
            {"type": "run_start", **_RUN},
            {"type": "step", "run_id": "fix-parser-1", **_RUN_STEP},
            {"type": "run_finish", "run_id": "fix-parser-1", "outcome": "success"},
        ]
    },
    "create_profile": {
        "name": "careful",
        "weights": {"verification_skip": 0.5, "semantic_loop": 0.3},
        "description": "Unverified claims count most.",
    },
    "change_profile": {"weights": {"verification_skip": 0.4}},
    "store_trace": {
        "trace_id": "fix-parser-1",
        "steps": [{"step_index": 0, "thought": _STEP["thought"], "action": _STEP["action"], "difficulty": 0.4}],
        "outcome": "success",
    },
    "create_pattern": {"tier": "e1", "fields": _PATTERN_FIELDS, "gate_threshold": 0.82, "status": "live"},
    "change_pattern": {"fields": {"recommended_action": "Run `make fixtures`."}},
    "create_finding": {
        "content": "parse() returns None for empty input; callers rely on it.",
        "file_path": "src/parser.py",
        "finding_type": "note",
    },
    "search_findings": {"query": "what does the parser do with empty input?", "top_k": 5, "score_threshold": 0.5},
    "invalidate_findings": {"file_paths": ["src/parser.py"]},
    "change_finding": {"content": "parse() raises EmptyInput since version 2."},
}
"""A body for each operation that takes one."""

ANSWERS: dict[str, dict[str, dict[str, Any]]] = {
    "evaluate": {
        "200": {
            "inject": True,
            "intervention_text": (
                "Observed: a loop of failing attempts. Within 4 steps the same call was made 4 times and failed in the "
                'same way each time. Evidence: "run_tests tests/test_parser.py" / "1 failed, 11 passed". Each attempt '
                "has failed in the same way, so another one like it is unlikely to end otherwise."
            ),
            "failure_type": "loop",
            "injection_path": "strong",
            "intervention_source": "template",
            "fired": ["semantic_loop"],
            "pattern_id": None,
            "scores": _SCORES,
            "composite": 0.2273,
            "evidence": [
                {
                    "monitor": "semantic_loop",
                    "reason": "Within 4 steps the same call was made 4 times and failed in the same way each time.",
                    "steps": [0, 1, 2, 3],
                    "quotes": ["run_tests tests/test_parser.py", "1 failed, 11 passed"],
                }
            ],
        },
        "409": {"detail": "the first 50 steps of this run are not held", "have": 48},
    },
    "retrieve": {
        "200": {
            "traces": [
                {
                    "tier": "e2",
                    "level": "e2",
                    "pattern_id": "e2-loop-same-error",
                    "similarity": 0.99,
                    "failure_type": "loop",
                    "fields": {"title": "A new variant, the same error", "intervention": "Lay the error texts ..."},
                    "model_family": "",
                    "source_trace_id": None,
                    "cosine": 0.81,
                }
            ]
        }
    },
    "score": {"200": {"difficulty": 0.41}},
    "add_events": {"200": {"accepted": 3, "rejected": []}},
    "add_step": {
        "422": {"detail": [{"loc": ["body", "step_index"], "msg": "Expected `int` >= 0", "type": "value"}]},
    },
}
"""Some answers, by status."""
