"""What a replay writes: one run per line, one entry per step."""

from typing import Any

import msgspec

from ..engine.answers import Evidence


class ReplayedStep(msgspec.Struct, kw_only=True, gc=False):
    """What was decided once a step was complete, for the model call that follows it."""

    composite: float
    scores: dict[str, float]
    fired: list[str]
    inject: bool
    """Whether the model would have been told something: the gate opened and the guardrails let it through."""
    inject_requested: bool
    """Whether the gate opened."""
    failure_type: str | None
    difficulty: float
    fsm_state: str
    evidence: list[Evidence]
    signs: dict[str, float]
    """What had added up by then; the scores without evidence follow from it."""
    intervention_text: str | msgspec.UnsetType = msgspec.UNSET
    """What the model would have been told; left out where it is nothing."""


class ReplayedRun(msgspec.Struct):
    """One line of a replay."""

    run_id: str
    steps: list[ReplayedStep]


_ENCODER = msgspec.json.Encoder()


def encode_line(run: ReplayedRun) -> bytes:
    """The run as a line of its own."""
    line: bytes | Any = _ENCODER.encode(run)
    return line + b"\n"
