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
from random import getrandbits
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from opentelemetry import trace
from opentelemetry.sdk.trace import Event, ReadableSpan, SynchronousMultiSpanProcessor, sampling
from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Span, SpanContext, SpanKind, Status, StatusCode, TraceFlags, Tracer, TraceState

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
UNSET = Status(StatusCode.UNSET)
_PASSIVE = (BatchSpanProcessor, SimpleSpanProcessor)
"""Those that look at a span only once it has ended."""
_SAMPLERS = (sampling.StaticSampler, sampling.TraceIdRatioBased)
"""Those that say the same of all spans of a trace."""
_tuple = tuple.__new__
_NO_ATTRIBUTES: dict[str, Any] = {}
HandOn = Callable[[Any], None]


def own(tracer: Tracer, processor: "SpanProcessor") -> Tracer:
    """A tracer of light spans for a provider of ours with this one processor, which takes them as they are."""
    return LightTracer(tracer, _queue_of(processor) or processor.on_end) if _is_known(tracer) else tracer


def of_application(tracer: Tracer, before: Tracer | None = None) -> "LightTracer | None":
    """The same for an application's provider, if nobody could tell the difference; that of before, if it still is."""
    if type(tracer) is not SdkTracer:
        return None
    checked = getattr(tracer.span_processor, "_span_processors", None), tracer.sampler
    if isinstance(before, LightTracer) and before.sdk is tracer and before.checked == checked:
        return before
    if not _is_known(tracer) or not _is_passive(tracer.span_processor):
        return None
    light = LightTracer(tracer, _handed_to(tracer.span_processor))
    light.checked = checked
    return light


def _handed_to(processor: Any) -> HandOn:
    """What takes spans for all processors; where there is but one, and it queues them, that queue itself."""
    processors = processor._span_processors
    queue = _queue_of(processors[0]) if len(processors) == 1 else None
    if queue is None:
        hand_on: HandOn = processor.on_end
        return hand_on

    def to_queue(span: LightSpan) -> None:
        if processor._span_processors is processors and span._context[3] & TraceFlags.SAMPLED:
            queue(span)
        else:  # another one has been added, or it is recorded but not sampled
            processor.on_end(span)

    return to_queue


def _queue_of(processor: Any) -> HandOn | None:
    """The queue of a processor that has one, where it is as we know it."""
    queue = getattr(getattr(processor, "_batch_processor", None), "emit", None)
    return queue if type(processor) is BatchSpanProcessor and callable(queue) else None


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


LightEvent = tuple[str, Mapping[str, Any], int]
"""An event of a span: its name, its attributes and the moment."""


class LightScores(NamedTuple):
    """The events of all scores of one evaluation, which are alike but for the score."""

    scores: dict[str, float]
    fired: Sequence[str]
    timestamp: int

    def events(self) -> list[LightEvent]:
        """Each by itself."""
        each = evaluated(MonitorEvaluation(scores=self.scores, fired=tuple(self.fired)), explained=False)
        return [(semantics.EVENT_EVALUATION, attributes, self.timestamp) for attributes in each]


class _Made:
    """Something that a span of the SDK has and a light one makes when it is asked for; it may be set all the same."""

    def __init__(self, make: "Callable[[LightSpan], Any]") -> None:
        self._make = make

    def __get__(self, span: "LightSpan", kind: type[Any]) -> Any:
        return self._make(span)


class LightSpan(Span, ReadableSpan):
    """A span, and what an exporter reads of it once it has ended: it is not copied for that.

    What readers know as properties is kept under the names that the SDK's own spans have for it. Attributes and events
    are put together when somebody asks for them.
    """

    __slots__ = (
        "_common",
        "_context",
        "_end_time",
        "_happened",
        "_name",
        "_own",
        "_parent",
        "_scores",
        "_start_time",
        "_tracer",
    )
    _kind = SpanKind.INTERNAL
    _links: "Sequence[Link]" = ()
    _status = UNSET
    _instrumentation_info = None
    _dropped_attributes = _dropped_events = 0
    _context: SpanContext
    _tracer: "LightTracer"
    _attributes: Any = _Made(lambda span: span.in_one())
    _events: Any = _Made(lambda span: [Event(*event) for event in span.happened()])
    _resource: Any = _Made(lambda span: span._tracer.sdk.resource)
    _instrumentation_scope: Any = _Made(lambda span: span._tracer.scope)

    def __init__(
        self,
        name: str,
        context: SpanContext,
        parent: SpanContext | None,
        tracer: "LightTracer",
        common: dict[str, Any] | None,
        own: dict[str, Any],
        start_time: int,
    ) -> None:
        self._name = name
        self._context = context
        self._parent = parent
        self._tracer = tracer
        self._common = common
        """What all spans of its run say; `None` where that is among its own, since others than our pen write to it."""
        self._own = own
        self._start_time = start_time
        self._end_time: int | None = None
        self._scores: LightScores | None = None
        self._happened: list[LightEvent] | None = None

    def in_one(self) -> dict[str, Any]:
        """All attributes, from now on in one: whoever asks may write to it."""
        common = self._common
        if common is not None:
            self._own = {**common, **self._own}
            self._common = None
        return self._own

    def happened(self) -> list[LightEvent]:
        """All events."""
        scored = self._scores.events() if self._scores is not None else ()
        return [*scored, *(self._happened or ())]

    @property
    def dropped_attributes(self) -> int:
        """How many gave way to others."""
        return self._dropped_attributes

    @property
    def dropped_events(self) -> int:
        """The same of events."""
        return self._dropped_events

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is a span of the SDK, without a tracer."""
        about = (self._name, self._context, self._parent, self._resource, self._attributes, self._events, self._links)
        times = (self._start_time, self._end_time)
        return ReadableSpan, (*about, self._kind, None, self._status, *times, self._instrumentation_scope)

    def get_span_context(self) -> SpanContext:
        """Its place in the trace."""
        return self._context

    def is_recording(self) -> bool:
        """Whether it has not ended yet."""
        return self._end_time is None

    def end(self, end_time: int | None = None) -> None:
        """It ends, once, and is handed on."""
        if self._end_time is None:
            self._end_time = time_ns() if end_time is None else end_time
            self._tracer.hand_on(self)

    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Attributes, all at once."""
        if self._end_time is None:
            kept = self.in_one()
            kept.update(_kept(attributes))
            while len(kept) > MOST:
                kept.pop(next(iter(kept)), None)
                self._dropped_attributes += 1

    def set_attribute(self, key: str, value: Any) -> None:
        """One attribute."""
        self.set_attributes({key: value})

    def add_event(self, name: str, attributes: Mapping[str, Any] | None = None, timestamp: int | None = None) -> None:
        """Something that happened."""
        if self._end_time is None:
            self.in_one()
            happened = self._happened = self._happened or []
            when = time_ns() if timestamp is None else timestamp
            happened.append((name, _kept(attributes) if attributes else {}, when))
            if len(happened) > MOST:
                del happened[0]
                self._dropped_events += 1

    def update_name(self, name: str) -> None:
        """Another name."""
        if self._end_time is None:
            self._name = name

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        """How it went; what was said to be well stays well."""
        status = status if isinstance(status, Status) else Status(status, description)
        settled = self._status.status_code is StatusCode.OK or status.status_code is StatusCode.UNSET
        if self._end_time is None and not settled:
            self._status = status

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

    sdk: SdkTracer
    scope: Any

    def __init__(self, tracer: SdkTracer, hand_on: HandOn) -> None:
        self.sdk = tracer
        self.scope = tracer._instrumentation_scope
        self.hand_on = hand_on
        """Takes spans that have ended."""
        self.checked: tuple[object, object] | None = None
        """The processors and the sampler that an application's provider had when it was looked at."""
        self.random = _is_random(tracer.id_generator)
        """Whether ids are nothing but random, and a place is made without asking."""
        self.pen = LightPen(self)

    def below(self, parent: SpanContext) -> SpanContext:
        """The place of a new child of a span."""
        span_id = self.sdk.id_generator.generate_span_id()
        return SpanContext(parent.trace_id, span_id, False, parent.trace_flags, parent.trace_state)

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
            place = self.below(above._context)
        else:
            # Without the attributes, at which no sampler looks that is asked here.
            began = self.sdk.start_span(name, context, kind, None, links, start_time)
            if not isinstance(began, ReadableSpan):
                return began  # it is not recorded
            place, parent = began.context, began.parent
        kept = _kept(attributes) if attributes else {}
        began_at = time_ns() if start_time is None else start_time
        span = LightSpan(name, place, parent, self, None, kept, began_at)
        if links:
            span._links = links
        if kind is not SpanKind.INTERNAL:
            span._kind = kind
        return span

    @contextlib.contextmanager
    def start_as_current_span(  # type: ignore[override]  # the API's own kind of context manager is not public
        self, name: str, *about: Any, **named: Any
    ) -> Iterator[Span]:
        """As the SDK's, of which nothing here makes use."""
        ends = named.pop("end_on_exit", True)
        with trace.use_span(self.start_span(name, *about, **named), end_on_exit=ends) as span:
            yield span


class LightPen(Pen):
    """Writes to light spans; what we write needs no copy of its values."""

    __slots__ = ()
    _tracer: LightTracer

    def child(
        self,
        name: str,
        parent: Span,
        attributes: dict[str, Any] | None,
        start_time: int | None = None,
        common: dict[str, Any] = _NO_ATTRIBUTES,
    ) -> Span:
        """A span below another one."""
        if type(parent) is not LightSpan:
            return super().child(name, parent, attributes, start_time, common)
        tracer, above = self._tracer, parent._context
        if tracer.random:  # as the constructor has it, whose checks could find nothing
            place = _tuple(SpanContext, (above[0], getrandbits(64) or 1, False, above[3], above[4], True))
        else:
            place = tracer.below(above)
        own = {} if attributes is None else attributes
        began = time_ns() if start_time is None else start_time
        return LightSpan(name, place, above, tracer, common, own, began)

    def attributes(self, span: Any, attributes: Mapping[str, Any]) -> None:
        """Attributes, all at once; mostly they are those that the span was begun with."""
        if span._own is not attributes and span._end_time is None:
            span.in_one().update(attributes)

    def events(self, span: Any, name: str, each: Sequence[Mapping[str, Any]], when: int | None = None) -> None:
        """Events of one name."""
        if span._end_time is not None or span._happened is not None:
            super().events(span, name, each, when)
        else:
            happened = time_ns() if when is None else when
            span._happened = [(name, attributes, happened) for attributes in each]

    def scores(self, span: Any, evaluation: MonitorEvaluation, when: int | None, *, explained: bool) -> None:
        """An event for each score of the monitors."""
        if explained or span._scores is not None or span._end_time is not None:
            super().scores(span, evaluation, when, explained=explained)
        else:
            span._scores = LightScores(evaluation.scores, evaluation.fired, time_ns() if when is None else when)


def _is_random(generator: Any) -> bool:
    """Whether ids are nothing but random, and a place in a trace is the tuple that we know."""
    flags, state = TraceFlags(1), TraceState()
    known = tuple(SpanContext(1, 2, False, flags, state)) == (1, 2, False, flags, state, True)
    return known and type(generator) is RandomIdGenerator
