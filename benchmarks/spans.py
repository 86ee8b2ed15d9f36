"""What spans cost a step: CPU of the same pipeline without them, without a listener, unsampled and recording.

    python benchmarks/spans.py [--rounds 300] [--steps 10] [--metrics]

Every way calls the hooks of the same runs as LangChain would, without LangChain, whose own work is ten times ours;
the ways take turns. The monitors answer at once, with all six scores, so that each step has everything a span may tell:
a step, its evaluation, a tool, seven events. Figures are lower quartiles of the rounds.
"""

import argparse
import asyncio
import gc
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.runnables.config import set_config_context
from langgraph.runtime import Runtime
from opentelemetry import metrics
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import set_span_in_context

from reasonblocks import ReasonBlocks
from reasonblocks.injections import MonitorSteeringInjection
from reasonblocks.types import MonitorEvaluation, TraceState
from support.agents import ScriptedModel, lookup, thought, usage

SCORES = dict.fromkeys(
    "claim_contradiction semantic_loop verification_skip cyclic_compression late_sprawl silent_topic_drift".split(), 0.1
)
RUNTIME: Any = Runtime()
BY_HAND = "the SDK alone, the same spans by hand"


class Kept(SpanExporter):
    """Takes spans and keeps the count alone: what an exporter does with them is not ours."""

    def __init__(self) -> None:
        self.count = 0

    def export(self, spans: Any) -> SpanExportResult:
        self.count += len(spans)
        return SpanExportResult.SUCCESS


async def _evaluate(self: MonitorSteeringInjection, state: TraceState) -> MonitorEvaluation:
    return MonitorEvaluation(scores=SCORES, composite=0.1)


def ways(exporter: Kept) -> Iterator[tuple[str, dict[str, Any]]]:
    """The settings that are compared."""
    recording = TracerProvider(shutdown_on_exit=False)
    recording.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=100_000))
    yield "pipeline without spans (otel=False)", {"otel": False}
    yield "no provider", {"otel": None}
    yield "unsampled", {"otel": TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)}
    yield "recording", {"otel": recording}


class Way:
    """One middleware, and the hooks of whole runs on it, called as LangChain calls them."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._rb = ReasonBlocks(
            "rb_live_bench",
            base_url="http://127.0.0.1:9",
            e_traces_enabled=False,
            live_streaming_enabled=False,
            **settings,
        )
        self._hooks = self._rb.middleware(agent_name="bench")
        self._model = ScriptedModel([])

    async def run(self, steps: int) -> float:
        """Milliseconds of CPU for one step of a run."""
        state: dict[str, Any] = {"messages": [HumanMessage("Find the record.")]}
        began = time.process_time()
        state |= await self._hooks.abefore_agent(state, RUNTIME) or {}
        for step in range(steps):
            await self._step(state, step)
        await self._hooks.aafter_agent(state, RUNTIME)
        return (time.process_time() - began) * 1000 / steps

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

    async def close(self) -> None:
        """Leave nothing behind."""
        await self._rb.aclose()


class ByHand:
    """The same spans with nothing around them: what of the cost is OpenTelemetry's SDK by itself."""

    def __init__(self, provider: TracerProvider, steps: list[list[ReadableSpan]]) -> None:
        self._tracer = provider.get_tracer("by hand")
        self._steps = steps

    async def run(self, steps: int) -> float:
        """Milliseconds of CPU for one step of a run."""
        began = time.process_time()
        root = self._tracer.start_span("invoke_agent bench")
        for spans in self._steps:
            self._step(set_span_in_context(root), *spans)
        root.end()
        return (time.process_time() - began) * 1000 / len(self._steps)

    def _step(self, context: Context, step: ReadableSpan, *children: ReadableSpan) -> None:
        span = self._tracer.start_span(step.name, context)
        inside = set_span_in_context(span)
        for child in children:
            self._tracer.start_span(child.name, inside, attributes=dict(child.attributes or {})).end()
        for event in step.events:
            span.add_event(event.name, dict(event.attributes or {}), event.timestamp)
        span.set_attributes(dict(step.attributes or {}))
        span.end()

    async def close(self) -> None:
        """There is nothing to close."""


async def recorded(steps: int) -> list[list[ReadableSpan]]:
    """The spans of a run's steps, each with its children."""
    memory = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    way = Way({"otel": provider})
    await way.run(steps)
    await way.close()
    spans = memory.get_finished_spans()
    return [
        [step, *(span for span in spans if span.parent is not None and span.parent.span_id == step.context.span_id)]
        for step in spans
        if "reasonblocks.step.index" in (step.attributes or {})
    ]


async def measured(compared: list[tuple[str, dict[str, Any]]], rounds: int, steps: int) -> dict[str, list[float]]:
    """What a step costs in each way, round by round: they take turns, so that all see the same machine."""
    ways: dict[str, Way | ByHand] = {name: Way(settings) for name, settings in compared}
    ways[BY_HAND] = ByHand(compared[-1][1]["otel"], await recorded(steps))
    found: dict[str, list[float]] = {name: [] for name in ways}
    for way in ways.values():
        await way.run(steps)
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        for name, way in ways.items():
            found[name].append(await way.run(steps))
    for way in ways.values():
        await way.close()
    return found


def main() -> None:
    """Print one line per way: what a step costs, what that is more than without spans, and as a ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--metrics", action="store_true", help="with a meter provider that somebody reads, too")
    chosen = parser.parse_args()
    MonitorSteeringInjection.evaluate = _evaluate  # type: ignore[method-assign]
    if chosen.metrics:
        metrics.set_meter_provider(MeterProvider([InMemoryMetricReader()], shutdown_on_exit=False))
    exporter = Kept()
    compared = list(ways(exporter))
    with set_config_context({"configurable": {}, "metadata": {}}) as context:
        found = context.run(asyncio.run, measured(compared, chosen.rounds, chosen.steps))
    assert exporter.count > 0, "nothing was recorded"
    base = middle(found[compared[0][0]])
    print(f"{'CPU per step':38}{'ms':>8}{'added ms':>11}{'ratio':>8}")
    by_hand = middle(found.pop(BY_HAND))
    for name, values in found.items():
        value = middle(values)
        print(f"{name:38}{value:8.3f}{value - base:11.3f}{value / base:8.2f}")
    print(f"{BY_HAND:38}{by_hand:8.3f}")


def middle(values: list[float]) -> float:
    """The lower quartile: what else runs on the machine only ever adds."""
    return statistics.quantiles(values, n=4)[0]


if __name__ == "__main__":
    main()
