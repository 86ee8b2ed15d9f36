"""LangChain's middlewares that change what the model reads, around and inside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    LLMToolSelectorMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
)
from langchain_anthropic import ChatAnthropic
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from support import stacks
from support.agents import MARKER, ScriptedModel, call, count_replies, lookup, make_tool, say, script, thought
from support.stacks import BASE, EPHEMERAL, QUESTION, Bench, essences, markers
from support.standin import inject

bench = stacks.bench
make_bench = stacks.make_bench
mode = stacks.mode
order = stacks.order


class ScriptedClaude(ChatAnthropic):
    """A ChatAnthropic that builds its real request, keeps it, and answers from a script instead of the network."""

    _replies: list[AIMessage] = PrivateAttr(default_factory=list)
    _payloads: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    @classmethod
    def saying(cls, replies: Sequence[AIMessage]) -> ScriptedClaude:
        made = cls(model_name="claude-sonnet-4-5", api_key="none", timeout=None, stop=None)
        made._replies = list(replies)
        return made

    @property
    def payloads(self) -> list[dict[str, Any]]:
        return self._payloads

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        self._payloads.append(self._get_request_payload(messages, stop=stop, **kwargs))
        reply = self._replies[count_replies(messages, since_last_human=True)]
        return ChatResult(generations=[ChatGeneration(message=reply.model_copy(deep=True))])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Any:
        return self._generate(messages, stop, None, **kwargs)


def claude(steps: int = 3) -> ScriptedClaude:
    replies = [
        AIMessage(thought(n), tool_calls=[{"name": "lookup", "args": {"key": f"key-{n}"}, "id": f"toolu_{n}"}])
        for n in range(steps)
    ]
    return ScriptedClaude.saying([*replies, AIMessage("done")])


def caching(**settings: Any) -> AnthropicPromptCachingMiddleware:
    return AnthropicPromptCachingMiddleware(unsupported_model_behavior="raise", **settings)


# -- AnthropicPromptCachingMiddleware ----------------------------------------------------------------


def test_c31_anthropic_caching_never_has_more_than_four_markers(bench: Bench, mode: str, order: str) -> None:
    """The base prompt is marked on every step, the guidance block is last, and four markers are never exceeded."""
    model = claude()
    bench.invoke(mode, bench.agent(model, caching(), order=order))
    bench.finished(steps=4)
    for payload in model.payloads:
        assert markers(payload) <= 4
        assert payload["system"][0]["text"] == BASE
        assert "cache_control" in payload["system"][0]
        assert "cache_control" in payload
        assert "cache_control" in payload["tools"][-1]
    guided = [payload["system"] for payload in model.payloads if len(payload["system"]) > 1]
    assert [entry.injection_sources for entry in bench.mw.step_log[:2]] == [["E3Injection"], ["E2Injection"]]
    assert len(guided) == 2
    assert all(MARKER in system[-1]["text"] for system in guided)


def test_c31_the_guidance_is_never_marked_and_the_prompt_is_by_the_caching_middleware(
    bench: Bench,
    mode: str,
    order: str,
) -> None:
    """In either order LangChain's marker is on the prompt, none on the guidance, and there are three."""
    model = claude()
    bench.invoke(mode, bench.agent(model, caching(), order=order))
    bench.finished(steps=4)
    first, last = model.payloads[0], model.payloads[-1]
    assert first["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "5m"}
    assert "cache_control" not in first["system"][1]
    assert markers(first) == 3
    assert len(last["system"]) == 1
    assert markers(last) == 3


def test_c31_the_callers_markers_and_anthropic_caching_stay_within_four(bench: Bench, mode: str, order: str) -> None:
    """A prompt with two markers of the caller's own, legal with the caching middleware alone, stays legal with ours."""
    prompt = SystemMessage(
        [
            {"type": "text", "text": "The rules.", "cache_control": EPHEMERAL},
            {"type": "text", "text": "The records.", "cache_control": EPHEMERAL},
        ]
    )
    model = claude()
    bench.invoke(mode, bench.agent(model, caching(), order=order, system_prompt=prompt))
    bench.finished(steps=4)
    assert [payload["system"][0]["text"] for payload in model.payloads] == ["The rules."] * 4
    assert max(markers(payload) for payload in model.payloads) <= 4


def lifetimes(payload: dict[str, Any]) -> list[str]:
    """Give the lifetimes of a request's markers in the order in which the provider reads them."""
    blocks = [*payload.get("tools", []), *payload["system"]]
    blocks += [block for message in payload["messages"] for block in message["content"] if isinstance(block, dict)]
    found = [block["cache_control"] for block in [*blocks, payload] if "cache_control" in block]
    return [marker.get("ttl", "5m") for marker in found]


def test_c31_our_marker_never_precedes_a_longer_lived_one(bench: Bench, mode: str, order: str) -> None:
    """Anthropic refuses a one-hour marker behind a five-minute one, so ours may not stand before one of an hour."""
    model = claude()
    bench.invoke(mode, bench.agent(model, caching(ttl="1h"), order=order))
    bench.finished(steps=4)
    assert [lifetimes(payload) for payload in model.payloads] == [
        sorted(lifetimes(payload)) for payload in model.payloads
    ]


def test_c31_our_marker_outlives_those_of_the_callers_messages(bench: Bench, mode: str, order: str) -> None:
    """A message that the caller marked for an hour stays acceptable behind the prompt that we mark."""
    block = {"type": "text", "text": "The long record.", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    model = claude(1)
    bench.invoke(mode, bench.agent(model, order=order), {"messages": [HumanMessage([block])]})
    bench.finished(steps=2)
    assert [lifetimes(payload) for payload in model.payloads] == [["1h", "1h"]] * 2


def test_c31_the_system_prompt_is_byte_stable_between_steps_without_guidance(
    bench: Bench,
    mode: str,
    order: str,
) -> None:
    """Steps without guidance send the very same system blocks, so that the provider's cache is hit."""
    bench.standin.patterns = {}
    model = claude(5)
    bench.invoke(mode, bench.agent(model, caching(), order=order))
    bench.finished(steps=6)
    assert {str(payload["system"]) for payload in model.payloads} == {str(model.payloads[0]["system"])}
    assert markers(model.payloads[-1]) == 3


def test_c32_anthropic_only_marks_claude(
    make_bench: Callable[..., Bench],
    mode: str,
    order: str,
) -> None:
    """With cache_control="anthropic" a ChatAnthropic is marked although no caching middleware is there."""
    bench = make_bench(cache_control="anthropic")
    model = claude(1)
    bench.invoke(mode, bench.agent(model, order=order))
    bench.finished(steps=2)
    assert [payload["system"][0]["cache_control"] for payload in model.payloads] == [EPHEMERAL] * 2
    other = ScriptedModel(["done"], model_name="gpt-5")
    bench.invoke(mode, bench.agent(other, order=order, tools=()))
    assert markers(other.systems[0]) == 0


# -- TodoListMiddleware ------------------------------------------------------------------------------


def test_c31_the_todo_prompt_comes_before_or_behind_the_guidance(bench: Bench, mode: str, order: str) -> None:
    """Ours inside keeps the guidance last and marks the whole prompt; ours outside gets the todo prompt behind it."""
    todos = [{"content": "find it", "status": "in_progress"}]
    model = ScriptedModel([say(thought(0), call("write_todos", todos=todos)), "done"])
    result = bench.invoke(mode, bench.agent(model, TodoListMiddleware(system_prompt="Plan."), order=order, tools=()))
    run = bench.finished(steps=2)
    assert result["todos"] == todos
    assert "Updated todo list" in run.steps[0]["observation"]
    texts = [block["text"].strip() for block in model.systems[0]]
    marked = [block["text"].strip() for block in model.systems[0] if "cache_control" in block]
    assert texts[0] == BASE
    assert [text for text in texts if not text.startswith(MARKER)] == [BASE, "Plan."]
    if order == "inside":
        assert texts[-1].startswith(MARKER)
        assert marked == ["Plan."]
    else:
        assert texts[1].startswith(MARKER)
        assert marked == [BASE]


# -- SummarizationMiddleware -------------------------------------------------------------------------


def test_c12_after_a_summary_the_last_thought_is_still_scored(bench: Bench, mode: str, order: str) -> None:
    """Summaries replace old messages, yet every step scores the thought of this run's last reply."""
    summariser = ScriptedModel(["The story so far."], by="calls", repeat=True)
    model = ScriptedModel(script(6), by="calls")
    summary = SummarizationMiddleware(summariser, trigger=("messages", 5), keep=("messages", 2))
    result = bench.invoke(mode, bench.agent(model, summary, order=order))
    run = bench.finished(steps=7)
    assert summariser.calls >= 2
    assert any("The story so far." in message.text for message in model.requests[-1])
    assert [entry.thought_preview for entry in bench.mw.step_log] == ["", *(thought(n) for n in range(6))]
    assert [run.steps[n]["observation"] for n in range(6)] == [f"record key-{n}: value=42" for n in range(6)]
    assert all(steps.body["steps"][-1]["thought"] == steps.steps[-1]["thought"] for steps in bench.standin.evaluations)
    assert [len(evaluation.steps) for evaluation in bench.standin.evaluations] == [1, 2, 3, 4, 5, 6]
    assert not any(isinstance(message, SystemMessage) for message in result["messages"])
    assert not any(MARKER in str(message.content) for message in result["messages"])


def test_c7_the_summarised_history_is_the_same_without_us(bench: Bench, mode: str, order: str) -> None:
    """The history that a summarised run leaves is that of the same run without ours."""

    def agent_and_model(with_ours: bool) -> tuple[Any, ScriptedModel]:
        summariser = ScriptedModel(["The story so far."], by="calls", repeat=True)
        model = ScriptedModel(script(6), by="calls")
        summary = SummarizationMiddleware(summariser, trigger=("messages", 5), keep=("messages", 2))
        if with_ours:
            return bench.agent(model, summary, order=order), model
        return create_agent(model, [lookup], system_prompt=BASE, middleware=[summary]), model

    ours, our_model = agent_and_model(with_ours=True)
    vanilla, vanilla_model = agent_and_model(with_ours=False)
    left = bench.invoke(mode, ours)["messages"]
    expected = vanilla.invoke(QUESTION)["messages"]
    bench.finished(steps=7)
    assert essences(left) == essences(expected)
    assert [essences(request[1:]) for request in our_model.requests] == [
        essences(request[1:]) for request in vanilla_model.requests
    ]


# -- ContextEditingMiddleware ------------------------------------------------------------------------


def test_c34_cleared_tool_results_are_still_what_the_steps_show(bench: Bench, mode: str, order: str) -> None:
    """What the model no longer reads was observed all the same: steps and monitors have the real results."""
    editing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=1, clear_tool_inputs=True)])
    model = ScriptedModel(script(4))
    result = bench.invoke(mode, bench.agent(model, editing, order=order))
    run = bench.finished(steps=5)
    read = [message.text for message in model.requests[-1] if isinstance(message, ToolMessage)]
    assert read == ["[cleared]"] * 3 + ["record key-3: value=42"]
    assert [run.steps[n]["observation"] for n in range(4)] == [f"record key-{n}: value=42" for n in range(4)]
    assert [run.steps[n]["action_input"] for n in range(4)] == [f'{{"key":"key-{n}"}}' for n in range(4)]
    kept = [message.text for message in result["messages"] if isinstance(message, ToolMessage)]
    assert kept == [f"record key-{n}: value=42" for n in range(4)]
    assert [step["observation"] for step in bench.standin.evaluations[-1].steps] == kept


# -- LLMToolSelectorMiddleware -----------------------------------------------------------------------


def test_c9_the_tool_selectors_own_model_call_is_no_step(bench: Bench, mode: str, order: str) -> None:
    """The selector asks a model of its own; that is no step, gets no guidance, and its choice reaches the agent."""
    other = make_tool("other", lambda: "nothing")
    selector = ScriptedModel([say("", call("ToolSelectionResponse", tools=["lookup"]))], by="calls", repeat=True)
    model = ScriptedModel([say(thought(0), call("lookup", key="a")), "done"])
    selection = LLMToolSelectorMiddleware(model=selector, max_tools=1)
    bench.invoke(mode, bench.agent(model, selection, order=order, tools=[lookup, other]))
    run = bench.finished(steps=2)
    assert selector.calls == 2
    assert selector.blocks == [None, None]
    assert model.tools_offered == [["lookup"], ["lookup"]]
    assert model.blocks[0] is not None
    assert run.steps[0]["observation"] == "record a: value=42"


# -- several together --------------------------------------------------------------------------------


def test_c7_a_whole_stack_of_prompt_changers(bench: Bench, mode: str, order: str) -> None:
    """Caching, todos, context editing and a summary together: exact steps, four markers at most, one guidance block."""
    bench.standin.evaluate = lambda steps, body: inject(f"Look at step {len(steps)} again.")
    model = claude(6)
    summary = SummarizationMiddleware(
        ScriptedModel(["The story so far."], by="calls", repeat=True), trigger=("messages", 50), keep=("messages", 4)
    )
    others = [
        summary,
        TodoListMiddleware(system_prompt="Plan."),
        ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=1)]),
        caching(),
    ]
    result = bench.invoke(mode, bench.agent(model, *others, order=order))
    run = bench.finished(steps=7)
    for payload in model.payloads:
        blocks = [block["text"] for block in payload["system"]]
        assert markers(payload) <= 4
        assert blocks[0] == BASE
        assert sum(MARKER in block for block in blocks) <= 1
    assert bench.mw.step_log[1].injection_sources[0] == "MonitorSteeringInjection"
    assert "Look at step 1 again." in str(model.payloads[1]["system"])
    assert [run.steps[n]["observation"] for n in range(6)] == [f"record key-{n}: value=42" for n in range(6)]
    assert isinstance(result["messages"][0], HumanMessage)
    assert not any(MARKER in str(message.content) for message in result["messages"])
