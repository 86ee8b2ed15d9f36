"""How a run writes to its spans: as OpenTelemetry's API has it, or by a shorter way where the span offers one.

What we write are plain values of our own, that nobody changes afterwards. The SDK cannot know that: it copies and
checks each of them, and for six scores a step that takes longer than all else we do for a trace.
"""

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..types import MonitorEvaluation
from . import semantics
from .content import evaluated
from .place import within

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, Span, Tracer

Attributes = Mapping[str, Any]
_API, _SDK = "opentelemetry.trace", "opentelemetry.sdk.trace"
_NO_ATTRIBUTES: dict[str, Any] = {}
_ROOM = 64
"""More attributes than we give to any span or event."""


class Pen:
    """Writes by the API, which every provider has."""

    __slots__ = ("_tracer",)

    def __init__(self, tracer: "Tracer") -> None:
        self._tracer = tracer

    def child(
        self,
        name: str,
        parent: "Span",
        attributes: dict[str, Any] | None,
        start_time: int | None = None,
        common: dict[str, Any] = _NO_ATTRIBUTES,
    ) -> "Span":
        """A span below another one, with the baggage of whoever calls, and with what is `common` to all of its run.

        The attributes may still be added to, until they are given to `attributes` before it ends.
        """
        told = {**common, **attributes} if attributes else common
        return self._tracer.start_span(name, within(parent), attributes=told or None, start_time=start_time)

    def attributes(self, span: "Span", attributes: Attributes) -> None:
        """Attributes, all at once."""
        span.set_attributes(attributes)

    def events(self, span: "Span", name: str, each: Sequence[Attributes], when: int | None = None) -> None:
        """Events of one name."""
        for attributes in each:
            span.add_event(name, attributes, when)

    def scores(self, span: "Span", evaluation: MonitorEvaluation, when: int | None, *, explained: bool) -> None:
        """An event for each score of the monitors; with their words, if those are to be `explained`."""
        self.events(span, semantics.EVENT_EVALUATION, evaluated(evaluation, explained=explained), when)


class SdkPen(Pen):
    """Writes to spans of the SDK without its checks, of which none could find anything."""

    __slots__ = ("_event",)

    def __init__(self, tracer: "Tracer", event: Any) -> None:
        super().__init__(tracer)
        self._event = event

    def attributes(self, span: Any, attributes: Attributes) -> None:
        """Attributes, all at once."""
        with span._lock:
            if span._end_time is None:
                span._attributes._dict.update(attributes)

    def events(self, span: Any, name: str, each: Sequence[Attributes], when: int | None = None) -> None:
        """Events of one name."""
        for attributes in each:
            span._add_event(self._event(name, attributes, when))


def lightest(tracer: "Tracer", before: "Tracer | None" = None) -> "Tracer | None":
    """A tracer that makes the same spans with less around them, where there is one: that of before, if it still is.

    `None` where the tracer is the API's own, which makes none.
    """
    known = getattr(tracer, "_tracer", tracer)  # behind one that was made before there was a provider
    module = type(known).__module__
    if module == _SDK:
        light: Tracer | None = _light().of_application(known, before)
        return light or tracer
    return None if module == type(tracer).__module__ == _API else tracer


@functools.cache
def _light() -> ModuleType:
    """Needs the SDK. Kept, for every run asks."""
    from . import light

    return light


def first_span(
    tracer: "Tracer",
    name: str,
    context: "Context | None",
    links: "Sequence[Link] | None",
    attributes: Callable[[], dict[str, Any]],
) -> "Span":
    """The first span of a run. No sampler of a light tracer looks at attributes: one left out has none made."""
    if not isinstance(getattr(tracer, "pen", None), Pen):
        return tracer.start_span(name, context, attributes=attributes(), links=links)
    span = tracer.start_span(name, context, links=links)
    if span.is_recording():
        span.set_attributes(attributes())
    return span


def pen_for(tracer: "Tracer", span: "Span") -> Pen:
    """The pen for a run whose first span this is."""
    own = getattr(tracer, "pen", None)
    if isinstance(own, Pen):
        return own
    if type(span).__module__ == _SDK and _is_roomy(span):
        return SdkPen(tracer, sys.modules[_SDK].Event)
    return Pen(tracer)


def _is_roomy(span: Any) -> bool:
    """Whether this is a span as we know them, with no limit that we might reach."""
    try:
        limits, kept = span._limits, span._attributes
        lengths = (limits.max_attribute_length, kept.max_value_len)
        counts = (limits.max_event_attributes, kept.maxlen)
        known = callable(span._add_event) and isinstance(kept._dict, dict) and hasattr(span._lock, "__enter__")
        return known and all(most is None for most in lengths) and all(most is None or most >= _ROOM for most in counts)
    except AttributeError:
        return False
