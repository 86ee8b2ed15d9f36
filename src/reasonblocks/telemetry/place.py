"""Where a span is: as the current one of a context, and as text that another process can read."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext


def within(span: "Span") -> "Context":
    """The caller's context, baggage and all, with `span` as the current one."""
    return _set_in_context()(span)


@functools.cache
def _set_in_context() -> "Callable[[Span], Context]":
    """Looked up once: this is called several times a step."""
    from opentelemetry.trace import set_span_in_context

    return set_span_in_context


def traceparent_of(context: "SpanContext") -> str:
    """A span's place in W3C's form: text, which a checkpoint can keep."""
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def place_of(traceparent: str | None) -> "SpanContext | None":
    """The place that such a text names."""
    if not traceparent:
        return None
    from opentelemetry.trace import SpanContext, TraceFlags

    _, trace_id, span_id, flags = traceparent.split("-")
    place = SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=TraceFlags(int(flags, 16)))
    return place if place.is_valid else None
