"""Light spans: what OpenTelemetry's SDK would make, with less around it.

The SDK's spans have locks, copy and check every value, and are copied when they end, since anybody may write to them.
Nearly all that is written to ours is our own, so a span is the few values that its export needs. That is so where the
provider is our own, and where it is an application's and the SDK's, with nothing in it that looks at a span before it
has ended: sampler, ids, resource and processors are the same, and get what they would have got. Where a processor of
another kind, a sampler of one's own or a limit is set, and with any other implementation, spans are the provider's.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from opentelemetry import trace
from opentelemetry.sdk.trace import Event, ReadableSpan, SynchronousMultiSpanProcessor, sampling
from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode, Tracer

from ..types import MonitorEvaluation
from . import semantics
from .content import evaluated
from .failures import described
from .pens import Pen

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import SpanProcessor
    from opentelemetry.trace import Link

MOST = 128
"""Attributes and events of one span, as the SDK has it; the oldest give way."""
INTERNAL_METRICS = "OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED"
"""Where this variable is set, the SDK counts its own spans."""
_PLAIN = frozenset({str, bool, int, float, bytes})
_UNSET = Status(StatusCode.UNSET)
_PASSIVE = (BatchSpanProcessor, SimpleSpanProcessor)
"""Those that look at a span only once it has ended."""
_SAMPLERS = (sampling.StaticSampler, sampling.TraceIdRatioBased)
"""Those that say the same of all spans of a trace."""


def own(tracer: Tracer, processor: "SpanProcessor") -> Tracer:
    """A tracer of light spans for a provider of ours with this one processor, which takes them as they are."""
    return LightTracer(tracer, processor.on_end) if _is_known(tracer) else tracer


def of_application(tracer: Tracer, before: Tracer | None = None) -> "LightTracer | None":
    """The same for an application's provider, if nobody could tell the difference; that of before, if it still is."""
    if type(tracer) is not SdkTracer:
        return None
    checked = getattr(tracer.span_processor, "_span_processors", None), tracer.sampler
    if isinstance(before, LightTracer) and before.sdk is tracer and before.checked == checked:
        return before
    if not _is_known(tracer) or not _is_passive(tracer.span_processor):
        return None
    hand_on = tracer.span_processor.on_end
    light = LightTracer(tracer, lambda span: hand_on(_readable(span)))
    light.checked = checked
    return light


def _is_known(tracer: Any) -> "TypeGuard[SdkTracer]":
    """Whether a tracer is the SDK's own, its limits are the usual ones, and children are sampled as their parents."""
    if type(tracer) is not SdkTracer or INTERNAL_METRICS in os.environ:
        return False
    limits, sampler = tracer._span_limits, tracer.sampler
    counts = (limits.max_span_attributes, limits.max_events, limits.max_event_attributes)
    unlimited = limits.max_attribute_length is None and limits.max_span_attribute_length is None
    if not unlimited or any(count != MOST for count in counts):
        return False
    if isinstance(sampler, sampling.ParentBased):
        return type(sampler).__module__ == sampling.__name__ and sampler._local_parent_sampled is sampling.ALWAYS_ON
    return type(sampler) in _SAMPLERS


def _is_passive(processor: Any) -> bool:
    return type(processor) is SynchronousMultiSpanProcessor and all(
        type(one) in _PASSIVE for one in processor._span_processors
    )


class LightEvent(NamedTuple):
    """An event of a span."""

    name: str
    attributes: Mapping[str, Any]
    timestamp: int
    dropped_attributes: int = 0


class LightScores(NamedTuple):
    """The events of all scores of one evaluation, which are alike but for the score."""

    scores: dict[str, float]
    fired: Sequence[str]
    timestamp: int

    def events(self) -> list[LightEvent]:
        """Each by itself."""
        each = evaluated(MonitorEvaluation(scores=self.scores, fired=tuple(self.fired)), explained=False)
        return [LightEvent(semantics.EVENT_EVALUATION, attributes, self.timestamp) for attributes in each]


class LightSpan(Span):
    """A span, and what an exporter reads of it once it has ended."""

    __slots__ = (
        "_events",
        "_tracer",
        "attributes",
        "context",
        "dropped_attributes",
        "dropped_events",
        "end_time",
        "kind",
        "links",
        "name",
        "parent",
        "scores",
        "start_time",
        "status",
    )
    dropped_links = 0

    def __init__(
        self,
        name: str,
        context: SpanContext,
        parent: SpanContext | None,
        tracer: "LightTracer",
        attributes: dict[str, Any],
        start_time: int | None,
        kind: SpanKind,
        links: "Sequence[Link]",
    ) -> None:
        self.name = name
        self.context = context
        self.parent = parent
        self.attributes = attributes
        self.start_time = time_ns() if start_time is None else start_time
        self.end_time: int | None = None
        self.kind = kind
        self.links = links
        self._events: list[LightEvent] = []
        self.scores: LightScores | None = None
        self.status = _UNSET
        self.dropped_attributes = self.dropped_events = 0
        self._tracer = tracer

    @property
    def resource(self) -> Any:
        """Who makes it."""
        return self._tracer.sdk.resource

    @property
    def instrumentation_scope(self) -> Any:
        """On whose behalf."""
        return self._tracer.scope

    def get_span_context(self) -> SpanContext:
        """Its place in the trace."""
        return self.context

    def is_recording(self) -> bool:
        """Whether it has not ended yet."""
        return self.end_time is None

    def end(self, end_time: int | None = None) -> None:
        """It ends, once, and is handed on."""
        if self.end_time is None:
            self.end_time = time_ns() if end_time is None else end_time
            self._tracer.hand_on(self)

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Attributes, all at once."""
        if self.end_time is None:
            self.attributes.update(_kept(attributes))
            self._bound()

    def set_attribute(self, key: str, value: Any) -> None:
        """One attribute."""
        self.set_attributes({key: value})

    def _bound(self) -> None:
        while len(self.attributes) > MOST:
            self.attributes.pop(next(iter(self.attributes)), None)
            self.dropped_attributes += 1

    def add_event(self, name: str, attributes: Mapping[str, Any] | None = None, timestamp: int | None = None) -> None:
        """Something that happened."""
        if self.end_time is None:
            happened = time_ns() if timestamp is None else timestamp
            self._events.append(LightEvent(name, _kept(attributes) if attributes else {}, happened))
            if len(self._events) > MOST:
                del self._events[0]
                self.dropped_events += 1

    @property
    def events(self) -> Sequence[LightEvent]:
        """All that happened."""
        return self._events if self.scores is None else [*self.scores.events(), *self._events]

    @property
    def told(self) -> tuple[LightScores | None, Sequence[LightEvent]]:
        """The same, for those who know how to write scores."""
        return self.scores, self._events

    def update_name(self, name: str) -> None:
        """Another name."""
        if self.end_time is None:
            self.name = name

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """How it went; what was said to be well stays well."""
        status = status if isinstance(status, Status) else Status(status, description)
        settled = self.status.status_code is StatusCode.OK or status.status_code is StatusCode.UNSET
        if self.end_time is None and not settled:
            self.status = status

    def record_exception(
        self,
        exception: BaseException,
        attributes: Mapping[str, Any] | None = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        """An exception that somebody has seen."""
        self.add_event("exception", {**described(exception, messages=True), **(attributes or {})}, timestamp)


def _kept(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes whose values nobody changes any more."""
    return {key: value if type(value) in _PLAIN else _frozen(value) for key, value in attributes.items()}


def _frozen(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float | bytes):
        return value
    if isinstance(value, Mapping):
        return {str(key): _frozen(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return tuple(_frozen(item) for item in value)
    return str(value)


class LightTracer(Tracer):
    """Begins light spans below such as a tracer of the SDK would begin: with its sampler, its ids and its flags."""

    def __init__(self, tracer: SdkTracer, hand_on: Callable[[Any], None]) -> None:
        self.sdk = tracer
        self.scope = tracer._instrumentation_scope
        self.hand_on = hand_on
        """Takes spans that have ended."""
        self.checked: tuple[object, object] | None = None
        """The processors and the sampler that an application's provider had when it was looked at."""
        self.pen = LightPen(self)

    def start_span(
        self,
        name: str,
        context: "Context | None" = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Mapping[str, Any] | None = None,
        links: "Sequence[Link] | None" = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
    ) -> Span:
        """A span that has begun. The child of one of ours is sampled as that was; of any other, as the SDK says."""
        above = trace.get_current_span(context)
        parent: SpanContext | None = above.get_span_context()
        if type(above) is LightSpan:
            place = _below(above.context, self.sdk.id_generator.generate_span_id())
        else:
            # Without the attributes, at which no sampler looks that is asked here.
            began = self.sdk.start_span(name, context, kind, None, links, start_time)
            if not isinstance(began, ReadableSpan):
                return began  # it is not recorded
            place, parent = began.context, began.parent
        kept = _kept(attributes) if attributes else {}
        return LightSpan(name, place, parent, self, kept, start_time, kind, links or ())

    @contextlib.contextmanager
    def start_as_current_span(  # type: ignore[override]  # the API's own kind of context manager is not public
        self, name: str, *about: Any, **named: Any
    ) -> Iterator[Span]:
        """As the SDK's, of which nothing here makes use."""
        ends = named.pop("end_on_exit", True)
        with trace.use_span(self.start_span(name, *about, **named), end_on_exit=ends) as span:
            yield span


class _Events(Sequence[Event]):
    """The events of a light span as the SDK has them, made when somebody asks."""

    __slots__ = ("_span",)

    def __init__(self, span: LightSpan) -> None:
        self._span = span

    def __len__(self) -> int:
        return len(self._span.events)

    def __getitem__(self, index: Any) -> Any:
        return list(self)[index]

    def __iter__(self) -> Iterator[Event]:
        return (Event(event.name, event.attributes, event.timestamp) for event in self._span.events)


def _readable(span: LightSpan) -> ReadableSpan:
    """A light span that has ended as every exporter knows them."""
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=span.attributes,
        events=_Events(span),
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


class LightPen(Pen):
    """Writes to light spans; what we write needs no copy of its values."""

    __slots__ = ()
    _tracer: LightTracer

    def child(
        self, name: str, parent: Span, attributes: Mapping[str, Any] | None, start_time: int | None = None
    ) -> Span:
        """A span below another one."""
        if type(parent) is not LightSpan:
            return super().child(name, parent, attributes, start_time)
        tracer, above = self._tracer, parent.context
        place = _below(above, tracer.sdk.id_generator.generate_span_id())
        kept = dict(attributes) if attributes else {}
        return LightSpan(name, place, above, tracer, kept, start_time, SpanKind.INTERNAL, ())

    def attributes(self, span: Any, attributes: Mapping[str, Any]) -> None:
        """Attributes, all at once."""
        if span.end_time is None:
            span.attributes.update(attributes)

    def events(self, span: Any, name: str, each: Sequence[Mapping[str, Any]], when: int | None = None) -> None:
        """Events of one name."""
        if span.end_time is None and len(span._events) + len(each) <= MOST:
            happened = time_ns() if when is None else when
            span._events += [LightEvent(name, attributes, happened) for attributes in each]
        else:
            super().events(span, name, each, when)

    def scores(self, span: Any, evaluation: MonitorEvaluation, when: int | None, *, explained: bool) -> None:
        """An event for each score of the monitors."""
        if explained or span.scores is not None or span.end_time is not None:
            super().scores(span, evaluation, when, explained=explained)
        else:
            span.scores = LightScores(evaluation.scores, evaluation.fired, time_ns() if when is None else when)


def _below(parent: SpanContext, span_id: int) -> SpanContext:
    return SpanContext(parent.trace_id, span_id, False, parent.trace_flags, parent.trace_state)
