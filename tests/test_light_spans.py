"""C42: light spans say what the SDK's would, and give way to them wherever anybody could tell the difference."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, Sampler, StaticSampler
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)

from reasonblocks import ReasonBlocks
from reasonblocks.telemetry import light, otlp
from reasonblocks.types import MonitorEvaluation
from support.agents import ScriptedModel, lookup, make_tool, script
from support.standin import Standin, inject

QUESTION: Any = {"messages": [("user", "Find the record.")]}
Run = Callable[..., list[ReadableSpan]]


class Watcher(SpanProcessor):
    """A processor of one's own: it looks at spans when they begin, too."""

    def __init__(self) -> None:
        self.began: list[str] = []

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        """Take the name and leave an attribute."""
        self.began.append(span.name)
        span.set_attribute("watched", True)


class Asked(Sampler):
    """A sampler of one's own, which wants to be asked about every span."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def should_sample(self, parent_context: Any, trace_id: int, name: str, *about: Any, **named: Any) -> Any:
        """Take the name."""
        self.names.append(name)
        return ALWAYS_ON.should_sample(parent_context, trace_id, name, *about, **named)

    def get_description(self) -> str:
        """Say what this is."""
        return "asked"


def provider_of(*processors: SpanProcessor, **settings: Any) -> tuple[TracerProvider, InMemorySpanExporter]:
    memory = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False, **settings)
    for processor in processors:
        provider.add_span_processor(processor)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    return provider, memory


@pytest.fixture
def run(standin: Standin) -> Iterator[Run]:
    """Runs an agent with some provider, and gives what its exporter has got."""
    made: list[ReasonBlocks] = []
    standin.evaluate = lambda steps, body: (
        inject("Look again.") | {"scores": {"semantic_loop": 0.7, "late_sprawl": 0.1}}
    )

    def once(provider: TracerProvider, memory: InMemorySpanExporter, tools: Sequence[Any] = (lookup,)) -> Any:
        rb = ReasonBlocks(standin.key, base_url=standin.url, otel=provider, step_timeout=10.0)
        made.append(rb)
        agent = create_agent(ScriptedModel(script(3)), list(tools), middleware=[rb.middleware(agent_name="one")])
        try:
            agent.invoke(QUESTION)
        except RuntimeError:
            assert tools != (lookup,)
        return list(memory.get_finished_spans())

    yield once
    for rb in made:
        rb.close()


def told(spans: Sequence[ReadableSpan]) -> list[Any]:
    """What spans say, without what differs from run to run."""
    names = {span.context.span_id: span.name for span in spans}
    return [
        (
            span.name,
            names.get(span.parent.span_id) if span.parent else None,
            span.kind,
            span.status.status_code,
            span.status.description,
            _steady(span.attributes),
            [(event.name, _steady(event.attributes)) for event in span.events],
            span.resource.attributes["service.name"],
            span.instrumentation_scope,
            span.start_time <= span.end_time,
        )
        for span in spans
    ]


def _steady(attributes: Any) -> dict[str, Any]:
    changing = ("_ms", "run.id", "conversation.id", "stacktrace")
    return {name: value for name, value in attributes.items() if not name.endswith(changing)}


def _fail(key: str) -> str:
    raise RuntimeError("no such table")


@pytest.mark.parametrize("tool", [lookup, make_tool("lookup", _fail)], ids=["fine", "failing"])
def test_c42_an_exporter_gets_the_same_from_light_spans(run: Run, tool: Any) -> None:
    """What an application's exporter gets of a run is the same, whether spans are light or the SDK's."""
    quick = run(*provider_of(), tools=(tool,))
    watcher = Watcher()
    whole = run(*provider_of(watcher), tools=(tool,))
    assert len(quick) == len(whole) == len(watcher.began) > 3
    expected = told(whole)
    for one in expected:
        del one[5]["watched"]
    assert told(quick) == expected


def test_c42_spans_inside_a_light_span_are_its_children(run: Run) -> None:
    """A tool's own span is the child of ours, which takes attributes and an exception as any other does."""
    provider, memory = provider_of()
    tracer = provider.get_tracer("the tool's")

    def look(key: str) -> str:
        current = trace.get_current_span()
        assert type(current) is light.LightSpan
        current.set_attribute("rows", [1, 2])
        current.record_exception(ValueError("no"))
        with tracer.start_as_current_span("query"):
            return key

    spans = run(provider, memory, (make_tool("lookup", look),))
    tools = [span for span in spans if span.name == "execute_tool lookup"]
    queries = [span for span in spans if span.name == "query"]
    assert [query.parent for query in queries] == [tool.context for tool in tools]
    assert [tool.attributes["rows"] for tool in tools] == [(1, 2)] * 3
    assert [tool.events[0].attributes["exception.type"] for tool in tools] == ["ValueError"] * 3
    assert '"exception.type": "ValueError"' in tools[0].to_json()


def test_c42_a_processor_of_ones_own_sees_every_span_begin(run: Run) -> None:
    """A processor that looks at beginnings gets the SDK's spans, also where it was added after the first run."""
    provider, memory = provider_of()
    first = len(run(provider, memory))
    watcher = Watcher()
    provider.add_span_processor(watcher)
    spans = run(provider, memory)[first:]
    assert sorted(watcher.began) != []
    assert len(watcher.began) == len(spans)
    assert all((span.attributes or {})["watched"] for span in spans)


def test_c42_a_sampler_of_ones_own_is_asked_about_every_span(run: Run) -> None:
    """Where a sampler might say something else of a child, it is asked."""
    sampler = Asked()
    spans = run(*provider_of(sampler=sampler))
    assert len(sampler.names) == len(spans)


def test_c42_limits_hold(run: Run) -> None:
    """The limits of an application's provider are kept."""
    spans = run(*provider_of(span_limits=SpanLimits(max_attribute_length=4, max_events=2)))
    texts = [text for span in spans for text in (span.attributes or {}).values() if isinstance(text, str)]
    assert texts
    assert max(map(len, texts)) == 4
    assert max(len(span.events) for span in spans) == 2


def test_c42_a_light_span_has_bounds() -> None:
    """Whoever writes to the current span cannot make it grow without end."""
    provider, memory = provider_of()
    tracer = light.of_application(provider.get_tracer("x"))
    assert tracer is not None
    span = tracer.start_span("one")
    for number in range(light.MOST + 10):
        span.add_event(f"event {number}")
        span.set_attribute(f"attribute {number}", object())
    span.end()
    span.end()
    (ended,) = memory.get_finished_spans()
    assert len(ended.events) == len(ended.attributes or {}) == light.MOST
    assert ended.events[-1].name == f"event {light.MOST + 9}"
    assert isinstance((ended.attributes or {})[f"attribute {light.MOST + 9}"], str)


class Counting(RandomIdGenerator):
    """A generator of ids of one's own."""

    def __init__(self) -> None:
        self.spans = itertools.count(1)

    def generate_span_id(self) -> int:
        """The next one."""
        return next(self.spans)


def test_c42_ids_are_the_providers(run: Run) -> None:
    """Ids come from the generator that the application has chosen."""
    spans = run(*provider_of(id_generator=Counting()))
    assert sorted(span.context.span_id for span in spans) == list(range(1, len(spans) + 1))


def test_c42_a_processor_that_is_added_during_a_run_gets_the_rest_of_it() -> None:
    """Spans go straight into the one queue there is, and to all processors once there are more."""
    provider = TracerProvider(shutdown_on_exit=False)
    first, second = InMemorySpanExporter(), InMemorySpanExporter()
    provider.add_span_processor(BatchSpanProcessor(first))
    tracer = light.of_application(provider.get_tracer("x"))
    assert tracer is not None
    root = tracer.start_span("run")
    tracer.pen.child("before", root, None).end()
    provider.add_span_processor(SimpleSpanProcessor(second))
    tracer.pen.child("after", root, None).end()
    provider.force_flush()
    assert [span.name for span in first.get_finished_spans()] == ["before", "after"]
    assert [span.name for span in second.get_finished_spans()] == ["after"]
    provider.shutdown()


def test_c42_what_is_recorded_but_not_sampled_is_not_exported() -> None:
    """A sampler may have spans recorded for processors alone; a queue for an exporter leaves them out."""
    provider = TracerProvider(sampler=StaticSampler(Decision.RECORD_ONLY), shutdown_on_exit=False)
    memory = InMemorySpanExporter()
    provider.add_span_processor(BatchSpanProcessor(memory))
    tracer = light.of_application(provider.get_tracer("x"))
    assert tracer is not None
    root = tracer.start_span("run")
    assert type(root) is light.LightSpan
    tracer.pen.child("step", root, None).end()
    root.end()
    provider.force_flush()
    assert memory.get_finished_spans() == ()
    provider.shutdown()


def test_c42_an_exporter_may_do_with_light_spans_what_it_does_with_others(run: Run) -> None:
    """A span can be copied, and given other attributes and events, as some exporters do."""
    spans = run(*provider_of())
    for span in spans:
        assert isinstance(span, light.LightSpan)
        other = copy.copy(span)
        assert type(other) is ReadableSpan
        assert other.to_json() == span.to_json()
        assert [event.name for event in other.events] == [event.name for event in span.events]
        span._attributes = {"only": "this"}
        span._events = []
        assert dict(span.attributes or {}) == {"only": "this"}
        assert span.events == ()


# -- as bytes --------------------------------------------------------------------------------------

ELSEWHERE = SpanContext(2**100 + 5, 77, True, TraceFlags(1), TraceState([("a", "1"), ("b", "2")]))
VALUES: dict[str, Any] = {
    "negative": -5,
    "large": 2**62,
    "true": True,
    "one": 1,
    "float": 1e300,
    "nothing": None,
    "list": ["a", 1, 2.5, False],
    "nested": {"k": [1, {"z": "y"}]},
    "bytes": b"\0\xff",
    "long": "x" * 70_000,
    "empty": "",
    "ümlaut": "ß",
}


def odd_spans() -> list[ReadableSpan]:
    provider, memory = provider_of()
    tracer = provider.get_tracer("odd", "1.0", schema_url="https://example.org/schema")
    plain = tracer.start_span("plain")
    inside = set_span_in_context(NonRecordingSpan(ELSEWHERE))
    odd = tracer.start_span("ödd" * 60, inside, SpanKind.CLIENT, VALUES, [Link(ELSEWHERE, {"x": 1})])
    odd.set_status(Status(StatusCode.ERROR, "bäd"))
    odd.add_event("none")
    odd.add_event("some", {"true": 1, "one": True, **VALUES}, 5)
    fine = tracer.start_span("fine", set_span_in_context(odd), links=[Link(plain.get_span_context())])
    fine.set_status(StatusCode.OK)
    for number in range(200):
        fine.add_event("many", {"number": number, "share": number / 7})
        fine.set_attribute(str(number), number)
    for span in (fine, odd, plain):
        span.end()
    return list(memory.get_finished_spans())


def test_spans_are_written_as_the_sdk_writes_them() -> None:
    """The bodies of export requests say the same as those of OpenTelemetry's own exporter, also when said again."""
    spans = odd_spans()
    for _ in range(2):
        for some in ([span] for span in spans):
            assert ExportTraceServiceRequest.FromString(otlp.request(some)) == encode_spans(some)
    assert ExportTraceServiceRequest.FromString(otlp.request(spans)) == encode_spans(spans)


def test_light_spans_are_written_as_the_sdk_writes_them() -> None:
    """Light spans, scores and all, say the same when they are written as what the SDK reads of them."""
    ended: list[Any] = []
    provider, _ = provider_of()
    sdk: Any = provider.get_tracer("x")
    tracer = light.LightTracer(sdk, ended.append)
    root = tracer.start_span("run", attributes={"a": "b"})
    child = tracer.pen.child("step", root, VALUES)
    evaluation = MonitorEvaluation(scores={"semantic_loop": 0.75, "late_sprawl": 0.0}, fired=("semantic_loop",))
    tracer.pen.scores(child, evaluation, 17, explained=False)
    tracer.pen.events(child, "step", ({"tool": "x"},), 18)
    child.end()
    root.end()
    assert ExportTraceServiceRequest.FromString(otlp.request(ended)) == encode_spans(ended)
    assert [event.name for event in ended[0].events] == ["gen_ai.evaluation.result"] * 2 + ["step"]


def test_light_spans_are_written_as_the_sdk_writes_them_whoever_wrote_to_them() -> None:
    """What spans of a run share, equal values of different kinds, and what others wrote are told apart, also later."""
    ended: list[Any] = []
    provider, _ = provider_of()
    sdk: Any = provider.get_tracer("x")
    tracer = light.LightTracer(sdk, ended.append)
    root = tracer.start_span("run", set_span_in_context(NonRecordingSpan(ELSEWHERE)))
    common = {"reasonblocks.run.id": "r", "gen_ai.agent.name": "one"}
    for index in (0, 1, 0):
        own = {"reasonblocks.step.index": index, "reasonblocks.step.model_ms": 1.5, "reasonblocks.step.gate": "open"}
        child = tracer.pen.child("step", root, own, None, common)
        own["reasonblocks.step.composite"] = float(index)
        tracer.pen.attributes(child, own)
        tracer.pen.events(child, "step", ({"reasonblocks.step.tool_failed": bool(index)},), 18)
        child.end()
        touched = tracer.pen.child("tool", root, {"reasonblocks.step.index": index}, None, common)
        touched.set_attribute("reasonblocks.step.index", bool(index))
        touched.add_event("step", {"reasonblocks.step.tool_failed": index}, 18)
        touched.set_status(StatusCode.ERROR)
        touched.end()
        tracer.pen.child("bare", root, None, 5, common).end(6)
    root.end()
    assert [span._common is common for span in ended[:3]] == [True, False, True]
    written = [ExportTraceServiceRequest.FromString(otlp.request(ended)) for _ in range(2)]
    assert [span._common is common for span in ended[:3]] == [True, False, True]
    assert written == [encode_spans(ended)] * 2
    assert ExportTraceServiceRequest.FromString(otlp.request(ended)) == written[0]
