"""Ours in the kinds of agents that LangChain builds: streaming, parallel tools, structured output, subgraphs."""

from __future__ import annotations

import gc
import json
import pickle
import threading
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain.tools import InjectedToolCallId, ToolRuntime, tool
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import BaseModel

from support import stacks
from support.agents import (
    MARKER,
    ScriptedModel,
    call,
    complaining_tool,
    failing_tool,
    lookup,
    make_tool,
    say,
    script,
    thought,
)
from support.stacks import BASE, EPHEMERAL, QUESTION, Bench, essence, essences

bench = stacks.bench
mode = stacks.mode

OURS = "ReasonBlocks."


class Answer(BaseModel):
    """The answer to the question."""

    value: int


@dataclass
class User:
    """Who asks."""

    name: str


# -- streaming ---------------------------------------------------------------------------------------


def streamed(bench: Bench, mode: str, agent: Any, stream_mode: Any, **settings: Any) -> list[Any]:
    if mode == "sync":
        return list(agent.stream(QUESTION, stream_mode=stream_mode, **settings))

    async def collect() -> list[Any]:
        return [piece async for piece in agent.astream(QUESTION, stream_mode=stream_mode, **settings)]

    collected: list[Any] = bench.on_loop(collect)
    return collected


def both_streams(bench: Bench, mode: str, stream_mode: Any) -> tuple[list[Any], list[Any]]:
    ours = streamed(bench, mode, bench.agent(ScriptedModel(script(2))), stream_mode)
    vanilla = create_agent(ScriptedModel(script(2)), [lookup], system_prompt=BASE)
    return ours, streamed(bench, mode, vanilla, stream_mode)


def test_c35_message_chunks_are_those_of_a_vanilla_agent(bench: Bench, mode: str) -> None:
    """With stream_mode="messages" every chunk of model and tools is the same, in the same order, from the same node."""
    ours, vanilla = both_streams(bench, mode, "messages")
    run = bench.finished(steps=3)
    assert len(vanilla) > 20
    assert [(essence(chunk), about["langgraph_node"]) for chunk, about in ours] == [
        (essence(chunk), about["langgraph_node"]) for chunk, about in vanilla
    ]
    assert [run.steps[n]["thought"] for n in range(3)] == [thought(0), thought(1), "done"]
    assert run.steps[0]["tokens"] == 120


def test_c35_updates_of_the_agents_nodes_are_those_of_a_vanilla_agent(bench: Bench, mode: str) -> None:
    """With stream_mode="updates" model and tools report the same; our nodes add entries without messages."""
    ours, vanilla = both_streams(bench, mode, "updates")
    bench.finished(steps=3)
    others = [update for update in ours if not next(iter(update)).startswith(OURS)]
    assert [(node, essences(update["messages"])) for part in others for node, update in part.items()] == [
        (node, essences(update["messages"])) for part in vanilla for node, update in part.items()
    ]
    added = [update for part in ours for node, update in part.items() if node.startswith(OURS)]
    assert len(added) == 5
    assert not any("messages" in (update or {}) for update in added)


def test_c35_values_hold_the_same_messages_as_a_vanilla_agent(bench: Bench, mode: str) -> None:
    """With stream_mode="values" the messages grow in the same way."""
    ours, vanilla = both_streams(bench, mode, "values")
    bench.finished(steps=3)
    grown = [essences(state["messages"]) for state in ours]
    assert [state for n, state in enumerate(grown) if n == 0 or state != grown[n - 1]] == [
        essences(state["messages"]) for state in vanilla
    ]


@pytest.mark.parametrize("stream_mode", ["values", "updates"])
def test_c35_no_object_of_ours_is_streamed_to_the_user(bench: Bench, mode: str, stream_mode: str) -> None:
    """LangGraph streams private keys, too; what is in ours is plain text that anybody can read and serialise."""
    ours, _ = both_streams(bench, mode, stream_mode)
    run = bench.finished(steps=3)
    parts = ours if stream_mode == "values" else [update for part in ours for update in part.values()]
    added = [part["_reasonblocks_run"] for part in parts if part and "_reasonblocks_run" in part]
    assert added
    assert json.loads(json.dumps(added)) == [run.run_id] * len(added)
    assert pickle.loads(pickle.dumps(added)) == [run.run_id] * len(added)


def test_c35_several_stream_modes_at_once(bench: Bench, mode: str) -> None:
    """A list of stream modes passes through as well, and the run is recorded once."""
    ours, vanilla = both_streams(bench, mode, ["messages", "updates"])
    bench.finished(steps=3)
    assert [essence(piece[0]) for kind, piece in ours if kind == "messages"] == [
        essence(piece[0]) for kind, piece in vanilla if kind == "messages"
    ]


def test_c35_a_step_is_recorded_when_its_stream_is_complete(bench: Bench, mode: str) -> None:
    """No step while the chunks of its reply come in (a sync stream shows them late), and one when a tool answers."""
    agent = bench.agent(ScriptedModel(script(1)))
    seen: list[tuple[str, int]] = []

    def note(chunk: Any) -> None:
        seen.append((chunk.type, len(bench.mw.step_log)))

    def read() -> None:
        for chunk, _ in agent.stream(QUESTION, stream_mode="messages"):
            note(chunk)

    async def aread() -> None:
        async for chunk, _ in agent.astream(QUESTION, stream_mode="messages"):
            note(chunk)

    read() if mode == "sync" else bench.on_loop(aread)
    bench.finished(steps=2)
    kinds = [kind for kind, _ in seen]
    tool_at = kinds.index("tool")
    assert seen[tool_at][1] == 1
    if mode == "async":
        assert seen[0][1] == 0
        assert seen[tool_at + 1][1] == 1


def test_c6_a_stream_that_is_left_halfway_ends_its_run(bench: Bench, mode: str) -> None:
    """A consumer that breaks off and closes the stream leaves no run in progress, and no success either."""
    agent = bench.agent(ScriptedModel(script(3)))

    def read() -> None:
        stream = agent.stream(QUESTION, stream_mode="updates")
        for update in stream:
            if "tools" in update:
                break
        stream.close()

    async def aread() -> None:
        stream = agent.astream(QUESTION, stream_mode="updates")
        async for update in stream:
            if "tools" in update:
                break
        await stream.aclose()

    read() if mode == "sync" else bench.on_loop(aread)
    gc.collect()
    run = bench.finished(steps=1, outcome="failure: GeneratorExit", within=2.0)
    assert run.steps[0]["observation"] == "record key-0: value=42"


def test_c35_astream_events_is_not_changed(bench: Bench) -> None:
    """`astream_events` gives the model's and tools' events of a vanilla agent."""

    def events(agent: Any) -> list[tuple[str, str]]:
        async def collect() -> list[tuple[str, str]]:
            found = agent.astream_events(QUESTION, version="v2")
            wanted = ("on_chat_model", "on_tool")
            return [(each["event"], each["name"]) async for each in found if each["event"].startswith(wanted)]

        collected: list[tuple[str, str]] = bench.on_loop(collect)
        return collected

    ours = events(bench.agent(ScriptedModel(script(1))))
    bench.finished(steps=2)
    assert ours == events(create_agent(ScriptedModel(script(1)), [lookup], system_prompt=BASE))
    assert ("on_tool_end", "lookup") in ours


# -- parallel tool calls -----------------------------------------------------------------------------


def test_c12_three_calls_at_once_are_one_step(bench: Bench, mode: str) -> None:
    """Parallel calls are recorded together, in the order of the calls, with all their answers."""
    reply = say(thought(0), call("lookup", key="a"), call("complaining_tool"), call("lookup", key="c"))
    bench.invoke(mode, bench.agent(ScriptedModel([reply, "done"]), tools=[lookup, complaining_tool]))
    run = bench.finished(steps=2)
    assert run.steps[0]["action"] == "lookup, complaining_tool, lookup"
    assert run.steps[0]["action_input"] == '[{"key":"a"},{},{"key":"c"}]'
    assert run.steps[0]["observation"] == "record a: value=42\n\nno such record\n\nrecord c: value=42"
    assert run.steps[0]["is_error"] is True
    assert bench.mw.step_log[0].tool_calls == ["lookup", "complaining_tool", "lookup"]


def test_c6_one_of_three_parallel_calls_that_raises_fails_the_run(bench: Bench, mode: str) -> None:
    """With three calls under way at once, the run fails by the exception of one, and the step names them all."""
    both_answered = threading.Barrier(3, timeout=10)

    def slow() -> str:
        both_answered.wait()
        raise RuntimeError("the disk is full")

    def quick(key: str) -> str:
        both_answered.wait()
        return f"{key} is here"

    tools = [make_tool("quick", quick), make_tool("slow", slow)]
    reply = say(thought(0), call("quick", key="a"), call("slow"), call("quick", key="c"))
    agent = bench.agent(ScriptedModel([reply]), tools=tools)
    assert bench.failure(mode, agent) == "RuntimeError"
    run = bench.finished(steps=1, outcome="failure: RuntimeError")
    assert run.steps[0]["action"] == "quick, slow, quick"
    assert "RuntimeError: the disk is full" in run.steps[0]["observation"]
    assert run.steps[0]["is_error"] is True


def test_c6_a_tool_that_raises_fails_the_run(bench: Bench, mode: str) -> None:
    """A tool's exception passes through untouched and is the outcome."""
    agent = bench.agent(ScriptedModel([call("failing_tool")]), tools=[failing_tool])
    assert bench.failure(mode, agent) == "RuntimeError"
    run = bench.finished(steps=1, outcome="failure: RuntimeError")
    assert run.steps[0]["thought"] == "failing_tool({})"


def test_a_call_with_wrong_arguments_is_answered_by_langchain(bench: Bench, mode: str) -> None:
    """ToolNode answers a call that does not fit the tool, and that answer is the step's observation, an error."""
    model = ScriptedModel([say(thought(0), call("lookup", wrong="a"), call("unknown_tool")), "done"])
    result = bench.invoke(mode, bench.agent(model))
    run = bench.finished(steps=2)
    answers = [message for message in result["messages"] if isinstance(message, ToolMessage)]
    assert [answer.status for answer in answers] == ["error", "error"]
    assert run.steps[0]["observation"] == "\n\n".join(answer.text for answer in answers)
    assert run.steps[0]["is_error"] is True


# -- structured output -------------------------------------------------------------------------------


def test_structured_output_by_a_tool(bench: Bench, mode: str) -> None:
    """With ToolStrategy the answering call is the last step and the structured response reaches the caller."""
    model = ScriptedModel([say(thought(0), call("lookup", key="a")), say("I know.", call("Answer", value=42))])
    result = bench.invoke(mode, bench.agent(model, response_format=ToolStrategy(Answer)))
    run = bench.finished(steps=2)
    assert result["structured_response"] == Answer(value=42)
    assert run.steps[1]["action"] == "Answer"
    assert run.steps[1]["action_input"] == '{"value":42}'
    assert [MARKER in str(block) for block in model.blocks] == [True, True]


def test_structured_output_that_has_to_be_corrected(bench: Bench, mode: str) -> None:
    """An answer that does not fit the schema is a step with LangChain's complaint, and the next one succeeds."""
    model = ScriptedModel([say("I guess.", call("Answer", value="much")), say("I know.", call("Answer", value=42))])
    result = bench.invoke(mode, bench.agent(model, tools=(), response_format=ToolStrategy(Answer)))
    run = bench.finished(steps=2)
    assert result["structured_response"] == Answer(value=42)
    assert "value" in (run.steps[0]["observation"] or "")
    assert [entry.thought_preview for entry in bench.mw.step_log] == ["", "I guess."]


def test_structured_output_by_the_provider(bench: Bench, mode: str) -> None:
    """With ProviderStrategy the schema reaches the model and its JSON reply is parsed, as without ours."""
    model = ScriptedModel([say(thought(0), call("lookup", key="a")), '{"value": 42}'])
    result = bench.invoke(mode, bench.agent(model, response_format=ProviderStrategy(Answer)))
    run = bench.finished(steps=2)
    assert result["structured_response"] == Answer(value=42)
    assert all("response_format" in options for options in model.options)
    assert run.steps[1]["thought"] == '{"value": 42}'


# -- tools of all kinds ------------------------------------------------------------------------------


def test_a_tool_that_returns_a_command(bench: Bench, mode: str) -> None:
    """The message inside a Command is the step's observation."""

    @tool
    def note(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Keep a note."""
        return Command(update={"messages": [ToolMessage(f"noted {text}", tool_call_id=tool_call_id)]})

    model = ScriptedModel([say(thought(0), call("note", text="x"), call("lookup", key="a")), "done"])
    bench.invoke(mode, bench.agent(model, tools=[note, lookup]))
    run = bench.finished(steps=2)
    assert run.steps[0]["observation"] == "noted x\n\nrecord a: value=42"


def test_a_tool_that_returns_directly(bench: Bench, mode: str) -> None:
    """A return_direct tool ends the run after one step, a success with the tool's answer."""

    @tool(return_direct=True)
    def direct(key: str) -> str:
        """Answer at once."""
        return f"{key} at once"

    model = ScriptedModel([say(thought(0), call("direct", key="a"))])
    result = bench.invoke(mode, bench.agent(model, tools=[direct]))
    run = bench.finished(steps=1)
    assert result["messages"][-1].text == "a at once"
    assert run.steps[0]["observation"] == "a at once"
    assert model.calls == 1


def test_an_agent_without_tools(bench: Bench, mode: str) -> None:
    """One call, one step, without action and observation."""
    model = ScriptedModel(["done"])
    bench.invoke(mode, bench.agent(model, tools=()))
    run = bench.finished(steps=1)
    assert (run.steps[0]["action"], run.steps[0]["observation"]) == (None, None)
    assert model.systems[0][0] == {"type": "text", "text": BASE, "cache_control": EPHEMERAL}
    assert model.blocks[0] is not None


def test_c31_an_agent_without_a_system_prompt(bench: Bench, mode: str) -> None:
    """Without a prompt there is only the guidance block, and nothing at all on a step without guidance."""
    model = ScriptedModel(script(2))
    bench.invoke(mode, bench.agent(model, system_prompt=None))
    bench.finished(steps=3)
    assert [len(system or []) for system in model.systems] == [1, 1, 0]
    assert model.systems[0][0]["text"].startswith(MARKER)
    assert "cache_control" not in model.systems[0][0]


# -- the graph around it -----------------------------------------------------------------------------


def test_c9_an_agent_as_a_node_of_another_graph(bench: Bench, mode: str) -> None:
    """As a subgraph with the parent's checkpointer each turn is a run of its own, with its own steps."""
    model = ScriptedModel(script(1))
    parent = StateGraph(MessagesState)
    parent.add_node("agent", bench.agent(model))
    parent.add_edge(START, "agent")
    parent.add_edge("agent", END)
    graph = parent.compile(checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "one"}}
    bench.invoke(mode, graph, QUESTION, config)
    first = bench.finished(steps=2)
    result = bench.invoke(mode, graph, {"messages": [("user", "And again?")]}, config)
    bench.standin.wait_for(lambda: len(bench.standin.runs) == 2)
    (second,) = [run_id for run_id in bench.standin.runs if run_id != first.run_id]
    run = bench.finished(steps=2, run_id=second)
    assert len(result["messages"]) == 8
    assert run.steps[0]["thought"] == thought(0)
    assert not any("_reasonblocks" in key for key in result)
    assert bench.mw.step_log[0].thought_preview == ""


def test_c9_a_batch_is_a_run_for_each_input(bench: Bench, mode: str) -> None:
    """Five inputs of one `batch` are five runs on the one instance, none with a step of another."""
    agent = bench.agent(ScriptedModel([lambda messages: say(f"Question {messages[1].text}"), "unused"]), tools=())
    inputs = [{"messages": [("user", str(number))]} for number in range(5)]
    if mode == "sync":
        agent.batch(inputs)
    else:
        bench.on_loop(lambda: agent.abatch(inputs))
    bench.mw.close()
    bench.standin.wait_for(lambda: sum(bool(run.finishes) for run in bench.standin.runs.values()) == 5)
    thoughts = sorted(bench.finished(steps=1, run_id=run_id).steps[0]["thought"] for run_id in bench.standin.runs)
    assert thoughts == [f"Question {number}" for number in range(5)]


def test_c9b_a_config_that_is_bound_names_the_run(bench: Bench, mode: str) -> None:
    """`with_config` passes the run id of the metadata, tags and limits as it does without ours."""
    model = ScriptedModel(script(1))
    agent = bench.agent(model).with_config(metadata={"reasonblocks_run_id": "named-run"}, tags=["nightly"])
    bench.invoke(mode, agent)
    assert bench.finished(steps=2).run_id == "named-run"


def test_c36_a_bound_config_can_switch_us_off(bench: Bench, mode: str) -> None:
    """With `reasonblocks: off` in the bound metadata the model reads the plain prompt and nothing is sent."""
    model = ScriptedModel(script(1))
    bench.invoke(mode, bench.agent(model).with_config(metadata={"reasonblocks": "off"}))
    bench.mw.close()
    assert model.systems == [BASE, BASE]
    assert bench.standin.runs == {}


def test_context_and_store_reach_the_tools(bench: Bench, mode: str) -> None:
    """The runtime's context and store are those that the caller gave, as without ours."""

    @tool
    def whoami(runtime: ToolRuntime[User]) -> str:
        """Say who asks."""
        assert runtime.store is not None
        runtime.store.put(("seen",), runtime.context.name, {"times": 1})
        return f"you are {runtime.context.name}"

    store = InMemoryStore()
    model = ScriptedModel([say(thought(0), call("whoami")), "done"])
    agent = bench.agent(model, tools=[whoami], context_schema=User, store=store)
    bench.invoke(mode, agent, context=User("Ada"))
    run = bench.finished(steps=2)
    assert run.steps[0]["observation"] == "you are Ada"
    found = store.get(("seen",), "Ada")
    assert found is not None
    assert found.value == {"times": 1}


def test_c7_the_history_is_that_of_a_vanilla_agent(bench: Bench, mode: str) -> None:
    """What a run leaves in the messages is exactly what the same run leaves without ours."""
    ours = bench.invoke(mode, bench.agent(ScriptedModel(script(3))))
    vanilla = create_agent(ScriptedModel(script(3)), [lookup], system_prompt=BASE).invoke(QUESTION)
    bench.finished(steps=4)
    assert set(ours) == set(vanilla)
    assert essences(ours["messages"]) == essences(vanilla["messages"])
    assert isinstance(ours["messages"][-1], AIMessage)
