"""Events as they arrive, made ready for the tables. No I/O."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from ...limits import MAX_EVENTS, MAX_RUN_ID
from ..errors import EngineError, Invalid
from ..requests import EventsRequest, RunFinish, RunFinishEvent, RunId, RunStart, RunStartEvent, Step
from ..store.values import MAX_DEPTH, dump, dump_given, load, too_deep

INTERRUPTED = "interrupted"
"""`metadata.reasonblocks.interrupted: true` on a step says that the run now waits for a person."""
_MARK = f'"{INTERRUPTED}"'


class StepEvent(Step, kw_only=True, gc=False, tag_field="type", tag="step"):
    """A `step` whose metadata goes into the table as it came: to decode it only to encode it again takes long.

    The form of the run id is not checked, since a run of an impossible id is not found anyway.
    """

    run_id: Annotated[str, Meta(max_length=MAX_RUN_ID)]
    metadata: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]


class RunInterruptEvent(msgspec.Struct, tag_field="type", tag="run_interrupt"):
    """A run waits for a person: it may be silent for as long as that takes."""

    run_id: RunId


Event: TypeAlias = RunStartEvent | StepEvent | RunFinishEvent | RunInterruptEvent


class _Events(msgspec.Struct):
    events: Annotated[list[Event], Meta(max_length=MAX_EVENTS)]


_one = msgspec.json.Decoder(Event)
_all = msgspec.json.Decoder(_Events)
_each = msgspec.json.Decoder(EventsRequest)


class NewRun(msgspec.Struct, gc=False):
    """A `run_start`."""

    run_id: str
    start: RunStart
    metadata: str


class NewStep(msgspec.Struct, gc=False):
    """A `step`."""

    run_id: str
    step: Step
    tokens: int
    interrupted: bool
    """Whether it says that the run waits for a person."""
    values: tuple[Any, ...]
    """For the columns `STEP_COLUMNS`."""


class NewFinish(msgspec.Struct, gc=False):
    """A `run_finish`."""

    run_id: str
    outcome: str


class NewInterrupt(msgspec.Struct, gc=False):
    """A `run_interrupt`."""

    run_id: str


Entry: TypeAlias = NewRun | NewStep | NewFinish | NewInterrupt

STEP_COLUMNS = (
    "is_error",
    "tokens",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "step_model",
    "failure_type",
    "injection_sources",
    "monitors_fired",
    "thought",
    "action",
    "action_input",
    "observation",
    "injections",
    "intervention_texts",
    "metadata",
)


def decode_body(body: bytes) -> list[Entry | EngineError]:
    """The events of a whole body; `msgspec.DecodeError` if it is no object with at most 500 of them."""
    try:
        return [_read(event) for event in _all.decode(body).events]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass  # one of them is bad, or more than that is
    try:
        return decode_events(_each.decode(body).events)
    except RecursionError:
        raise Invalid("the body is nested too deeply; send something flatter", location=("events",)) from None


def decode_events(events: Sequence[bytes | msgspec.Raw]) -> list[Entry | EngineError]:
    """Each event by itself: what it says, or why it is refused."""
    return [_decoded(event) for event in events]


def _decoded(encoded: bytes | msgspec.Raw) -> Entry | EngineError:
    try:
        return _read(_one.decode(encoded))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Invalid(f"the event is not understood: {str(error)[:300]}")
    except RecursionError:
        return Invalid("the event is not understood: it is nested too deeply")


def _read(event: Event) -> Entry | EngineError:
    try:
        if type(event) is StepEvent:
            return _step(event.run_id, event, _metadata_text(event.metadata))
        if isinstance(event, RunStartEvent):
            return new_run(event)
        if isinstance(event, RunFinishEvent):
            return NewFinish(event.run_id, event.outcome)
        return NewInterrupt(event.run_id)
    except Invalid as refusal:
        return refusal


def new_run(start: RunStart) -> NewRun:
    """A `run_start` that is decoded already."""
    return NewRun(start.run_id, start, dump_given(start.metadata, "metadata") if start.metadata else "{}")


def new_step(run_id: str, step: Step) -> NewStep:
    """A `step` that is decoded already."""
    return _step(run_id, step, dump_given(step.metadata, "metadata") if step.metadata else "{}")


def new_finish(run_id: str, finish: RunFinish) -> NewFinish:
    """A `run_finish` that is decoded already."""
    return NewFinish(run_id, finish.outcome)


def _step(run_id: str, step: Step, metadata: str) -> NewStep:
    tokens = step.tokens
    if tokens is None:
        tokens = (step.input_tokens or 0) + (step.output_tokens or 0)
    values = (
        bool(step.is_error),
        tokens,
        step.input_tokens or 0,
        step.output_tokens or 0,
        step.cache_read_tokens or 0,
        step.step_model or "",
        step.failure_type,
        dump(step.injection_sources) if step.injection_sources else "[]",
        dump(step.monitors_fired) if step.monitors_fired else "[]",
        step.thought or "",
        step.action,
        step.action_input,
        step.observation,
        dump(step.injections) if step.injections else "[]",
        dump(step.intervention_texts) if step.intervention_texts else "[]",
        metadata,
    )
    return NewStep(run_id, step, tokens, _MARK in metadata and _interrupted(load(metadata)), values)


def _metadata_text(metadata: msgspec.Raw) -> str:
    try:
        text = str(memoryview(metadata), "utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"the event is not understood: metadata: {error}", location=("metadata",)) from None
    if text == "{}" or text == "null":
        return "{}"
    if not text.startswith("{"):
        raise Invalid("the event is not understood: Expected `object` - at `$.metadata`", location=("metadata",))
    if text.count("{") + text.count("[") > MAX_DEPTH and too_deep(load(text)):
        raise Invalid(f"metadata is nested deeper than {MAX_DEPTH} levels; send something flatter")
    return text


def _interrupted(metadata: dict[str, Any]) -> bool:
    ours = metadata.get("reasonblocks")
    return isinstance(ours, dict) and ours.get(INTERRUPTED) is True
