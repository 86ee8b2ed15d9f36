"""What the engine answers, in the shapes of the wire. Times are ISO 8601 in UTC."""

from typing import Any, Literal

import msgspec

NearMissReason = Literal["gate", "own_gate", "failure_type", "top_k"]
NotCompared = Literal["no_context", "no_patterns", "few_words"]


class Trace(msgspec.Struct):
    """One pattern that was retrieved."""

    tier: str
    level: str
    pattern_id: str
    similarity: float
    """Calibrated: what the gates are about."""
    failure_type: str | None
    fields: dict[str, Any]
    model_family: str
    source_trace_id: str | None
    cosine: float | None = None
    """As the embedder gave it; `None` where nothing was compared."""
    gate: float | msgspec.UnsetType | None = msgspec.UNSET
    """The similarity it had to have; only with `near_misses`."""


class NearMiss(msgspec.Struct):
    """A pattern that was considered, and rejected."""

    tier: str
    pattern_id: str
    title: str
    """What it says, in a few words."""
    similarity: float
    gate: float | None
    """The similarity it has to have: that of its tier, or its own where it asks for more."""
    reason: NearMissReason
    """`gate` and `own_gate`: it is below it; `failure_type`: it waits until the monitors have named its failure;
    `top_k`: enough others came before it."""
    failure_type: str | None = None


class Retrieval(msgspec.Struct):
    """The answer of POST /traces/retrieve."""

    traces: list[Trace]
    near_misses: list[NearMiss] | msgspec.UnsetType = msgspec.UNSET
    """What came close, the nearest first; only where it was asked for."""
    not_compared: NotCompared | msgspec.UnsetType | None = msgspec.UNSET
    """Why the context was compared with nothing, where that is so: it has no words (`no_context`), there is nothing to
    compare it with (`no_patterns`), or it has too few words in common with any pattern (`few_words`)."""


class Evidence(msgspec.Struct):
    """Why a monitor scored as it did."""

    monitor: str
    reason: str
    """One sentence: what was compared, and what was found."""
    steps: list[int] = []
    quotes: list[str] = []


class Evaluation(msgspec.Struct):
    """The answer of POST /monitors/evaluate."""

    inject: bool
    """Whether something should be said to the model now; guardrails are the client's."""
    intervention_text: str | None
    """What, if so."""
    failure_type: str | None
    injection_path: str | None
    """Why: `strong` (one monitor fired), `composite` (several weak ones together), `fallback` (a pattern)."""
    intervention_source: str | None
    """Who worded it: `template`, `e2` or `judge`."""
    fired: list[str]
    """The monitors that reached their threshold."""
    pattern_id: str | None
    """The pattern that was used, if one was."""
    scores: dict[str, float]
    """From 0 to 1 by monitor; 1 is worst."""
    composite: float
    """The weighted sum of the scores."""
    evidence: list[Evidence] = []


class Score(msgspec.Struct):
    """The answer of POST /score."""

    difficulty: float
    """From 0 to 1."""


class StepScores(msgspec.Struct):
    """The answer of POST /monitor/runs/{run_id}/steps."""

    scores: dict[str, float]
    total_score: float
    """The weighted sum of the scores."""
    fired: list[str]


class StoredStepAnswer(msgspec.Struct, kw_only=True):
    """A step of a run as it is shown."""

    step_index: int
    thought: str
    action: str | None
    action_input: str | None
    observation: str | None
    is_error: bool
    tokens: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    step_model: str
    injections: list[str]
    injection_sources: list[str]
    intervention_texts: list[str]
    monitors_fired: list[str]
    failure_type: str | None
    metadata: dict[str, Any]
    created_at: str
    scores: dict[str, float] | None
    """`None` until the monitors have seen it."""
    total_score: float | None
    fired: list[str] | None
    evidence: list[Evidence] | None


class Run(msgspec.Struct, kw_only=True):
    """A run as it is listed."""

    run_id: str
    org_id: str
    project_id: str
    agent_name: str
    task: str
    model: str
    framework: str
    codebase_id: str
    task_profile: str
    metadata: dict[str, Any]
    status: str
    """`running` or `finished`."""
    outcome: str | None
    started_at: str
    finished_at: str | None
    last_seen_at: str
    step_count: int
    total_tokens: int
    lost_steps: int
    """Steps that the client had to give up, as far as it could tell."""
    loss_cause: str | None
    """Why, as it said last."""


def parent_of(metadata: dict[str, Any]) -> str | None:
    """The run that a run came of, as its metadata have it: nested in a tool of it, or begun at a checkpoint."""
    ours = metadata.get("reasonblocks")
    parent = ours.get("parent_run_id") if isinstance(ours, dict) else None
    return parent if isinstance(parent, str) else None


class RunWithSteps(Run, kw_only=True):
    """A run with its steps and their scores."""

    steps: list[StoredStepAnswer]


class RejectedEvent(msgspec.Struct):
    """An event that was not applied, and why."""

    index: int
    detail: str


class EventsReceipt(msgspec.Struct):
    """The answer of POST /monitor/events."""

    accepted: int
    rejected: list[RejectedEvent]


class Identity(msgspec.Struct):
    """The answer of GET /monitor/me."""

    key_id: str
    org_id: str | None
    """`None` for an admin."""
    project_id: str | None
    """The only project that the key is good for, if there is one."""
    is_admin: bool


class Guidance(msgspec.Struct):
    """What became of guidance, as far as the steps after it tell."""

    steps_by_source: dict[str, int]
    """How many model calls each source has had something said in."""
    fell_silent: int
    """How often a monitor that had guidance given fired on neither of the next two steps,"""
    fired_again: int
    """and how often it did."""
    not_known: int
    """How often the run ended before that, or its steps are not scored."""
    guided_outcomes: dict[str, int]
    """How the runs ended that were given more than the standing rules."""
    unguided_outcomes: dict[str, int]


class HealthSummary(msgspec.Struct):
    """The answer of GET /monitor/health-summary."""

    runs: int
    open_runs: int
    steps: int
    outcomes: dict[str, int]
    """How many runs ended how; `running` counts those that have not."""
    firing_rates: dict[str, float]
    """For each monitor, the share of the scored steps on which it fired."""
    scored_steps: int
    injected_steps: int
    total_tokens: int
    guidance: Guidance | None = None


class Scorer(msgspec.Struct):
    """One monitor, in the answer of GET /monitor/scorers."""

    name: str
    failure_type: str
    default_weight: float
    fire_threshold: float
    description: str


class Profile(msgspec.Struct):
    """A weight profile, built in or an organisation's own."""

    id: str
    name: str
    weights: dict[str, float]
    description: str
    built_in: bool
    org_id: str | None
    created_at: str | None
    updated_at: str | None


class TraceReceipt(msgspec.Struct):
    """The answer of POST /traces."""

    trace_id: str
    stored: bool
    steps: int


class Pattern(msgspec.Struct, kw_only=True):
    """A pattern as the library shows it."""

    tier: str
    pattern_id: str
    org_id: str | None
    """Whose it is; `None` for those that all share."""
    fields: dict[str, Any]
    failure_type: str | None
    gate_threshold: float | None
    model_family: str
    status: str
    provenance: str
    """`curated` or `mined`."""
    source_trace_id: str | None
    version: int
    created_at: str
    updated_at: str


class PatternVersion(msgspec.Struct, kw_only=True):
    """What a pattern said from one change of it to the next."""

    version: int
    status: str
    failure_type: str | None
    gate_threshold: float | None
    model_family: str
    fields: dict[str, Any]
    changed_by: str
    """The id of the key, or `library`."""
    created_at: str


class FindingReceipt(msgspec.Struct):
    """The answer of POST /findings/{codebase_id}."""

    finding_id: str
    stored: bool


class Finding(msgspec.Struct, kw_only=True):
    """A finding about a codebase."""

    finding_id: str
    codebase_id: str
    content: str
    file_path: str
    finding_type: str
    metadata: dict[str, Any]
    created_at: str
    updated_at: str


class FoundFinding(Finding, kw_only=True):
    """A finding that a search brought up."""

    score: float


class Findings(msgspec.Struct):
    """The answer of GET /findings/{codebase_id}."""

    findings: list[Finding]
    count: int


class FoundFindings(msgspec.Struct):
    """The answer of POST /findings/{codebase_id}/search."""

    results: list[FoundFinding]


class Codebases(msgspec.Struct):
    """The answer of GET /findings."""

    codebases: list[str]


class Invalidated(msgspec.Struct):
    """The answer of POST /findings/{codebase_id}/invalidate."""

    invalidated: int
