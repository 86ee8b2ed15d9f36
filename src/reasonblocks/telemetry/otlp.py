"""Spans as the body of an OTLP request, in protobuf's format, written straight from what they hold.

OpenTelemetry's exporter makes an object of protobuf for every attribute first, which takes twice as long as making the
spans did. Here most attributes are a look-up: their names are few, and so are most of their values.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from . import semantics

_MOST_KNOWN = 4_096
"""Texts of which it is known how they are written."""
_LONGEST_KNOWN = 64
_double = struct.Struct("<d").pack
_fixed64 = struct.Struct("<Q").pack
_times = struct.Struct("<BQBQ").pack
_KINDS = {
    "INTERNAL": b"\x30\x01",
    "SERVER": b"\x30\x02",
    "CLIENT": b"\x30\x03",
    "PRODUCER": b"\x30\x04",
    "CONSUMER": b"\x30\x05",
}
_LOCAL, _REMOTE = b"\x85\x01\x00\x01\x00\x00", b"\x85\x01\x00\x03\x00\x00"
"""The flags that say whether it is known where the parent is, and that it is in another process."""


def request(spans: Iterable[Any]) -> bytes:
    """An `ExportTraceServiceRequest` with these spans, each with what a `ReadableSpan` has."""
    groups: dict[tuple[int, int], tuple[Any, Any, list[bytes]]] = {}
    for one in spans:
        resource, scope = one.resource, one.instrumentation_scope
        key = id(resource), id(scope)  # a resource takes longer to hash than a span to write
        group = groups.get(key)
        if group is None:
            group = groups[key] = (resource, scope, [])
        group[2].append(span(one))
    return b"".join(_group(*group) for group in groups.values())


def _group(resource: Any, scope: Any, spans: list[bytes]) -> bytes:
    about = _text(0x0A, scope.name) + _text(0x12, scope.version or "") + _attributes(0x1A, scope.attributes or {})
    scoped = _field(0x0A, about) + b"".join(spans) + _text(0x1A, scope.schema_url or "")
    described = _field(0x0A, _attributes(0x0A, resource.attributes))
    return _field(0x0A, described + _field(0x12, scoped) + _text(0x1A, resource.schema_url or ""))


def span(one: Any) -> bytes:
    """One span, as a field of its scope."""
    context, parent = one.context, one.parent
    parts = [
        b"\x0a\x10",
        context.trace_id.to_bytes(16, "big"),
        b"\x12\x08",
        context.span_id.to_bytes(8, "big"),
    ]
    if context.trace_state:
        parts.append(_text(0x1A, ",".join(f"{key}={value}" for key, value in context.trace_state.items())))
    if parent is not None:
        parts += (b"\x22\x08", parent.span_id.to_bytes(8, "big"))
    parts += (
        _name(0x2A, one.name),
        _KINDS[one.kind.name],
        _times(0x39, one.start_time, 0x41, one.end_time),
    )
    _add_attributes(parts, 0x4A, one.attributes)
    scores, events = getattr(one, "told", None) or (None, one.events)
    if scores is not None:
        _add_scores(parts, scores)
    parts += map(_event, events)
    parts += map(_link, one.links)
    if one.dropped_attributes or one.dropped_events or one.dropped_links:
        parts += (
            _counted(0x50, one.dropped_attributes),
            _counted(0x60, one.dropped_events),
            _counted(0x70, one.dropped_links),
        )
    parts.append(_status(one.status))
    parts.append(_REMOTE if parent is not None and parent.is_remote else _LOCAL)
    return _field(0x12, b"".join(parts))


def _event(event: Any) -> bytes:
    parts = [b"\x09", _fixed64(event.timestamp), _name(0x12, event.name)]
    if event.attributes:
        _add_attributes(parts, 0x1A, event.attributes)
    if event.dropped_attributes:
        parts.append(_counted(0x20, event.dropped_attributes))
    return _field(0x5A, b"".join(parts))


def _add_scores(parts: list[bytes], told: Any) -> None:
    """The events of scores: of each, all but the moment and the score is known by its monitor."""
    moment, fired = _fixed64(told.timestamp), told.fired
    for name, score in told.scores.items():
        label = semantics.FIRED if name in fired else semantics.NOT_FIRED
        before, between, after = _scored.get((name, label)) or _score_event(name, label)
        parts += (before, moment, between, _double(score), after)


_scored: dict[tuple[str, str], tuple[bytes, bytes, bytes]] = {}


def _score_event(name: str, label: str) -> tuple[bytes, bytes, bytes]:
    """What comes before the moment, between it and the score, and after that."""
    start = _text(0x12, semantics.EVENT_EVALUATION) + _attributes(0x1A, {semantics.EVALUATION_NAME: name})
    start += _attribute(0x1A, semantics.EVALUATION_SCORE, 0.0)[:-8]
    end = _attributes(0x1A, {semantics.EVALUATION_LABEL: label})
    size = 1 + 8 + len(start) + 8 + len(end)
    written = b"\x5a" + _number(size) + b"\x09", start, end
    if len(_scored) < _MOST_KNOWN:
        _scored[name, label] = written
    return written


def _link(link: Any) -> bytes:
    context = link.context
    ids = b"\x0a\x10" + context.trace_id.to_bytes(16, "big") + b"\x12\x08" + context.span_id.to_bytes(8, "big")
    flags = b"\x35" + (_REMOTE if context.is_remote else _LOCAL)[2:]
    return _field(0x6A, ids + _attributes(0x22, link.attributes or {}) + flags)


def _status(status: Any) -> bytes:
    code = status.status_code.value
    return _field(0x7A, _text(0x12, status.description or "") + bytes((0x18, code))) if code else b"\x7a\x00"


# -- attributes ------------------------------------------------------------------------------------


class _Known:
    """What was written before, by the field it was for and its name: few of either, but any number of values."""

    def __init__(self) -> None:
        self._fields: dict[int, dict[str, dict[Any, bytes]]] = {}
        self._count = 0

    def names(self, field: int) -> dict[str, dict[Any, bytes]]:
        """The attributes of a field, by name and value; under `None` all of one that is a float but its value."""
        return self._fields.get(field, _NOTHING)

    def remember(self, field: int, name: str, value: Any, written: bytes) -> None:
        """Know one more, at the cost of all if there are too many."""
        if self._count >= _MOST_KNOWN:
            self._fields.clear()
            self._count = 0
        self._count += 1
        self._fields.setdefault(field, {}).setdefault(name, {})[value] = written


_NOTHING: dict[Any, Any] = {}
_known = _Known()


def _attributes(field: int, attributes: Mapping[str, Any]) -> bytes:
    parts: list[bytes] = []
    _add_attributes(parts, field, attributes)
    return b"".join(parts)


def _add_attributes(parts: list[bytes], field: int, attributes: Mapping[str, Any]) -> None:
    known = _known.names(field)
    for name, value in attributes.items():
        kind, values = type(value), known.get(name, _NOTHING)
        if kind is float:
            parts.append(values.get(None) or _before_float(field, name))
            parts.append(_double(value))
        elif kind is str or kind is int:
            parts.append(values.get(value) or _attribute(field, name, value))
        else:
            parts.append(_attribute(field, name, value))


def _attribute(field: int, name: str, value: Any) -> bytes:
    written = _field(field, _text(0x0A, name) + _field(0x12, _value(value)))
    kind = type(value)
    if kind is int or (kind is str and len(value) <= _LONGEST_KNOWN):
        _known.remember(field, name, value, written)
    return written


def _before_float(field: int, name: str) -> bytes:
    written = _attribute(field, name, 0.0)[:-8]
    _known.remember(field, name, None, written)
    return written


def _name(field: int, name: str) -> bytes:
    """The name of a span or an event."""
    written = _known.names(field).get("", _NOTHING).get(name)
    if written is None:
        written = _text(field, name)
        if len(name) <= _LONGEST_KNOWN:
            _known.remember(field, "", name, written)
    return written


def _value(value: Any) -> bytes:
    """An `AnyValue`."""
    if isinstance(value, str):
        encoded = value.encode("utf-8", "replace")
        return b"\x0a" + _number(len(encoded)) + encoded
    if isinstance(value, float):
        return b"\x21" + _double(value)
    if isinstance(value, bool):
        return b"\x10\x01" if value else b"\x10\x00"
    if isinstance(value, int):
        return b"\x18" + _number(value & 0xFFFF_FFFF_FFFF_FFFF)
    if isinstance(value, bytes):
        return _field(0x3A, value)
    if isinstance(value, Mapping):
        pairs = (_text(0x0A, str(key)) + _field(0x12, _value(item)) for key, item in value.items())
        return _field(0x32, b"".join(_field(0x0A, pair) for pair in pairs))
    if isinstance(value, Sequence):
        return _field(0x2A, b"".join(_field(0x0A, _value(item)) for item in value))
    return b"" if value is None else _value(str(value))


# -- protobuf --------------------------------------------------------------------------------------


def _field(tag: int, body: bytes) -> bytes:
    size = len(body)
    return (bytes((tag, size)) if size < 0x80 else bytes((tag,)) + _number(size)) + body


def _text(tag: int, text: str) -> bytes:
    return _field(tag, text.encode("utf-8", "replace")) if text else b""


def _counted(tag: int, count: int) -> bytes:
    return bytes((tag,)) + _number(count) if count else b""


def _number(value: int) -> bytes:
    """A whole number, seven bits at a time."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
