"""Events as they arrive, made ready for the tables. No I/O."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from ...limits import MAX_EVENTS, MAX_RUN_ID, MAX_STEP_INDEX
from ..errors import EngineError, Invalid
from ..mending import without_deep_events, without_lone_surrogates
from ..requests import EventsRequest, Label, Name, RunFinish, RunFinishEvent, RunId, RunStart, RunStartEvent, Step
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
    org_id: Name | None = None


class LossEvent(msgspec.Struct, tag_field="type", tag="loss"):
    """Steps of a run were lost on the way: so many in all, so that a report that comes twice changes nothing."""

    run_id: RunId
    steps: Annotated[int, Meta(ge=0, le=MAX_STEP_INDEX + 1)]
    cause: Label | None = None
    org_id: Name | None = None


Event: TypeAlias = RunStartEvent | StepEvent | RunFinishEvent | RunInterruptEvent | LossEvent


class _Events(msgspec.Struct):
    events: Annotated[list[Event], Meta(max_length=MAX_EVENTS)]


_one = msgspec.json.Decoder(Event)
_all = msgspec.json.Decoder(_Events)
_each = msgspec.json.Decoder(EventsRequest)
_any = msgspec.json.Decoder()


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
    org_id: str | None = None
    """Whose run it is, if an admin says so; the same for the others."""


class NewFinish(msgspec.Struct, gc=False):
    """A `run_finish`."""

    run_id: str
    outcome: str
    org_id: str | None = None


class NewInterrupt(msgspec.Struct, gc=False):
    """A `run_interrupt`."""

    run_id: str
    org_id: str | None = None


class NewLoss(msgspec.Struct, gc=False):
    """A `loss`."""

    run_id: str
    steps: int
    cause: str | None = None
    org_id: str | None = None


Entry: TypeAlias = NewRun | NewStep | NewFinish | NewInterrupt | NewLoss

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
    """The events of a whole body; `msgspec.DecodeError` if it is no object with at most 500 of them.

    What no decoder takes in one of them costs only that one: half a character is replaced, and what is nested
    without end is refused. `RecursionError` if that is somewhere else.
    """
    try:
        return [_read(event) for event in _all.decode(body).events]
    except (ValueError, RecursionError):
        pass  # one of them is bad, or more than that is
    events, deep = _taken_apart(body)
    entries = decode_events(events)
    for place in deep:
        entries[place] = _too_deep()
    return entries


def _taken_apart(body: bytes) -> tuple[list[msgspec.Raw], list[int]]:
    """The events, still encoded, and the places of those that were too deep to be kept."""
    deep: list[int] = []
    for _ in range(2):  # it may be both
        try:
            return _each.decode(body).events, deep
        except RecursionError:
            body, deep = without_deep_events(body)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            body = without_lone_surrogates(body)
    return _each.decode(body).events, deep


def decode_events(events: Sequence[bytes | msgspec.Raw]) -> list[Entry | EngineError]:
    """Each event by itself: what it says, or why it is refused."""
    return [_decoded(event) for event in events]


def _decoded(encoded: bytes | msgspec.Raw) -> Entry | EngineError:
    try:
        return _read(_one.decode(encoded))
    except ValueError as error:  # whatever is wrong with it, the others are stored
        given = bytes(encoded)
        mended = without_lone_surrogates(given)
        return _decoded(mended) if mended != given else _not_understood(str(error))
    except RecursionError:
        return _too_deep()


def _not_understood(reason: str, *location: str) -> Invalid:
    return Invalid(f"the event is not understood: {reason[:300]}", location=location)


def _too_deep() -> Invalid:
    return _not_understood("it is nested too deeply")


def _read(event: Event) -> Entry | EngineError:
    try:
        if type(event) is StepEvent:
            return _step(event.run_id, event, _metadata_text(event.metadata))
        if isinstance(event, RunStartEvent):
            return new_run(event)
        if isinstance(event, RunFinishEvent):
            return new_finish(event.run_id, event)
        if isinstance(event, LossEvent):
            return NewLoss(event.run_id, event.steps, event.cause, event.org_id)
        return NewInterrupt(event.run_id, event.org_id)
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
    return NewFinish(run_id, finish.outcome, finish.org_id)


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
    interrupted = _MARK in metadata and _interrupted(load(metadata))
    return NewStep(run_id, step, tokens, interrupted, values, step.org_id)


def _metadata_text(metadata: msgspec.Raw) -> str:
    try:
        text = str(memoryview(metadata), "utf-8")
    except UnicodeDecodeError as error:
        raise _not_understood(f"metadata: {error}", "metadata") from None
    if text == "{}" or text == "null":
        return "{}"
    if not text.startswith("{"):
        raise _not_understood("Expected `object` - at `$.metadata`", "metadata")
    try:
        value = _any.decode(text)  # takes no longer than a look for numbers that nobody can read
    except ValueError as error:
        raise _not_understood(str(error).replace("`$", "`$.metadata", 1), "metadata") from None
    if text.count("{") + text.count("[") > MAX_DEPTH and too_deep(value):
        raise Invalid(f"metadata is nested deeper than {MAX_DEPTH} levels; send something flatter")
    return text


def _interrupted(metadata: dict[str, Any]) -> bool:
    ours = metadata.get("reasonblocks")
    return isinstance(ours, dict) and ours.get(INTERRUPTED) is True
