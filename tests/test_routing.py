"""Routing: each difficulty state may have a model of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelFallbackMiddleware, ModelRetryMiddleware

from reasonblocks import ReasonBlocks
from reasonblocks.format_routing import render_pattern
from support.agents import ScriptedModel, call, flaky, lookup, say, script, thought
from support.answers import DEFAULT_FIELDS
from support.standin import Standin, healthy, pattern

QUESTION: Any = {"messages": [("user", "What is it?")]}
TO_SLOW = {"slow_window": 1}
HARD = script(3, difficulty="hard")
"""Four calls: INIT, NORMAL, SLOW, SLOW with the setting above."""

Invoke = Callable[..., dict[str, Any]]
Connect = Callable[..., ReasonBlocks]


@pytest.fixture(params=["sync", "async"])
def invoke(request: pytest.FixtureRequest) -> Invoke:
    """Runs an agent to its end, by `invoke` and by `ainvoke`."""
    if request.param == "sync":
        return lambda agent, config=None: agent.invoke(QUESTION, config)
    return lambda agent, config=None: asyncio.run(agent.ainvoke(QUESTION, config))


@pytest.fixture
def connect(standin: Standin) -> Iterator[Connect]:
    """Makes clients of the stand-in; at the end they are closed and nothing they sent broke the contract."""
    made: list[ReasonBlocks] = []

    def make(**settings: Any) -> ReasonBlocks:
        made.append(ReasonBlocks(standin.key, base_url=standin.url, **({"step_timeout": 10.0} | settings)))
        return made[-1]

    yield make
    for rb in made:
        rb.close()
    assert standin.violations == []


@pytest.fixture
def created(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedModel]:
    """The models that were created by their id, in order."""
    models: list[ScriptedModel] = []

    def create(model_id: str, **settings: Any) -> ScriptedModel:
        if model_id == "nobody:nothing":
            raise ValueError("unknown provider")
        models.append(ScriptedModel(HARD, model_name=model_id))
        return models[-1]

    monkeypatch.setattr("reasonblocks.client.init_chat_model", create)
    return models


def haiku(replies: Any = HARD) -> ScriptedModel:
    return ScriptedModel(replies, model_name="claude-haiku-4-5")


def opus(replies: Any = HARD) -> ScriptedModel:
    return ScriptedModel(replies, model_name="claude-opus-4-1")


def run(invoke: Invoke, middleware: Any, model: ScriptedModel, *outside: AgentMiddleware[Any, Any, Any]) -> Any:
    return invoke(create_agent(model, [lookup], system_prompt="Be brief.", middleware=[*outside, middleware]))


@pytest.mark.parametrize("name", ["SLOW", "slow", "Slow", "sLoW"])
def test_c30_a_state_is_named_in_any_case(standin: Standin, connect: Connect, invoke: Invoke, name: str) -> None:
    """In its state, and in no other, the routed model answers; unmapped states keep the agent's."""
    own, routed = ScriptedModel(HARD), haiku()
    middleware = connect(model_routing={name: routed}, fsm_thresholds=TO_SLOW).middleware()
    run(invoke, middleware, own)
    assert [(entry.fsm_state, entry.model_id) for entry in middleware.step_log] == [
        ("INIT", "claude-sonnet-4-5"),
        ("NORMAL", "claude-sonnet-4-5"),
        ("SLOW", "claude-haiku-4-5"),
        ("SLOW", "claude-haiku-4-5"),
    ]
    assert (own.calls, routed.calls) == (2, 2)


def test_c30_every_state_can_be_routed(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """INIT, NORMAL, SLOW, SKIP and FAST each have their own model."""
    kinds = ["hard", "hard", "hard", "easy", "easy"]
    replies = [say(thought(n, kind), call("lookup", key="k")) for n, kind in enumerate(kinds)]  # type: ignore[arg-type]
    states = ("INIT", "NORMAL", "SLOW", "SKIP", "FAST")
    models = {state: ScriptedModel([*replies, "done"], model_name=f"model-{state}") for state in states}
    own = ScriptedModel([*replies, "done"])
    thresholds = {"slow_window": 1, "skip_window": 1, "fast_window": 1}
    middleware = connect(model_routing=models, fsm_thresholds=thresholds).middleware()
    run(invoke, middleware, own)
    log = middleware.step_log
    assert [entry.fsm_state for entry in log] == ["INIT", "NORMAL", "SLOW", "SKIP", "NORMAL", "FAST"]
    assert [entry.model_id for entry in log] == [f"model-{entry.fsm_state}" for entry in log]
    assert own.calls == 0


def test_c30_a_model_id_is_created_once_and_reused(
    standin: Standin, connect: Connect, invoke: Invoke, created: list[ScriptedModel]
) -> None:
    """However many steps, runs and middlewares use it, a model named by its id is created once."""
    rb = connect(model_routing={"slow": "anthropic:claude-haiku-4-5"}, fsm_thresholds=TO_SLOW)
    for _ in range(2):
        middleware = rb.middleware()
        for _ in range(2):
            run(invoke, middleware, ScriptedModel(HARD))
            assert middleware.step_log[-1].model_id == "anthropic:claude-haiku-4-5"
    assert len(created) == 1
    assert created[0].calls == 8


def test_c30_an_id_of_two_states_is_created_once(
    standin: Standin, connect: Connect, created: list[ScriptedModel]
) -> None:
    """Two states that name the same model share it."""
    connect(model_routing={"slow": "anthropic:claude-haiku-4-5", "skip": "anthropic:claude-haiku-4-5"})
    assert [model.model_name for model in created] == ["anthropic:claude-haiku-4-5"]


def test_c30_the_renderer_sees_the_final_model(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Guidance has the form for the routed model at its step, and for the agent's own at the others."""
    own, routed = ScriptedModel(HARD), haiku()
    run(invoke, connect(model_routing={"init": routed}, monitors_enabled=False).middleware(), own)
    rules = [DEFAULT_FIELDS["e3"], {"instruction": "Report only what you have seen yourself."}]
    assert routed.blocks == [
        "[REASONBLOCKS]\n" + "\n\n".join(render_pattern("e3", "claude-haiku-4-5", rule) for rule in rules)
    ]
    e1 = render_pattern("e1", "claude-sonnet-4-5", DEFAULT_FIELDS["e1"])
    assert (own.blocks[0] or "").startswith(f"[REASONBLOCKS]\n{e1}\n\n")
    assert render_pattern("e1", "claude-haiku-4-5", DEFAULT_FIELDS["e1"]) != e1


def test_c30_the_cache_policy_sees_the_final_model(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Under `anthropic` the prompt is marked according to the model that gets it, not the agent's own."""
    own, routed = ScriptedModel(HARD, model_name="gpt-5"), haiku()
    rb = connect(
        model_routing={"slow": routed}, fsm_thresholds=TO_SLOW, cache_control="anthropic", monitors_enabled=False
    )
    run(invoke, rb.middleware(), own)
    assert [isinstance(content, list) and "cache_control" in content[0] for content in own.systems] == [False, False]
    assert [isinstance(content, list) and "cache_control" in content[0] for content in routed.systems] == [True, True]


def test_c30_tools_are_bound_to_the_routed_model(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """The routed model is offered the agent's tools."""
    routed = haiku()
    run(invoke, connect(model_routing={"init": routed}).middleware(), ScriptedModel(HARD))
    assert routed.tools_offered == [["lookup"]]


def test_c30_a_fallback_outside_is_not_routed_away(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Where the routed model fails, the fallback's own model answers, with guidance rendered for it and no request."""
    standin.evaluate = lambda steps, body: healthy(0.5) if len(steps) == 2 else healthy()
    standin.patterns = {"e1": [pattern("e1")]}
    own, routed, backup = ScriptedModel(HARD), haiku([ConnectionError("gone")] * 4), opus()
    middleware = connect(model_routing={"slow": routed}, fsm_thresholds=TO_SLOW).middleware()
    run(invoke, middleware, own, ModelFallbackMiddleware(backup))
    assert (own.calls, routed.calls, backup.calls) == (2, 2, 2)
    assert [entry.model_id for entry in middleware.step_log[2:]] == ["claude-opus-4-1"] * 2
    assert [entry.step for entry in middleware.step_log] == [0, 1, 2, 3]
    for model, family in ((routed, "claude-haiku-4-5"), (backup, "claude-opus-4-1")):
        assert model.blocks[0] == "[REASONBLOCKS]\n" + render_pattern("e1", family, DEFAULT_FIELDS["e1"])
    assert middleware.step_log[2].intervention_texts == [render_pattern("e1", "claude-opus-4-1", DEFAULT_FIELDS["e1"])]
    assert len(standin.retrievals("e1")) == 1
    assert standin.count("evaluate") == 3


def test_c30_after_a_fallback_the_next_step_is_routed_again(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """A fallback concerns its own call: the step after it goes to the routed model again."""
    replies = list(HARD)
    replies[2] = flaky(ConnectionError("gone"), replies[2])
    own, routed, backup = ScriptedModel(HARD), haiku(replies), opus()
    middleware = connect(model_routing={"slow": routed}, fsm_thresholds=TO_SLOW).middleware()
    run(invoke, middleware, own, ModelFallbackMiddleware(backup))
    assert [entry.model_id for entry in middleware.step_log] == [
        "claude-sonnet-4-5",
        "claude-sonnet-4-5",
        "claude-opus-4-1",
        "claude-haiku-4-5",
    ]


def test_c30_a_fallback_before_any_routed_state_does_not_confuse_routing(
    standin: Standin, connect: Connect, invoke: Invoke
) -> None:
    """A fallback on the first call, where no route applies, leaves later states routed."""
    replies = list(HARD)
    replies[0] = flaky(ConnectionError("gone"), replies[0])
    own, routed, backup = ScriptedModel(replies), haiku(), opus()
    middleware = connect(model_routing={"slow": routed}, fsm_thresholds=TO_SLOW).middleware()
    run(invoke, middleware, own, ModelFallbackMiddleware(backup))
    assert [entry.model_id for entry in middleware.step_log] == [
        "claude-opus-4-1",
        "claude-sonnet-4-5",
        "claude-haiku-4-5",
        "claude-haiku-4-5",
    ]


def test_c30_a_retry_outside_stays_with_the_routed_model(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """A retried call goes to the routed model again."""
    replies = list(HARD)
    replies[2] = flaky(ConnectionError("gone"), replies[2])
    own, routed = ScriptedModel(HARD), haiku(replies)
    middleware = connect(model_routing={"slow": routed}, fsm_thresholds=TO_SLOW).middleware()
    run(invoke, middleware, own, ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False))
    assert (own.calls, routed.calls) == (2, 3)


def test_c30_one_agents_routing_serves_agents_with_different_models(
    standin: Standin, connect: Connect, invoke: Invoke
) -> None:
    """One middleware in two agents with models of their own routes both."""
    routed = haiku()
    middleware = connect(model_routing={"slow": routed}, fsm_thresholds=TO_SLOW).middleware()
    for own in (ScriptedModel(HARD), opus()):
        run(invoke, middleware, own)
        assert own.calls == 2
    assert routed.calls == 4


def test_c30_without_steering_nothing_is_routed(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """`steer=False` observes: the agent's own model answers every call."""
    own, routed = ScriptedModel(HARD), haiku()
    middleware = connect(model_routing={"slow": routed}, fsm_thresholds=TO_SLOW, steer=False).middleware()
    run(invoke, middleware, own)
    assert (own.calls, routed.calls) == (4, 0)
    assert middleware.step_log[3].fsm_state == "SLOW"


@pytest.mark.parametrize(
    ("routing", "words"),
    [
        ({"quick": "anthropic:claude-haiku-4-5"}, "'quick'.*INIT, NORMAL, FAST, SLOW, SKIP"),
        ({"slow": 5}, "'slow'.*int"),
        ({"slow": None}, "'slow'.*NoneType"),
        ({"slow": "nobody:nothing"}, "nobody:nothing.*unknown provider"),
    ],
    ids=["state", "number", "none", "unknown id"],
)
def test_c30_a_route_that_cannot_work_is_refused_where_it_is_given(
    created: list[ScriptedModel], routing: Any, words: str
) -> None:
    """An unknown state, something that is no model, and an id nobody can create are errors of the constructor."""
    with pytest.raises(ValueError, match=words):
        ReasonBlocks("key", base_url="http://127.0.0.1:9", model_routing=routing)
