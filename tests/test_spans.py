"""C42: spans of whole runs, as a collector gets them by OTLP over HTTP."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import anyio
import pytest
from inline_snapshot import snapshot
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from opentelemetry import baggage, context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, ParentBased, Sampler

from reasonblocks import ReasonBlocks
from support.agents import (
    ScriptedModel,
    call,
    complaining_tool,
    failing_tool,
    flaky,
    lookup,
    make_tool,
    say,
    script,
    thought,
)
from support.otlp import Collector
from support.standin import Fault, Standin, healthy, inject

QUESTION: Any = {"messages": [("user", "Find the record.")]}
SCORES = {
    "claim_contradiction": 0.1,
    "semantic_loop": 0.7,
    "verification_skip": 0.0,
    "cyclic_compression": 0.2,
    "late_sprawl": 0.0,
    "silent_topic_drift": 0.05,
}
Connect = Callable[..., ReasonBlocks]


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Takes what is exported."""
    with Collector() as receiver:
        yield receiver


@pytest.fixture
def connect(standin: Standin) -> Iterator[Connect]:
    """Makes clients of the stand-in and closes them."""
    made: list[ReasonBlocks] = []

    def make(otel: Any, **settings: Any) -> ReasonBlocks:
        made.append(ReasonBlocks(standin.key, base_url=standin.url, otel=otel, step_timeout=10.0, **settings))
        return made[-1]

    yield make
    for rb in made:
        rb.close()
    assert standin.violations == []


@pytest.fixture
def provider(collector: Collector) -> Iterator[TracerProvider]:
    """A user's own provider."""
    with own_provider(collector) as made:
        yield made


class own_provider:
    def __init__(self, collector: Collector, sampler: Sampler | None = None) -> None:
        self._provider = TracerProvider(sampler=sampler, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{collector.url}/v1/traces")))

    def __enter__(self) -> TracerProvider:
        return self._provider

    def __exit__(self, *exit: object) -> None:
        self._provider.shutdown()


def firing(steps: Any, body: Any) -> Any:
    """Let a monitor fire on the second step."""
    return inject("You repeat yourself.") | {"scores": SCORES} if len(steps) == 2 else healthy()


def run(agent: Any, how: str = "sync", config: Any = None, given: Any = QUESTION) -> Any:
    return agent.invoke(given, config) if how == "sync" else asyncio.run(agent.ainvoke(given, config))


def an_agent(rb: ReasonBlocks, model: Any, tools: Any = (lookup,), run_id: str = "run-1", **settings: Any) -> Any:
    middleware = rb.middleware(agent_name=settings.pop("agent_name", "fixer"), run_id=run_id)
    return create_agent(model, list(tools), middleware=[middleware, *settings.pop("others", ())], **settings)


# -- whole runs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["sync", "async"])
def test_c42_a_run_with_tools_and_a_firing_monitor(
    how: str, connect: Connect, standin: Standin, collector: Collector
) -> None:
    """The whole tree of a run arrives: run, steps, questions, tools, scores, usage; sync and async are the same."""
    standin.evaluate = firing
    rb = connect(collector.url)
    replies = [
        say(thought(0), call("lookup", key="a")),
        say(thought(1), call("complaining_tool")),
        say(thought(2), call("lookup", key="c")),
        "done",
    ]
    run(an_agent(rb, ScriptedModel(replies), [lookup, complaining_tool]), how)
    rb.close()
    assert collector.tree() == snapshot("""\
invoke_agent fixer
    gen_ai.agent.name: fixer
    gen_ai.conversation.id: run-1
    gen_ai.operation.name: invoke_agent
    gen_ai.request.model: claude-sonnet-4-5
    reasonblocks.framework: langchain
    reasonblocks.org.id: default
    reasonblocks.project.id: default
    reasonblocks.run.id: run-1
    reasonblocks.run.outcome: success
    reasonblocks.run.outcome_class: success
    reasonblocks.run.steps: 4
    reasonblocks.task_profile: coding
  * run_start (id=run-1)
  * run_finish (outcome=success, outcome_class=success)
  chat claude-sonnet-4-5
      gen_ai.operation.name: chat
      gen_ai.response.finish_reasons: ['tool_use']
      gen_ai.response.model: claude-sonnet-4-5
      gen_ai.usage.cache_read.input_tokens: 40
      gen_ai.usage.input_tokens: 100
      gen_ai.usage.output_tokens: 20
      reasonblocks.step.action: lookup
      reasonblocks.step.added_ms: .
      reasonblocks.step.fsm_state: INIT
      reasonblocks.step.gate: first call
      reasonblocks.step.index: 0
      reasonblocks.step.injection_sources: ['E3Injection']
      reasonblocks.step.model_ms: .
    * step (action=lookup, tool_failed=False)
    reasonblocks.retrieve E3
        reasonblocks.injection.source: E3Injection
        reasonblocks.retrieval.found: 2
    execute_tool lookup
        gen_ai.operation.name: execute_tool
        gen_ai.tool.call.id: call_0_0
        gen_ai.tool.name: lookup
        gen_ai.tool.type: function
  chat claude-sonnet-4-5
      gen_ai.operation.name: chat
      gen_ai.response.finish_reasons: ['tool_use']
      gen_ai.response.model: claude-sonnet-4-5
      gen_ai.usage.cache_read.input_tokens: 40
      gen_ai.usage.input_tokens: 100
      gen_ai.usage.output_tokens: 20
      reasonblocks.step.action: complaining_tool
      reasonblocks.step.added_ms: .
      reasonblocks.step.composite: 0.02
      reasonblocks.step.difficulty: 0.401
      reasonblocks.step.fsm_state: NORMAL
      reasonblocks.step.gate: no monitor signal
      reasonblocks.step.index: 1
      reasonblocks.step.injection_sources: ['E2Injection']
      reasonblocks.step.model_ms: .
      reasonblocks.step.skipped_reason: E1Injection gate: no monitor signal
    * gen_ai.evaluation.result (name=claim_contradiction, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=semantic_loop, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=verification_skip, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=cyclic_compression, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=late_sprawl, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=silent_topic_drift, value=0.02, label=ok)
    * step (action=complaining_tool, tool_failed=True)
    reasonblocks.evaluate
    reasonblocks.retrieve E2
        reasonblocks.injection.source: E2Injection
        reasonblocks.retrieval.found: 2
    execute_tool complaining_tool ERROR
        error.type: tool_error
        gen_ai.operation.name: execute_tool
        gen_ai.tool.call.id: call_1_0
        gen_ai.tool.name: complaining_tool
        gen_ai.tool.type: function
  chat claude-sonnet-4-5
      gen_ai.operation.name: chat
      gen_ai.response.finish_reasons: ['tool_use']
      gen_ai.response.model: claude-sonnet-4-5
      gen_ai.usage.cache_read.input_tokens: 40
      gen_ai.usage.input_tokens: 100
      gen_ai.usage.output_tokens: 20
      reasonblocks.step.action: lookup
      reasonblocks.step.added_ms: .
      reasonblocks.step.composite: 0.7
      reasonblocks.step.difficulty: 0.401
      reasonblocks.step.failure_type: loop
      reasonblocks.step.fsm_state: NORMAL
      reasonblocks.step.gate: fired now
      reasonblocks.step.index: 2
      reasonblocks.step.injection_sources: ['MonitorSteeringInjection', 'E1Injection']
      reasonblocks.step.model_ms: .
      reasonblocks.step.monitors_fired: ['semantic_loop']
    * gen_ai.evaluation.result (name=claim_contradiction, value=0.1, label=ok)
    * gen_ai.evaluation.result (name=semantic_loop, value=0.7, label=fired)
    * gen_ai.evaluation.result (name=verification_skip, value=0.0, label=ok)
    * gen_ai.evaluation.result (name=cyclic_compression, value=0.2, label=ok)
    * gen_ai.evaluation.result (name=late_sprawl, value=0.0, label=ok)
    * gen_ai.evaluation.result (name=silent_topic_drift, value=0.05, label=ok)
    * step (action=lookup, tool_failed=False)
    reasonblocks.evaluate
    reasonblocks.retrieve E1
        reasonblocks.injection.source: E1Injection
        reasonblocks.retrieval.found: 1
    execute_tool lookup
        gen_ai.operation.name: execute_tool
        gen_ai.tool.call.id: call_2_0
        gen_ai.tool.name: lookup
        gen_ai.tool.type: function
  chat claude-sonnet-4-5
      gen_ai.operation.name: chat
      gen_ai.response.finish_reasons: ['end_turn']
      gen_ai.response.model: claude-sonnet-4-5
      gen_ai.usage.cache_read.input_tokens: 40
      gen_ai.usage.input_tokens: 100
      gen_ai.usage.output_tokens: 20
      reasonblocks.step.added_ms: .
      reasonblocks.step.composite: 0.02
      reasonblocks.step.difficulty: 0.401
      reasonblocks.step.fsm_state: NORMAL
      reasonblocks.step.gate: fired on a previous step
      reasonblocks.step.index: 3
      reasonblocks.step.model_ms: .
    * gen_ai.evaluation.result (name=claim_contradiction, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=semantic_loop, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=verification_skip, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=cyclic_compression, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=late_sprawl, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=silent_topic_drift, value=0.02, label=ok)
    * step (tool_failed=False)
    reasonblocks.evaluate\
""")
    assert {span.trace_id for span in collector.spans} == {collector.spans[0].trace_id}
    assert {(span.scope, span.schema) for span in collector.spans} == {
        ("reasonblocks", "https://opentelemetry.io/schemas/1.41.0")
    }
    assert collector.spans[0].resource["service.name"] == "reasonblocks"
    assert {span.kind for span in collector.spans} == {"internal"}


@pytest.mark.parametrize("how", ["sync", "async"])
def test_c42_parallel_tool_calls(how: str, connect: Connect, collector: Collector) -> None:
    """Tools that run at once are siblings, each with its own span and status, and spans inside them are theirs."""
    rb = connect(collector.url)

    def look(key: str) -> str:
        assert trace.get_current_span().attributes["gen_ai.tool.call.id"] == f"call_0_{key}"
        return key

    tools = [make_tool("look", look), complaining_tool]
    first = say("All at once.", call("look", key="0"), call("complaining_tool"), call("look", key="2"))
    run(an_agent(rb, ScriptedModel([first, "done"]), tools), how)
    rb.close()
    assert collector.tree(attributes=False) == snapshot("""\
invoke_agent fixer
  * run_start
  * run_finish
  chat claude-sonnet-4-5
    * step
    reasonblocks.retrieve E3
    execute_tool look
    execute_tool complaining_tool ERROR
    execute_tool look
  chat claude-sonnet-4-5
    * gen_ai.evaluation.result x6
    * step
    reasonblocks.evaluate
    reasonblocks.retrieve E2\
""")
    calls = {span.attributes["gen_ai.tool.call.id"] for span in collector.named("execute_tool look")}
    assert calls == {"call_0_0", "call_0_2"}


@pytest.mark.parametrize("how", ["sync", "async"])
def test_c42_a_model_that_fails(how: str, connect: Connect, collector: Collector) -> None:
    """The exception is on step and run, both have failed, and a key in its message is masked."""
    rb = connect(collector.url)
    replies = [say(thought(0), call("lookup", key="a")), ValueError("bad key rb_live_0123456789abcdef0123456789abcdef")]
    with pytest.raises(ValueError, match="bad key"):
        run(an_agent(rb, ScriptedModel(replies)), how)
    rb.close()
    assert collector.tree() == snapshot("""\
invoke_agent fixer ERROR: bad key rb_live_***
    error.type: ValueError
    gen_ai.agent.name: fixer
    gen_ai.conversation.id: run-1
    gen_ai.operation.name: invoke_agent
    gen_ai.request.model: claude-sonnet-4-5
    reasonblocks.framework: langchain
    reasonblocks.org.id: default
    reasonblocks.project.id: default
    reasonblocks.run.id: run-1
    reasonblocks.run.outcome: failure: ValueError
    reasonblocks.run.outcome_class: failure
    reasonblocks.run.steps: 1
    reasonblocks.task_profile: coding
  * run_start (id=run-1)
  * exception (type=ValueError, stacktrace=., message=bad key rb_live_***)
  * run_finish (outcome=failure: ValueError, outcome_class=failure)
  chat claude-sonnet-4-5
      gen_ai.operation.name: chat
      gen_ai.response.finish_reasons: ['tool_use']
      gen_ai.response.model: claude-sonnet-4-5
      gen_ai.usage.cache_read.input_tokens: 40
      gen_ai.usage.input_tokens: 100
      gen_ai.usage.output_tokens: 20
      reasonblocks.step.action: lookup
      reasonblocks.step.added_ms: .
      reasonblocks.step.fsm_state: INIT
      reasonblocks.step.gate: first call
      reasonblocks.step.index: 0
      reasonblocks.step.injection_sources: ['E3Injection']
      reasonblocks.step.model_ms: .
    * step (action=lookup, tool_failed=False)
    reasonblocks.retrieve E3
        reasonblocks.injection.source: E3Injection
        reasonblocks.retrieval.found: 2
    execute_tool lookup
        gen_ai.operation.name: execute_tool
        gen_ai.tool.call.id: call_0_0
        gen_ai.tool.name: lookup
        gen_ai.tool.type: function
  chat claude-sonnet-4-5 ERROR
      gen_ai.operation.name: chat
      reasonblocks.step.added_ms: .
      reasonblocks.step.gate: no monitor signal
      reasonblocks.step.index: 1
    * gen_ai.evaluation.result (name=claim_contradiction, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=semantic_loop, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=verification_skip, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=cyclic_compression, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=late_sprawl, value=0.02, label=ok)
    * gen_ai.evaluation.result (name=silent_topic_drift, value=0.02, label=ok)
    * exception (type=ValueError, stacktrace=., message=bad key rb_live_***)
    reasonblocks.evaluate
    reasonblocks.retrieve E2
        reasonblocks.injection.source: E2Injection
        reasonblocks.retrieval.found: 2\
""")
    assert "0123456789abcdef" not in str(collector.spans)


def test_c42_a_failing_attempt_that_is_repeated(connect: Connect, collector: Collector) -> None:
    """A retry that succeeds leaves the failed attempt as an event of the step, which itself has not failed."""
    rb = connect(collector.url)
    retry = ModelRetryMiddleware(initial_delay=0.0, on_failure="error")
    for others_first in (True, False):
        middleware = rb.middleware()
        stack = [retry, middleware] if others_first else [middleware, retry]
        create_agent(ScriptedModel([flaky(ConnectionError("busy"), say("done"))]), [], middleware=stack).invoke(
            QUESTION
        )
    rb.close()
    assert collector.tree(attributes=False) == snapshot("""\
invoke_agent
  * run_start
  * run_finish
  chat claude-sonnet-4-5
    * exception
    * step
    reasonblocks.retrieve E3
invoke_agent
  * run_start
  * run_finish
  chat claude-sonnet-4-5
    * step
    reasonblocks.retrieve E3\
""")


def test_c42_a_failure_that_others_make_good(connect: Connect, collector: Collector) -> None:
    """A call that failed for good has failed, although an outer middleware answers instead and the run succeeds."""
    rb = connect(collector.url)
    answer = ModelRetryMiddleware(max_retries=0, on_failure="continue")
    create_agent(ScriptedModel([ValueError("no")]), [], middleware=[answer, rb.middleware()]).invoke(QUESTION)
    rb.close()
    assert [(span.name, span.status.strip()) for span in collector.spans if span.name[:2] != "re"] == [
        ("invoke_agent", ""),
        ("chat claude-sonnet-4-5", "ERROR"),
    ]


class Twice(AgentMiddleware[Any, Any, Any]):
    """Calls the model a second time, although it answered."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        handler(request)
        return handler(request)


def test_c42_a_model_that_is_called_twice(connect: Connect, collector: Collector) -> None:
    """Each call that returned is a step, and has a span."""
    rb = connect(collector.url)
    create_agent(ScriptedModel(["done"]), [], middleware=[Twice(), rb.middleware()]).invoke(QUESTION)
    rb.close()
    steps = collector.named("chat")
    assert [span.attributes["reasonblocks.step.index"] for span in steps] == [0, 1]
    assert [span.attributes["gen_ai.usage.input_tokens"] for span in steps] == [100, 100]


@pytest.mark.parametrize("how", ["sync", "async"])
def test_c42_a_tool_that_raises(how: str, connect: Connect, collector: Collector) -> None:
    """The tool's span and the run have failed; the step, whose call returned, has not."""
    rb = connect(collector.url)
    with pytest.raises(RuntimeError, match="disk"):
        run(an_agent(rb, ScriptedModel([say("I try.", call("failing_tool"))]), [failing_tool]), how)
    rb.close()
    assert collector.tree(attributes=False) == snapshot("""\
invoke_agent fixer ERROR: the disk is full
  * run_start
  * exception
  * run_finish
  chat claude-sonnet-4-5
    * step
    reasonblocks.retrieve E3
    execute_tool failing_tool ERROR: the disk is full
      * exception\
""")


@pytest.mark.parametrize("how", ["sync", "async"])
def test_c42_a_nested_agent(how: str, connect: Connect, collector: Collector) -> None:
    """An agent inside a tool is a child of that tool's span, in the same trace and conversation."""
    rb = connect(collector.url)
    inner = an_agent(rb, ScriptedModel(["inner answer"]), [], run_id="inner", agent_name="helper")

    async def adelegate() -> str:
        return str((await inner.ainvoke(QUESTION))["messages"][-1].content)

    def delegate() -> str:
        return str(inner.invoke(QUESTION)["messages"][-1].content)

    outer = an_agent(
        rb, ScriptedModel([call("delegate"), "done"]), [make_tool("delegate", delegate, adelegate)], run_id="outer"
    )
    run(outer, how)
    rb.close()
    assert collector.tree(attributes=False) == snapshot("""\
invoke_agent fixer
  * run_start
  * run_finish
  chat claude-sonnet-4-5
    * step
    reasonblocks.retrieve E3
    execute_tool delegate
      invoke_agent helper
        * run_start
        * run_finish
        chat claude-sonnet-4-5
          * step
          reasonblocks.retrieve E3
  chat claude-sonnet-4-5
    * gen_ai.evaluation.result x6
    * step
    reasonblocks.evaluate
    reasonblocks.retrieve E2\
""")
    (nested,) = collector.named("invoke_agent helper")
    assert nested.attributes["reasonblocks.run.parent_id"] == "outer"
    assert nested.attributes["gen_ai.conversation.id"] == "outer"


def test_c42_the_agents_own_name(connect: Connect, collector: Collector) -> None:
    """An agent that only LangChain knows by name has it in its spans; one that it calls does not take it over."""
    rb = connect(collector.url)
    inner = create_agent(ScriptedModel(["inner answer"]), [], middleware=[rb.middleware()])

    def delegate() -> str:
        return str(inner.invoke(QUESTION)["messages"][-1].content)

    model = ScriptedModel([call("delegate"), "done"])
    tools = [make_tool("delegate", delegate)]
    create_agent(model, tools, middleware=[rb.middleware()], name="planner").invoke(QUESTION)
    rb.close()
    assert [span.name for span in collector.named("invoke_agent")] == ["invoke_agent planner", "invoke_agent"]


def test_c42_a_nested_agent_whose_context_was_lost(connect: Connect, collector: Collector) -> None:
    """A nested run that begins where no span is current has a trace of its own, with a link to its parent."""
    rb = connect(collector.url)
    inner = an_agent(rb, ScriptedModel(["inner answer"]), [], run_id="inner", agent_name="helper")

    def delegate() -> str:
        token = context.attach(context.Context())
        try:
            return str(inner.invoke(QUESTION)["messages"][-1].content)
        finally:
            context.detach(token)

    run(an_agent(rb, ScriptedModel([call("delegate"), "done"]), [make_tool("delegate", delegate)], run_id="outer"))
    rb.close()
    assert collector.tree(attributes=False) == snapshot("""\
invoke_agent fixer
  * run_start
  * run_finish
  chat claude-sonnet-4-5
    * step
    reasonblocks.retrieve E3
    execute_tool delegate
  chat claude-sonnet-4-5
    * gen_ai.evaluation.result x6
    * step
    reasonblocks.evaluate
    reasonblocks.retrieve E2
invoke_agent helper
  -> invoke_agent fixer of another trace (nested)
  * run_start
  * run_finish
  chat claude-sonnet-4-5
    * step
    reasonblocks.retrieve E3\
""")


def thread() -> Any:
    return {"configurable": {"thread_id": "thread-1"}}


@pytest.mark.parametrize("how", ["sync", "async"])
def test_c42_interrupt_and_resume(how: str, connect: Connect, collector: Collector) -> None:
    """A run that waits for a person ends its spans; resumed here, it goes on in the same trace."""
    rb = connect(collector.url)

    def confirm() -> str:
        return f"confirmed: {interrupt('Really?')}"

    model = ScriptedModel([say("I ask.", call("confirm")), "done"])
    agent = an_agent(rb, model, [make_tool("confirm", confirm)], checkpointer=InMemorySaver())
    run(agent, how, thread())
    rb.close()
    assert [span.name for span in collector.spans if span.name.startswith("invoke_agent")] == ["invoke_agent fixer"]
    run(agent, how, thread(), Command(resume="yes"))
    rb.close()
    assert collector.tree(attributes=False) == snapshot("""\
invoke_agent fixer
  * run_start
  * run_interrupt
  chat claude-sonnet-4-5
    * step
    reasonblocks.retrieve E3
    execute_tool confirm
  invoke_agent fixer
    -> invoke_agent fixer (resumed)
    * run_finish
    chat claude-sonnet-4-5
      * gen_ai.evaluation.result x6
      * step
      reasonblocks.evaluate
      reasonblocks.retrieve E2
    execute_tool confirm\
""")
    assert len({span.trace_id for span in collector.spans}) == 1
    assert {span.attributes["gen_ai.conversation.id"] for span in collector.named("invoke_agent")} == {"thread-1"}


def test_c42_resume_under_another_caller(connect: Connect, collector: Collector, provider: TracerProvider) -> None:
    """A resume inside a span of the user's own is that span's child, linked to where the run left off."""
    rb = connect(provider)

    def confirm() -> str:
        return f"confirmed: {interrupt('Really?')}"

    model = ScriptedModel([say("I ask.", call("confirm")), "done"])
    agent = an_agent(rb, model, [make_tool("confirm", confirm)], checkpointer=InMemorySaver())
    run(agent, "sync", thread())
    with provider.get_tracer("user").start_as_current_span("second request"):
        run(agent, "sync", thread(), Command(resume="yes"))
    provider.force_flush()
    assert collector.tree(attributes=False) == snapshot("""\
invoke_agent fixer
  * run_start
  * run_interrupt
  chat claude-sonnet-4-5
    * step
    reasonblocks.retrieve E3
    execute_tool confirm
second request
  invoke_agent fixer
    -> invoke_agent fixer of another trace (resumed)
    * run_finish
    chat claude-sonnet-4-5
      * gen_ai.evaluation.result x6
      * step
      reasonblocks.evaluate
      reasonblocks.retrieve E2
    execute_tool confirm\
""")


def test_c42_time_travel_is_linked(connect: Connect, collector: Collector) -> None:
    """A run from a checkpoint of the past has its own trace and a link to the run it comes from."""
    rb = connect(collector.url)
    agent = an_agent(rb, ScriptedModel(script(1)), checkpointer=InMemorySaver())
    run(agent, "sync", thread())
    (past,) = [state for state in agent.get_state_history(thread()) if state.next == ("tools",)]
    agent.invoke(None, past.config)
    rb.close()
    assert collector.tree(attributes=False) == snapshot("""\
invoke_agent fixer
  * run_start
  * run_finish
  chat claude-sonnet-4-5
    * step
    reasonblocks.retrieve E3
    execute_tool lookup
  chat claude-sonnet-4-5
    * gen_ai.evaluation.result x6
    * step
    reasonblocks.evaluate
    reasonblocks.retrieve E2
invoke_agent fixer
  -> invoke_agent fixer of another trace (time_travel)
  * run_start
  * run_finish
  chat claude-sonnet-4-5
    * gen_ai.evaluation.result x6
    * step
    reasonblocks.evaluate
    reasonblocks.retrieve E2
  execute_tool lookup\
""")


def test_c42_concurrent_runs_of_one_middleware(connect: Connect, collector: Collector) -> None:
    """Fifty runs at once on one middleware: each has a trace of its own, whole and unmixed."""
    rb = connect(collector.url)
    middleware = rb.middleware()
    agent = create_agent(ScriptedModel(script(2), think=0.01), [lookup], middleware=[middleware])

    async def main() -> None:
        names = [{"metadata": {"reasonblocks_run_id": f"run-{number}"}} for number in range(50)]
        await asyncio.gather(*(agent.ainvoke(QUESTION, config) for config in names))
        await rb.aclose()

    asyncio.run(main())
    runs = collector.named("invoke_agent")
    assert sorted(span.attributes["reasonblocks.run.id"] for span in runs) == sorted(f"run-{n}" for n in range(50))
    assert len({span.trace_id for span in runs}) == 50
    for root in runs:
        mine = [span for span in collector.spans if span.trace_id == root.trace_id]
        steps = [span for span in mine if span.parent_id == root.span_id]
        assert [span.attributes["reasonblocks.step.index"] for span in steps] == [0, 1, 2]
        assert {span.attributes.get("reasonblocks.run.id", "") for span in mine} <= {
            root.attributes["reasonblocks.run.id"],
            "",
        }
        assert len([span for span in mine if span.name == "execute_tool lookup"]) == 2


# -- the user's own spans --------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["sync", "async"])
def test_c42_the_users_own_spans(how: str, connect: Connect, collector: Collector, provider: TracerProvider) -> None:
    """The caller's span is the parent, spans in models, tools and injections are children, baggage arrives."""
    mine = provider.get_tracer("user")
    bags: list[Any] = []

    class Baggage(SpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            bags.append((span.name, baggage.get_baggage("tenant", parent_context)))

    provider.add_span_processor(Baggage())

    def work(messages: Any) -> Any:
        with mine.start_as_current_span("inside the model"):
            return say("I look.", call("probe"))

    def probe() -> str:
        with mine.start_as_current_span("inside the tool"):
            return "ok"

    rb = connect(provider)
    agent = an_agent(rb, ScriptedModel([work, "done"]), [make_tool("probe", probe)])
    token = context.attach(baggage.set_baggage("tenant", "acme"))
    try:
        with mine.start_as_current_span("request"):
            run(agent, how)
            assert trace.get_current_span().name == "request"  # type: ignore[attr-defined]
    finally:
        context.detach(token)
    provider.force_flush()
    assert collector.tree(attributes=False) == snapshot("""\
request
  invoke_agent fixer
    * run_start
    * run_finish
    chat claude-sonnet-4-5
      * step
      reasonblocks.retrieve E3
      inside the model
      execute_tool probe
        inside the tool
    chat claude-sonnet-4-5
      * gen_ai.evaluation.result x6
      * step
      reasonblocks.evaluate
      reasonblocks.retrieve E2\
""")
    assert {tenant for _, tenant in bags} == {"acme"}


@pytest.mark.parametrize("package", ["openai >= 1.0", "langchain-core >= 0.3"])
def test_c42_an_instrumentation_is_active(
    package: str, connect: Connect, collector: Collector, provider: TracerProvider
) -> None:
    """Where others make the spans of model calls, ours are plain steps around them, without usage."""

    class Instrumentor(BaseInstrumentor):
        def instrumentation_dependencies(self) -> Any:
            return [package]

        def _instrument(self, **named: Any) -> None:
            pass

        def _uninstrument(self, **named: Any) -> None:
            pass

    def work(messages: Any) -> Any:
        usage = {"gen_ai.usage.input_tokens": 100}
        with provider.get_tracer("theirs").start_as_current_span("chat theirs", attributes=usage):
            return say("I look.", *([call("lookup", key="a")] if messages[-1].type == "human" else []))

    instrumentor = Instrumentor()
    instrumentor.instrument(skip_dep_check=True)
    try:
        run(an_agent(connect(provider), ScriptedModel([work, work])))
    finally:
        instrumentor.uninstrument()
    provider.force_flush()
    tools = "execute_tool lookup" if package.startswith("openai") else ""
    expected = [line for line in AROUND_OTHERS.splitlines() if "execute_tool" not in line or tools]
    assert collector.tree(attributes=False).splitlines() == expected
    assert sum(span.attributes.get("gen_ai.usage.input_tokens", 0) for span in collector.spans) == 200
    assert [span.attributes.get("gen_ai.operation.name") for span in collector.named("step")] == [None, None]


AROUND_OTHERS = """\
invoke_agent fixer
  * run_start
  * run_finish
  step 0
    * step
    reasonblocks.retrieve E3
    chat theirs
    execute_tool lookup
  step 1
    * gen_ai.evaluation.result x6
    * step
    reasonblocks.evaluate
    reasonblocks.retrieve E2
    chat theirs"""
"""With an instrumentation of a model's client; one of LangChain makes the spans of tools, too."""


def test_c42_a_run_that_the_sampler_leaves_out(connect: Connect, collector: Collector) -> None:
    """Where a run is not sampled, nothing of it is exported, and spans inside it follow its parent's decision."""

    class NoRuns(Sampler):
        def should_sample(self, parent_context: Any, trace_id: int, name: str, *args: Any, **named: Any) -> Any:
            decided = ALWAYS_OFF if name.startswith("invoke_agent") else ALWAYS_ON
            return decided.should_sample(parent_context, trace_id, name, *args, **named)

        def get_description(self) -> str:
            return "no runs"

    with own_provider(collector, ParentBased(NoRuns())) as picky:

        def probe() -> str:
            with picky.get_tracer("user").start_as_current_span("inside the tool"):
                return "ok"

        rb = connect(picky)
        run(an_agent(rb, ScriptedModel([call("probe"), "done"]), [make_tool("probe", probe)]))
        picky.force_flush()
        assert collector.spans == []
        with picky.get_tracer("user").start_as_current_span("elsewhere"):
            pass
    assert [span.name for span in collector.spans] == ["elsewhere"]


def test_c42_no_context_leaks_where_a_run_is_cancelled(
    connect: Connect, collector: Collector, provider: TracerProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """A cancelled model call leaves its spans ended and failed, the caller's span current, and nothing logged."""
    rb = connect(provider)
    agent = an_agent(rb, ScriptedModel([say("slow")], think=30.0), [])

    async def main() -> None:
        with provider.get_tracer("user").start_as_current_span("request") as request:
            task = asyncio.create_task(agent.ainvoke(QUESTION))
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert trace.get_current_span() is request
        await rb.aclose()

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
    provider.force_flush()
    assert collector.tree(attributes=False) == snapshot("""\
request
  invoke_agent fixer ERROR
    * run_start
    * exception
    * run_finish
    chat claude-sonnet-4-5 ERROR
      * exception
      reasonblocks.retrieve E3\
""")
    assert [record.message for record in caplog.records if "context" in record.message.lower()] == []


def test_c42_a_hook_that_is_closed_elsewhere(
    connect: Connect, provider: TracerProvider, caplog: pytest.LogCaptureFixture
) -> None:
    """A model call that is abandoned, and closed in another context, changes nothing there and logs nothing."""
    rb = connect(provider)
    middleware = rb.middleware()
    abandoned: list[Any] = []

    class Abandoning(AgentMiddleware[Any, Any, Any]):
        """Starts our hook once more, and leaves it hanging."""

        async def awrap_model_call(self, request: Any, handler: Any) -> Any:
            hanging = middleware.awrap_model_call(request, lambda _: anyio.sleep_forever())
            copy_context().run(hanging.send, None)
            abandoned.append(hanging)
            return await handler(request)

    agent = create_agent(ScriptedModel(["done"]), [], middleware=[Abandoning(), middleware])
    asyncio.run(agent.ainvoke(QUESTION))
    before = context.get_current()
    with caplog.at_level(logging.WARNING):
        abandoned[0].close()
    assert context.get_current() is before
    assert caplog.records == []


# -- what went wrong, and what came later ----------------------------------------------------------


def test_c42_questions_that_were_not_answered(connect: Connect, standin: Standin, collector: Collector) -> None:
    """A lookup that fails, is late or is refused by the breaker has a span that failed, with the reason."""
    standin.fault("evaluate", Fault(status=400))
    standin.fault("retrieve", Fault(black_hole=True))
    rb = ReasonBlocks(standin.key, base_url=standin.url, otel=collector.url, step_timeout=0.3)
    run(an_agent(rb, ScriptedModel(script(3))))
    rb.close()
    found = [
        (span.name, span.status.strip(), span.attributes.get("error.type"))
        for span in collector.spans
        if span.name.startswith("reasonblocks.")
    ]
    assert found == snapshot(
        [
            ("reasonblocks.retrieve E3", "ERROR", "late"),
            ("reasonblocks.evaluate", "ERROR", "failed"),
            ("reasonblocks.retrieve E2", "ERROR", "late"),
            ("reasonblocks.retrieve E3", "ERROR", "late"),
            ("reasonblocks.evaluate", "ERROR", "refused"),
            ("reasonblocks.retrieve E2", "ERROR", "refused"),
            ("reasonblocks.retrieve E3", "ERROR", "refused"),
            ("reasonblocks.evaluate", "ERROR", "refused"),
            ("reasonblocks.retrieve E2", "ERROR", "refused"),
            ("reasonblocks.retrieve E3", "ERROR", "refused"),
        ]
    )


@pytest.mark.parametrize("late", [False, True])
def test_c42_mark_failure(late: bool, connect: Connect, collector: Collector) -> None:
    """`mark_failure` fails the run's span; once that has ended, the new outcome has a span beneath it."""
    rb = connect(collector.url)
    middleware = rb.middleware(agent_name="fixer", run_id="run-1")

    def give_up() -> str:
        if not late:
            middleware.mark_failure("tests are red")
        return "ok"

    agent = create_agent(
        ScriptedModel([call("give_up"), "done"]), [make_tool("give_up", give_up)], middleware=[middleware]
    )
    run(agent)
    if late:
        middleware.mark_failure("tests are red")
    rb.close()
    failed = [span for span in collector.spans if span.status == " ERROR"]
    assert [(span.name, span.reason) for span in failed] == [
        ("reasonblocks.run_finish" if late else "invoke_agent fixer", "tests are red")
    ]
    assert failed[0].events[-1].attributes["reasonblocks.run.outcome"] == "tests are red"
    assert failed[0].parent_id == (collector.named("invoke_agent")[0].span_id if late else "")


def other_process(url: str, key: str, collector: str, path: str) -> None:
    """Resume the run of `path` in a process that knows nothing else."""
    from test_identity import FileSaver  # type: ignore[import-not-found]

    rb = ReasonBlocks(key, base_url=url, otel=collector, step_timeout=10.0)
    agent = asking_agent(rb, FileSaver(Path(path)))
    agent.invoke(Command(resume="yes"), thread())
    rb.close()


def asking_agent(rb: ReasonBlocks, saver: InMemorySaver) -> Any:
    def confirm() -> str:
        return f"confirmed: {interrupt('Really?')}"

    model = ScriptedModel([say("I ask.", call("confirm")), "done"])
    return an_agent(rb, model, [make_tool("confirm", confirm)], checkpointer=saver)


@pytest.mark.slow
def test_c42_resume_in_another_process_is_linked(
    connect: Connect, standin: Standin, collector: Collector, tmp_path: Path
) -> None:
    """Another process starts a new trace, linked to the span that the run had in the first one."""
    from test_identity import FileSaver  # type: ignore[import-not-found]

    rb = connect(collector.url)
    saver = FileSaver(tmp_path / "checkpoints")
    run(asking_agent(rb, saver), "sync", thread())
    saver.save()
    rb.close()
    process = multiprocessing.get_context("spawn").Process(
        target=other_process, args=(standin.url, standin.key, collector.url, str(tmp_path / "checkpoints"))
    )
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert collector.tree(attributes=False) == snapshot("""\
invoke_agent fixer
  * run_start
  * run_interrupt
  chat claude-sonnet-4-5
    * step
    reasonblocks.retrieve E3
    execute_tool confirm
invoke_agent fixer
  -> invoke_agent fixer of another trace (resumed)
  * run_finish
  chat claude-sonnet-4-5
    * gen_ai.evaluation.result x6
    * step
    reasonblocks.evaluate
    reasonblocks.retrieve E2
  execute_tool confirm\
""")


def test_c42_spans_of_two_threads_do_not_mix(connect: Connect, collector: Collector) -> None:
    """Sync agents on several threads, one middleware: each run's steps are its own."""
    rb = connect(collector.url)
    agent = create_agent(ScriptedModel(script(3)), [lookup], middleware=[rb.middleware()])
    threads = [threading.Thread(target=agent.invoke, args=(QUESTION,)) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    rb.close()
    for root in collector.named("invoke_agent"):
        steps = [span for span in collector.spans if span.parent_id == root.span_id]
        assert [span.attributes["reasonblocks.step.index"] for span in steps] == [0, 1, 2, 3]
        assert {span.attributes["reasonblocks.run.id"] for span in steps} == {root.attributes["reasonblocks.run.id"]}
