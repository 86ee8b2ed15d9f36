"""What a step says and did, read from every shape of message that LangChain gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from reasonblocks import ReasonBlocks
from support.agents import Call, ScriptedModel, call, complaining_tool, lookup, make_tool, say
from support.standin import Run, Standin

QUESTION: Any = {"messages": [("user", "What is it?")]}


@pytest.fixture
def blocks(standin: Standin) -> Iterator[ReasonBlocks]:
    client = ReasonBlocks(standin.key, base_url=standin.url, e_traces_enabled=False, step_timeout=10.0)
    yield client
    client.close()
    assert standin.violations == []


def _shout(word: str) -> str:
    return word.upper()


shout = make_tool("shout", _shout)


def observed(blocks: ReasonBlocks, standin: Standin, *replies: Any, streamed: bool = False) -> Run:
    """Run an agent through these replies and give what the server holds of it."""
    middleware = blocks.middleware(run_id="observed")
    agent = create_agent(ScriptedModel(replies), [lookup, shout, complaining_tool], middleware=[middleware])
    if streamed:
        assert list(agent.stream(QUESTION, stream_mode="messages"))
    else:
        agent.invoke(QUESTION)
    middleware.close()
    return standin.runs["observed"]


def with_lookup(content: Any, **fields: Any) -> AIMessage:
    """A reply with this content that calls a tool, so that its thought is scored by the next step."""
    return AIMessage(content=content, tool_calls=[{"name": "lookup", "args": {"key": "a"}, "id": "a"}], **fields)


SHAPES: dict[str, tuple[AIMessage, str]] = {
    "text": (with_lookup("I look."), "I look."),
    "text blocks": (
        with_lookup([{"type": "text", "text": "I look."}, "And look again."]),
        "I look.\nAnd look again.",
    ),
    "thinking block": (
        with_lookup([{"type": "thinking", "thinking": "Where?", "signature": "x"}, {"type": "text", "text": "Here."}]),
        "Where?\nHere.",
    ),
    "reasoning block": (
        with_lookup([{"type": "reasoning", "reasoning": "Where?"}, {"type": "text", "text": "Here."}]),
        "Where?\nHere.",
    ),
    "reasoning summary": (
        with_lookup(
            [
                {
                    "type": "reasoning",
                    "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": "Where?"}, {"type": "summary_text", "text": "When?"}],
                },
                {"type": "text", "text": "Here."},
            ]
        ),
        "Where?\nWhen?\nHere.",
    ),
    "reasoning beside the content": (
        with_lookup("Here.", additional_kwargs={"reasoning_content": "Where?"}),
        "Where?\nHere.",
    ),
    "reasoning alone": (with_lookup([{"type": "thinking", "thinking": "Where?"}]), "Where?"),
    "reasoning beside empty content": (with_lookup("", additional_kwargs={"reasoning_content": "Where?"}), "Where?"),
    "call blocks are no text": (
        with_lookup(
            [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "a", "name": "lookup", "input": {"key": "a"}, "text": "not this"},
                {"type": "redacted_thinking", "data": "bm90IHRoaXM="},
            ]
        ),
        "I look.",
    ),
}
"""What a model's message looks like, and the thought in it."""

PROVIDER_SHAPES: dict[str, tuple[AIMessage, str]] = {
    "Bedrock Converse": (
        with_lookup(
            [
                {"type": "reasoning_content", "reasoning_content": {"text": "Where?", "signature": "x"}},
                {"type": "text", "text": "Here."},
            ]
        ),
        "Where?\nHere.",
    ),
    "OpenAI Responses, first version": (
        with_lookup(
            "Here.",
            additional_kwargs={
                "reasoning": {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Where?"}]}
            },
        ),
        "Where?\nHere.",
    ),
}
"""Shapes that single providers' packages give."""


@pytest.mark.parametrize("shape", SHAPES)
def test_c12_thought_is_text_and_reasoning(blocks: ReasonBlocks, standin: Standin, shape: str) -> None:
    """Text and reasoning make the thought, in whichever shape they come."""
    message, thought = SHAPES[shape]
    assert observed(blocks, standin, message, "Done.").steps[0]["thought"] == thought


@pytest.mark.parametrize("shape", PROVIDER_SHAPES)
def test_c12_thought_in_single_providers_shapes(blocks: ReasonBlocks, standin: Standin, shape: str) -> None:
    """Reasoning is found in the shapes that only one provider's package gives, too."""
    message, thought = PROVIDER_SHAPES[shape]
    assert observed(blocks, standin, message, "Done.").steps[0]["thought"] == thought


@pytest.mark.parametrize("shape", ["text", "thinking block", "reasoning block"])
def test_c12_thought_of_a_streamed_message(blocks: ReasonBlocks, standin: Standin, shape: str) -> None:
    """A message that came in pieces gives the same thought as a whole one."""
    message, thought = SHAPES[shape]
    assert observed(blocks, standin, message, "Done.", streamed=True).steps[0]["thought"] == thought


def test_c12_thought_is_what_gets_scored(blocks: ReasonBlocks, standin: Standin) -> None:
    """The score of a step is that of the thought the call before said, reasoning included."""
    worried = "Hmm, maybe the exception in src/app/loader.py is a bug; the traceback says it failed."
    middleware = blocks.middleware()
    reply = say("Fine.", call("lookup", key="a"), reasoning=worried)
    create_agent(ScriptedModel([reply, "Done."]), [lookup], middleware=[middleware]).invoke(QUESTION)
    first, second = middleware.step_log
    assert first.thought_preview == ""
    assert second.thought_preview == f"{worried}\nFine."
    assert second.difficulty == pytest.approx(ReasonBlocks.score_step(f"{worried}\nFine."))
    assert second.difficulty > ReasonBlocks.score_step("Fine.") + 0.05


def test_c12_calls_alone_are_rendered_compactly(blocks: ReasonBlocks, standin: Standin) -> None:
    """Where a message has only tool calls, their compact rendering is the thought, and is what gets scored."""
    run = observed(blocks, standin, say("", call("lookup", key="a"), call("shout", word="b")), "Done.")
    rendered = run.steps[0]["thought"]
    assert rendered == 'lookup({"key":"a"}); shout({"word":"b"})'
    assert run.steps[1]["metadata"]["reasonblocks"]["difficulty"] == pytest.approx(ReasonBlocks.score_step(rendered))


def test_c12_blank_text_counts_as_none(blocks: ReasonBlocks, standin: Standin) -> None:
    """White space beside a tool call is no thought."""
    run = observed(blocks, standin, say(" \n", call("lookup", key="a")), "Done.")
    assert run.steps[0]["thought"] == 'lookup({"key":"a"})'


def test_c12_one_call(blocks: ReasonBlocks, standin: Standin) -> None:
    """One call gives its name, its arguments as a JSON object, and its result."""
    step = observed(blocks, standin, say("I look.", call("lookup", key="ä")), "Done.").steps[0]
    assert step["action"] == "lookup"
    assert json.loads(step["action_input"]) == {"key": "ä"}
    assert step["observation"] == "record ä: value=42"
    assert step["is_error"] is False


def test_c12_parallel_calls_are_all_recorded(blocks: ReasonBlocks, standin: Standin) -> None:
    """Parallel calls give joined names, a list of arguments, and the results in the order of the calls."""
    calls = (call("lookup", key="a"), call("shout", word="b"), call("lookup", key="c"))
    run = observed(blocks, standin, say("All at once.", *calls), "Done.")
    step = run.steps[0]
    assert step["action"] == "lookup, shout, lookup"
    assert json.loads(step["action_input"]) == [{"key": "a"}, {"word": "b"}, {"key": "c"}]
    assert step["observation"] == "record a: value=42\n\nB\n\nrecord c: value=42"
    assert standin.evaluations[0].steps[0]["observation"] == step["observation"]


def test_c12_a_failed_call_among_parallel_ones(blocks: ReasonBlocks, standin: Standin) -> None:
    """One error among the results makes the observation an error, and loses none of them."""
    calls = (call("lookup", key="a"), call("complaining_tool"))
    step = observed(blocks, standin, say("Both.", *calls), "Done.").steps[0]
    assert step["observation"] == "record a: value=42\n\nno such record"
    assert step["is_error"] is True


def test_c12_final_answer_has_no_action(blocks: ReasonBlocks, standin: Standin) -> None:
    """A message without calls has neither an action nor an observation."""
    step = observed(blocks, standin, "Done.").steps[0]
    assert step["thought"] == "Done."
    assert (step.get("action"), step.get("action_input"), step.get("observation")) == (None, None, None)


def test_c12_result_blocks_are_text(blocks: ReasonBlocks, standin: Standin) -> None:
    """A tool that answers with content blocks gives their text as the observation."""

    def read() -> list[dict[str, str]]:
        return [{"type": "text", "text": "line one"}, {"type": "text", "text": "line two"}]

    middleware = blocks.middleware(run_id="observed")
    model = ScriptedModel([say("I read.", Call("read")), "Done."])
    create_agent(model, [make_tool("read", read)], middleware=[middleware]).invoke(QUESTION)
    middleware.close()
    assert standin.runs["observed"].steps[0]["observation"] == "line one\nline two"


def test_c12_an_older_reply_is_never_scored(blocks: ReasonBlocks, standin: Standin) -> None:
    """A message that says nothing at all gives an empty thought, not the thought before it."""
    replies = (say("Old thought.", call("lookup", key="a")), call("lookup", key="b"), AIMessage(""))
    run = observed(blocks, standin, *replies)
    assert [step["thought"] for step in run.steps.values()] == ["Old thought.", 'lookup({"key":"b"})', ""]


def test_c12_replies_of_an_older_turn_are_not_this_runs(blocks: ReasonBlocks, standin: Standin) -> None:
    """A new turn on a thread with old replies scores nothing first, and then only its own thoughts."""
    middleware = blocks.middleware()
    script = [say("Thought of this turn.", call("lookup", key="a")), "Done."]
    agent = create_agent(ScriptedModel(script), [lookup], middleware=[middleware], checkpointer=InMemorySaver())
    thread: Any = {"configurable": {"thread_id": "one"}}
    agent.invoke({"messages": [HumanMessage("One."), AIMessage("Old answer."), HumanMessage("Two.")]}, thread)
    agent.invoke({"messages": [HumanMessage("Three.")]}, thread)
    first, second = middleware.step_log
    assert (first.difficulty, first.thought_preview) == (None, "")
    assert second.thought_preview == "Thought of this turn."
    middleware.close()
    assert [len(evaluation.steps) for evaluation in standin.evaluations] == [1, 1]


def test_c12_results_of_an_older_turn_are_not_observed(blocks: ReasonBlocks, standin: Standin) -> None:
    """A call that reuses an id of an older turn gets its own result."""
    history = [
        HumanMessage("One."),
        AIMessage("", tool_calls=[{"name": "lookup", "args": {"key": "old"}, "id": "same"}]),
        ToolMessage("the old result", tool_call_id="same"),
        AIMessage("Old answer."),
        HumanMessage("Two."),
    ]
    middleware = blocks.middleware(run_id="observed")
    model = ScriptedModel([say("I look.", Call("lookup", {"key": "new"}, id="same")), "Done."])
    create_agent(model, [lookup], middleware=[middleware]).invoke({"messages": history})
    middleware.close()
    assert standin.runs["observed"].steps[0]["observation"] == "record new: value=42"
