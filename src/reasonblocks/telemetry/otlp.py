"""Spans as the body of an OTLP request, in protobuf's format, written straight from what they hold.

OpenTelemetry's exporter makes an object of protobuf for every attribute first, which takes twice as long as making the
spans did. Here most attributes are a look-up: their names are few, and so are most of their values.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_MOST_KNOWN = 4_096
"""Texts of which it is known how they are written."""
_LONGEST_KNOWN = 64
_double = struct.Struct("<d").pack
_fixed64 = struct.Struct("<Q").pack
_times = struct.Struct("<BQBQ").pack
_KINDS = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}
_LOCAL, _REMOTE = b"\x85\x01\x00\x01\x00\x00", b"\x85\x01\x00\x03\x00\x00"
"""The flags that say whether it is known where the parent is, and that it is in another process."""


def request(spans: Iterable[Any]) -> bytes:
    """An `ExportTraceServiceRequest` with these spans, each with what a `ReadableSpan` has."""
    groups: dict[tuple[Any, Any], list[bytes]] = {}
    for one in spans:
        groups.setdefault((one.resource, one.instrumentation_scope), []).append(span(one))
    return b"".join(_group(resource, scope, encoded) for (resource, scope), encoded in groups.items())


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
        _text(0x2A, one.name),
        bytes((0x30, _KINDS[one.kind.name])),
        _times(0x39, one.start_time, 0x41, one.end_time),
        _attributes(0x4A, one.attributes),
        *map(_event, one.events),
        *map(_link, one.links),
        _counted(0x50, one.dropped_attributes),
        _counted(0x60, one.dropped_events),
        _counted(0x70, one.dropped_links),
        _status(one.status),
        _REMOTE if parent is not None and parent.is_remote else _LOCAL,
    )
    return _field(0x12, b"".join(parts))


def _event(event: Any) -> bytes:
    name = _known.get((0x12, event.name, str, None)) or _event_name(event.name)
    body = b"\x09" + _fixed64(event.timestamp) + name + _attributes(0x1A, event.attributes or {})
    return _field(0x5A, body + _counted(0x20, event.dropped_attributes) if event.dropped_attributes else body)


def _event_name(name: str) -> bytes:
    encoded = _text(0x12, name)
    _remember((0x12, name, str, None), encoded)
    return encoded


def _link(link: Any) -> bytes:
    context = link.context
    ids = b"\x0a\x10" + context.trace_id.to_bytes(16, "big") + b"\x12\x08" + context.span_id.to_bytes(8, "big")
    flags = b"\x35" + (_REMOTE if context.is_remote else _LOCAL)[2:]
    return _field(0x6A, ids + _attributes(0x22, link.attributes or {}) + flags)


def _status(status: Any) -> bytes:
    code = status.status_code.value
    return _field(0x7A, _text(0x12, status.description or "") + bytes((0x18, code))) if code else b"\x7a\x00"


# -- attributes ------------------------------------------------------------------------------------

_known: dict[tuple[int, str, type, Any], bytes] = {}
"""Attributes that were written before, by the field they are in, name and value; of a float, all but the value."""


def _attributes(field: int, attributes: Mapping[str, Any]) -> bytes:
    written: list[bytes] = []
    for key, value in attributes.items():
        kind = type(value)
        if kind is float:
            written.append(_known.get((field, key, kind, None)) or _before_float(field, key))
            written.append(_double(value))
        elif kind is str or kind is int:
            written.append(_known.get((field, key, kind, value)) or _attribute(field, key, value))
        else:
            written.append(_attribute(field, key, value))
    return b"".join(written)


def _attribute(field: int, key: str, value: Any) -> bytes:
    encoded = _field(field, _text(0x0A, key) + _field(0x12, _value(value)))
    kind = type(value)
    if kind is int or (kind is str and len(value) <= _LONGEST_KNOWN):
        _remember((field, key, kind, value), encoded)
    return encoded


def _before_float(field: int, key: str) -> bytes:
    encoded = _attribute(field, key, 0.0)[:-8]
    _remember((field, key, float, None), encoded)
    return encoded


def _remember(attribute: tuple[int, str, type, Any], encoded: bytes) -> None:
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[attribute] = encoded


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
