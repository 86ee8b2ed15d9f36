"""Where a span is: as the current one of a context, and as text that another process can read."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext


def within(span: "Span") -> "Context":
    """The caller's context, baggage and all, with `span` as the current one."""
    return _contexts()[1](span)


class Place:
    """Where one run is: the context in which its span is current, made anew only where the caller's is another."""

    __slots__ = ("_caller", "_context", "_span")

    def __init__(self) -> None:
        self._span: object = None
        self._caller: object = None
        self._context: Context | None = None

    def within(self, span: "Span") -> "Context":
        """As the function of this name."""
        current, set_in_context = _contexts()
        caller = current()
        if self._context is None or caller is not self._caller or span is not self._span:
            self._span, self._caller, self._context = span, caller, set_in_context(span, caller)
        return self._context


@functools.cache
def _contexts() -> "tuple[Callable[[], Context], Callable[..., Context]]":
    """What gives the current context, and one with another span; looked up once, for this is called at every step."""
    from opentelemetry.context import get_current
    from opentelemetry.trace import set_span_in_context

    return get_current, set_span_in_context


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
