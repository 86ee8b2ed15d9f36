"""Spans as the body of an OTLP request, in protobuf's format, written straight from what they hold.

OpenTelemetry's exporter makes an object of protobuf for every attribute first, which takes twice as long as making the
spans did. Light spans that nobody but us has written to are `shorthand.py`'s; this is how all others are written.
"""

import itertools
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from . import shorthand
from .light import LightSpan
from .protobuf import Attributes, Names, Starts, counted, field, fixed64, start, state, text

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
_of_spans, _of_events, _of_links = Attributes(0x4A), Attributes(0x1A), Attributes(0x22)
_of_resources, _of_scopes = Attributes(0x0A), Attributes(0x1A)
_span_names, _event_names = Names(0x2A), Names(0x12)
_span_starts = Starts(0x12)


def request(spans: Iterable[Any]) -> bytes:
    """An `ExportTraceServiceRequest` with these spans, each with what a `ReadableSpan` has."""
    groups: dict[Any, tuple[Any, Any, list[bytes]]] = {}
    shared: shorthand.Shared = {}
    last: object = None
    for one in spans:
        light = type(one) is LightSpan
        # A resource takes longer to hash than a span to write.
        key = one._tracer if light else (id(one.resource), id(one.instrumentation_scope))
        if key is not last:
            last = key
            written = groups.setdefault(key, (one.resource, one.instrumentation_scope, []))[2]
        body = (light and shorthand.span(one, shared)) or span(one)
        written += (_span_starts[len(body)], body)
    return b"".join(itertools.chain.from_iterable(_group(*group) for group in groups.values()))


def _group(resource: Any, scope: Any, spans: list[bytes]) -> list[bytes]:
    about = text(0x0A, scope.name) + text(0x12, scope.version or "") + _of_scopes.joined(scope.attributes)
    scoped = [field(0x0A, about), *spans, text(0x1A, scope.schema_url or "")]
    size = sum(map(len, scoped))
    described = field(0x0A, _of_resources.joined(resource.attributes)) + start(0x12, size)
    schema = text(0x1A, resource.schema_url or "")
    return [start(0x0A, len(described) + size + len(schema)), described, *scoped, schema]


def span(one: Any) -> bytes:
    """One span, as it is in a field of its scope."""
    context, parent = one.context, one.parent
    parts = [
        b"\x0a\x10",
        context.trace_id.to_bytes(16, "big"),
        b"\x12\x08",
        context.span_id.to_bytes(8, "big"),
    ]
    parts.append(state(context.trace_state))
    if parent is not None:
        parts += (b"\x22\x08", parent.span_id.to_bytes(8, "big"))
    parts += (
        _span_names[one.name],
        _KINDS[one.kind.name],
        _times(0x39, one.start_time, 0x41, one.end_time),
    )
    parts += _of_spans.of(one.attributes or {})
    parts += _events(one)
    parts += map(_link, one.links)
    parts += (
        counted(0x50, one.dropped_attributes),
        counted(0x60, one.dropped_events),
        counted(0x70, one.dropped_links),
        _status(one.status),
        _REMOTE if parent is not None and parent.is_remote else _LOCAL,
    )
    return b"".join(parts)


def _events(one: Any) -> Iterator[bytes]:
    """The events of a span; those of a light one as they are kept, without the objects that are made for readers."""
    if type(one) is LightSpan:
        return (_event(name, attributes, when) for name, attributes, when in one.happened())
    return (_event(event.name, event.attributes, event.timestamp, event.dropped_attributes) for event in one.events)


def _event(name: str, attributes: Mapping[str, Any] | None, when: int, dropped: int = 0) -> bytes:
    parts = (b"\x09", fixed64(when), _event_names[name], _of_events.joined(attributes), counted(0x20, dropped))
    return field(0x5A, b"".join(parts))


def _link(link: Any) -> bytes:
    context = link.context
    ids = b"\x0a\x10" + context.trace_id.to_bytes(16, "big") + b"\x12\x08" + context.span_id.to_bytes(8, "big")
    flags = b"\x35" + (_REMOTE if context.is_remote else _LOCAL)[2:]
    return field(0x6A, ids + _of_links.joined(link.attributes) + flags)


def _status(status: Any) -> bytes:
    code = status.status_code.value
    return field(0x7A, text(0x12, status.description or "") + bytes((0x18, code))) if code else b"\x7a\x00"
