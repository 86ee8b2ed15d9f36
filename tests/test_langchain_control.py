"""LangChain's middlewares that stop, ask or rewrite, around and inside ours; and ours twice."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from reasonblocks.errors import SettingsError
from reasonblocks.registry import RunHandle
from support import stacks
from support.agents import ScriptedModel, call, failing_tool, flaky, lookup, make_tool, say, script, thought
from support.stacks import BASE, QUESTION, Bench
from support.standin import inject

bench = stacks.bench
make_bench = stacks.make_bench
mode = stacks.mode
order = stacks.order

THREAD: Any = {"configurable": {"thread_id": "one"}}
MAIL = "ada@example.org"


# -- HumanInTheLoopMiddleware ------------------------------------------------------------------------


def asked_agent(bench: Bench, order: str, model: ScriptedModel, interrupt_mode: Any = "batched") -> Any:
    human = HumanInTheLoopMiddleware({"lookup": True}, interrupt_mode=interrupt_mode)
    return bench.agent(model, human, order=order, checkpointer=InMemorySaver())


def two_steps() -> ScriptedModel:
    return ScriptedModel([say(thought(0), call("lookup", key="a")), "done"])


def test_c9b_an_approved_call_continues_the_run(bench: Bench, mode: str, order: str) -> None:
    """An interrupt and its approval are one run with one start, and the approved call is the step."""
    model = two_steps()
    agent = asked_agent(bench, order, model)
    paused = bench.invoke(mode, agent, config=THREAD)
    gc.collect()
    assert paused["__interrupt__"]
    (open_run,) = bench.standin.wait_for(lambda: list(bench.standin.runs.values()))
    assert open_run.finishes == []
    bench.invoke(mode, agent, Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    run = bench.finished(steps=2)
    assert run.steps[0]["action_input"] == '{"key":"a"}'
    assert run.steps[0]["observation"] == "record a: value=42"
    assert [entry.injection_sources for entry in bench.mw.step_log] == [["E3Injection"], ["E2Injection"]]
    assert model.calls == 2


@pytest.mark.parametrize("interrupt_mode", ["batched", "per_call"])
def test_c34_the_step_shows_the_call_that_a_person_edited(
    bench: Bench, mode: str, order: str, interrupt_mode: str
) -> None:
    """Ours inside shows the call that ran; ours outside sees only the model's, and the notice of what ran instead."""
    agent = asked_agent(bench, order, two_steps(), interrupt_mode)
    bench.invoke(mode, agent, config=THREAD)
    decision = {"type": "edit", "edited_action": {"name": "lookup", "args": {"key": "b"}}}
    answer = {"decisions": [decision]} if interrupt_mode == "batched" else decision
    result = bench.invoke(mode, agent, Command(resume=answer), THREAD)
    run = bench.finished(steps=2)
    (read,) = [message.text for message in result["messages"] if isinstance(message, ToolMessage)]
    assert "record b: value=42" in read
    assert run.steps[0]["observation"] == read
    assert 'Executed instead: lookup with arguments {"key": "b"}' in read
    assert run.steps[0]["action_input"] == ('{"key":"b"}' if order == "inside" else '{"key":"a"}')


@pytest.mark.parametrize("interrupt_mode", ["batched", "per_call"])
def test_c12_a_rejected_call_is_answered_by_the_person(
    bench: Bench, mode: str, order: str, interrupt_mode: str
) -> None:
    """The reviewer's refusal is the step's observation, and the run goes on to succeed."""
    agent = asked_agent(bench, order, two_steps(), interrupt_mode)
    bench.invoke(mode, agent, config=THREAD)
    decision = {"type": "reject", "message": "Not that one."}
    answer = {"decisions": [decision]} if interrupt_mode == "batched" else decision
    bench.invoke(mode, agent, Command(resume=answer), THREAD)
    run = bench.finished(steps=2)
    assert "Not that one." in run.steps[0]["observation"]
    assert run.steps[0]["is_error"] is True
    assert run.steps[0]["action"] == "lookup"


# -- PIIMiddleware -----------------------------------------------------------------------------------


def mail_tool() -> Any:
    async def find_mail() -> str:
        return f"it is {MAIL}"

    return make_tool("find_mail", lambda: f"it is {MAIL}", find_mail)


def pii(**settings: Any) -> PIIMiddleware:
    return PIIMiddleware("email", **({"apply_to_output": True, "apply_to_tool_results": True} | settings))


def everything_sent(bench: Bench) -> str:
    return str([request.body for request in bench.standin.requests])


def test_redacted_output_is_what_leaves_the_process(bench: Bench, mode: str, order: str) -> None:
    """What LangChain redacted in the model's reply is redacted in our telemetry, monitors and retrieval too."""
    model = ScriptedModel([say(f"I write to {MAIL}.", call("lookup", key="a")), f"Sent to {MAIL}."])
    result = bench.invoke(mode, bench.agent(model, pii(), order=order))
    run = bench.finished(steps=2)
    assert result["messages"][-1].text == "Sent to [REDACTED_EMAIL]."
    assert run.steps[0]["thought"] == "I write to [REDACTED_EMAIL]."
    assert run.steps[1]["thought"] == "Sent to [REDACTED_EMAIL]."
    assert bench.mw.step_log[1].thought_preview == "I write to [REDACTED_EMAIL]."
    assert MAIL not in everything_sent(bench)


def test_redacted_tool_results_leave_only_redacted_where_ours_is_inside(bench: Bench, mode: str, order: str) -> None:
    """Tool results are redacted before the next call: ours, last in the list, sees them after that, else before."""
    model = ScriptedModel([say(thought(0), call("find_mail")), "done"])
    bench.invoke(mode, bench.agent(model, pii(), order=order, tools=[mail_tool()]))
    run = bench.finished(steps=2)
    assert model.requests[1][-1].text == "it is [REDACTED_EMAIL]"
    expected = "it is [REDACTED_EMAIL]" if order == "inside" else f"it is {MAIL}"
    assert run.steps[0]["observation"] == expected
    assert (MAIL in everything_sent(bench)) == (order == "outside")


def test_redacted_output_of_a_failing_run_stays_redacted(bench: Bench, mode: str, order: str) -> None:
    """A tool that raises does not bring back what LangChain had redacted in the reply before it."""
    model = ScriptedModel([say(f"I write to {MAIL}.", call("failing_tool"))])
    agent = bench.agent(model, pii(), order=order, tools=[failing_tool])
    assert bench.failure(mode, agent) == "RuntimeError"
    run = bench.finished(steps=1, outcome="failure: RuntimeError")
    assert run.steps[0]["thought"] == "I write to [REDACTED_EMAIL]."
    assert MAIL not in everything_sent(bench)


def test_redacted_output_before_a_limit_stays_redacted(bench: Bench, mode: str, order: str) -> None:
    """A limit's closing message behind the redacted reply does not bring back the original."""
    model = ScriptedModel([say(f"I write to {MAIL}.", call("lookup", key="a"))])
    limit = ModelCallLimitMiddleware(run_limit=1)
    bench.invoke(mode, bench.agent(model, pii(), limit, order=order))
    run = bench.finished(steps=1)
    assert run.steps[0]["thought"] == "I write to [REDACTED_EMAIL]."


def test_c6_blocked_input_fails_the_run(bench: Bench, mode: str) -> None:
    """A block by PIIMiddleware within `with` is the outcome by name, and there is no step."""
    model = ScriptedModel(["done"])
    agent = bench.agent(model, PIIMiddleware("email", strategy="block"), tools=())
    given = {"messages": [("user", f"write to {MAIL}")]}

    def watched() -> None:
        with bench.mw:
            agent.invoke(given)

    async def awatched() -> None:
        async with bench.mw:
            await agent.ainvoke(given)

    with pytest.raises(Exception, match="email"):
        watched() if mode == "sync" else bench.on_loop(awatched)
    bench.finished(steps=0, outcome="failure: PIIDetectionError")
    assert model.calls == 0


# -- what is left of a run ---------------------------------------------------------------------------


def test_c6_nothing_of_ours_keeps_the_state_of_a_finished_run(bench: Bench, mode: str) -> None:
    """After a run its state can be collected: no task, connection or timer of ours holds the hook's context."""
    agent = bench.agent(ScriptedModel(script(1)))

    def kept() -> list[str]:
        gc.collect()
        handles = [found for found in gc.get_objects() if isinstance(found, RunHandle) and found.watch is not None]
        return [handle.watch.run.run_id for handle in handles if handle.watch.book is bench.mw._book]

    async def while_connected() -> list[str]:
        await agent.ainvoke(QUESTION)
        await bench.mw.aclose()
        return kept()

    if mode == "sync":
        agent.invoke(QUESTION)
        bench.mw.close()
        left = kept()
    else:
        left = bench.on_loop(while_connected)
    bench.finished(steps=2)
    assert left == []


# -- ours twice --------------------------------------------------------------------------------------


def test_two_of_ours_in_one_agent_are_refused(bench: Bench, mode: str) -> None:
    """The same instance twice, and two instances as well, with what to do; others are left to LangChain."""
    other = TodoListMiddleware()
    for pair in ([bench.mw, bench.mw], [bench.mw, other, bench.rb.middleware()]):
        with pytest.raises(SettingsError, match="twice: keep one of them"):
            create_agent(ScriptedModel(["done"]), [], middleware=pair)
    with pytest.raises(AssertionError, match="remove duplicate middleware"):
        create_agent(ScriptedModel(["done"]), [], middleware=[bench.mw, other, other])
    bench.invoke(mode, bench.agent(ScriptedModel(["done"]), tools=()))
    bench.finished(steps=1)


def test_our_name_is_a_text_like_any_other(bench: Bench) -> None:
    """Outside of LangChain's own look at a list, names of ours may be compared, counted and kept."""
    names = [bench.mw.name, bench.rb.middleware().name]
    assert names[0] == names[1] == "ReasonBlocks"
    assert len({*names, "ReasonBlocks"}) == 1
    assert json.loads(json.dumps(names)) == ["ReasonBlocks", "ReasonBlocks"]


# -- a realistic stack -------------------------------------------------------------------------------


def test_c4_a_realistic_stack(bench: Bench, mode: str, order: str) -> None:
    """Eleven of LangChain's middlewares around a bumpy run: exact steps, one start, one success, planned guidance."""
    bench.standin.evaluate = lambda steps, body: inject(f"Look at step {len(steps)} again.")
    failures = iter([OSError("not yet")])

    def fetch(key: str) -> str:
        for error in failures:
            raise error
        return f"{key} is here"

    async def afetch(key: str) -> str:
        return fetch(key)

    model = ScriptedModel(
        [
            flaky(ConnectionError("busy"), say(thought(0), call("lookup", key="a")), times=1),
            say(thought(1), call("fetch", key="b"), call("lookup", key="c")),
            say(thought(2), call("write_todos", todos=[{"content": "x", "status": "pending"}])),
            say(thought(3), call("ask", text="d")),
            "done",
        ],
        by="conversation",
    )
    others = [
        PIIMiddleware("email", apply_to_output=True),
        SummarizationMiddleware(ScriptedModel(["So far."], repeat=True), trigger=("messages", 100)),
        TodoListMiddleware(system_prompt="Plan."),
        ModelCallLimitMiddleware(run_limit=20),
        ToolCallLimitMiddleware(run_limit=20),
        ToolCallLimitMiddleware(tool_name="fetch", run_limit=20),
        HumanInTheLoopMiddleware({"ask": True}),
        ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=100_000)]),
        ModelFallbackMiddleware(ScriptedModel([], model_name="claude-haiku-4-5")),
        ModelRetryMiddleware(max_retries=2, initial_delay=0.0, on_failure="error"),
        ToolRetryMiddleware(max_retries=2, initial_delay=0.0, on_failure="error"),
    ]
    tools = [lookup, make_tool("fetch", fetch, afetch), make_tool("ask", lambda text: f"{text}?")]
    agent = bench.agent(model, *others, order=order, tools=tools, checkpointer=InMemorySaver())
    paused = bench.invoke(mode, agent, config=THREAD)
    assert paused["__interrupt__"]
    result = bench.invoke(mode, agent, Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
    run = bench.finished(steps=5)
    assert result["messages"][-1].text == "done"
    assert model.calls == 6
    assert [run.steps[n]["thought"] for n in range(5)] == [*(thought(n) for n in range(4)), "done"]
    assert run.steps[1]["observation"] == "b is here\n\nrecord c: value=42"
    assert run.steps[3]["observation"] == "d?"
    spoke = [entry.step for entry in bench.mw.step_log if "MonitorSteeringInjection" in entry.injection_sources]
    assert spoke == [1, 4]
    assert [f"Look at step {n} again." in (model.blocks[n + 1] or "") for n in (1, 2, 3, 4)] == [
        True,
        False,
        False,
        True,
    ]


def test_c36_observing_changes_nothing_in_a_stack(
    make_bench: Callable[..., Bench],
    mode: str,
    order: str,
) -> None:
    """With steer=False the model reads exactly what it reads without ours, and the steps are recorded all the same."""
    bench = make_bench(steer=False)
    others = [TodoListMiddleware(system_prompt="Plan."), ModelCallLimitMiddleware(run_limit=9)]
    ours, vanilla = ScriptedModel(script(2)), ScriptedModel(script(2))
    bench.invoke(mode, bench.agent(ours, *others, order=order))
    create_agent(vanilla, [lookup], system_prompt=BASE, middleware=others).invoke(QUESTION)
    bench.finished(steps=3)
    assert ours.systems == vanilla.systems
    assert [len(request) for request in ours.requests] == [len(request) for request in vanilla.requests]
    assert isinstance(ours.requests[0][1], HumanMessage)
    assert bench.mw.step_log[0].injection_sources == ["E3Injection"]
