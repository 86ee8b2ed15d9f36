"""The structs of every request and answer, and the limits of the wire.

Answers are decoded leniently where a field may be missing or null, and strictly where its type matters:
what does not fit becomes `Unavailable`, never guidance.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from ..errors import Rejected, Unavailable
from ..limits import MAX_BODY, MAX_NEAR_MISSES, MAX_PATTERN_ID, MAX_STEPS, MAX_TEXT, MAX_TITLE
from ..types import ETrace, MonitorEvaluation, NearMiss, StepRecord
from .backend import Retrieved

BODY_ROOM = MAX_BODY - 500_000
"""Bytes we put in one body; the rest of the server's cap is room for the frame around the steps."""

MAX_WORD = 64
"""Characters of a reason or a kind of failure, whoever gave it."""


class EvaluationAnswer(msgspec.Struct):
    """The answer of POST /monitors/evaluate."""

    inject: bool | None = False
    intervention_text: str | None = None
    fired: list[str] | None = None
    scores: dict[str, float] | None = None
    composite: float | None = 0.0
    failure_type: str | None = None
    intervention_source: str | None = None
    injection_path: str | None = None
    pattern_id: str | None = None


class TraceAnswer(msgspec.Struct):
    """One pattern in the answer of POST /traces/retrieve."""

    tier: str | None = None
    level: str | None = None
    pattern_id: str | None = None
    similarity: float | None = None
    failure_type: str | None = None
    fields: dict[str, Any] | None = None
    model_family: str | None = None
    source_trace_id: str | None = None
    gate: float | None = None


class NearMissAnswer(msgspec.Struct):
    """A rejected pattern in the answer of POST /traces/retrieve."""

    pattern_id: str | None = None
    title: str | None = None
    similarity: float | None = None
    gate: float | None = None
    reason: str | None = None
    failure_type: str | None = None


class RetrieveAnswer(msgspec.Struct):
    """The answer of POST /traces/retrieve; each pattern is decoded by itself, so that one bad one spoils no other."""

    traces: list[msgspec.Raw]
    near_misses: msgspec.Raw = msgspec.Raw(b"null")
    not_compared: msgspec.Raw = msgspec.Raw(b"null")


class HealthAnswer(msgspec.Struct):
    """The answer of GET /health."""

    status: str = ""
    version: str | None = None
    capabilities: list[str] | None = None


class EventsAnswer(msgspec.Struct):
    """The answer of POST /monitor/events."""

    accepted: int = 0
    rejected: list[dict[str, Any]] = []


class ConflictAnswer(msgspec.Struct):
    """The answer 409 of an incremental evaluation: how many steps the server holds."""

    have: int


class WireStep(msgspec.Struct, omit_defaults=True):
    """A step as POST /monitors/evaluate takes it."""

    thought: str = ""
    action: str | None = None
    action_input: str | None = None
    observation: str | None = None
    observation_is_error: bool = False


_evaluation = msgspec.json.Decoder(EvaluationAnswer)
_retrieval = msgspec.json.Decoder(RetrieveAnswer)
_trace = msgspec.json.Decoder(TraceAnswer)
_missed = msgspec.json.Decoder(list[NearMissAnswer] | None)
_word = msgspec.json.Decoder(str | None)
_receipt = msgspec.json.Decoder(dict[str, msgspec.Raw])
_encoder = msgspec.json.Encoder(enc_hook=str)


def encode(value: Any) -> bytes:
    """`value` as JSON, whatever a caller put in it: odd objects become text, broken text is mended."""
    try:
        return _encoder.encode(value)
    except Exception:  # whatever the text of a caller's object raises
        return _encoder.encode(plain(value))


def encode_event(event: dict[str, Any]) -> bytes:
    """An event as JSON that the server's body cap lets through: without its metadata, if it has to be."""
    encoded = encode(event)
    if len(encoded) > BODY_ROOM and event.get("metadata"):
        encoded = encode(event | {"metadata": {"reasonblocks": f"left out: the event had {len(encoded)} bytes"}})
    if len(encoded) > BODY_ROOM:
        raise Rejected(413, f"an event of {len(encoded)} bytes is more than the server takes ({BODY_ROOM})")
    return encoded


def plain(value: Any, depth: int = 0) -> Any:
    """`value` in terms of JSON alone."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if value is None or isinstance(value, bool | int | float):
        return value if not isinstance(value, int) or abs(value) < 2**63 else _text(value)
    if depth > 50:
        return "..."
    if isinstance(value, msgspec.Struct):
        value = {name: getattr(value, name) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {str(plain(_text(key), depth + 1)): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item, depth + 1) for item in value]
    return plain(_text(value), depth + 1)


def _text(value: Any) -> str:
    """The text of any object, or what kind of object it is that has none."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__} without a text>"


def cap(text: str | None, limit: int = MAX_TEXT) -> str | None:
    """`text` within a limit of the wire: the head and the tail stay, the middle is left out."""
    if text is None or len(text) <= limit:
        return text
    mark = f"\n[... {len(text) - limit} characters left out ...]\n"
    if limit <= 2 * len(mark):
        return text[:limit]
    head = (limit - len(mark)) * 2 // 3
    return text[:head] + mark + text[len(text) - (limit - len(mark) - head) :]


def encode_step(step: StepRecord) -> msgspec.Raw:
    """One step of a trace, encoded once and used in every later request."""
    return msgspec.Raw(
        encode(
            WireStep(
                thought=cap(step.thought) or "",
                action=cap(step.action),
                action_input=cap(step.action_input),
                observation=cap(step.observation),
                observation_is_error=step.observation_is_error,
            )
        )
    )


def oldest_within(steps: Sequence[msgspec.Raw], most: int = MAX_STEPS, room: int = BODY_ROOM) -> Sequence[msgspec.Raw]:
    """The first of these steps, as many as fit in one request: at least one."""
    size = 0
    for count, step in enumerate(steps[:most]):
        size += len(memoryview(step)) + 1
        if size > room and count:
            return steps[:count]
    return steps[:most]


def newest_within(steps: Sequence[msgspec.Raw], most: int = MAX_STEPS, room: int = BODY_ROOM) -> Sequence[msgspec.Raw]:
    """The newest steps that fit in one request."""
    kept = steps[-most:]
    size = sum(len(memoryview(step)) + 1 for step in kept)
    first = 0
    while size > room and first < len(kept) - 1:
        size -= len(memoryview(kept[first])) + 1
        first += 1
    return kept[first:]


def check_receipt(content: bytes) -> None:
    """Raise `Unavailable` if what came for an event is no answer of rb-api: then it may not have arrived."""
    try:
        if content:
            _receipt.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unavailable(f"the server's answer to an event is not understood: {error}") from None


def decode_evaluation(content: bytes) -> MonitorEvaluation:
    """The monitors' answer, or `Unavailable` if it is not one."""
    try:
        answer = _evaluation.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unavailable(f"the server's evaluation is not understood: {error}") from None
    return MonitorEvaluation(
        inject=bool(answer.inject),
        intervention_text=answer.intervention_text,
        fired=tuple(answer.fired or ()),
        scores=answer.scores or {},
        composite=answer.composite or 0.0,
        failure_type=answer.failure_type,
        intervention_source=answer.intervention_source,
        injection_path=answer.injection_path,
        pattern_id=answer.pattern_id,
    )


def decode_retrieval(content: bytes, tier: str) -> Retrieved:
    """The patterns of an answer, and what came close if it says so."""
    try:
        answer = _retrieval.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unavailable(f"the server's patterns are not understood: {error}") from None
    traces = _etraces(answer.traces, tier)
    try:
        missed = _missed.decode(answer.near_misses)
        not_compared = _word.decode(answer.not_compared)
    except (msgspec.DecodeError, UnicodeDecodeError):  # it is for people who ask why: nothing depends on it
        return Retrieved(traces)
    return Retrieved(
        traces,
        tuple(_near_miss(one) for one in (missed or ())[:MAX_NEAR_MISSES]),
        told=missed is not None,
        not_compared=not_compared and not_compared[:MAX_WORD],
    )


def _etraces(raw: Sequence[msgspec.Raw], tier: str) -> list[ETrace]:
    """Those that are not understood are left out, unless it is all of them."""
    traces: list[ETrace] = []
    problem = ""
    for item in raw:
        try:
            traces.append(_etrace(_trace.decode(item), tier))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problem = str(error)
    if raw and not traces:
        raise Unavailable(f"none of the server's {len(raw)} patterns is understood: {problem}")
    return traces


def _etrace(answer: TraceAnswer, tier: str) -> ETrace:
    return ETrace(
        tier=answer.tier or answer.level or tier,
        similarity=answer.similarity or 0.0,
        pattern_id=answer.pattern_id or "",
        fields=answer.fields or {},
        failure_type=answer.failure_type,
        model_family=answer.model_family or "",
        source_trace_id=answer.source_trace_id,
        gate=answer.gate,
    )


def _near_miss(answer: NearMissAnswer) -> NearMiss:
    """What a server says of a pattern, no longer than one of ours would: it is stored with the step."""
    return NearMiss(
        pattern_id=(answer.pattern_id or "")[:MAX_PATTERN_ID],
        title=(answer.title or "")[:MAX_TITLE],
        similarity=answer.similarity or 0.0,
        gate=answer.gate,
        reason=(answer.reason or "")[:MAX_WORD],
        failure_type=answer.failure_type and answer.failure_type[:MAX_WORD],
    )
