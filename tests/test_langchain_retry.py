"""LangChain's retry, fallback and limit middlewares around and inside ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware import (
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Command

from reasonblocks.format_routing import render_pattern
from support import stacks
from support.agents import ScriptedModel, call, flaky, lookup, make_tool, say, script, thought
from support.answers import DEFAULT_FIELDS
from support.stacks import BASE, EPHEMERAL, Bench
from support.standin import inject

bench = stacks.bench
make_bench = stacks.make_bench
mode = stacks.mode
order = stacks.order

UNKNOWN = "failure: unknown"
BUSY = ConnectionError("the provider is overloaded")


def retry(**settings: Any) -> ModelRetryMiddleware:
    return ModelRetryMiddleware(**({"max_retries": 2, "initial_delay": 0.0, "on_failure": "error"} | settings))


def rule_for(model_id: str) -> str:
    return render_pattern("e3", model_id, DEFAULT_FIELDS["e3"])


def given(bench: Bench) -> list[tuple[int, tuple[str, ...]]]:
    """Give each time that guidance was counted as given: the step and the sources."""
    return [(notice.step, notice.sources) for notice in bench.notices]


# -- ModelRetryMiddleware ----------------------------------------------------------------------------


def test_c4_retry_composes_again_and_spends_once(bench: Bench, mode: str, order: str) -> None:
    """A call that fails twice and then succeeds is prepared once, composed alike each time, and is one step."""
    second = flaky(BUSY, say(thought(1), call("lookup", key="b")), times=2)
    model = ScriptedModel([say(thought(0), call("lookup", key="a")), second, "done"])
    result = bench.invoke(mode, bench.agent(model, retry(), order=order))
    run = bench.finished(steps=3)
    assert result["messages"][-1].text == "done"
    assert model.calls == 5
    assert model.blocks[1] is not None
    assert model.blocks[1] == model.blocks[2] == model.blocks[3]
    assert model.blocks[4] is None
    assert bench.standin.count("evaluate") == 2
    assert [len(bench.standin.retrievals(tier)) for tier in ("e1", "e2", "e3")] == [0, 1, 1]
    assert [entry.injection_sources for entry in bench.mw.step_log] == [["E3Injection"], ["E2Injection"], []]
    assert given(bench) == [(0, ("E3Injection",)), (1, ("E2Injection",))]
    assert run.steps[1]["thought"] == thought(1)
    assert run.steps[1]["observation"] == "record b: value=42"


def test_c16_retries_do_not_use_up_the_monitor_cap_and_cool_down(bench: Bench, mode: str, order: str) -> None:
    """With every call failing once, the monitors still speak every third step, and each time counts once."""
    bench.standin.evaluate = lambda steps, body: inject(f"Look at step {len(steps)} again.")
    steps = [flaky(BUSY, say(thought(n), call("lookup", key=str(n)))) for n in range(8)]
    model = ScriptedModel([*steps, "done"])
    bench.invoke(mode, bench.agent(model, retry(), order=order))
    bench.finished(steps=9)
    assert [step for step, sources in given(bench) if "MonitorSteeringInjection" in sources] == [1, 4, 7]
    said = [entry.step for entry in bench.mw.step_log if "MonitorSteeringInjection" in entry.injection_sources]
    assert said == [1, 4, 7]
    assert model.calls == 17
    assert [f"Look at step {step} again." in (model.blocks[2 * step] or "") for step in said] == [True] * 3


def test_c6_retries_that_run_out_fail_the_run(bench: Bench, mode: str, order: str) -> None:
    """When the last retry raises, the run fails by that exception and the call that never returned is no step."""
    model = ScriptedModel([say(thought(0), call("lookup", key="a")), BUSY])
    assert bench.failure(mode, bench.agent(model, retry(), order=order)) == "ConnectionError"
    bench.finished(steps=1, outcome="failure: ConnectionError")
    assert model.calls == 4


def test_retry_that_continues_ends_the_run_as_langchain_sees_it(bench: Bench, mode: str, order: str) -> None:
    """With on_failure="continue" the made-up reply is a step only where ours is outside and sees it."""
    model = ScriptedModel([say(thought(0), call("lookup", key="a")), BUSY])
    result = bench.invoke(mode, bench.agent(model, retry(on_failure="continue"), order=order))
    run = bench.finished(steps=2 if order == "outside" else 1)
    assert result["messages"][-1].text.startswith("Model call failed after 3 attempts")
    assert model.calls == 4
    assert run.steps[0]["observation"] == "record a: value=42"
    if order == "outside":
        assert run.steps[1]["thought"] == result["messages"][-1].text


# -- ModelFallbackMiddleware -------------------------------------------------------------------------


def test_c30_the_fallback_reads_guidance_in_its_own_form(bench: Bench, mode: str, order: str) -> None:
    """Ours inside renders for the fallback and logs it; ours outside has rendered for the agent's model."""
    primary = ScriptedModel([BUSY], model_name="claude-sonnet-4-5")
    other = ScriptedModel(["done"], model_name="claude-haiku-4-5")
    agent = bench.agent(primary, ModelFallbackMiddleware(other), order=order, tools=())
    bench.invoke(mode, agent)
    run = bench.finished(steps=1)
    reader = "claude-haiku-4-5" if order == "inside" else "claude-sonnet-4-5"
    assert rule_for("claude-haiku-4-5") != rule_for("claude-sonnet-4-5")
    assert rule_for("claude-sonnet-4-5") in (primary.blocks[0] or "")
    assert rule_for(reader) in (other.blocks[0] or "")
    assert [entry.model_id for entry in bench.mw.step_log] == [reader]
    assert run.steps[0]["step_model"] == reader
    assert len(bench.standin.retrievals("e3")) == 1
    assert bench.mw.step_log[0].injection_sources == ["E3Injection"]


def test_c31_the_fallback_of_another_provider_and_the_cache_marker(bench: Bench, mode: str, order: str) -> None:
    """LangChain takes our marker off for a fallback it does not know when ours is outside of it, and only then."""
    other = ScriptedModel(["done"], model_name="gpt-5")
    agent = bench.agent(ScriptedModel([BUSY]), ModelFallbackMiddleware(other), order=order, tools=())
    bench.invoke(mode, agent)
    bench.finished(steps=1)
    base, guidance = other.systems[0]
    assert base["text"] == BASE
    assert base.get("cache_control") == (EPHEMERAL if order == "inside" else None)
    assert "cache_control" not in guidance


def test_c30_routing_does_not_undo_a_fallback(
    make_bench: Callable[..., Bench],
    mode: str,
    order: str,
) -> None:
    """When the routed model fails, the fallback answers: routing does not put the failed model back."""
    routed = ScriptedModel([BUSY], model_name="claude-opus-4-5")
    bench = make_bench(model_routing={"INIT": routed})
    primary = ScriptedModel(["the agent's own"])
    other = ScriptedModel(["done"], model_name="claude-haiku-4-5")
    result = bench.invoke(mode, bench.agent(primary, ModelFallbackMiddleware(other), order=order, tools=()))
    bench.finished(steps=1)
    assert result["messages"][-1].text == "done"
    assert [model.calls for model in (routed, primary, other)] == [1, 0, 1]
    assert rule_for("claude-opus-4-5") in (routed.blocks[0] or "")


def test_c30_routing_goes_on_after_a_fallback(
    make_bench: Callable[..., Bench],
    mode: str,
    order: str,
) -> None:
    """One fallback does not switch routing off: the next step asks the routed model first again."""
    routed = ScriptedModel([BUSY, say(thought(1), call("lookup", key="b")), "done"], by="calls")
    bench = make_bench(model_routing={"init": routed, "normal": routed})
    other = ScriptedModel([say(thought(0), call("lookup", key="a"))])
    primary = ScriptedModel([])
    bench.invoke(mode, bench.agent(primary, ModelFallbackMiddleware(other), order=order))
    bench.finished(steps=3)
    assert [model.calls for model in (routed, primary, other)] == [3, 0, 1]


def test_c6_a_fallback_that_fails_too_fails_the_run(bench: Bench, mode: str, order: str) -> None:
    """When every model fails, the run fails by the last exception and has no step."""
    other = ScriptedModel([TimeoutError("slow")], model_name="claude-haiku-4-5")
    agent = bench.agent(ScriptedModel([BUSY]), ModelFallbackMiddleware(other), order=order, tools=())
    assert bench.failure(mode, agent) == "TimeoutError"
    bench.finished(steps=0, outcome="failure: TimeoutError")


# -- ModelCallLimitMiddleware ------------------------------------------------------------------------


def test_c4_a_prepared_step_whose_call_is_refused_is_no_step(bench: Bench, mode: str, order: str) -> None:
    """The limit's own closing message is no step, and guidance queued for the refused call is not spent."""
    bench.standin.evaluate = lambda steps, body: inject(f"Look at step {len(steps)} again.")
    model = ScriptedModel(script(5))
    agent = bench.agent(model, ModelCallLimitMiddleware(run_limit=1, exit_behavior="end"), order=order)
    result = bench.invoke(mode, agent)
    run = bench.finished(steps=1)
    assert "limit" in result["messages"][-1].text
    assert model.calls == 1
    assert run.steps[0]["thought"] == thought(0)
    assert run.steps[0]["observation"] == "record key-0: value=42"
    # Ours outside has prepared the refused call, ours inside was never asked.
    assert bench.standin.count("evaluate") == (1 if order == "outside" else 0)
    assert given(bench) == [(0, ("E3Injection",))]


def test_c34_the_limit_does_not_swallow_the_answer_of_a_command(bench: Bench, mode: str, order: str) -> None:
    """What a tool answered by a Command is the step's observation, although the limit's message came after it."""

    def note(text: str) -> Command[Any]:
        return Command(update={"messages": [ToolMessage(f"noted {text}", tool_call_id="note-1")]})

    reply = AIMessage("I note it.", tool_calls=[{"name": "note", "args": {"text": "x"}, "id": "note-1"}])
    limit = ModelCallLimitMiddleware(run_limit=1, exit_behavior="end")
    agent = bench.agent(ScriptedModel([reply]), limit, order=order, tools=[make_tool("note", note)])
    bench.invoke(mode, agent)
    run = bench.finished(steps=1)
    assert run.steps[0]["observation"] == "noted x"


def test_c6_the_call_limit_as_an_error_fails_the_run(bench: Bench, mode: str, order: str) -> None:
    """An exception that none of our hooks sees still ends the run, by its name."""
    model = ScriptedModel(script(5))
    agent = bench.agent(model, ModelCallLimitMiddleware(run_limit=1, exit_behavior="error"), order=order)
    assert bench.failure(mode, agent) == "ModelCallLimitExceededError"
    run = bench.finished(steps=1, outcome="failure: ModelCallLimitExceededError", within=2.0)
    assert run.steps[0]["observation"] == "record key-0: value=42"


def test_c5_the_context_manager_names_the_call_limit(bench: Bench, mode: str, order: str) -> None:
    """Within `with` the exception of another middleware's hook is the outcome by name."""
    model = ScriptedModel(script(5))
    agent = bench.agent(model, ModelCallLimitMiddleware(run_limit=1, exit_behavior="error"), order=order)

    def watched() -> None:
        with bench.mw:
            agent.invoke({"messages": [("user", "q")]})

    async def awatched() -> None:
        async with bench.mw:
            await agent.ainvoke({"messages": [("user", "q")]})

    with pytest.raises(Exception, match="limit"):
        watched() if mode == "sync" else bench.on_loop(awatched)
    bench.finished(steps=1, outcome="failure: ModelCallLimitExceededError")


# -- ToolCallLimitMiddleware -------------------------------------------------------------------------


def test_c12_a_blocked_call_shows_the_limits_answer(bench: Bench, mode: str, order: str) -> None:
    """With "continue" the answer that the limit gave in place of the tool is the step's observation, an error."""
    model = ScriptedModel(script(2))
    agent = bench.agent(model, ToolCallLimitMiddleware(run_limit=1), order=order)
    bench.invoke(mode, agent)
    run = bench.finished(steps=3)
    assert run.steps[0]["observation"] == "record key-0: value=42"
    assert run.steps[0]["is_error"] is False
    assert "limit exceeded" in run.steps[1]["observation"]
    assert run.steps[1]["is_error"] is True
    assert run.steps[2]["thought"] == "done"


def test_c34_a_limit_that_ends_the_run_leaves_the_blocked_answer(bench: Bench, mode: str, order: str) -> None:
    """With "end" the step whose call was refused has the refusal as its observation and is the last one."""
    model = ScriptedModel(script(3))
    agent = bench.agent(model, ToolCallLimitMiddleware(run_limit=1, exit_behavior="end"), order=order)
    result = bench.invoke(mode, agent)
    run = bench.finished(steps=2)
    assert model.calls == 2
    assert isinstance(result["messages"][-1], AIMessage)
    assert run.steps[1]["thought"] == thought(1)
    assert "limit exceeded" in (run.steps[1]["observation"] or "")


def test_c6_the_tool_limit_as_an_error_fails_the_run(bench: Bench, mode: str) -> None:
    """With "error" the run fails, and the call that was made stays a step."""
    model = ScriptedModel(script(3))
    agent = bench.agent(model, ToolCallLimitMiddleware(run_limit=1, exit_behavior="error"))
    assert bench.failure(mode, agent) == "ToolCallLimitExceededError"
    run = bench.finished(steps=2, outcome="failure: ToolCallLimitExceededError", within=2.0)
    assert run.steps[1]["observation"] is None


# -- ToolRetryMiddleware -----------------------------------------------------------------------------


def unreliable(failures: int, calls: list[str]) -> Any:
    def fetch(key: str) -> str:
        calls.append(key)
        if len(calls) <= failures:
            raise OSError(f"{key} is not there yet")
        return f"{key} is here"

    async def afetch(key: str) -> str:
        return fetch(key)

    return make_tool("fetch", fetch, afetch)


def tool_retry(**settings: Any) -> ToolRetryMiddleware:
    return ToolRetryMiddleware(**({"max_retries": 2, "initial_delay": 0.0, "on_failure": "error"} | settings))


def test_c6_a_tool_error_that_is_retried_leaves_a_success(bench: Bench, mode: str, order: str) -> None:
    """A tool that fails twice and then answers is one step with its answer, and the run succeeds."""
    calls: list[str] = []
    model = ScriptedModel([say(thought(0), call("fetch", key="a")), "done"])
    agent = bench.agent(model, tool_retry(), order=order, tools=[unreliable(2, calls)])
    bench.invoke(mode, agent)
    run = bench.finished(steps=2)
    assert calls == ["a", "a", "a"]
    assert run.steps[0]["observation"] == "a is here"
    assert run.steps[0]["is_error"] is False


def test_c6_a_tool_error_that_outlives_its_retries_fails_the_run(bench: Bench, mode: str, order: str) -> None:
    """A tool that never answers fails the run by its exception."""
    calls: list[str] = []
    model = ScriptedModel([say(thought(0), call("fetch", key="a")), "done"])
    agent = bench.agent(model, tool_retry(), order=order, tools=[unreliable(9, calls)])
    assert bench.failure(mode, agent) == "OSError"
    run = bench.finished(steps=1, outcome="failure: OSError")
    assert calls == ["a", "a", "a"]
    assert "a is not there yet" in run.steps[0]["observation"]
    assert run.steps[0]["is_error"] is True


def test_c6_a_tool_error_turned_into_an_answer_leaves_a_success(bench: Bench, mode: str, order: str) -> None:
    """With on_failure="continue" the model reads the failure as an answer, and the run goes on to succeed."""
    calls: list[str] = []
    model = ScriptedModel([say(thought(0), call("fetch", key="a")), "done"])
    agent = bench.agent(model, tool_retry(on_failure="continue"), order=order, tools=[unreliable(9, calls)])
    result = bench.invoke(mode, agent)
    run = bench.finished(steps=2)
    answer = next(message for message in result["messages"] if isinstance(message, ToolMessage))
    assert run.steps[0]["observation"] == answer.text
    assert run.steps[0]["is_error"] is True


def test_both_retries_together(bench: Bench, mode: str, order: str) -> None:
    """A model and a tool that both fail once in the same run leave exact steps and a success."""
    calls: list[str] = []
    model = ScriptedModel(
        [say(thought(0), call("fetch", key="a"), call("lookup", key="b")), flaky(BUSY, say("done"), times=1)]
    )
    agent = bench.agent(model, retry(), tool_retry(), order=order, tools=[unreliable(1, calls), lookup])
    bench.invoke(mode, agent)
    run = bench.finished(steps=2)
    assert run.steps[0]["action"] == "fetch, lookup"
    assert run.steps[0]["observation"] == "a is here\n\nrecord b: value=42"
    assert model.blocks[1] == model.blocks[2]
