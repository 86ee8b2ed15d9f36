"""Where a span is: as the current one of a context, and as text that another process can read."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext

_put = dict.__setitem__
"""Contexts refuse to be changed; one that nobody has seen yet may be."""


class Contexts(NamedTuple):
    """How OpenTelemetry keeps what is current: looked up once, for it is asked several times a step."""

    current: "Callable[[], Context]"
    attach: "Callable[[Context], Any]"
    span: "Callable[[], Span]"
    kind: "type[Context]"
    key: str
    """The current span's."""

    def within(self, span: "Span", caller: "Context") -> "Context":
        """The caller's context, baggage and all, with `span` as the current one."""
        context = self.kind(caller)
        _put(context, self.key, span)
        return context


@functools.cache
def contexts() -> Contexts:
    """Those of this process. Where they are kept in a context variable, that is asked without detours."""
    from opentelemetry import context, trace
    from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext

    (key,) = trace.set_span_in_context(trace.INVALID_SPAN, context.Context())
    runtime = getattr(context, "_RUNTIME_CONTEXT", None)
    if type(runtime) is ContextVarsRuntimeContext:
        variable = runtime._current_context
        return Contexts(variable.get, variable.set, trace.get_current_span, context.Context, key)
    return Contexts(context.get_current, context.attach, trace.get_current_span, context.Context, key)


def within(span: "Span") -> "Context":
    """The caller's context with `span` as the current one."""
    known = contexts()
    return known.within(span, known.current())


class Place:
    """Where one run is: the context in which its span is current, made anew only where the caller's is another."""

    __slots__ = ("_contexts", "_current", "_known")

    def __init__(self) -> None:
        self._contexts = contexts()
        self._current = self._contexts.current
        self._known: tuple[object, object, Any] = (None, None, None)
        """Caller, span and context, exchanged together: tools of one run may be on several threads."""

    def within(self, span: "Span") -> "Context":
        """As the function of this name."""
        caller, known = self._current(), self._known
        if caller is not known[0] or span is not known[1]:
            self._known = known = caller, span, self._contexts.within(span, caller)
        context: Context = known[2]
        return context


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
