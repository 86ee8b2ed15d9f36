"""LangSmith's tracing switched on around ours: nothing breaks, nothing is told twice."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import Iterator
from typing import Any

import langsmith
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware
from langsmith.run_helpers import tracing_context
from langsmith.utils import get_env_var, get_tracer_project

from support import stacks
from support.agents import ScriptedModel, call, failing_tool, flaky, lookup, make_tool, say, script, thought
from support.stacks import BASE, QUESTION, Bench

bench = stacks.bench
mode = stacks.mode
order = stacks.order

WAITS_FOREVER = 60.0


class TracingClient(langsmith.Client):
    """A LangSmith client that keeps what it is given instead of sending it."""

    def __init__(self) -> None:
        super().__init__(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False, info={})
        self.created: list[dict[str, Any]] = []
        self.updated: dict[str, dict[str, Any]] = {}

    def create_run(self, name: str, inputs: dict[str, Any], run_type: Any, **about: Any) -> None:
        self.created.append({"name": name, "inputs": inputs, "run_type": run_type, **about})

    def update_run(self, run_id: Any, **about: Any) -> None:
        self.updated[str(run_id)] = about

    def named(self, name: str) -> list[dict[str, Any]]:
        """Give the spans of one name with what was told at their end."""
        return [span | self.updated.get(str(span["id"]), {}) for span in self.created if span["name"] == name]

    def told(self, text: str) -> list[str]:
        """Give the names of the spans that hold a text in their inputs or outputs."""
        ended = ((span["name"], span["inputs"], self.updated.get(str(span["id"]), {})) for span in self.created)
        return sorted(
            name for name, inputs, about in ended if text in f"{inputs} {about.get('inputs')} {about.get('outputs')}"
        )


@pytest.fixture
def tracing() -> Iterator[TracingClient]:
    """Tracing is on, into a client that keeps everything."""
    client = TracingClient()
    with tracing_context(enabled=True, client=client):
        yield client


def hook(mode: str, name: str) -> str:
    return f"ReasonBlocks.{'a' if mode == 'async' else ''}{name}"


def test_tracing_changes_nothing_for_the_run(bench: Bench, tracing: TracingClient, mode: str, order: str) -> None:
    """With tracing on and a retry in the stack, steps, guidance and outcome are as without, and nothing warns."""
    second = flaky(ConnectionError("busy"), say(thought(1), call("lookup", key="b")))
    model = ScriptedModel([say(thought(0), call("lookup", key="a")), second, "done"])
    retry = ModelRetryMiddleware(initial_delay=0.0, on_failure="error")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bench.invoke(mode, bench.agent(model, retry, order=order))
        gc.collect()
    run = bench.finished(steps=3)
    assert [str(warning.message) for warning in caught if "never awaited" in str(warning.message)] == []
    assert model.calls == 4
    assert model.blocks[1] is not None
    assert model.blocks[1] == model.blocks[2]
    assert run.steps[1]["observation"] == "record b: value=42"
    assert len(tracing.named(hook(mode, "wrap_model_call"))) == (3 if order == "outside" else 4)
    assert len(tracing.named(hook(mode, "wrap_tool_call"))) == 2


def test_our_spans_are_empty_and_end(bench: Bench, tracing: TracingClient, mode: str) -> None:
    """Every span of our hooks has an end, no error, and neither inputs nor outputs."""
    bench.invoke(mode, bench.agent(ScriptedModel(script(1))))
    bench.finished(steps=2)
    spans = [
        *tracing.named(hook(mode, "wrap_model_call")),
        *tracing.named(hook(mode, "wrap_tool_call")),
        *tracing.named("ReasonBlocks.before_agent"),
        *tracing.named("ReasonBlocks.before_model"),
        *tracing.named("ReasonBlocks.after_agent"),
    ]
    assert len(spans) == 7
    for span in spans:
        assert not span["inputs"], span["name"]
        assert not span.get("outputs"), span["name"]
        assert not span.get("error"), span["name"]
        assert span.get("end_time") is not None, span["name"]


def test_no_prompt_is_told_twice(bench: Bench, tracing: TracingClient, mode: str) -> None:
    """Question, thought and tool result stand in the very spans of a vanilla agent and in none of ours."""
    bench.invoke(mode, bench.agent(ScriptedModel(script(1))))
    bench.finished(steps=2)
    ours = [tracing.told(text) for text in ("Find the record.", thought(0), "record key-0: value=42")]
    other = TracingClient()
    with tracing_context(enabled=True, client=other):
        bench.invoke(mode, create_agent(ScriptedModel(script(1)), [lookup], system_prompt=BASE))
    vanilla = [other.told(text) for text in ("Find the record.", thought(0), "record key-0: value=42")]
    assert all(vanilla)
    assert ours == vanilla


def test_the_model_stays_in_the_trace(bench: Bench, tracing: TracingClient, mode: str) -> None:
    """Model and tools are part of the agent's one trace, as they are without ours."""
    bench.invoke(mode, bench.agent(ScriptedModel(script(1))))
    bench.finished(steps=2)
    assert len(tracing.named("ScriptedModel")) == 2
    assert len({str(span["trace_id"]) for span in tracing.created}) == 1


def test_c8_a_models_exception_passes_tracing_once(bench: Bench, tracing: TracingClient, mode: str) -> None:
    """The very exception of the model reaches the caller, the model was called once, and the run fails by it."""
    error = ConnectionError("busy")
    model = ScriptedModel([error])
    agent = bench.agent(model, tools=())
    with pytest.raises(ConnectionError) as caught:
        bench.invoke(mode, agent)
    assert caught.value is error
    assert model.calls == 1
    bench.finished(steps=0, outcome="failure: ConnectionError")


def test_c6_a_tools_exception_passes_tracing(bench: Bench, tracing: TracingClient, mode: str) -> None:
    """A tool that raises under tracing fails the run by its exception."""
    agent = bench.agent(ScriptedModel([call("failing_tool")]), tools=[failing_tool])
    assert bench.failure(mode, agent) == "RuntimeError"
    bench.finished(steps=1, outcome="failure: RuntimeError")


@pytest.mark.parametrize("where", ["model", "tool"])
def test_c6_cancellation_passes_through(bench: Bench, tracing: TracingClient, where: str) -> None:
    """A cancelled agent stops at once in the model or in a tool, traced, and the run fails as cancelled."""
    entered = asyncio.Event()

    async def forever() -> str:
        entered.set()
        await asyncio.sleep(WAITS_FOREVER)
        return "never"

    class SlowModel(ScriptedModel):
        async def _agenerate(self, *given: Any, **named: Any) -> Any:
            if where == "model":
                await forever()
            return await super()._agenerate(*given, **named)

    model = SlowModel([say(thought(0), call("waiting")), "done"])
    agent = bench.agent(model, tools=[make_tool("waiting", forever)])

    async def cancel() -> None:
        task = asyncio.create_task(agent.ainvoke(QUESTION))
        await asyncio.wait_for(entered.wait(), 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, 10)

    bench.on_loop(cancel)
    bench.finished(steps=0 if where == "model" else 1, outcome="failure: CancelledError")


def test_hooks_work_when_the_environment_switches_tracing_on(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    """LANGSMITH_TRACING=true, as users set it, works like the context manager; nothing reaches the network."""
    client = TracingClient()
    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    get_env_var.cache_clear()
    get_tracer_project.cache_clear()
    monkeypatch.setattr("langsmith.run_trees._CLIENT", client)
    try:
        bench.invoke(mode, bench.agent(ScriptedModel(script(1))))
        bench.finished(steps=2)
    finally:
        monkeypatch.delenv("LANGSMITH_TRACING")
        get_env_var.cache_clear()
        get_tracer_project.cache_clear()
    assert len(client.named(hook(mode, "wrap_model_call"))) == 2
    assert client.told("Find the record.") != []
    assert not any(span["inputs"] for span in client.named(hook(mode, "wrap_model_call")))
