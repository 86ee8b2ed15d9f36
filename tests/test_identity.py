"""Which run a hook, a tool or a resumed process belongs to: nothing is mixed, nothing is counted twice.

Run as a program, this file is the other process of the tests that resume a run elsewhere.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from reasonblocks import ReasonBlocks
from reasonblocks.errors import AmbiguousRun
from support.agents import Passing, ScriptedModel, call, lookup, make_tool, say, script, thought
from support.standin import Run, Standin, inject

QUESTION: Any = {"messages": [("user", "What is it?")]}
APPROVE: Any = Command(resume={"decisions": [{"type": "approve"}]})
OURS = "_reasonblocks"
OTHER_PROCESS_SECONDS = 60


@pytest.fixture
def blocks(standin: Standin) -> Iterator[ReasonBlocks]:
    client = ReasonBlocks(standin.key, base_url=standin.url, step_timeout=10.0)
    yield client
    client.close()
    assert standin.violations == []


def named(run_id: str, **configurable: Any) -> Any:
    """A config that names the run."""
    return {"metadata": {"reasonblocks_run_id": run_id}, "configurable": configurable}


def thread(thread_id: str = "t") -> Any:
    """A config with a thread."""
    return {"configurable": {"thread_id": thread_id}}


def link(run: Run) -> Any:
    """What a run's start says about where it comes from."""
    assert run.start is not None
    return run.start["metadata"].get("reasonblocks")


def call_agent(agent: Any, how: str, given: Any, config: Any = None) -> dict[str, Any]:
    """Call an agent from a thread that has no event loop yet."""
    if how == "invoke":
        return agent.invoke(given, config)
    return anyio.run(lambda: agent.ainvoke(given, config))


# -- C9: many runs of one middleware ---------------------------------------------------------------


def tag_of(messages: list[BaseMessage]) -> str:
    """The name that a run's own question gives it."""
    return str(next(message.content for message in messages if isinstance(message, HumanMessage)))


def tagged_replies() -> list[Any]:
    """A script that is the same for every run and says its run's tag in everything."""
    return [
        lambda messages: say(f"First thought of {tag_of(messages)}.", call("meet", tag=tag_of(messages))),
        lambda messages: say(f"Second thought of {tag_of(messages)}.", call("meet", tag=tag_of(messages))),
        lambda messages: say(f"Answer of {tag_of(messages)}."),
    ]


def assert_nothing_is_mixed(standin: Standin, middleware: Any, tags: list[str]) -> None:
    """Every run has exactly its own start, steps, observations, evaluations, log and end."""
    assert sorted(standin.runs) == sorted(tags)
    for tag in tags:
        run = standin.runs[tag]
        assert run.timeline == ["run_start", "step 0", "step 1", "step 2", "run_finish success"]
        assert [step["thought"] for step in run.steps.values()] == [
            f"First thought of {tag}.",
            f"Second thought of {tag}.",
            f"Answer of {tag}.",
        ]
        assert [step["observation"] for step in run.steps.values()] == [f"met {tag}", f"met {tag}", None]
        assert [entry.thought_preview for entry in middleware.run(tag).step_log] == [
            "",
            f"First thought of {tag}.",
            f"Second thought of {tag}.",
        ]
    traces = [[step["thought"].split()[-1] for step in evaluation.steps] for evaluation in standin.evaluations]
    assert all(len(set(trace)) == 1 for trace in traces)
    assert sorted(trace[0].rstrip(".") for trace in traces) == sorted(tags * 2)


async def test_c9_fifty_concurrent_async_runs(blocks: ReasonBlocks, standin: Standin) -> None:
    """Fifty runs that are all in the middle of one instance at once stay apart in every respect."""
    tags = [f"run-{number}" for number in range(50)]
    all_there, arrived = anyio.Event(), set[str]()

    async def meet(tag: str) -> str:
        arrived.add(tag)
        if len(arrived) == len(tags):
            all_there.set()
        await all_there.wait()
        return f"met {tag}"

    middleware = blocks.middleware()
    agent = create_agent(ScriptedModel(tagged_replies()), [make_tool("meet", meet)], middleware=[middleware])
    async with anyio.create_task_group() as tasks:
        for tag in tags:
            tasks.start_soon(agent.ainvoke, {"messages": [("user", tag)]}, named(tag))
    await middleware.aclose()
    assert_nothing_is_mixed(standin, middleware, tags)


def test_c9_eight_threads_of_sync_runs(blocks: ReasonBlocks, standin: Standin) -> None:
    """Eight threads that share one instance, each with several runs, stay apart in every respect."""
    threads, rounds = 8, 3
    tags = [f"run-{number}" for number in range(threads * rounds)]
    together = threading.Barrier(threads, timeout=30)

    def meet(tag: str) -> str:
        together.wait()
        return f"met {tag}"

    middleware = blocks.middleware()
    agent = create_agent(ScriptedModel(tagged_replies()), [make_tool("meet", meet)], middleware=[middleware])

    def work(number: int) -> None:
        for tag in tags[number::threads]:
            agent.invoke({"messages": [("user", tag)]}, named(tag))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    middleware.close()
    assert_nothing_is_mixed(standin, middleware, tags)


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_c9_successive_runs_start_afresh(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """Each run has its own id, indices from 0, log and caps; nothing of the run before shows."""
    middleware = blocks.middleware()
    agent = create_agent(ScriptedModel(script(2)), [lookup], middleware=[middleware])
    logs = []
    for _ in range(3):
        call_agent(agent, how, QUESTION)
        logs.append([(entry.step, entry.fsm_state, entry.injection_sources) for entry in middleware.step_log])
    middleware.close()
    assert len(standin.runs) == 3
    assert all(run.step_order == [0, 1, 2] and run.finishes == ["success"] for run in standin.runs.values())
    assert logs[0] == logs[1] == logs[2]
    assert logs[0][0] == (0, "INIT", ["E3Injection"])


def test_c9_step_log_is_that_of_the_only_open_run_else_of_the_latest(blocks: ReasonBlocks) -> None:
    """`step_log` follows the one run that is open, also while a younger one has ended; then the youngest."""
    middleware = blocks.middleware()
    assert middleware.step_log == []
    seen: list[Any] = []
    short = create_agent(ScriptedModel(["short"]), [], middleware=[middleware])

    def look() -> str:
        worker = threading.Thread(target=short.invoke, args=(QUESTION, named("short")))
        worker.start()
        worker.join()
        seen.append([entry.tool_calls for entry in middleware.step_log])
        return "looked"

    long = create_agent(ScriptedModel([call("look"), "done"]), [make_tool("look", look)], middleware=[middleware])
    long.invoke(QUESTION, named("long"))
    assert seen == [[["look"]]]
    assert len(middleware.run("long").step_log) == 2
    assert len(middleware.run("short").step_log) == 1
    short.invoke(QUESTION, named("last"))
    assert middleware.step_log == middleware.run("last").step_log


def test_c9_an_unknown_run_is_a_key_error(blocks: ReasonBlocks) -> None:
    """Asking for a run that is not there says which one."""
    with pytest.raises(KeyError, match="nobody"):
        blocks.middleware().run("nobody")


def test_c9_mark_failure_without_any_run(blocks: ReasonBlocks) -> None:
    """There is nothing to mark before the first run, and that is said."""
    with pytest.raises(AmbiguousRun):
        blocks.middleware().mark_failure("too early")


def marking_agent(middleware: Any, mark: Any) -> Any:
    """An agent whose only tool does something about the failure of its run."""

    async def give_up(tag: str) -> str:
        await mark(tag)
        return "given up"

    replies = [lambda messages: say("I give up.", call("give_up", tag=tag_of(messages))), "done"]
    return create_agent(ScriptedModel(replies), [make_tool("give_up", give_up)], middleware=[middleware])


async def ask_both(agent: Any) -> None:
    """Run the agent twice at the same time."""
    async with anyio.create_task_group() as tasks:
        for tag in ("one", "two"):
            tasks.start_soon(agent.ainvoke, {"messages": [("user", tag)]}, named(tag))


class Together:
    """A point that two runs only pass together."""

    def __init__(self) -> None:
        self._count = 0
        self._both = anyio.Event()

    async def __call__(self) -> None:
        self._count += 1
        if self._count == 2:
            self._both.set()
        await self._both.wait()


async def test_c9_mark_failure_means_the_run_of_the_tool(blocks: ReasonBlocks, standin: Standin) -> None:
    """Inside a tool `mark_failure` means that tool's run, whatever else is open."""
    middleware, together = blocks.middleware(), Together()

    async def mark(tag: str) -> None:
        await together()
        middleware.mark_failure(f"{tag} gave up")
        await anyio.sleep(0.05)

    await ask_both(marking_agent(middleware, mark))
    await middleware.aclose()
    assert {run_id: run.finishes for run_id, run in standin.runs.items()} == {
        "one": ["one gave up"],
        "two": ["two gave up"],
    }


async def test_c9_mark_failure_means_the_run_of_the_model_call(blocks: ReasonBlocks, standin: Standin) -> None:
    """Inside a model call, too, the current run is meant."""
    middleware = blocks.middleware()

    def reply(messages: list[BaseMessage]) -> AIMessage:
        middleware.mark_failure(f"{tag_of(messages)} gave up")
        return say("done")

    agent = create_agent(ScriptedModel([reply], think=0.05), [], middleware=[middleware])
    await ask_both(agent)
    await middleware.aclose()
    assert {run_id: run.outcome for run_id, run in standin.runs.items()} == {"one": "one gave up", "two": "two gave up"}


async def test_c9_mark_failure_means_the_run_of_the_hook(standin: Standin) -> None:
    """Inside a callback that our hook makes, the hook's run is meant, although others are open."""
    client = ReasonBlocks(
        standin.key, base_url=standin.url, on_injection=lambda notice: middleware.mark_failure(f"seen {notice.run_id}")
    )
    middleware, together = client.middleware(), Together()
    standin.evaluate = lambda steps, body: inject("Stop.")

    async def meet(tag: str) -> None:
        await together()

    await ask_both(marking_agent(middleware, meet))
    await client.aclose()
    assert {run_id: run.outcome for run_id, run in standin.runs.items()} == {"one": "seen one", "two": "seen two"}
    assert standin.violations == []


def elsewhere(action: Any, *arguments: Any) -> Any:
    """Do something in a thread that knows of no run, and give its result or its error."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(action, *arguments)
        return future.exception() or future.result()


def test_c9_mark_failure_means_the_only_open_run(blocks: ReasonBlocks, standin: Standin) -> None:
    """From code that belongs to no run the only open one is meant, not a younger one that ended."""
    middleware = blocks.middleware()
    short = create_agent(ScriptedModel(["short"]), [], middleware=[middleware])

    def give_up() -> str:
        elsewhere(short.invoke, QUESTION, named("short"))
        elsewhere(middleware.mark_failure, "watchdog")
        return "given up"

    agent = create_agent(
        ScriptedModel([call("give_up"), "done"]), [make_tool("give_up", give_up)], middleware=[middleware]
    )
    agent.invoke(QUESTION, named("long"))
    middleware.close()
    assert standin.runs["long"].finishes == ["watchdog"]
    assert standin.runs["short"].finishes == ["success"]


def test_c9_mark_failure_is_refused_where_it_is_ambiguous(blocks: ReasonBlocks, standin: Standin) -> None:
    """From code that belongs to no run, with two open, a run id is needed, and works."""
    middleware = blocks.middleware()
    errors: list[Any] = []

    def inner_tool() -> str:
        errors.append(elsewhere(middleware.mark_failure, "which?"))
        errors.append(elsewhere(middleware.mark_failure, "that one", "outer"))
        return "done"

    inner = create_agent(
        ScriptedModel([call("inner_tool"), "done"]), [make_tool("inner_tool", inner_tool)], middleware=[middleware]
    )

    def outer_tool() -> str:
        elsewhere(inner.invoke, QUESTION, named("inner"))
        return "done"

    outer = create_agent(
        ScriptedModel([call("outer_tool"), "done"]), [make_tool("outer_tool", outer_tool)], middleware=[middleware]
    )
    outer.invoke(QUESTION, named("outer"))
    middleware.close()
    refused, accepted = errors
    assert isinstance(refused, AmbiguousRun)
    assert isinstance(refused, ValueError)
    assert "run_id" in str(refused)
    assert accepted is None
    assert standin.runs["outer"].outcome == "that one"
    assert standin.runs["inner"].outcome == "success"


def test_c9_mark_failure_in_a_nested_tool_means_the_middlewares_own_run(blocks: ReasonBlocks, standin: Standin) -> None:
    """Inside a nested agent's tool, each middleware's `mark_failure` means the run that is its own."""
    outside, inside = blocks.middleware(run_id="outer"), blocks.middleware(run_id="inner")

    def inner_tool() -> str:
        inside.mark_failure("inner reason")
        outside.mark_failure("outer reason")
        return "done"

    inner = create_agent(
        ScriptedModel([call("inner_tool"), "done"]), [make_tool("inner_tool", inner_tool)], middleware=[inside]
    )
    ask = make_tool("ask", _asking(inner))
    create_agent(ScriptedModel([call("ask"), "done"]), [ask], middleware=[outside]).invoke(QUESTION)
    outside.close()
    assert standin.runs["inner"].finishes == ["inner reason"]
    assert standin.runs["outer"].finishes == ["outer reason"]


# -- C9b: what a run is called ---------------------------------------------------------------------


def test_c9b_precedence_of_run_ids(blocks: ReasonBlocks, standin: Standin) -> None:
    """Given for the instance's first run, then the config's metadata, then the config's run id, then a new one."""
    middleware = blocks.middleware(run_id="given")
    agent = create_agent(ScriptedModel(["done"]), [], middleware=[middleware])
    config_id = uuid.uuid4()
    agent.invoke(QUESTION, {"run_id": uuid.uuid4(), **named("hidden")})
    agent.invoke(QUESTION, {"run_id": uuid.uuid4(), **named("named")})
    agent.invoke(QUESTION, {"run_id": config_id})
    agent.invoke(QUESTION)
    middleware.close()
    first, second, third, fourth = standin.runs
    assert (first, second, third) == ("given", "named", str(config_id))
    assert fourth not in (first, second, third)
    assert fourth
    assert all(link(run) is None for run in standin.runs.values())


def test_c9b_a_run_id_that_the_wire_cannot_carry(blocks: ReasonBlocks, standin: Standin) -> None:
    """A name with other characters is made fit instead of losing the run; a given one is refused at once."""
    middleware = blocks.middleware()
    agent = create_agent(ScriptedModel(["done"]), [], middleware=[middleware])
    agent.invoke(QUESTION, named("job 7 / äöü " + "x" * 400))
    middleware.close()
    (run_id,) = standin.runs
    assert run_id.startswith("job_7_/_")
    with pytest.raises(ValueError, match="run_id"):
        blocks.middleware(run_id="job 7")


def _asking(agent: Any) -> Any:
    def ask() -> str:
        return str(agent.invoke(QUESTION)["messages"][-1].content)

    return ask


def _asking_async(agent: Any) -> Any:
    async def ask() -> str:
        return str((await agent.ainvoke(QUESTION))["messages"][-1].content)

    return ask


def nested(blocks: ReasonBlocks, how: str, calls: int = 1, run_id: str | None = None) -> tuple[Any, Any]:
    """A middleware and its agent, whose tool asks another agent with a middleware of its own."""
    inner = create_agent(
        ScriptedModel([say("Inner thought.", call("lookup", key="inner")), "inner answer"]),
        [lookup],
        middleware=[blocks.middleware(agent_name="inner")],
    )
    ask = make_tool("ask", _asking(inner)) if how == "invoke" else make_tool("ask", _asking_async(inner))
    replies = [say(f"Outer thought {number}.", call("ask")) for number in range(calls)]
    middleware = blocks.middleware(agent_name="outer", run_id=run_id)
    return middleware, create_agent(ScriptedModel([*replies, "outer answer"]), [ask], middleware=[middleware])


def by_agent(standin: Standin, agent_name: str) -> list[Run]:
    """The runs of one agent."""
    return [run for run in standin.runs.values() if run.start and run.start["agent_name"] == agent_name]


CONFIGS: dict[str, Any] = {"unnamed": {}, "named": named("outer"), "config run id": {"run_id": uuid.uuid4()}}


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_c9b_nested_agent_is_its_own_run(blocks: ReasonBlocks, standin: Standin, how: str, config: str) -> None:
    """An agent called by a tool is a run of its own that names its parent, and mixes nothing into it."""
    middleware, agent = nested(blocks, how)
    call_agent(agent, how, QUESTION, CONFIGS[config])
    middleware.close()
    (outer,), (inner,) = by_agent(standin, "outer"), by_agent(standin, "inner")
    assert inner.run_id != outer.run_id
    assert link(outer) is None
    assert link(inner) == {"parent_run_id": outer.run_id, "relation": "nested"}
    assert [step["thought"] for step in outer.steps.values()] == ["Outer thought 0.", "outer answer"]
    assert [step["thought"] for step in inner.steps.values()] == ["Inner thought.", "inner answer"]
    assert outer.steps[0]["observation"] == "inner answer"
    assert (outer.finishes, inner.finishes) == (["success"], ["success"])


@pytest.mark.parametrize("given", [None, "given"])
@pytest.mark.parametrize("config", CONFIGS)
def test_c9b_nested_agents_one_after_another(
    blocks: ReasonBlocks, standin: Standin, config: str, given: str | None
) -> None:
    """Each call of a nested agent is a run of its own, however the outer run got its name."""
    middleware, agent = nested(blocks, "invoke", calls=2, run_id=given)
    agent.invoke(QUESTION, CONFIGS[config])
    middleware.close()
    (outer,) = by_agent(standin, "outer")
    inner = by_agent(standin, "inner")
    assert [run.starts for run in standin.runs.values()] == [1, 1, 1]
    assert [link(run)["parent_run_id"] for run in inner] == [outer.run_id] * 2


def test_c9b_nested_in_a_nested_agent(blocks: ReasonBlocks, standin: Standin) -> None:
    """Each level names the one directly above it."""
    names = ["top", "middle", "bottom"]
    agent: Any = None
    middleware: Any = None
    for name in reversed(names):
        middleware = blocks.middleware(agent_name=name)
        tools = [make_tool("ask", _asking(agent))] if agent else []
        replies = [call("ask"), "done"] if agent else ["done"]
        agent = create_agent(ScriptedModel(replies), tools, middleware=[middleware])
    agent.invoke(QUESTION)
    middleware.close()
    top, middle, bottom = (by_agent(standin, name)[0] for name in names)
    assert link(middle)["parent_run_id"] == top.run_id
    assert link(bottom)["parent_run_id"] == middle.run_id


def test_c9b_nested_run_that_fails_and_is_caught(blocks: ReasonBlocks, standin: Standin) -> None:
    """A nested agent's failure that the tool handles is the nested run's outcome alone."""
    inner = create_agent(ScriptedModel([LookupError("x")]), [], middleware=[blocks.middleware(agent_name="inner")])

    def ask() -> str:
        try:
            return str(inner.invoke(QUESTION))
        except LookupError:
            return "no answer"

    middleware = blocks.middleware(agent_name="outer")
    create_agent(ScriptedModel([call("ask"), "done"]), [make_tool("ask", ask)], middleware=[middleware]).invoke(
        QUESTION
    )
    standin.wait_for(lambda: by_agent(standin, "inner")[0].finishes and by_agent(standin, "outer")[0].finishes)
    assert by_agent(standin, "inner")[0].finishes == ["failure: LookupError"]
    assert by_agent(standin, "outer")[0].finishes == ["success"]


# -- C9b: turns, interrupts, resumes ---------------------------------------------------------------


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_c9b_a_new_turn_is_a_new_run(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """The next question on a thread begins a run of its own, without a link, with indices and caps from the start."""
    middleware = blocks.middleware()
    agent = create_agent(ScriptedModel(script(1)), [lookup], middleware=[middleware], checkpointer=InMemorySaver())
    for _ in range(2):
        call_agent(agent, how, QUESTION, thread())
    middleware.close()
    assert [run.timeline for run in standin.runs.values()] == [
        ["run_start", "step 0", "step 1", "run_finish success"]
    ] * 2
    assert [link(run) for run in standin.runs.values()] == [None, None]
    assert len(standin.retrievals("e3")) == 2


def approving_agent(
    blocks: ReasonBlocks, steps: int, saver: Any, difficulty: Any = "normal", others: Sequence[Any] = (), **facts: Any
) -> Any:
    """A middleware and its agent, whose every lookup a person has to approve."""
    middleware = blocks.middleware(**facts)
    agent = create_agent(
        ScriptedModel(script(steps, difficulty=difficulty)),
        [lookup],
        middleware=[middleware, *others, HumanInTheLoopMiddleware(interrupt_on={"lookup": True})],
        checkpointer=saver,
    )
    return middleware, agent


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_c9b_interrupt_and_resume_in_the_same_process(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """Approvals continue the run: one start, steps in a row, the log in one piece, and caps that are kept."""
    standin.evaluate = lambda steps, body: inject("Look closer.")
    middleware, agent = approving_agent(blocks, 4, InMemorySaver(), run_id="r")
    assert "__interrupt__" in call_agent(agent, how, QUESTION, thread())
    for _ in range(4):
        middleware.close()
        assert standin.runs["r"].finishes == []
        call_agent(agent, how, APPROVE, thread())
    middleware.close()
    (run,) = standin.runs.values()
    assert run.timeline == ["run_start", *(f"step {number}" for number in range(5)), "run_finish success"]
    assert [step["observation"] for step in run.steps.values()][:4] == [f"record key-{n}: value=42" for n in range(4)]
    assert [entry.step for entry in middleware.run("r").step_log] == [0, 1, 2, 3, 4]
    assert [len(standin.retrievals(tier)) for tier in ("e1", "e2", "e3")] == [1, 1, 1]
    given = [text for step in run.steps.values() for text in step["intervention_texts"] if "Look closer." in text]
    assert len(given) == 1


def test_c9b_an_edited_call_is_the_same_step(blocks: ReasonBlocks, standin: Standin) -> None:
    """When a person edits the arguments, the step goes on with the result of the call that was made."""
    middleware, agent = approving_agent(blocks, 1, InMemorySaver(), run_id="r")
    agent.invoke(QUESTION, thread())
    edited = {"type": "edit", "edited_action": {"name": "lookup", "args": {"key": "better"}}}
    agent.invoke(Command(resume={"decisions": [edited]}), thread())
    middleware.close()
    run = standin.runs["r"]
    assert run.timeline == ["run_start", "step 0", "step 1", "run_finish success"]
    assert "record better: value=42" in run.steps[0]["observation"]


def test_c9b_an_interrupt_near_the_recursion_limit_is_a_pause(blocks: ReasonBlocks, standin: Standin) -> None:
    """A run that waits for a person in the last steps of its invocation has not failed."""
    others = [Passing(f"other-{number}") for number in range(3)]
    middleware, agent = approving_agent(blocks, 1, InMemorySaver(), others=others, run_id="r")
    assert "__interrupt__" in agent.invoke(QUESTION, thread() | {"recursion_limit": 7})
    middleware.close()
    assert standin.runs["r"].finishes == []
    agent.invoke(APPROVE, thread())
    middleware.close()
    assert standin.runs["r"].timeline == ["run_start", "step 0", "step 1", "run_finish success"]


def test_c9b_the_recursion_limit_counts_from_the_resume(blocks: ReasonBlocks, standin: Standin) -> None:
    """Each invocation of a resumed run has the whole limit again, so that many short ones are no failure."""
    middleware, agent = approving_agent(blocks, 8, InMemorySaver(), run_id="r")
    config = thread() | {"recursion_limit": 20}
    agent.invoke(QUESTION, config)
    for _ in range(8):
        agent.invoke(APPROVE, config)
        middleware.close()
    run = standin.runs["r"]
    assert run.finishes == ["success"]
    assert run.step_order == list(range(9))


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
def test_c9b_interrupt_inside_a_tool(blocks: ReasonBlocks, standin: Standin, how: str) -> None:
    """A tool that asks a person pauses the run, is no failure, and its final answer is the observation."""

    def confirm() -> str:
        return f"confirmed: {interrupt('Really?')}"

    middleware = blocks.middleware(run_id="r")
    agent = create_agent(
        ScriptedModel([say("I ask.", call("confirm")), "done"]),
        [make_tool("confirm", confirm)],
        middleware=[middleware],
        checkpointer=InMemorySaver(),
    )
    call_agent(agent, how, QUESTION, thread())
    middleware.close()
    assert standin.runs["r"].timeline == ["run_start"]
    call_agent(agent, how, Command(resume="yes"), thread())
    middleware.close()
    run = standin.runs["r"]
    assert run.timeline == ["run_start", "step 0", "step 1", "run_finish success"]
    assert (run.steps[0]["observation"], run.steps[0]["is_error"]) == ("confirmed: yes", False)


def test_c9b_static_breakpoints(blocks: ReasonBlocks, standin: Standin) -> None:
    """A run that stops before its tools and is continued without input stays one run."""
    middleware = blocks.middleware(run_id="r")
    agent = create_agent(
        ScriptedModel(script(2)),
        [lookup],
        middleware=[middleware],
        checkpointer=InMemorySaver(),
        interrupt_before=["tools"],
    )
    agent.invoke(QUESTION, thread())
    for _ in range(2):
        agent.invoke(None, thread())
    middleware.close()
    (run,) = standin.runs.values()
    assert run.timeline == ["run_start", "step 0", "step 1", "step 2", "run_finish success"]


def test_c9b_continued_from_the_checkpoint_that_is_the_newest(blocks: ReasonBlocks, standin: Standin) -> None:
    """Naming the thread's newest checkpoint, as `get_state` gives it, is a resume and not time travel."""
    middleware = blocks.middleware(run_id="r")
    agent = create_agent(
        ScriptedModel(script(1)),
        [lookup],
        middleware=[middleware],
        checkpointer=InMemorySaver(),
        interrupt_before=["tools"],
    )
    agent.invoke(QUESTION, thread())
    agent.invoke(None, agent.get_state(thread()).config)
    middleware.close()
    (run,) = standin.runs.values()
    assert run.timeline == ["run_start", "step 0", "step 1", "run_finish success"]


def test_c9b_continued_after_a_failure(blocks: ReasonBlocks, standin: Standin) -> None:
    """A failed run that is continued from its last checkpoint is the same run, and its last outcome counts."""
    middleware = blocks.middleware(run_id="r")
    replies = [say("I look.", call("lookup", key="a")), LookupError("x"), say("done")]
    model = ScriptedModel(replies, by="calls")
    agent = create_agent(model, [lookup], middleware=[middleware], checkpointer=InMemorySaver())
    with pytest.raises(LookupError):
        agent.invoke(QUESTION, thread())
    middleware.close()
    assert standin.runs["r"].outcome == "failure: LookupError"
    agent.invoke(None, thread())
    middleware.close()
    (run,) = standin.runs.values()
    assert (run.starts, run.step_order, run.outcome) == (1, [0, 1], "success")


# -- C9b: another process --------------------------------------------------------------------------


class FileSaver(InMemorySaver):
    """Checkpoints that another process can take up: an in-memory saver that comes from and goes to a file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        if path.exists():
            storage, writes, blobs = pickle.loads(path.read_bytes())
            for thread_id, namespaces in storage.items():
                self.storage[thread_id].update(namespaces)
            self.writes.update(writes)
            self.blobs.update(blobs)

    def save(self) -> None:
        """Write everything to the file."""
        storage = {thread_id: dict(namespaces) for thread_id, namespaces in self.storage.items()}
        self._path.write_bytes(pickle.dumps((storage, dict(self.writes), dict(self.blobs))))


STEPS_OF_BOTH, HARD_BEFORE = 8, 4
"""The run enters SLOW at the fifth hard thought in a row: one process alone does not see five."""


def other_process(url: str, key: str, path: str, approvals: int) -> None:
    """Take up the run in a process that knows nothing but the checkpoint."""
    client = ReasonBlocks(key, base_url=url, step_timeout=10.0)
    middleware, agent = approving_agent(client, STEPS_OF_BOTH, FileSaver(Path(path)), "hard")
    for _ in range(approvals):
        agent.invoke(APPROVE, thread())
    middleware.close()
    client.close()


def test_c9b_resume_in_another_process(blocks: ReasonBlocks, standin: Standin, tmp_path: Path) -> None:
    """A fresh process goes on with the run: no second start, indices, FSM window, trace, caps and texts are kept."""
    standin.evaluate = lambda steps, body: inject("Look closer.")
    saver = FileSaver(tmp_path / "checkpoints")
    middleware, agent = approving_agent(blocks, STEPS_OF_BOTH, saver, "hard", run_id="r")
    agent.invoke(QUESTION, thread())
    for _ in range(HARD_BEFORE - 1):
        agent.invoke(APPROVE, thread())
    middleware.close()
    assert standin.runs["r"].finishes == []
    before = len(standin.runs["r"].steps)
    saver.save()
    arguments = [standin.url, standin.key, str(tmp_path / "checkpoints"), str(STEPS_OF_BOTH - HARD_BEFORE + 1)]
    done = subprocess.run(
        [sys.executable, __file__, *arguments],
        capture_output=True,
        text=True,
        timeout=OTHER_PROCESS_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (run,) = standin.runs.values()
    assert 0 < before < HARD_BEFORE
    assert run.starts == 1
    assert run.step_order == list(range(STEPS_OF_BOTH + 1))
    assert run.finishes == ["success"]
    states = [step["metadata"]["reasonblocks"]["fsm_state"] for step in run.steps.values()]
    assert states[: HARD_BEFORE - 1] == ["INIT", *["NORMAL"] * (HARD_BEFORE - 2)]
    assert states[-4:] == ["SLOW"] * 4
    assert [step["observation"] for step in run.steps.values()][:-1] == [
        f"record key-{number}: value=42" for number in range(STEPS_OF_BOTH)
    ]
    assert [len(standin.retrievals(tier)) for tier in ("e1", "e2", "e3")] == [1, 1, 1]
    given = [text for step in run.steps.values() for text in step["intervention_texts"] if "Look closer." in text]
    assert len(given) == 1
    longest = max(standin.evaluations, key=lambda evaluation: len(evaluation.steps))
    assert [step["thought"] for step in longest.steps] == [thought(n, "hard") for n in range(STEPS_OF_BOTH)]


# -- C9b: time travel ------------------------------------------------------------------------------


def checkpoints(agent: Any, config: Any, node: str) -> list[Any]:
    """The checkpoints before a node, oldest first."""
    found = [state for state in agent.get_state_history(config) if state.next and state.next[0].split(".")[-1] == node]
    return list(reversed(found))


def assert_travelled(standin: Standin, original: Run, steps: int) -> None:
    """There is one new run, linked to the original one, which is as it was."""
    others = {run_id: run for run_id, run in standin.runs.items() if run_id != original.run_id}
    ((run_id, run),) = others.items()
    assert run_id
    assert link(run) == {"parent_run_id": original.run_id, "relation": "time_travel"}
    assert run.starts == 1
    assert len(run.step_order) == len(set(run.step_order)) == steps
    assert run.finishes == ["success"]
    assert standin.runs[original.run_id] == original


@pytest.mark.parametrize("how", ["invoke", "ainvoke"])
@pytest.mark.parametrize("node", ["before_model", "model"])
def test_c9b_time_travel(blocks: ReasonBlocks, standin: Standin, node: str, how: str) -> None:
    """Going on from an old checkpoint is one new run, whichever of the hooks comes first."""
    middleware = blocks.middleware(run_id="r")
    agent = create_agent(ScriptedModel(script(3)), [lookup], middleware=[middleware], checkpointer=InMemorySaver())
    call_agent(agent, how, QUESTION, thread())
    middleware.close()
    original = standin.runs["r"]
    call_agent(agent, how, None, checkpoints(agent, thread(), node)[1].config)
    middleware.close()
    assert_travelled(standin, original, steps=3)


def test_c9b_time_travel_twice_is_two_runs(blocks: ReasonBlocks, standin: Standin) -> None:
    """Each journey to the same checkpoint is a run of its own."""
    middleware = blocks.middleware(run_id="r")
    agent = create_agent(ScriptedModel(script(2)), [lookup], middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke(QUESTION, thread())
    past = checkpoints(agent, thread(), "model")[0].config
    for _ in range(2):
        agent.invoke(None, past)
    middleware.close()
    assert [run.starts for run in standin.runs.values()] == [1, 1, 1]
    assert [link(run) for run in list(standin.runs.values())[1:]] == [
        {"parent_run_id": "r", "relation": "time_travel"}
    ] * 2


def test_c9b_time_travel_with_a_changed_state(blocks: ReasonBlocks, standin: Standin) -> None:
    """A fork made by changing an old state is a new run as well."""
    middleware = blocks.middleware(run_id="r")
    agent = create_agent(ScriptedModel(script(2)), [lookup], middleware=[middleware], checkpointer=InMemorySaver())
    agent.invoke(QUESTION, thread())
    middleware.close()
    original = standin.runs["r"]
    past = checkpoints(agent, thread(), "before_model")[0].config
    agent.invoke(None, agent.update_state(past, {"messages": [HumanMessage("Look again.")]}))
    middleware.close()
    assert_travelled(standin, original, steps=3)


@pytest.mark.parametrize("node", ["before_model", "model"])
def test_c9b_time_travel_that_is_interrupted(blocks: ReasonBlocks, standin: Standin, node: str) -> None:
    """A run that began by time travel and waits for a person is continued as that run, not as the old one."""
    middleware, agent = approving_agent(blocks, 1, InMemorySaver(), run_id="r")
    agent.invoke(QUESTION, thread())
    agent.invoke(APPROVE, thread())
    middleware.close()
    original = standin.runs["r"]
    past = checkpoints(agent, thread(), node)[0].config
    assert "__interrupt__" in agent.invoke(None, past)
    agent.invoke(APPROVE, thread())
    middleware.close()
    assert_travelled(standin, original, steps=2)


def test_c9b_time_travel_to_an_answered_interrupt(blocks: ReasonBlocks, standin: Standin) -> None:
    """Answering an old interrupt again, on a run that is over, is time travel too."""
    middleware, agent = approving_agent(blocks, 1, InMemorySaver(), run_id="r")
    agent.invoke(QUESTION, thread())
    asked = agent.get_state(thread()).config
    agent.invoke(APPROVE, thread())
    middleware.close()
    original = standin.runs["r"]
    agent.invoke(Command(resume={"decisions": [{"type": "reject", "message": "no"}]}), asked)
    middleware.close()
    assert standin.runs["r"] == original
    assert len(standin.runs) == 2


# -- C9b: what the state carries -------------------------------------------------------------------


def leaked(value: Any) -> list[str]:
    """Our keys in a state."""
    return [key for key in value if key.startswith(OURS)]


def test_c9b_snapshot_is_small_and_plain(blocks: ReasonBlocks, standin: Standin) -> None:
    """After twenty steps with guidance the checkpoint holds less than 4 kB of ours, and only JSON's own types."""
    standin.evaluate = lambda steps, body: inject(f"Guidance {len(steps)}: " + "look closer. " * 20)
    saver = InMemorySaver()
    middleware = blocks.middleware()
    agent = create_agent(ScriptedModel(script(20)), [lookup], middleware=[middleware], checkpointer=saver)
    agent.invoke(QUESTION, thread())
    saved = saver.get_tuple(thread())
    assert saved is not None
    ours = {key: value for key, value in saved.checkpoint["channel_values"].items() if key.startswith(OURS)}
    assert len(ours) == 1
    text = json.dumps(ours)
    assert json.loads(text) == ours
    assert len(text) < 4_000
    standin.wait_for(lambda: standin.runs)  # events wait a moment for company
    assert next(iter(standin.runs)) in text
    middleware.close()


def test_c9b_no_snapshot_without_a_checkpointer(blocks: ReasonBlocks) -> None:
    """Where nothing is kept, no hook after the first one writes to the state at all."""
    agent = create_agent(ScriptedModel(script(2)), [lookup], middleware=[blocks.middleware()])
    updates = list(agent.stream(QUESTION, stream_mode="updates"))
    written = [name for update in updates for name, values in update.items() if values and leaked(values)]
    assert [name for name in written if not name.endswith("before_agent")] == []


@pytest.mark.parametrize("saved", [False, True], ids=["", "checkpointer"])
def test_c9b_private_keys_are_not_in_the_output(blocks: ReasonBlocks, saved: bool) -> None:
    """What an agent returns has none of our keys, and its schemas do not show them."""
    checkpointer = InMemorySaver() if saved else None
    agent = create_agent(
        ScriptedModel(script(2)), [lookup], middleware=[blocks.middleware()], checkpointer=checkpointer
    )
    assert leaked(agent.invoke(QUESTION, thread())) == []
    assert leaked(agent.get_output_jsonschema()["properties"]) == []
    assert leaked(agent.get_input_jsonschema()["properties"]) == []


@pytest.mark.parametrize("saved", [False, True], ids=["", "checkpointer"])
def test_c9b_private_keys_in_streamed_values_are_plain(blocks: ReasonBlocks, saved: bool) -> None:
    """LangGraph streams private keys with the values; ours can be printed and serialised by whoever reads them."""
    checkpointer = InMemorySaver() if saved else None
    agent = create_agent(
        ScriptedModel(script(2)), [lookup], middleware=[blocks.middleware()], checkpointer=checkpointer
    )
    states = list(agent.stream(QUESTION, thread(), stream_mode="values"))
    ours = [{key: state[key] for key in leaked(state)} for state in states]
    assert any(ours)
    assert json.loads(json.dumps(ours)) == ours


if __name__ == "__main__":
    _, address, secret, file, count = sys.argv
    other_process(address, secret, file, int(count))
