"""A run from its start to its end, however it ends, as the server sees it."""

from __future__ import annotations

import asyncio
import gc
import itertools
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

import anyio
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware, ToolRetryMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command
from pydantic import PrivateAttr

from reasonblocks import ReasonBlocks
from support.agents import (
    MARKER,
    Passing,
    ScriptedModel,
    call,
    failing_tool,
    flaky,
    lookup,
    make_tool,
    say,
    script,
    system_content,
    thought,
)
from support.standin import Fault, Run, Standin, inject

QUESTION: Any = {"messages": [("user", "What is it?")]}
EVALUATE = "/monitors/evaluate"
HOOKS = ("before_agent", "before_model", "wrap_model_call", "after_agent", "wrap_tool_call")
SECONDS_TO_FINISH = 5.0


class ModelDownError(Exception):
    """What a model raises in these tests."""


@pytest.fixture
def blocks(standin: Standin) -> Iterator[ReasonBlocks]:
    client = ReasonBlocks(standin.key, base_url=standin.url, step_timeout=10.0)
    yield client
    client.close()
    assert standin.violations == []


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception is given less time to be recovered from; the tests without this show that 5 s are kept."""
    monkeypatch.setattr("reasonblocks.registry.PROVISIONAL_SECONDS", 0.3)


async def ask(agent: Any, how: str, config: Any = None) -> dict[str, Any]:
    """Ask an agent in one of the ways there are; the sync ones on a thread without an event loop."""
    if how == "invoke":
        return await anyio.to_thread.run_sync(lambda: agent.invoke(QUESTION, config))
    if how == "stream":
        return await anyio.to_thread.run_sync(lambda: list(agent.stream(QUESTION, config, stream_mode="values"))[-1])
    if how == "ainvoke":
        return await agent.ainvoke(QUESTION, config)
    return [state async for state in agent.astream(QUESTION, config, stream_mode="values")][-1]


async def finished(standin: Standin, run_id: str = "r") -> Run:
    """The run once the server knows its end, which may take 5 s and no help from the user."""
    await standin.await_for(lambda: standin.runs[run_id].finishes, SECONDS_TO_FINISH)
    return standin.runs[run_id]


async def settled(standin: Standin, run_id: str = "r") -> Run:
    """The run a moment after its end, when what was only provisional would have followed."""
    await finished(standin, run_id)
    await anyio.sleep(0.2)
    return standin.runs[run_id]


# -- C1: the hooks ---------------------------------------------------------------------------------


def test_c1_middleware_has_every_hook_twice(blocks: ReasonBlocks) -> None:
    """The middleware is LangChain's, and defines each hook itself, sync and async."""
    middleware = blocks.middleware()
    assert isinstance(middleware, AgentMiddleware)
    for hook in [*HOOKS, *(f"a{hook}" for hook in HOOKS)]:
        assert getattr(type(middleware), hook) is not getattr(AgentMiddleware, hook), hook


@pytest.mark.parametrize("how", ["invoke", "stream", "ainvoke", "astream"])
async def test_c1_an_agent_runs_sync_and_async(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """The same agent gives the same answer and the same report, however it is called."""
    middleware = blocks.middleware(run_id="r")
    agent = create_agent(ScriptedModel(script(2)), [lookup], middleware=[middleware])
    answer = await ask(agent, how)
    await middleware.aclose()
    assert answer["messages"][-1].content == "done"
    run = standin.runs["r"]
    assert run.timeline == ["run_start", "step 0", "step 1", "step 2", "run_finish success"]
    assert [step["action"] for step in run.steps.values()] == ["lookup", "lookup", None]
    assert [step["observation"] for step in run.steps.values()] == [
        "record key-0: value=42",
        "record key-1: value=42",
        None,
    ]
    assert [entry.step for entry in middleware.step_log] == [0, 1, 2]


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_c1_an_agent_without_tools(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """An agent that has no tools is a run like any other."""
    middleware = blocks.middleware(run_id="r")
    await ask(create_agent(ScriptedModel(["done"]), [], middleware=[middleware]), how)
    await middleware.aclose()
    assert standin.runs["r"].timeline == ["run_start", "step 0", "run_finish success"]


# -- C2: run_start ---------------------------------------------------------------------------------

FACTS: dict[str, Any] = {
    "run_id": "run-1",
    "agent_name": "fixer",
    "task": "repair the loader",
    "framework": "langgraph",
    "model": "claude-sonnet-4-5",
    "codebase_id": "code-1",
    "org_id": "org-1",
    "project_id": "project-1",
    "task_profile": "qa",
    "metadata": {"ticket": 7, "labels": ["a"]},
}


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_c2_run_start_carries_every_fact_once(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """`run_start` is sent once and says everything that the middleware was told."""
    middleware = blocks.middleware(**FACTS)
    await ask(create_agent(ScriptedModel(script(3)), [lookup], middleware=[middleware]), how)
    await middleware.aclose()
    run = standin.runs["run-1"]
    assert run.starts == 1
    assert run.timeline[0] == "run_start"
    assert run.start is not None
    assert {name: run.start[name] for name in FACTS} == FACTS


def test_c2_run_start_has_the_defaults(blocks: ReasonBlocks, standin: Standin) -> None:
    """What was not given has its documented default, the profile that of the client."""
    client = ReasonBlocks(standin.key, base_url=standin.url, task_profile="pr_review")
    middleware = client.middleware()
    create_agent(ScriptedModel(["done"]), [], middleware=[middleware]).invoke(QUESTION)
    client.close()
    (run,) = standin.runs.values()
    assert run.start == {
        "run_id": run.run_id,
        "agent_name": "",
        "task": "",
        "framework": "langchain",
        "model": "",
        "codebase_id": "",
        "org_id": "default",
        "project_id": "default",
        "task_profile": "pr_review",
        "metadata": {},
    }


def test_c2_run_start_is_sent_before_the_first_model_call(blocks: ReasonBlocks, standin: Standin) -> None:
    """The server knows of a run while it is still busy with its first call."""
    middleware = blocks.middleware(run_id="r")

    def reply(messages: list[BaseMessage]) -> AIMessage:
        standin.wait_for(lambda: standin.runs["r"].starts)
        return say("done")

    create_agent(ScriptedModel([reply]), [], middleware=[middleware]).invoke(QUESTION)
    assert standin.runs["r"].starts == 1


# -- C3: the first call ----------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_c3_first_call_asks_only_for_e3(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """Before the first call nothing is scored or evaluated, the state stays INIT, and only E3 is asked for."""
    asked: list[str] = []

    def reply(messages: list[BaseMessage]) -> AIMessage:
        asked.extend(
            request.body.get("tier", request.route) for request in standin.requests if "monitor/" not in request.route
        )
        return say(thought(0), call("lookup", key="a"))

    middleware = blocks.middleware(run_id="r")
    model = ScriptedModel([reply, "done"])
    await ask(create_agent(model, [lookup], middleware=[middleware]), how)
    await middleware.aclose()
    first, second = middleware.step_log
    assert [what for what in asked if "health" not in what] == ["e3"]
    assert (first.fsm_state, first.difficulty, first.composite) == ("INIT", None, None)
    assert first.injection_sources == ["E3Injection"]
    assert (second.fsm_state, second.composite) == ("NORMAL", 0.02)
    assert second.difficulty == pytest.approx(ReasonBlocks.score_step(thought(0)))
    assert standin.count(EVALUATE) == 1


def test_c3_every_run_has_a_first_call_of_its_own(blocks: ReasonBlocks, standin: Standin) -> None:
    """The second run of a middleware begins in INIT again, with E3 and without a score."""
    middleware = blocks.middleware()
    agent = create_agent(ScriptedModel(script(2)), [lookup], middleware=[middleware])
    for _ in range(2):
        agent.invoke(QUESTION)
        assert [entry.fsm_state for entry in middleware.step_log] == ["INIT", "NORMAL", "NORMAL"]
        assert middleware.step_log[0].difficulty is None
    assert len(standin.retrievals("e3")) == 2


# -- C5: outcomes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_c5_a_clean_return_is_a_success(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """A run that returned is finished once, as a success, without anybody closing anything."""
    agent = create_agent(ScriptedModel(script(1)), [lookup], middleware=[blocks.middleware(run_id="r")])
    await ask(agent, how)
    assert (await settled(standin)).finishes == ["success"]


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_c5_mark_failure_inside_a_tool_is_the_outcome(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """What `mark_failure` said while the run went on is the only outcome that is sent."""
    middleware = blocks.middleware(run_id="r")

    def give_up() -> str:
        middleware.mark_failure("tests still fail")
        return "given up"

    agent = create_agent(
        ScriptedModel([call("give_up"), "done"]), [make_tool("give_up", give_up)], middleware=[middleware]
    )
    await ask(agent, how)
    assert (await settled(standin)).finishes == ["tests still fail"]


def test_c5_mark_failure_after_the_run_replaces_its_success(blocks: ReasonBlocks, standin: Standin) -> None:
    """A verdict that comes after the run is sent as one more finish, and the last one counts."""
    middleware = blocks.middleware(run_id="r")
    create_agent(ScriptedModel(["done"]), [], middleware=[middleware]).invoke(QUESTION)
    middleware.close()
    assert standin.runs["r"].outcome == "success"
    middleware.mark_failure("the answer is wrong")
    middleware.close()
    assert standin.runs["r"].finishes == ["success", "the answer is wrong"]


async def _leave_by_error(middleware: Any, agent: Any, how: str) -> None:
    if how == "with":

        def body() -> None:
            with middleware:
                agent.invoke(QUESTION)

        await anyio.to_thread.run_sync(body)
    else:
        async with middleware:
            await agent.ainvoke(QUESTION)


@pytest.mark.parametrize("how", ["with", "async with"])
async def test_c5_context_manager_reports_the_exception(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """An exception that leaves the context gives the outcome, and everything is delivered on exit."""
    middleware = blocks.middleware(run_id="r")
    agent = create_agent(
        ScriptedModel([say("I look.", call("lookup", key="a")), ModelDownError("x")]), [lookup], middleware=[middleware]
    )
    with pytest.raises(ModelDownError):
        await _leave_by_error(middleware, agent, how)
    assert standin.runs["r"].timeline == ["run_start", "step 0", "run_finish failure: ModelDownError"]


@pytest.mark.parametrize("how", ["with", "async with"])
async def test_c5_context_manager_drains_on_a_clean_exit(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """When the context is left, the server has everything, although each of its answers takes a while."""
    standin.fault("/monitor/runs/{run_id}/steps", Fault(latency=0.2, applied=True))
    middleware = blocks.middleware(run_id="r")
    agent = create_agent(ScriptedModel(script(2)), [lookup], middleware=[middleware])
    await _leave_by_error(middleware, agent, how)
    assert standin.runs["r"].timeline == ["run_start", "step 0", "step 1", "step 2", "run_finish success"]


def test_c5_an_error_of_the_callers_own_code_is_the_runs_outcome(blocks: ReasonBlocks, standin: Standin) -> None:
    """When the caller's check of a clean answer raises inside the context, the failure replaces the success."""
    middleware = blocks.middleware(run_id="r")
    agent = create_agent(ScriptedModel(["done"]), [], middleware=[middleware])

    def use() -> None:
        with middleware:
            agent.invoke(QUESTION)
            raise LookupError("the answer names no file")

    with pytest.raises(LookupError):
        use()
    assert standin.runs["r"].outcome == "failure: LookupError"


@pytest.mark.parametrize("how", ["with", "async with"])
async def test_c5_mark_failure_stands_above_an_exception(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """A marked run keeps its reason, also when an exception leaves the context."""
    middleware = blocks.middleware(run_id="r")

    def reply(messages: list[BaseMessage]) -> AIMessage:
        middleware.mark_failure("gave up")
        raise ModelDownError("x")

    agent = create_agent(ScriptedModel([reply]), [], middleware=[middleware])
    with pytest.raises(ModelDownError):
        await _leave_by_error(middleware, agent, how)
    assert standin.runs["r"].finishes == ["gave up"]


def test_c5_only_the_run_that_raised_fails(blocks: ReasonBlocks, standin: Standin) -> None:
    """An exception of the second run in a context leaves the first one a success."""
    middleware = blocks.middleware(run_id="first")
    model = ScriptedModel(["done", ModelDownError("x")], by="calls")
    agent = create_agent(model, [], middleware=[middleware])

    def use() -> None:
        with middleware:
            agent.invoke(QUESTION)
            agent.invoke(QUESTION, {"metadata": {"reasonblocks_run_id": "second"}})

    with pytest.raises(ModelDownError):
        use()
    assert standin.runs["first"].finishes == ["success"]
    assert standin.runs["second"].finishes == ["failure: ModelDownError"]


def test_c5_a_context_leaves_runs_outside_it_alone(blocks: ReasonBlocks, standin: Standin) -> None:
    """A run that ended before the context was entered keeps its outcome."""
    middleware = blocks.middleware(run_id="before")
    create_agent(ScriptedModel(["done"]), [], middleware=[middleware]).invoke(QUESTION)
    with pytest.raises(LookupError), middleware:
        raise LookupError
    middleware.close()
    assert standin.runs["before"].finishes == ["success"]


def test_c5_the_middleware_stays_usable_after_its_context(blocks: ReasonBlocks, standin: Standin) -> None:
    """Leaving the context and closing drain, and end nothing for good."""
    middleware = blocks.middleware()
    agent = create_agent(ScriptedModel(["done"]), [], middleware=[middleware])
    for number in range(3):
        with middleware:
            agent.invoke(QUESTION, {"metadata": {"reasonblocks_run_id": f"r{number}"}})
        middleware.close()
        blocks.close()
    assert [run.finishes for run in standin.runs.values()] == [["success"]] * 3


# -- C6: no run stays open -------------------------------------------------------------------------
# An end that was seen as an exception is provisional for a while, so the variants of one ending run side by side.


async def side_by_side(ending: Callable[..., Awaitable[None]], *variants: Sequence[Any]) -> None:
    """Run an ending in every combination of its variants at once."""
    async with anyio.create_task_group() as tasks:
        for variant in itertools.product(*variants):
            tasks.start_soon(ending, *variant)


async def test_c6_model_error(blocks: ReasonBlocks, standin: Standin) -> None:
    """A model error ends the run, without the context manager, also while the caller keeps the exception."""

    async def end(how: str, kept: bool) -> None:
        run_id = f"{how}/{kept}"
        model = ScriptedModel([say("I look.", call("lookup", key="a")), ModelDownError("x")])
        agent = create_agent(model, [lookup], middleware=[blocks.middleware(run_id=run_id)])
        exceptions: list[BaseException] = []
        try:
            await ask(agent, how)
        except ModelDownError as error:
            if kept:
                exceptions.append(error)
        run = await finished(standin, run_id)
        assert run.timeline == ["run_start", "step 0", "run_finish failure: ModelDownError"]
        assert len(exceptions) == kept

    await side_by_side(end, ["invoke", "ainvoke"], [False, True])


@pytest.mark.usefixtures("impatient")
async def test_c6_tool_error(blocks: ReasonBlocks, standin: Standin) -> None:
    """A tool's error ends the run, and the step that called it carries the error as its observation."""

    async def end(how: str) -> None:
        model = ScriptedModel([say("I try.", call("failing_tool", reason="no space")), "done"])
        agent = create_agent(model, [failing_tool], middleware=[blocks.middleware(run_id=how)])
        with pytest.raises(RuntimeError) as kept:
            await ask(agent, how)
        run = await finished(standin, how)
        assert run.timeline == ["run_start", "step 0", "run_finish failure: RuntimeError"]
        assert "no space" in run.steps[0]["observation"]
        assert run.steps[0]["is_error"] is True
        assert str(kept.value) == "no space"

    await side_by_side(end, ["invoke", "ainvoke"])


@pytest.mark.usefixtures("impatient")
async def test_c6_tool_error_beside_a_tool_that_is_cancelled_for_it(blocks: ReasonBlocks, standin: Standin) -> None:
    """The error that ended the run names the outcome, not the cancellation of the tools beside it."""

    async def wait() -> str:
        await anyio.sleep(30)
        return "waited"

    model = ScriptedModel([say("Both.", call("failing_tool"), call("wait")), "done"])
    tools = [failing_tool, make_tool("wait", wait)]
    agent = create_agent(model, tools, middleware=[blocks.middleware(run_id="r")])
    with pytest.raises(RuntimeError):
        await agent.ainvoke(QUESTION)
    assert (await finished(standin)).outcome == "failure: RuntimeError"


async def test_c6_recursion_limit(blocks: ReasonBlocks, standin: Standin) -> None:
    """The recursion limit ends the run under its own name, at whichever node it strikes."""

    async def end(how: str, limit: int, saved: bool) -> None:
        run_id = f"{how}/{limit}/{saved}"
        agent = create_agent(
            ScriptedModel(script(20)),
            [lookup],
            middleware=[blocks.middleware(run_id=run_id)],
            checkpointer=InMemorySaver() if saved else None,
        )
        with pytest.raises(GraphRecursionError) as kept:
            await ask(agent, how, {"recursion_limit": limit, "configurable": {"thread_id": "t"}})
        assert (await finished(standin, run_id)).finishes == ["failure: GraphRecursionError"]
        assert kept.value is not None

    await side_by_side(end, ["invoke", "ainvoke"], [5, 6, 7], [False, True])


@pytest.mark.usefixtures("impatient")
def test_c6_a_slow_call_near_the_recursion_limit_is_no_failure(blocks: ReasonBlocks, standin: Standin) -> None:
    """A run that takes its time in the last steps it may take, and returns, was never a failure."""

    def slow(messages: list[BaseMessage]) -> AIMessage:
        time.sleep(0.8)
        return say("done")

    middleware = blocks.middleware(run_id="r")
    others = [Passing(f"other-{number}") for number in range(3)]
    agent = create_agent(ScriptedModel([*script(2)[:-1], slow]), [lookup], middleware=[middleware, *others])
    agent.invoke(QUESTION, {"recursion_limit": 20})  # one less would not do
    middleware.close()
    assert standin.runs["r"].finishes == ["success"]


class Waiting:
    """A point in an agent's run that never passes, and tells when it is reached."""

    def __init__(self) -> None:
        self.reached = anyio.Event()

    async def __call__(self) -> str:
        self.reached.set()
        await anyio.sleep(30)
        return "waited"


class WaitingModel(ScriptedModel):
    """A model that waits for good at its second call."""

    _wait: Waiting = PrivateAttr(default_factory=Waiting)

    async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        if any(isinstance(message, ToolMessage) for message in messages):
            await self._wait()
        return await super()._agenerate(messages, *args, **kwargs)


def waiting_agent(blocks: ReasonBlocks, run_id: str, where: str, saved: bool) -> tuple[Any, Waiting]:
    """An agent that waits for good in its tool, or in its model's second call."""
    wait = Waiting()

    async def tool() -> str:
        return await wait() if where == "tool" else "passed"

    replies = [say("I wait.", call("wait")), "done"]
    model = WaitingModel(replies) if where == "model" else ScriptedModel(replies)
    if isinstance(model, WaitingModel):
        model._wait = wait
    agent = create_agent(
        model,
        [make_tool("wait", tool)],
        middleware=[blocks.middleware(run_id=run_id)],
        checkpointer=InMemorySaver() if saved else None,
    )
    return agent, wait


async def test_c6_cancellation(blocks: ReasonBlocks, standin: Standin) -> None:
    """A cancelled task and an expired timeout end the run, in the model and in a tool, with and without checkpoints."""

    async def end(how: str, where: str, saved: bool) -> None:
        run_id = f"{how}/{where}/{saved}"
        agent, wait = waiting_agent(blocks, run_id, where, saved)
        task = asyncio.create_task(agent.ainvoke(QUESTION, {"configurable": {"thread_id": "t"}}))
        await wait.reached.wait()
        if how == "cancel":
            task.cancel()
            with pytest.raises(asyncio.CancelledError) as kept:
                await task
        else:
            with pytest.raises(TimeoutError) as kept:
                await asyncio.wait_for(task, 0.05)
        run = await finished(standin, run_id)
        assert run.timeline == ["run_start", "step 0", "run_finish failure: CancelledError"]
        assert kept.value is not None

    await side_by_side(end, ["cancel", "wait_for"], ["model", "tool"], [False, True])


@pytest.mark.usefixtures("impatient")
async def test_c6_cancelled_while_we_ask_the_server(blocks: ReasonBlocks, standin: Standin) -> None:
    """A cancellation that strikes our own hook passes through and ends the run."""
    standin.fault(EVALUATE, Fault(black_hole=True))
    agent = create_agent(ScriptedModel(script(2)), [lookup], middleware=[blocks.middleware(run_id="r")])
    task = asyncio.create_task(agent.ainvoke(QUESTION))
    await standin.await_for(lambda: standin.count(EVALUATE))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await finished(standin)).outcome == "failure: CancelledError"


async def leave_stream(agent: Any, mode: str) -> None:
    """Take three items of a stream and leave."""
    seen = 0
    async for _ in agent.astream(QUESTION, stream_mode=mode):
        seen += 1
        if seen == 3:
            break


@pytest.mark.usefixtures("impatient")
async def test_c6_a_stream_left_in_the_middle_of_a_reply(blocks: ReasonBlocks, standin: Standin) -> None:
    """A stream that the caller leaves while the model speaks ends the run as one that was left."""
    model = ScriptedModel(script(5), think=0.5)
    agent = create_agent(model, [lookup], middleware=[blocks.middleware(run_id="r")])
    await leave_stream(agent, "messages")
    assert (await finished(standin)).outcome == "failure: GeneratorExit"


async def test_c6_a_stream_left_between_nodes(blocks: ReasonBlocks, standin: Standin) -> None:
    """A stream that the caller leaves between two nodes ends the run as a failure."""

    async def end(mode: str) -> None:
        agent = create_agent(ScriptedModel(script(5)), [lookup], middleware=[blocks.middleware(run_id=mode)])
        await leave_stream(agent, mode)
        assert (await finished(standin, mode)).outcome == "failure: GeneratorExit"

    await side_by_side(end, ["updates", "values"])


class Breaking(AgentMiddleware[Any, Any, Any]):
    """Another middleware, whose hook fails before the second model call."""

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        """Raise once a tool has answered."""
        if any(isinstance(message, ToolMessage) for message in state["messages"]):
            raise LookupError("of another middleware")


async def test_c6_error_of_another_middleware(blocks: ReasonBlocks, standin: Standin) -> None:
    """An error that passes none of our hooks ends the run all the same, also while the caller keeps it."""

    async def end(kept: str) -> None:
        middleware = [blocks.middleware(run_id=kept), Breaking()]
        agent = create_agent(ScriptedModel(script(2)), [lookup], middleware=middleware)
        exceptions: list[BaseException] = []
        try:
            await agent.ainvoke(QUESTION)
        except LookupError as error:
            if kept == "kept":
                exceptions.append(error)
        assert (await finished(standin, kept)).outcome == "failure: LookupError"
        assert len(exceptions) == (kept == "kept")

    await side_by_side(end, ["dropped", "kept"])


def test_c6_a_hand_over_to_another_agent_is_a_success(blocks: ReasonBlocks, standin: Standin) -> None:
    """An agent whose tool goes on in the parent graph has done its part, although `after_agent` is not called."""

    def hand_over() -> Command[Any]:
        return Command(graph=Command.PARENT, goto="other", update={"messages": [AIMessage("handed over")]})

    model = ScriptedModel([say("Not mine.", call("hand_over"))])
    agent = create_agent(model, [make_tool("hand_over", hand_over)], middleware=[blocks.middleware(run_id="r")])
    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("other", lambda state: {"messages": [AIMessage("done")]})
    graph.add_edge(START, "agent")
    answer = graph.compile().invoke(QUESTION)
    blocks.close()
    assert answer["messages"][-1].text == "done"
    assert standin.runs["r"].timeline == ["run_start", "step 0", "run_finish success"]


def watched_question(blocks: ReasonBlocks) -> tuple[Any, Any, weakref.ref[HumanMessage]]:
    """An agent, its input, and a reference that is dead once nobody holds the input's message."""
    question = HumanMessage("What is it?")
    agent = create_agent(ScriptedModel(script(1)), [lookup], middleware=[blocks.middleware(run_id="r")])
    return agent, {"messages": [question]}, weakref.ref(question)


async def test_c6_nothing_of_ours_keeps_the_conversation(blocks: ReasonBlocks, standin: Standin) -> None:
    """When a run is over its messages can be collected: no task, socket or timer of ours holds on to its state."""
    agent, question, reference = watched_question(blocks)
    await agent.ainvoke(question)
    await finished(standin)
    del agent, question
    gc.collect()
    assert reference() is None


def test_c6_nothing_of_ours_keeps_the_conversation_of_a_sync_agent(blocks: ReasonBlocks, standin: Standin) -> None:
    """The runtime's own thread and loop hold on to nothing either."""
    agent, question, reference = watched_question(blocks)
    agent.invoke(question)
    standin.wait_for(lambda: standin.runs["r"].finishes)
    del agent, question
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize("outer", [True, False], ids=["outside", "inside"])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_c6_a_model_retry_that_recovers(blocks: ReasonBlocks, standin: Standin, how: str, outer: bool) -> None:
    """A model error that a retry outside or inside our hook makes good is no failure, and makes no second step."""
    middleware = blocks.middleware(run_id="r")
    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    model = ScriptedModel(
        [say("I look.", call("lookup", key="a")), flaky(ModelDownError("x"), say("done"), times=2)],
    )
    agent = create_agent(model, [lookup], middleware=[retry, middleware] if outer else [middleware, retry])
    await ask(agent, how)
    await middleware.aclose()
    assert standin.runs["r"].timeline == ["run_start", "step 0", "step 1", "run_finish success"]
    assert model.calls == 4


@pytest.mark.usefixtures("impatient")
def test_c6_a_model_retry_that_takes_long(blocks: ReasonBlocks, standin: Standin) -> None:
    """When a retry recovers after the failure was reported already, the last finish is the success."""
    middleware = blocks.middleware(run_id="r")
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0.8, jitter=False)
    model = ScriptedModel([flaky(ModelDownError("x"), say("done"))])
    create_agent(model, [], middleware=[retry, middleware]).invoke(QUESTION)
    middleware.close()
    run = standin.runs["r"]
    assert run.outcome == "success"
    assert (run.starts, run.step_order) == (1, [0])


@pytest.mark.parametrize("outer", [True, False], ids=["outside", "inside"])
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_c6_a_tool_retry_that_recovers(blocks: ReasonBlocks, standin: Standin, how: str, outer: bool) -> None:
    """A tool error that a retry makes good is no failure, and only the good result is observed."""
    attempts: list[int] = []

    def fetch() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise ModelDownError("not yet")
        return "fetched"

    middleware = blocks.middleware(run_id="r")
    retry = ToolRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    agent = create_agent(
        ScriptedModel([say("I fetch.", call("fetch")), "done"]),
        [make_tool("fetch", fetch)],
        middleware=[retry, middleware] if outer else [middleware, retry],
    )
    await ask(agent, how)
    run = await settled(standin)
    assert run.timeline == ["run_start", "step 0", "step 1", "run_finish success"]
    assert (run.steps[0]["observation"], run.steps[0]["is_error"]) == ("fetched", False)


@pytest.mark.usefixtures("impatient")
async def test_c6_a_retry_that_gives_up_and_a_marked_run(blocks: ReasonBlocks, standin: Standin) -> None:
    """Exhausted retries end the run once with the model's error; a marked run ends with its reason instead."""

    async def end(run_id: str) -> None:
        middleware = blocks.middleware(run_id=run_id)

        def reply(messages: list[BaseMessage]) -> AIMessage:
            if run_id == "marked":
                middleware.mark_failure("gave up")
            raise ModelDownError("x")

        retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False, on_failure="error")
        model = ScriptedModel([reply])
        with pytest.raises(ModelDownError):
            await create_agent(model, [], middleware=[retry, middleware]).ainvoke(QUESTION)
        outcome = "gave up" if run_id == "marked" else "failure: ModelDownError"
        assert (await finished(standin, run_id)).finishes == [outcome]
        assert model.calls == 3

    await side_by_side(end, ["plain", "marked"])


# -- C7: the history is never touched --------------------------------------------------------------


def bare(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    """Messages without what differs from run to run."""
    return [message.model_dump(exclude={"id", "response_metadata"}) for message in messages]


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_c7_history_is_that_of_an_unwatched_agent(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """What the agent returns, and what the model gets beside the system message, is as without us."""
    standin.evaluate = lambda steps, body: inject(f"Guidance {len(steps)}.")
    plain, watched = ScriptedModel(script(8)), ScriptedModel(script(8))
    expected = await ask(create_agent(plain, [lookup], system_prompt="Base."), how)
    middleware = blocks.middleware()
    answer = await ask(create_agent(watched, [lookup], system_prompt="Base.", middleware=[middleware]), how)
    assert any(watched.blocks)
    assert bare(answer["messages"]) == bare(expected["messages"])
    for request, unwatched in zip(watched.requests, plain.requests, strict=True):
        assert bare(request[1:]) == bare(unwatched[1:])
        assert isinstance(request[0], SystemMessage)


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
async def test_c7_steering_is_one_block_that_never_accumulates(
    blocks: ReasonBlocks, standin: Standin, how: str
) -> None:
    """Each step's system message is the caller's prompt and at most one block, with that step's guidance alone."""
    standin.evaluate = lambda steps, body: inject(f"Guidance {len(steps)}.")
    model = ScriptedModel(script(8))
    middleware = blocks.middleware()
    await ask(create_agent(model, [lookup], system_prompt="Base.", middleware=[middleware]), how)
    for content, entry in zip(model.systems, middleware.step_log, strict=True):
        assert isinstance(content, list)
        assert content[0]["text"] == "Base."
        expected = [f"{MARKER}\n" + "\n\n".join(entry.intervention_texts)] if entry.intervention_texts else []
        assert [block["text"] for block in content[1:]] == expected
    given = [[f"Guidance {number}." in (block or "") for number in range(1, 9)] for block in model.blocks]
    assert [sum(steps) for steps in zip(*given, strict=True)] == [1, 0, 0, 1, 0, 0, 1, 0]


def test_c7_the_callers_system_message_object_is_not_changed(blocks: ReasonBlocks, standin: Standin) -> None:
    """A system message that the caller made is the same after the run, block by block."""
    base = SystemMessage(content=[{"type": "text", "text": "Base."}])
    model = ScriptedModel(script(2))
    create_agent(model, [lookup], system_prompt=base, middleware=[blocks.middleware()]).invoke(QUESTION)
    assert base.content == [{"type": "text", "text": "Base."}]
    assert system_content(model.requests[0]) != base.content
