"""What telemetry and spans cost a step: processor time over the same pipeline without them, in one run.

    python benchmarks/telemetry.py [--turns 500] [--rounds 12] [--runs 25] [--steps 10] [--rest 250] [--metrics]
        [--only WAY ...] [--check]

Every way calls the hooks of the same runs as LangChain would, without LangChain, whose own work is ten times ours. The
ways take turns. After every five runs there is a rest, so that about as many steps come in a second as from agents
whose model answers at once: how much is sent in one request depends on it. The monitors answer at once, with all six
scores, so that each step has everything a span may tell: a step, its evaluation, a tool, seven events.

Counted is the processor time of this whole process, of all its threads, until everything has left it: making events
and spans, batching, encoding, sending, reading receipts, recording what metrics tell. The first column is what a step
takes on the agent's own thread (the ways take turns in any order, two runs each, of which the second counts); the
second is all the rest, divided by the steps (the ways take turns round by round). What receives is another process and
is not counted; it says how much has come, which has to be everything.

Both columns are medians. "Added" is not their difference, for a machine may be half as fast a minute later: it is the
median of what a way took more than another in the same turn, and in the same round. Behind it is how far that may be
off: 95 times of 100 the median of very many turns and rounds is within it, as far as the machine is fair to all.
"Without" is `live_streaming_enabled=False, otel=False`.

- nobody listens: OpenTelemetry is loaded, but nobody has set a provider. Where it is not even loaded it costs less.
- recorded: the application has a provider with a `BatchSpanProcessor`, whose exporter takes spans and does nothing.
- the SDK's export: the same, with its `OTLPSpanExporter`.
- exported: `otel=` with the URL of a collector, so that export by OTLP over HTTP is ours, and counted.
- by hand: the same spans and events with OpenTelemetry's SDK and nothing else.
"""

import argparse
import asyncio
import gc
import math
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.runnables.config import set_config_context
from langgraph.runtime import Runtime
from opentelemetry import metrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Span, set_span_in_context
from serving.receiver import Counts, Receiver, receiving

from reasonblocks import ReasonBlocks
from reasonblocks.injections import MonitorSteeringInjection
from reasonblocks.types import MonitorEvaluation, TraceState
from support.agents import ScriptedModel, lookup, thought, usage

SCORES = dict.fromkeys(
    "claim_contradiction semantic_loop verification_skip cyclic_compression late_sprawl silent_topic_drift".split(), 0.1
)
RUNTIME: Any = Runtime()
SPANS_OF_A_STEP = 3
IN_A_ROW = 5
WITHOUT = "without"
ALONE = "telemetry"
TOGETHER = "telemetry and spans, recorded"
EXPORTED = "telemetry and spans, exported"
BY_THE_SDK = "telemetry and spans, the SDK's export"
QUIET = ("telemetry, nobody listens to spans", "telemetry, spans unsampled")
BY_HAND = "spans by hand, recorded"
BY_HAND_EXPORTED = "spans by hand, exported"
BAR, QUIET_BAR = 0.25, 0.03


class Kept(SpanExporter):
    """Takes spans and keeps the count alone: what an exporter does with them is not ours."""

    def __init__(self) -> None:
        self.count = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.count += len(spans)
        return SpanExportResult.SUCCESS


class Way(Protocol):
    """One of those that are compared."""

    async def run(self, steps: int) -> None:
        """A whole run."""

    async def flush(self) -> None:
        """Have everything leave the process."""

    async def close(self) -> None:
        """It is over."""


class Ours:
    """One middleware, and the hooks of whole runs on it, called as LangChain calls them."""

    def __init__(self, url: str, **settings: Any) -> None:
        self._rb = ReasonBlocks("rb_live_bench", base_url=url, e_traces_enabled=False, **settings)
        self._hooks = self._rb.middleware(agent_name="bench")
        self._model = ScriptedModel([])
        export, given = self._rb._tracing and self._rb._tracing._export, settings.get("otel")
        self._provider = export._tracers if export else given if isinstance(given, TracerProvider) else None

    async def run(self, steps: int) -> None:
        """A whole run."""
        state: dict[str, Any] = {"messages": [HumanMessage("Find the record.")]}
        state |= await self._hooks.abefore_agent(state, RUNTIME) or {}
        for step in range(steps):
            await self._step(state, step)
        await self._hooks.aafter_agent(state, RUNTIME)

    async def _step(self, state: dict[str, Any], step: int) -> None:
        call = ToolCall(name="lookup", args={"key": str(step)}, id=f"call_{step}", type="tool_call")
        reply = AIMessage(thought(step), id=f"reply_{step}", tool_calls=[call], usage_metadata=usage())
        result = ToolMessage("record 42", tool_call_id=f"call_{step}")

        async def model(request: Any) -> Any:
            return ModelResponse(result=[reply])

        async def tool(request: Any) -> Any:
            return result

        await self._hooks.abefore_model(state, RUNTIME)
        request = ModelRequest(model=self._model, messages=state["messages"], state=state, runtime=RUNTIME)
        await self._hooks.awrap_model_call(request, model)
        state["messages"].append(reply)
        await self._hooks.awrap_tool_call(ToolCallRequest(call, lookup, state, RUNTIME), tool)
        state["messages"].append(result)

    async def flush(self) -> None:
        """Have everything leave the process; nothing is torn down, for that is no cost of a step."""
        await self._hooks.aclose()
        measured = self._rb._tracing and self._rb._tracing.metrics._instruments
        if measured is not None:
            measured._record()  # as the export of metrics does once a minute
        if self._provider is not None:
            await asyncio.to_thread(self._provider.force_flush)

    async def close(self) -> None:
        """It is over."""
        await self._rb.aclose()


class ByHand:
    """The same spans with nothing around them: what of the cost is OpenTelemetry's SDK by itself."""

    def __init__(self, exporter: SpanExporter, steps: list[list[ReadableSpan]]) -> None:
        self._provider = recording(exporter)
        self._tracer = self._provider.get_tracer("by hand")
        self._steps = steps

    async def run(self, steps: int) -> None:
        """A whole run."""
        root = self._tracer.start_span("invoke_agent bench")
        for step in range(steps):
            self._step(root, *self._steps[step % len(self._steps)])
        root.end()

    def _step(self, root: Span, step: ReadableSpan, *children: ReadableSpan) -> None:
        span = self._tracer.start_span(step.name, set_span_in_context(root))
        inside = set_span_in_context(span)
        for child in children:
            self._tracer.start_span(child.name, inside, attributes=dict(child.attributes or {})).end()
        for event in step.events:
            span.add_event(event.name, dict(event.attributes or {}), event.timestamp)
        span.set_attributes(dict(step.attributes or {}))
        span.end()

    async def flush(self) -> None:
        """Have everything leave the process."""
        await asyncio.to_thread(self._provider.force_flush)

    async def close(self) -> None:
        """It is over."""


def recording(exporter: SpanExporter) -> TracerProvider:
    """A provider as an application has one."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=100_000))
    return provider


async def recorded() -> list[list[ReadableSpan]]:
    """The spans of a run's steps, each with its children; not those of the first, which has no evaluation."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    way = Ours("http://127.0.0.1:9", live_streaming_enabled=False, otel=provider)
    await way.run(10)
    await way.close()
    spans = memory.get_finished_spans()
    return [
        [step, *(span for span in spans if span.parent is not None and span.parent.span_id == step.context.span_id)]
        for step in spans
        if (step.attributes or {}).get("reasonblocks.step.index", 0)
    ]


async def compared(receiver: Receiver, exporter: Kept) -> dict[str, Way]:
    """The ways."""
    url, by_hand = receiver.url, await recorded()
    unsampled = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    return {
        WITHOUT: Ours(url, live_streaming_enabled=False, otel=False),
        ALONE: Ours(url, otel=False),
        QUIET[0]: Ours(url, otel=None),
        QUIET[1]: Ours(url, otel=unsampled),
        TOGETHER: Ours(url, otel=recording(exporter)),
        EXPORTED: Ours(url, otel=url),
        BY_THE_SDK: Ours(url, otel=recording(OTLPSpanExporter(f"{url}/v1/traces"))),
        BY_HAND: ByHand(Kept(), by_hand),
        BY_HAND_EXPORTED: ByHand(OTLPSpanExporter(f"{url}/v1/traces"), by_hand),
    }


@dataclass
class Found:
    """What was measured of one way, in milliseconds for one step, and what has come of it."""

    on_thread: list[float] = field(default_factory=list)
    """On the agent's thread, run by run."""
    elsewhere: list[float] = field(default_factory=list)
    """All the rest, round by round."""
    counts: Counts = field(default_factory=Counts)

    async def run(self, way: Way, steps: int) -> None:
        """One run, by itself. Before it the event loop has its turn, as while a model is called: until then it keeps
        the timers of all steps, and the runs with them."""
        await asyncio.sleep(0)
        before = time.thread_time()
        await way.run(steps)
        self.on_thread.append((time.thread_time() - before) * 1000 / steps)

    async def round(self, way: Way, chosen: argparse.Namespace) -> None:
        """Many runs at their pace, until all of it has left the process."""
        began, taken = time.process_time(), 0.0
        for number in range(chosen.runs):
            before = time.thread_time()
            await way.run(chosen.steps)
            taken += time.thread_time() - before
            if number % IN_A_ROW == IN_A_ROW - 1:
                await asyncio.sleep(chosen.rest / 1000)
        await way.flush()
        self.elsewhere.append((time.process_time() - began - taken) * 1000 / (chosen.runs * chosen.steps))

    @property
    def parts(self) -> tuple[float, float]:
        """What a step costs on the agent's thread, and elsewhere."""
        return statistics.median(self.on_thread), statistics.median(self.elsewhere)

    @property
    def cost(self) -> float:
        """Both together."""
        return sum(self.parts)

    def over(self, other: "Found") -> "Added":
        """What it costs more than another."""
        return _added(self.on_thread, other.on_thread) + _added(self.elsewhere, other.elsewhere)


@dataclass(frozen=True)
class Added:
    """What one way costs more than another, in milliseconds for one step, and how far that may be off."""

    cost: float
    off: float

    def __add__(self, other: "Added") -> "Added":
        return Added(self.cost + other.cost, math.hypot(self.off, other.off))

    def __str__(self) -> str:
        return f"{self.cost:.3f} ± {self.off:.3f}"


def _added(ones: Sequence[float], others: Sequence[float]) -> Added:
    """The median of the differences of what was measured one after the other.

    Its interval is that of the notches in box plots (McGill, Tukey and Larsen 1978), of one median by itself.
    """
    lower, middle, upper = statistics.quantiles([one - other for one, other in zip(ones, others, strict=True)], n=4)
    return Added(middle, 1.96 * 1.25 * (upper - lower) / 1.35 / math.sqrt(len(ones)))


async def measured(receiver: Receiver, chosen: argparse.Namespace) -> dict[str, Found]:
    """What a step costs in each way: they take turns, so that all see the same machine."""
    exporter = Kept()
    ways = await compared(receiver, exporter)
    if chosen.only:
        ways = {name: way for name, way in ways.items() if name == WITHOUT or name in chosen.only}
    for way in ways.values():
        await Found().round(way, chosen)
    found = {name: Found() for name in ways}
    gc.collect()
    gc.freeze()
    turns = list(ways.items())
    for _ in range(chosen.turns):
        random.shuffle(turns)  # whoever comes after a busy one finds the caches full of that
        for name, way in turns:
            await way.run(chosen.steps)  # an application has one way: its code and data are at hand
            await found[name].run(way, chosen.steps)
    for way in ways.values():
        await way.flush()
    for _ in range(chosen.rounds):
        random.shuffle(turns)
        for name, way in turns:
            before = await asyncio.to_thread(receiver.counts)
            await found[name].round(way, chosen)
            found[name].counts.add(before, await asyncio.to_thread(receiver.counts))
    for way in ways.values():
        await way.close()
    if TOGETHER in ways and not exporter.count:
        raise SystemExit("nothing was recorded")
    return found


def main() -> None:
    """Print one line per way: what a step costs, what that is more than without, and as a ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=500, help="of each way on the agent's thread")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--runs", type=int, default=25, help="of each way in a round")
    parser.add_argument("--steps", type=int, default=10, help="of each run")
    parser.add_argument("--rest", type=float, default=250.0, help="milliseconds after every five runs")
    parser.add_argument("--metrics", action="store_true", help="with a meter provider that somebody reads, too")
    parser.add_argument("--only", nargs="*", help="these ways, besides the one without")
    parser.add_argument("--check", action="store_true", help="end with an error if a bar is missed")
    chosen = parser.parse_args()
    MonitorSteeringInjection.evaluate = _evaluate  # type: ignore[method-assign]
    if chosen.metrics:
        metrics.set_meter_provider(MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False))
    with receiving() as receiver, set_config_context({"configurable": {}, "metadata": {}}) as context:
        found = context.run(asyncio.run, measured(receiver, chosen))
    for name, one in found.items():
        _check(name, one.counts, chosen.rounds * chosen.runs, chosen.steps)
    _print(found)
    missed = [name for name, within in _bars(found) if not within]
    if chosen.check and missed:
        raise SystemExit(f"a bar is missed: {', '.join(missed)}")


async def _evaluate(self: MonitorSteeringInjection, state: TraceState) -> MonitorEvaluation:
    return MonitorEvaluation(scores=SCORES, composite=0.1)


def _check(name: str, counts: Counts, runs: int, steps: int) -> None:
    """Everything has to have come: a figure for less would be no figure."""
    events = runs * (steps + 2) if name.startswith(ALONE) else 0
    spans = runs * (SPANS_OF_A_STEP * steps + (name == BY_HAND_EXPORTED)) if "export" in name else 0
    if (counts.events, counts.spans) != (events, spans):
        raise SystemExit(
            f"{name}: {counts.events} events and {counts.spans} spans have come; expected {events} and {spans}"
        )


def _print(found: dict[str, Found]) -> None:
    print(f"{'CPU per step, ms':38}{'on thread':>10}{'elsewhere':>10}{'both':>8}{'added':>16}{'ratio':>7}", end="")
    print(f"{'events a request':>18}{'spans a request':>17}")
    base = found[WITHOUT]
    for name, one in found.items():
        print(f"{name:38}{one.parts[0]:10.3f}{one.parts[1]:10.3f}{one.cost:8.3f}", end="")
        added = one.over(base)
        print(f"{added!s:>16}{1 + added.cost / base.cost:7.2f}" if "by hand" not in name else f"{'':23}", end="")
        counts = one.counts
        print(f"{_each(counts.events, counts.deliveries):>18}{_each(counts.spans, counts.exports):>17}")


def _bars(found: dict[str, Found]) -> Iterator[tuple[str, bool]]:
    """The bars, and whether each of them is met."""
    bars = [(name, WITHOUT, BAR) for name in (TOGETHER, EXPORTED)] + [(name, ALONE, QUIET_BAR) for name in QUIET]
    for name, against, bar in bars:
        if name in found and against in found:
            over = found[name].over(found[against])
            print(f"{'ok' if over.cost <= bar else 'MISSED':8}{name}: {over} ms over {against}, bar {bar} ms")
            yield name, over.cost <= bar


def _each(items: int, requests: int) -> str:
    return f"{items / requests:.0f}" if requests else ""


if __name__ == "__main__":
    main()
