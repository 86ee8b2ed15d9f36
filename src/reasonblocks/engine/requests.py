"""What can be asked of the engine, in the shapes and the limits of the wire.

Optional fields may be null, as some clients send them; unknown fields are ignored. Each struct is the body of one
route, and the same struct serves an embedded engine.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from ..limits import (
    MAX_EVENTS,
    MAX_NEAR_MISSES,
    MAX_OUTCOME,
    MAX_PATTERN_ID,
    MAX_RUN_ID,
    MAX_STEP_INDEX,
    MAX_STEPS,
    MAX_TASK,
    MAX_TEXT,
    RUN_ID_PATTERN,
)
from ..types import Tier

Status = Literal["candidate", "live", "retired"]
Provenance = Literal["curated", "mined"]
FailureType = Literal["contradiction", "loop", "unverified", "churn", "sprawl", "drift"]

Text = Annotated[str, Meta(max_length=MAX_TEXT)]
Name = Annotated[str, Meta(max_length=256)]
Label = Annotated[str, Meta(max_length=64)]
RunId = Annotated[str, Meta(min_length=1, max_length=MAX_RUN_ID, pattern=RUN_ID_PATTERN)]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Share = Annotated[float, Meta(ge=0, le=1)]
TopK = Annotated[int, Meta(ge=1, le=50)]
Weights = Annotated[dict[Name, float], Meta(max_length=64)]
FilePaths = Annotated[list[Annotated[str, Meta(max_length=4_096)]], Meta(max_length=1_024)]
Texts = Annotated[list[Text], Meta(max_length=256)]


# -- lookups ---------------------------------------------------------------------------------------


class RetrieveRequest(msgspec.Struct):
    """POST /traces/retrieve. `level` is the older name of `tier`; one of them is needed."""

    context: Text
    """What the agent has thought last; for E3, which is not compared with anything, it may be empty."""
    tier: Tier | None = None
    """Needed, here or as `level`."""
    level: Tier | None = None
    """The older name of `tier`."""
    top_k: TopK | None = None
    """How many at most; left out, 5."""
    model: Name | None = None
    failure_type: Label | None = None
    """Only E2 patterns about this failure."""
    org_id: Name | None = None
    near_misses: Annotated[int, Meta(ge=0, le=MAX_NEAR_MISSES)] | None = None
    """How many of those that are rejected to tell of, the nearest first; left out or 0, nothing is said about them."""


class TraceStep(msgspec.Struct):
    """One step of a trace that is evaluated."""

    thought: Text | None = None
    action: Text | None = None
    action_input: Text | None = None
    observation: Text | None = None
    observation_is_error: bool | None = None
    """Whether the tool failed; if not, that may still be told from its words."""


class EvaluateRequest(msgspec.Struct):
    """POST /monitors/evaluate; with `run_id` and `offset`, `steps` holds only what follows the first `offset`.

    Without a `run_id` there have to be `steps`.
    """

    steps: Annotated[list[TraceStep], Meta(max_length=MAX_STEPS)] | None = None
    """All steps so far, or with an `offset` those after it; needed without a `run_id`."""
    model: Name | None = None
    task_profile: Label | None = None
    """Whose weights count; `coding` where it is left out."""
    weights: Weights | None = None
    """Weights from 0 to 1 that replace those of the profile, by monitor."""
    org_id: Name | None = None
    project_id: Name | None = None
    run_id: RunId | None = None
    """The run that these steps belong to, so that the next call can go on behind them."""
    offset: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    """How many steps of the run were sent before."""
    task: Annotated[str, Meta(max_length=MAX_TASK)] | None = None
    """What the agent was asked to do; it counts with the first steps of a run, or with a whole trace."""


class ScoreRequest(msgspec.Struct):
    """POST /score."""

    text: Text
    context: Text | None = None


# -- runs ------------------------------------------------------------------------------------------


class RunStart(msgspec.Struct, kw_only=True):
    """POST /monitor/runs."""

    run_id: RunId
    agent_name: Text | None = None
    task: Annotated[str, Meta(max_length=MAX_TASK)] | None = None
    model: Name | None = None
    framework: Name | None = None
    codebase_id: Name | None = None
    org_id: Name | None = None
    project_id: Name | None = None
    task_profile: Label | None = None
    """How much each monitor counts for its steps."""
    metadata: dict[str, Any] | None = None
    """Anything to be kept with it; `reasonblocks.parent_run_id` names the run it came of."""


class Step(msgspec.Struct, kw_only=True):
    """POST /monitor/runs/{run_id}/steps."""

    step_index: Annotated[int, Meta(ge=0, le=MAX_STEP_INDEX)]
    """From 0; a step that came before changes nothing."""
    action: Text | None = None
    action_input: Text | None = None
    thought: Text | None = None
    observation: Text | None = None
    is_error: bool | None = None
    """Whether the tool failed."""
    tokens: Count | None = None
    input_tokens: Count | None = None
    output_tokens: Count | None = None
    cache_read_tokens: Count | None = None
    step_model: Name | None = None
    """The model that was called."""
    injections: Texts | None = None
    """Previews of what was said to the model."""
    injection_sources: Texts | None = None
    """Who had it said."""
    intervention_texts: Texts | None = None
    """What was said to the model, in full."""
    monitors_fired: Texts | None = None
    failure_type: Label | None = None
    metadata: dict[str, Any] | None = None
    org_id: Name | None = None


class RunFinish(msgspec.Struct, kw_only=True):
    """POST /monitor/runs/{run_id}/finish."""

    outcome: Annotated[str, Meta(max_length=MAX_OUTCOME)]
    """`success`, or what went wrong, such as `failure: TimeoutError`."""
    org_id: Name | None = None


class RunStartEvent(RunStart, kw_only=True, tag_field="type", tag="run_start"):
    """A `run_start` among other events."""


class RunFinishEvent(RunFinish, kw_only=True, tag_field="type", tag="run_finish"):
    """A `run_finish` among other events."""

    run_id: RunId


class EventsRequest(msgspec.Struct):
    """POST /monitor/events; each event is decoded by itself, so that a bad one does not spoil the others."""

    events: Annotated[list[msgspec.Raw], Meta(max_length=MAX_EVENTS)]


# -- profiles, traces, patterns ----------------------------------------------------------------------


class ProfileCreate(msgspec.Struct):
    """POST /monitor/profiles."""

    name: Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_\-.]+$(?!\n)")]
    """Letters, digits, `_`, `-` and `.`; what `task_profile` will say."""
    weights: Weights
    """From 0 to 1 by monitor; those left out have their default."""
    description: Annotated[str, Meta(max_length=2_000)] | None = None
    org_id: Name | None = None


class ProfileChange(msgspec.Struct):
    """PATCH /monitor/profiles/{id}: what is left out stays."""

    weights: Weights | None = None
    description: Annotated[str, Meta(max_length=2_000)] | None = None
    org_id: Name | None = None


class StoredStep(msgspec.Struct):
    """A step of a trace that is stored for distillation."""

    step_index: Annotated[int, Meta(ge=0, le=MAX_STEP_INDEX)]
    thought: Text | None = None
    action: Text | None = None
    action_input: Text | None = None
    observation: Text | None = None
    difficulty: float | None = None
    state: Label | None = None
    tokens_used: Count | None = None


class TraceUpload(msgspec.Struct):
    """POST /traces: a trace with its steps (200), or a manifest with its calls (202)."""

    trace_id: RunId | None = None
    steps: Annotated[list[StoredStep], Meta(max_length=MAX_STEPS)] | None = None
    outcome: Annotated[str, Meta(max_length=MAX_OUTCOME)] | None = None
    manifest: dict[str, Any] | None = None
    """Instead of `steps`: what the calls are about."""
    calls: Annotated[list[dict[str, Any]], Meta(max_length=MAX_STEPS)] | None = None
    """Those of the manifest."""
    org_id: Name | None = None


class PatternCreate(msgspec.Struct):
    """POST /library/patterns. An admin may say which id it gets, so that what was exported comes back as it was."""

    tier: Tier
    fields: dict[str, Any]
    """What it says; which fields a tier has is in `reasonblocks/schemas/pattern_schema.json`."""
    failure_type: FailureType | None = None
    gate_threshold: Share | None = None
    """The least similarity at which it is given, where that is above the gate of its tier."""
    model_family: Label | None = None
    """The models it is for, such as `haiku`; left out, any."""
    status: Status | None = None
    """Only `live` ones are used."""
    org_id: Name | None = None
    pattern_id: (
        Annotated[str, Meta(min_length=1, max_length=MAX_PATTERN_ID, pattern=r"^[^\s\x00-\x1f\x7f]+$(?!\n)")] | None
    ) = None
    """Counts for admins only; others get a new one."""
    provenance: Provenance | None = None
    source_trace_id: Name | None = None


class PatternChange(msgspec.Struct):
    """PATCH /library/patterns/{tier}/{pattern_id}: fields are merged, null removes one; what is left out stays."""

    fields: dict[str, Any] | None = None
    failure_type: FailureType | msgspec.UnsetType | None = msgspec.UNSET
    gate_threshold: Share | msgspec.UnsetType | None = msgspec.UNSET
    model_family: Label | None = None
    status: Status | None = None
    org_id: Name | None = None


# -- findings --------------------------------------------------------------------------------------

Content = Annotated[str, Meta(min_length=1, max_length=8_000)]


class FindingCreate(msgspec.Struct):
    """POST /findings/{codebase_id}."""

    content: Content
    file_path: Annotated[str, Meta(max_length=4_096)] | None = None
    finding_type: Label | None = None
    metadata: dict[str, Any] | None = None
    org_id: Name | None = None


class FindingChange(msgspec.Struct):
    """PATCH /findings/{codebase_id}/{finding_id}: what is left out stays."""

    content: Content | None = None
    file_path: Annotated[str, Meta(max_length=4_096)] | None = None
    finding_type: Label | None = None
    metadata: dict[str, Any] | None = None
    org_id: Name | None = None


class FindingSearch(msgspec.Struct):
    """POST /findings/{codebase_id}/search."""

    query: Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]
    top_k: TopK | None = None
    score_threshold: Share | None = None
    """The least similarity of what is found."""
    org_id: Name | None = None


class FindingInvalidate(msgspec.Struct):
    """POST /findings/{codebase_id}/invalidate."""

    file_paths: FilePaths
    org_id: Name | None = None
