"""The vocabulary of a run: what one step was, what a trace is, what may be injected.

Everything here is plain data. Nothing imports LangChain, HTTP or an event loop, so the same types
serve the middleware, a hand-written loop, a server and an offline replay. What is kept of every step is not tracked by
the garbage collector (`gc=False`): it cannot be part of a cycle, and thousands of runs keep thousands of them.
"""

from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec.structs import force_setattr

Tier = Literal["e1", "e2", "e3"]
"""Own runs, shared failure modes, standing rules."""
PREVIEW_CHARS = 150
"""How much of an injected text or of a thought a step log shows."""


class FSMState(StrEnum):
    """The difficulty states of a run."""

    INIT = "INIT"
    NORMAL = "NORMAL"
    FAST = "FAST"
    SLOW = "SLOW"
    SKIP = "SKIP"
    END = "END"
    """Reserved; no transition leads here."""


class ETrace(msgspec.Struct, frozen=True):
    """One pattern as the store returned it."""

    tier: str
    """`e1` (own runs), `e2` (shared failure modes) or `e3` (standing rules)."""
    similarity: float = 0.0
    pattern_id: str = ""
    fields: dict[str, Any] = {}
    failure_type: str | None = None
    model_family: str = ""
    level: str = ""
    """The older name of `tier`; always equal to it."""
    source_trace_id: str | None = None
    gate: float | None = None
    """The similarity it had to have, where whoever looked it up tells."""

    def __post_init__(self) -> None:
        if self.level and self.level != self.tier:
            raise ValueError(
                f"ETrace: level is {self.level!r} but tier is {self.tier!r}; "
                "level is only another name of tier, leave it out"
            )
        force_setattr(self, "level", self.tier)


class NearMiss(msgspec.Struct, frozen=True):
    """A pattern that a lookup considered, and did not give."""

    pattern_id: str
    title: str = ""
    similarity: float = 0.0
    gate: float | None = None
    """The similarity it would have needed."""
    reason: str = ""
    """`gate`, `own_gate`, `failure_type` or `top_k`."""
    failure_type: str | None = None


class Lookup(msgspec.Struct, frozen=True):
    """How one lookup went, for people who ask why; what was found is in its answer."""

    source: str
    """The class of the injection that asked."""
    tier: str
    thoughts: int = 0
    """How many of the last thoughts it was asked by."""
    failure_type: str | None = None
    near_misses: tuple[NearMiss, ...] = ()
    told: bool = True
    """Whether the server says what it rejects; one that does not may have rejected anything."""
    not_compared: str | None = None
    """Why nothing was compared, if so: `no_context`, `no_patterns` or `few_words`."""


class MonitorEvaluation(msgspec.Struct, frozen=True, gc=False):
    """The answer of the monitors for one trace."""

    inject: bool = False
    intervention_text: str | None = None
    fired: tuple[str, ...] = ()
    scores: dict[str, float] = {}
    composite: float = 0.0
    failure_type: str | None = None
    intervention_source: str | None = None
    """`template`, `e2` or `judge`: which path wrote `intervention_text`."""
    injection_path: str | None = None
    """`strong`, `composite` or `fallback`: which gate opened."""
    pattern_id: str | None = None


class StepRecord(msgspec.Struct, frozen=True, gc=False):
    """One model call of a run: what it said, what it did, and what came back."""

    step_index: int
    thought: str
    action: str | None = None
    action_input: str | None = None
    observation: str | None = None
    difficulty: float = 0.0
    state: FSMState = FSMState.INIT
    tokens_used: int = 0
    observation_is_error: bool = False


class TraceState(msgspec.Struct, frozen=True):
    """Everything an injection may look at when it is asked for guidance."""

    trace_id: str
    steps: tuple[StepRecord, ...] = ()
    current_state: FSMState = FSMState.INIT
    difficulty_history: tuple[float, ...] = ()
    total_tokens: int = 0
    token_budget: int | None = None
    task: str = ""
    model: str = ""
    evaluation: MonitorEvaluation | None = None
    """What the monitors said about this very step; `None` while they are being asked or are unavailable."""
    failure_type: str | None = None

    def last_thoughts(self, count: int) -> str:
        """The newest `count` thoughts, oldest first, as one text."""
        return "\n".join(step.thought for step in self.steps[-count:] if step.thought)


class PendingInjection(msgspec.Struct, frozen=True):
    """Guidance that waits to be rendered: finished `text`, or a `tier` with the raw `fields` of a pattern."""

    source: str = ""
    text: str | None = None
    tier: str | None = None
    fields: dict[str, Any] | None = None
    pattern_id: str = ""
    similarity: float = 0.0
    monitors_fired: list[str] = []
    failure_type: str | None = None
    intervention_source: str | None = None
    gate: float | None = None

    def __post_init__(self) -> None:
        if self.text is None and (self.tier is None or self.fields is None):
            raise ValueError(
                f"PendingInjection from {self.source or 'an unnamed source'} has nothing to render: "
                "give text=..., or tier=... together with fields=..."
            )


class StepLogEntry(msgspec.Struct, gc=False):
    """What the middleware did around one model call, for people and for tests."""

    step: int
    timestamp: float
    difficulty: float | None = None
    """`None` on the first call of a run, where nothing is scored."""
    fsm_state: str = FSMState.INIT.value
    model_id: str = ""
    injections: list[str] = []
    injection_sources: list[str] = []
    intervention_texts: list[str] = []
    monitors_fired: list[str] = []
    failure_type: str | None = None
    skipped_reason: str | None = None
    thought_preview: str = ""
    tool_calls: list[str] = []
    tokens: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    latency_ms: float = 0.0
    """How long the model call took."""
    composite: float | None = None
    scores: dict[str, float] = {}
    errors: list[str] = []

    def as_dict(self) -> dict[str, Any]:
        """The entry as plain values, ready for JSON."""
        result: dict[str, Any] = msgspec.to_builtins(self)
        return result


class InjectionNotice(msgspec.Struct, frozen=True):
    """What `on_injection` is told, just before the model call that sees the guidance."""

    run_id: str
    step: int
    fsm_state: str
    sources: tuple[str, ...]
    texts: tuple[str, ...]
    monitors_fired: tuple[str, ...] = ()
    failure_type: str | None = None
    applied: bool = True
    """`False` where `steer=False` only observes."""


def preview(text: str) -> str:
    """`text` cut to the length a step log shows."""
    return text if len(text) <= PREVIEW_CHARS else text[: PREVIEW_CHARS - 1] + "…"
