"""Nothing of ours may break or delay the agent, whatever the server, the network or our own code does."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import count
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage

from reasonblocks import ReasonBlocks
from reasonblocks.injections import BaseInjection
from reasonblocks.runtime.contain import incidents
from reasonblocks.types import PendingInjection, TraceState
from support.agents import ScriptedModel, call, flaky, lookup, say, script, system_text
from support.standin import EVERY_FAULT, WRONG_SHAPES, Fault, Standin, healthy, inject, pattern

QUESTION: Any = {"messages": [("user", "What is the value?")]}
PROMPT = "You are careful."
STEPS = 3
LOOKUPS = ("retrieve", "evaluate")
SINGLE_ROUTES = ("run_start", "step", "run_finish")
DELIVERIES = (*SINGLE_ROUTES, "events", "health")
ROUTED_FAULTS = [name for name, fault in EVERY_FAULT.items() if not fault.refuse]
LATE = ("slow", "black_hole", "drip")
ASYNC_AND_SLOWLY_SYNC = [pytest.param(True, id="async"), pytest.param(False, id="sync", marks=pytest.mark.slow)]
"""Both ways of calling an agent, where a test has so many cases that the sync ones are for the slow suite."""
GENEROUS = 15.0
"""Seconds that a run may take on a busy machine where it would take minutes if it waited for the server."""

Connect = Callable[..., ReasonBlocks]


@pytest.fixture(autouse=True)
def no_incidents_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test sees its own causes as new ones."""
    monkeypatch.setattr(incidents, "counts", {})


@pytest.fixture
def server() -> Iterator[Standin]:
    """A server with every capability, so that every route is in use."""
    with Standin(capabilities=("events", "incremental")) as standin:
        yield standin


@pytest.fixture
def connect(server: Standin) -> Iterator[Connect]:
    """Build a ReasonBlocks for the server that is closed when the test is over."""
    made: list[ReasonBlocks] = []

    def make(**settings: Any) -> ReasonBlocks:
        settings = {"step_timeout": 0.1, "base_url": server.url} | settings
        made.append(ReasonBlocks(server.key, **settings))
        return made[-1]

    yield make
    server.clear_faults()
    server.drop_connections()
    for rb in made:
        rb.close()


def shown(messages: list[BaseMessage]) -> list[tuple[Any, ...]]:
    """What an agent's answer consists of, ids aside."""
    return [(message.type, message.content, getattr(message, "tool_calls", None)) for message in messages]


@cache
def vanilla(steps: int = STEPS) -> list[tuple[Any, ...]]:
    """The answer of the same agent without us."""
    agent = create_agent(ScriptedModel(script(steps)), [lookup], system_prompt=PROMPT)
    return shown(agent.invoke(QUESTION)["messages"])


async def answer_of(rb: ReasonBlocks, asynchronous: bool = True, steps: int = STEPS) -> tuple[Any, ScriptedModel, Any]:
    """Run an agent with us and give its answer, its model and the middleware."""
    model = ScriptedModel(script(steps))
    middleware = rb.middleware()
    agent = create_agent(model, [lookup], system_prompt=PROMPT, middleware=[middleware])
    result = await ask(agent, asynchronous)
    return shown(result["messages"]), model, middleware


async def ask(agent: Any, asynchronous: bool) -> Any:
    """Run an agent, a sync one on a thread without a loop; its exception comes out as the object it is."""
    if asynchronous:
        return await agent.ainvoke(QUESTION)

    def run() -> tuple[Any, BaseException | None]:
        try:
            return agent.invoke(QUESTION), None
        except Exception as error:  # asyncio would replace some exceptions of a thread by others
            return None, error

    result, error = await asyncio.to_thread(run)
    if error is not None:
        raise error
    return result


def causes(caplog: pytest.LogCaptureFixture) -> Counter[str]:
    """How often each cause (place and type of error) was logged."""
    logged = [record.getMessage() for record in caplog.records if record.name == "reasonblocks"]
    return Counter(":".join(message.split(":")[1:3]).strip() for message in logged if "goes on without it" in message)


def prompts(model: ScriptedModel) -> set[str]:
    """Every text that was a system prompt."""
    return {system_text(content) for content in model.systems}


# -- every fault on every route ------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ROUTED_FAULTS)
@pytest.mark.parametrize("route", LOOKUPS)
async def test_c8_a_lookup_fault_leaves_the_answer_as_it_is(
    server: Standin, connect: Connect, caplog: pytest.LogCaptureFixture, route: str, fault: str
) -> None:
    """A lookup that fails in any way changes nothing, and is logged once, counted and in the step's errors."""
    server.fault(route, EVERY_FAULT[fault])
    rb = connect()
    answer, model, middleware = await answer_of(rb)
    assert answer == vanilla()
    assert model.calls == STEPS + 1
    asked = "MonitorSteeringInjection" if route == "evaluate" else "E3Injection"
    concerned = middleware.step_log[1:] if route == "evaluate" else middleware.step_log
    assert all(any(asked in error for error in entry.errors) for entry in concerned)
    if route == "retrieve":
        assert prompts(model) == {PROMPT}
    logged = causes(caplog)
    assert set(logged.values()) <= {1}
    assert any(asked in cause for cause in logged), f"the failing {asked} was never logged"
    assert any(asked in cause for cause in incidents.counts), f"the failing {asked} was never counted"
    await rb.aclose()


@pytest.mark.parametrize("fault", ROUTED_FAULTS)
@pytest.mark.parametrize(
    "route", ["events", *(pytest.param(name, marks=pytest.mark.slow) for name in (*SINGLE_ROUTES, "health"))]
)
async def test_c8_a_delivery_fault_leaves_agent_and_steering_as_they_are(
    server: Standin, connect: Connect, caplog: pytest.LogCaptureFixture, route: str, fault: str
) -> None:
    """Telemetry that fails in any way changes neither the answer nor the guidance, and is logged once a cause."""
    server.capabilities = () if route in SINGLE_ROUTES else server.capabilities
    server.fault(route, EVERY_FAULT[fault])
    rb = connect(step_timeout=5.0)
    if route == "events":  # until the server has said that it takes batches, there are none
        await answer_of(rb)
        await server.await_for(lambda: server.count("health"))
    answer, model, middleware = await answer_of(rb)
    await server.await_for(lambda: server.count(route))
    assert answer == vanilla()
    assert model.calls == STEPS + 1
    assert model.blocks[0] is not None
    assert [entry.errors for entry in middleware.step_log] == [[]] * (STEPS + 1)
    assert set(causes(caplog).values()) <= {1}


@pytest.mark.parametrize("asynchronous", ASYNC_AND_SLOWLY_SYNC)
@pytest.mark.parametrize("fault", EVERY_FAULT)
async def test_c8_a_server_that_fails_everywhere_is_as_good_as_none(
    server: Standin, connect: Connect, caplog: pytest.LogCaptureFixture, fault: str, asynchronous: bool
) -> None:
    """With every route failing at once the agent answers as without us, in bounded time."""
    expected = vanilla()
    server.fault("*", EVERY_FAULT[fault])
    rb = connect()
    began = time.monotonic()
    answer, model, middleware = await answer_of(rb, asynchronous)
    assert time.monotonic() - began < GENEROUS
    assert answer == expected
    assert model.calls == STEPS + 1
    assert prompts(model) == {PROMPT}
    assert all(entry.errors for entry in middleware.step_log)
    assert set(causes(caplog).values()) <= {1}
    server.clear_faults()
    server.drop_connections()
    await rb.aclose()


@pytest.mark.slow
@pytest.mark.parametrize("fault", ROUTED_FAULTS)
@pytest.mark.parametrize("route", LOOKUPS + DELIVERIES)
def test_c8_a_sync_agent_survives_every_fault_on_every_route(
    server: Standin, connect: Connect, caplog: pytest.LogCaptureFixture, route: str, fault: str
) -> None:
    """What holds for an async agent holds for a sync one."""
    server.capabilities = () if route in SINGLE_ROUTES else server.capabilities
    server.fault(route, EVERY_FAULT[fault])
    model = ScriptedModel(script(STEPS))
    agent = create_agent(model, [lookup], system_prompt=PROMPT, middleware=[connect().middleware()])
    assert shown(agent.invoke(QUESTION)["messages"]) == vanilla()
    assert model.calls == STEPS + 1
    assert set(causes(caplog).values()) <= {1}


@pytest.mark.parametrize("number", range(len(WRONG_SHAPES)))
@pytest.mark.parametrize(
    "route", [*LOOKUPS, *(pytest.param(name, marks=pytest.mark.slow) for name in ("events", "health"))]
)
async def test_c8_an_answer_of_the_wrong_shape_is_no_answer(
    server: Standin, connect: Connect, route: str, number: int
) -> None:
    """JSON that is not what the protocol promises never raises and never becomes guidance."""
    server.fault(route, Fault(answer=WRONG_SHAPES[number]))
    if route == "evaluate":
        server.patterns = {"e1": [], "e2": [], "e3": []}
    rb = connect(step_timeout=5.0)
    answer, model, _ = await answer_of(rb, steps=2)
    assert answer == vanilla(2)
    assert model.calls == 3
    if route in LOOKUPS:
        assert prompts(model) == {PROMPT}
    server.clear_faults()
    await rb.aclose()


async def test_c23_a_pattern_that_renders_to_nothing_does_not_use_the_rule_up(
    server: Standin, connect: Connect
) -> None:
    """E3 that gave nothing to say has not fired: the next lookup that does is used."""
    server.fault("retrieve", Fault(answer={"traces": [{"tier": "e3", "fields": {}}]}, times=1))
    rb = connect(step_timeout=5.0)
    _, model, middleware = await answer_of(rb)
    assert model.blocks[0] is None
    assert "E3Injection" in [source for entry in middleware.step_log for source in entry.injection_sources]
    await rb.aclose()


# -- what comes from the model or from our own code ----------------------------------------------------


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize(
    "error", [RuntimeError("overloaded"), TimeoutError(), KeyError("x")], ids=lambda e: type(e).__name__
)
async def test_c8_a_model_error_passes_untouched_exactly_once(
    server: Standin, connect: Connect, error: Exception, place: int, asynchronous: bool
) -> None:
    """The very exception object of the model reaches the caller, and the model is not called again."""
    replies = script(3)
    replies[place] = error
    model = ScriptedModel(replies)
    rb = connect(step_timeout=5.0)
    middleware = rb.middleware(run_id="run-error")
    agent = create_agent(model, [lookup], system_prompt=PROMPT, middleware=[middleware])
    with pytest.raises(type(error)) as caught:
        await ask(agent, asynchronous)
    assert caught.value is error
    assert model.calls == place + 1
    assert len(middleware.run("run-error").step_log) == place
    await middleware.aclose()
    await server.await_for(lambda: server.runs["run-error"].outcome == f"failure: {type(error).__name__}")
    await rb.aclose()


@pytest.mark.parametrize("asynchronous", ASYNC_AND_SLOWLY_SYNC)
@pytest.mark.parametrize("server_fault", ["black_hole", "server_error", None])
async def test_c8_a_model_error_is_not_mixed_up_with_a_fault_of_the_server(
    server: Standin, connect: Connect, server_fault: str | None, asynchronous: bool
) -> None:
    """A failing server around a failing model changes neither the exception nor the number of calls."""
    if server_fault:
        server.fault("*", EVERY_FAULT[server_fault])
    error = ConnectionError("the provider is gone")
    model = ScriptedModel([say("Look.", call("lookup", key="a")), error])
    agent = create_agent(model, [lookup], middleware=[connect().middleware()])
    with pytest.raises(ConnectionError) as caught:
        await ask(agent, asynchronous)
    assert caught.value is error
    assert model.calls == 2
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


async def test_c8_a_recovered_model_error_is_one_step(server: Standin, connect: Connect) -> None:
    """An outer retry that succeeds leaves a run of success with each step once."""
    from langchain.agents.middleware import ModelRetryMiddleware

    replies = script(2)
    replies[1] = flaky(RuntimeError("overloaded"), replies[1])
    model = ScriptedModel(replies)
    rb = connect(step_timeout=5.0)
    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    middleware = rb.middleware(run_id="run-retry")
    agent = create_agent(model, [lookup], middleware=[retry, middleware])
    await agent.ainvoke(QUESTION)
    await rb.aclose()
    assert model.calls == 4
    assert [entry.step for entry in middleware.step_log] == [0, 1, 2]
    assert server.runs["run-retry"].step_order == [0, 1, 2]
    assert server.runs["run-retry"].finishes == ["success"]


OWN_CODE = [
    "reasonblocks.steering.plan.score_step",
    "reasonblocks.steering.plan.e1_gate",
    "reasonblocks.fsm.DifficultyFSM.transition",
    "reasonblocks.steering.compose.render_pattern",
    "reasonblocks.steering.compose.neutralise",
    "reasonblocks.call.compose",
    "reasonblocks.call.model_id_of",
    "reasonblocks.middleware.composed_call",
    "reasonblocks.middleware.reply_in",
    "reasonblocks.middleware.prepare",
    "reasonblocks.admission.get_config",
    "reasonblocks.middleware.observation_of",
    "reasonblocks.run.Run.begin",
    "reasonblocks.run.Run.situation",
    "reasonblocks.run.Run.accept",
    "reasonblocks.run.Run.spend",
    "reasonblocks.run.Run.record",
    "reasonblocks.run.Run.complete_step",
    "reasonblocks.run.Run.finish",
    "reasonblocks.run.thought_of",
    "reasonblocks.run.usage_of",
    "reasonblocks.run.events.step",
    "reasonblocks.registry.Watch.touch",
    "reasonblocks.registry.Watch.handle",
    "reasonblocks.registry.Watch.join",
    "reasonblocks.run.Run.execute",
    "reasonblocks.identity.identify",
    "reasonblocks.admission.Invocation",
    "reasonblocks.api.wire.encode",
    "reasonblocks.api.wire.encode_step",
    "reasonblocks.api.wire.decode_retrieval",
    "reasonblocks.api.remote.RemoteBackend.evaluate",
    "reasonblocks.api.remote.RemoteBackend.refusal",
    "reasonblocks.api.http.Transports.current",
    "reasonblocks.runtime.deadline.StepBudget.allowance",
    "reasonblocks.runtime.deadline.StepBudget.settle",
    "reasonblocks.runtime.breaker.Breaker.begin",
    "reasonblocks.telemetry.stream.TelemetryStream.post",
    pytest.param("reasonblocks.runtime.supervisor.Runtime.host", marks=pytest.mark.slow),
    pytest.param("reasonblocks.runtime.mailbox.Mailbox.post", marks=pytest.mark.slow),
]


@pytest.mark.parametrize("asynchronous", ASYNC_AND_SLOWLY_SYNC)
@pytest.mark.parametrize("name", OWN_CODE, ids=lambda name: name.removeprefix("reasonblocks."))
async def test_c8_an_error_of_our_own_never_reaches_the_agent(
    server: Standin, connect: Connect, monkeypatch: pytest.MonkeyPatch, name: str, asynchronous: bool
) -> None:
    """Whichever of our functions is broken, the agent answers as without us and the error is counted."""
    server.evaluate = lambda steps, body: inject("Stop and think.")
    called = []

    def broken(*arguments: Any, **named: Any) -> Any:
        called.append(name)
        raise LookupError("a bug of ours")

    with monkeypatch.context() as patch:
        patch.setattr(name, broken)
        answer, model, _ = await answer_of(connect(step_timeout=5.0), asynchronous)
    assert called
    assert answer == vanilla()
    assert model.calls == STEPS + 1
    assert any("LookupError" in cause for cause in incidents.counts)


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "sync"])
@pytest.mark.parametrize("setting", ["redact", "on_injection"])
@pytest.mark.parametrize(
    "error", [RuntimeError("no"), TimeoutError(), RecursionError()], ids=lambda e: type(e).__name__
)
async def test_c8_a_callback_that_raises_is_contained(
    server: Standin,
    connect: Connect,
    caplog: pytest.LogCaptureFixture,
    setting: str,
    error: Exception,
    asynchronous: bool,
) -> None:
    """A user's own callback that raises costs its own effect only, and is logged once."""

    def broken(event: Any) -> Any:
        raise error

    rb = connect(step_timeout=5.0, **{setting: broken})
    answer, model, middleware = await answer_of(rb, asynchronous)
    await rb.aclose()
    assert answer == vanilla()
    assert model.calls == STEPS + 1
    assert model.blocks[0] is not None
    assert [count for cause, count in causes(caplog).items() if cause.startswith(setting)] == [1]
    if setting == "redact":
        assert server.runs == {}
    else:
        assert any("on_injection" in problem for problem in middleware.step_log[0].errors)
        assert len(next(iter(server.runs.values())).steps) == STEPS + 1


class Broken(BaseInjection):
    """A user's injection that goes wrong in the given way."""

    on_first_call = True

    def __init__(self, give: Any) -> None:
        self._give = give

    async def retrieve(self, state: TraceState) -> Any:
        if isinstance(self._give, BaseException):
            raise self._give
        return self._give


@pytest.mark.parametrize("asynchronous", ASYNC_AND_SLOWLY_SYNC)
@pytest.mark.parametrize(
    "give",
    [RuntimeError("broken"), None, 5, "text", [None], [{"text": "x"}], {"a": 1}, object()],
    ids=lambda give: type(give).__name__,
)
async def test_c8_an_injection_of_the_users_that_fails_is_contained(
    server: Standin, connect: Connect, give: Any, asynchronous: bool
) -> None:
    """An injection that raises or returns nonsense is an error of the step and spoils no other."""
    rb = connect(step_timeout=5.0, injections=[Broken(give)])
    answer, model, middleware = await answer_of(rb, asynchronous)
    await rb.aclose()
    assert answer == vanilla()
    assert model.calls == STEPS + 1
    assert middleware.step_log[0].injection_sources == ["E3Injection"]
    assert all(any("Broken" in error for error in entry.errors) for entry in middleware.step_log)


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "sync"])
async def test_c8_guidance_of_an_earlier_step_is_not_repeated_when_preparing_fails(
    server: Standin, connect: Connect, monkeypatch: pytest.MonkeyPatch, asynchronous: bool
) -> None:
    """A step that could not be prepared gets no guidance, rather than that of the step before."""
    server.patterns = {"e1": [], "e2": [], "e3": [pattern("e3", instruction="Only once.")]}
    rb = connect(step_timeout=5.0)

    def broken(text: str) -> float:
        raise ValueError("a bug of ours")

    monkeypatch.setattr("reasonblocks.steering.plan.score_step", broken)
    _, model, middleware = await answer_of(rb, asynchronous)
    await rb.aclose()
    assert "Only once." in (model.blocks[0] or "")
    assert model.blocks[1:] == [None] * STEPS
    assert [entry.injections for entry in middleware.step_log[1:]] == [[]] * STEPS
    assert all(any("prepare" in error for error in entry.errors) for entry in middleware.step_log[1:])


async def test_c8_one_pattern_that_cannot_be_rendered_spoils_no_other(
    server: Standin, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one pattern cannot be rendered, the guidance of the other sources still reaches the model."""
    import reasonblocks.steering.compose as place

    render = place.render_pattern

    def picky(tier: str, model_id: str, fields: Any) -> str:
        if fields.get("instruction") == "unrenderable":
            raise TypeError("a bug of ours")
        return render(tier, model_id, fields)

    monkeypatch.setattr(place, "render_pattern", picky)
    server.patterns = {
        "e1": [],
        "e2": [],
        "e3": [pattern("e3", instruction="unrenderable"), pattern("e3", instruction="Fine.")],
    }
    rb = connect(step_timeout=5.0)
    _, model, _ = await answer_of(rb)
    await rb.aclose()
    assert "Fine." in (model.blocks[0] or "")


# -- the budget ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "sync"])
async def test_c8_step_timeout_bounds_the_time_before_the_first_call(
    server: Standin, connect: Connect, asynchronous: bool
) -> None:
    """A server that never answers costs the first model call no more than the budget."""
    server.fault("*", Fault(black_hole=True))
    rb = connect(step_timeout=0.5)
    model = ScriptedModel(["done"])
    agent = create_agent(model, [lookup], middleware=[rb.middleware()])
    began = time.monotonic()
    await ask(agent, asynchronous)
    took = time.monotonic() - began
    assert 0.4 < took < 4.0
    server.drop_connections()
    await server.await_for(lambda: len(server.received("retrieve")) == 1)


async def test_c8_the_budget_is_one_for_monitors_and_retrieval_together(server: Standin, connect: Connect) -> None:
    """What the monitors took is no longer there for the retrievals."""
    server.fault("evaluate", Fault(latency=1.0))
    server.fault("retrieve", Fault(latency=30.0, when=lambda request: request.body["tier"] != "e3"))
    rb = connect(step_timeout=1.5)
    began = time.monotonic()
    _, _, middleware = await answer_of(rb, steps=1)
    took = time.monotonic() - began
    assert took < 1.0 + 1.5, "two budgets were spent on one step"
    assert any("late" in error for error in middleware.step_log[1].errors)
    assert middleware.step_log[1].composite is not None, "what arrived in time is used"


async def test_c24_what_is_late_is_cancelled_and_what_arrived_is_used(server: Standin, connect: Connect) -> None:
    """One retrieval that hangs does not cost the others their answer, and its request is given up."""
    server.evaluate = lambda steps, body: healthy(composite=0.5)
    server.fault("retrieve", Fault(black_hole=True, when=lambda request: request.body["tier"] == "e1"))
    rb = connect(step_timeout=0.8)
    _, model, middleware = await answer_of(rb, steps=1)
    assert "E2Injection" in middleware.step_log[1].injection_sources
    assert [error for error in middleware.step_log[1].errors if "E1Injection" in error]
    assert model.blocks[1] is not None
    await server.await_for(lambda: server.in_flight == 0)
    await rb.aclose()


async def test_c24_what_is_late_is_counted_and_logged_once(
    server: Standin, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """A late answer is a failure like any other: one line in the log, and a count."""
    server.fault("evaluate", Fault(black_hole=True))
    rb = connect(step_timeout=0.3)
    _, _, middleware = await answer_of(rb)
    assert any("late" in error for error in middleware.step_log[1].errors)
    logged = causes(caplog)
    assert [count for cause, count in logged.items() if "MonitorSteeringInjection" in cause] == [1]
    assert sum(count for cause, count in incidents.counts.items() if "MonitorSteeringInjection" in cause) >= 2
    await rb.aclose()


async def test_c8_retrievals_run_side_by_side(server: Standin, connect: Connect) -> None:
    """Three slow retrievals take as long as one of them."""
    server.evaluate = lambda steps, body: healthy(composite=0.5)
    server.patterns = {"e1": [], "e2": [], "e3": []}
    server.fault("retrieve", Fault(latency=0.5))
    rb = connect(step_timeout=10.0)
    await answer_of(rb, steps=1)
    second_step = [request.at for request in server.received("retrieve")][1:]
    assert len(second_step) == 3
    assert max(second_step) - min(second_step) < 0.45, "one waited for the other"
    await rb.aclose()


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "sync"])
async def test_c8_after_a_used_up_budget_the_next_steps_get_100_ms(
    server: Standin, connect: Connect, asynchronous: bool
) -> None:
    """Only one step pays the whole budget to a server that hangs."""
    server.fault("evaluate", Fault(black_hole=True))
    server.patterns = {"e1": [], "e2": [], "e3": []}
    rb = connect(step_timeout=2.0)
    began = time.monotonic()
    await answer_of(rb, asynchronous, steps=4)
    took = time.monotonic() - began
    assert took > 1.9
    assert took < 3.9, "a second step has paid the whole budget"
    server.drop_connections()


async def test_c8_a_step_that_succeeds_restores_the_budget(server: Standin, connect: Connect) -> None:
    """After an answer came within the 100 ms the next step may take the whole budget again."""
    rb = connect(step_timeout=2.0, e_traces_enabled=False)
    server.fault(
        "evaluate",
        Fault(black_hole=True, times=1),
        Fault(latency=0.0, times=1),
        Fault(latency=0.5, times=1),
    )
    _, _, middleware = await answer_of(rb, steps=3)
    assert [bool(entry.errors) for entry in middleware.step_log] == [False, True, False, False]
    assert middleware.step_log[3].composite is not None
    await rb.aclose()


async def test_c8_time_between_the_hooks_is_not_ours(server: Standin, connect: Connect) -> None:
    """A model or a tool that takes longer than the budget costs us nothing."""
    rb = connect(step_timeout=0.4)
    model = ScriptedModel(script(2), think=0.6)
    middleware = rb.middleware()
    agent = create_agent(model, [lookup], middleware=[middleware])
    await agent.ainvoke(QUESTION)
    assert [entry.errors for entry in middleware.step_log] == [[], [], []]
    assert all(entry.composite is not None for entry in middleware.step_log[1:])
    await rb.aclose()


class Blocking(BaseInjection):
    """A user's plain injection that takes its time."""

    def retrieve(self, state: TraceState) -> list[PendingInjection]:
        time.sleep(3.0)
        return [PendingInjection(text="too late")]


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "sync"])
async def test_c8_a_plain_injection_that_blocks_is_bounded_too(
    server: Standin, connect: Connect, asynchronous: bool
) -> None:
    """A user's blocking `retrieve` neither blocks the loop nor outlives the budget in the agent."""
    rb = connect(step_timeout=0.3, injections=[Blocking()], monitors_enabled=False, e_traces_enabled=False)
    began = time.monotonic()
    _, model, middleware = await answer_of(rb, asynchronous, steps=1)
    assert time.monotonic() - began < 2.5
    assert prompts(model) == {PROMPT}
    assert any("Blocking" in error for error in middleware.step_log[1].errors)
    await rb.aclose()


# -- retries and the breaker -----------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["unavailable", "server_error", "reset", "hang_up", "truncated"])
@pytest.mark.parametrize("route", LOOKUPS)
async def test_c8_a_lookup_that_fails_once_is_repeated_within_the_budget(
    server: Standin, connect: Connect, route: str, fault: str
) -> None:
    """A passing fault is not noticed: the lookup is repeated, and its answer used."""
    server.fault(route, replace(EVERY_FAULT[fault], times=1))
    rb = connect(step_timeout=5.0)
    _, model, middleware = await answer_of(rb, steps=1)
    assert [entry.errors for entry in middleware.step_log] == [[], []]
    assert model.blocks[0] is not None
    assert middleware.step_log[1].composite is not None
    await rb.aclose()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_c8_a_refusal_is_not_repeated(server: Standin, connect: Connect, status: int) -> None:
    """An answer that will not change is asked for once."""
    server.fault("retrieve", Fault(status=status))
    rb = connect(step_timeout=5.0)
    model = ScriptedModel(["done"])
    agent = create_agent(model, [lookup], middleware=[rb.middleware()])
    await agent.ainvoke(QUESTION)
    assert len(server.received("retrieve")) == 1
    await rb.aclose()


async def test_c8_retries_end_with_the_budget(server: Standin, connect: Connect) -> None:
    """No attempt of a lookup starts after the step's budget, and a few are enough."""
    server.fault("retrieve", Fault(status=503))
    rb = connect(step_timeout=0.5, live_streaming_enabled=False)
    model = ScriptedModel(["done"], think=0.5)
    agent = create_agent(model, [lookup], middleware=[rb.middleware()])
    await agent.ainvoke(QUESTION)
    arrivals = [request.at for request in server.received("retrieve")]
    assert 2 <= len(arrivals) <= 8
    assert arrivals[-1] - arrivals[0] < 0.5
    await rb.aclose()


async def test_c8_retry_after_is_honoured_within_the_budget(server: Standin, connect: Connect) -> None:
    """A rate-limited lookup waits as long as the server says, and its answer is used."""
    server.fault("retrieve", Fault(status=429, retry_after=0.7, times=1))
    rb = connect(step_timeout=5.0)
    _, model, _ = await answer_of(rb, steps=1)
    first, second = [request.at for request in server.received("retrieve")][:2]
    assert second - first >= 0.7
    assert model.blocks[0] is not None
    await rb.aclose()


@pytest.mark.parametrize("retry_after", [3600, "inf", "1e400"])
async def test_c8_a_retry_after_beyond_the_budget_is_not_waited_for(
    server: Standin, connect: Connect, retry_after: Any
) -> None:
    """A rate limit longer than the budget ends the lookup at once, without a second request."""
    server.fault("retrieve", Fault(status=429, retry_after=retry_after))
    rb = connect(step_timeout=8.0)
    model = ScriptedModel(["done"])
    agent = create_agent(model, [lookup], middleware=[rb.middleware()])
    began = time.monotonic()
    await agent.ainvoke(QUESTION)
    assert time.monotonic() - began < 4.0
    assert len(server.received("retrieve")) == 1
    await rb.aclose()


@pytest.mark.parametrize("retry_after", ["nan", "-5", "soon", "Wed, 21 Oct 2015 07:28:00 GMT", ""])
async def test_c8_a_retry_after_that_is_no_number_does_no_harm(
    server: Standin, connect: Connect, retry_after: str
) -> None:
    """An odd `Retry-After` is ignored, and the lookup is repeated as usual."""
    server.fault("retrieve", Fault(status=429, retry_after=retry_after, times=1))
    rb = connect(step_timeout=5.0)
    _, model, _ = await answer_of(rb, steps=1)
    assert model.blocks[0] is not None
    await rb.aclose()


@pytest.mark.parametrize("asynchronous", ASYNC_AND_SLOWLY_SYNC)
@pytest.mark.parametrize("fault", [name for name in EVERY_FAULT if name not in ("refuse", *LATE)])
async def test_c8_the_breaker_opens_after_three_failed_operations(
    server: Standin, connect: Connect, fault: str, asynchronous: bool
) -> None:
    """After three failed operations in a row nothing is asked any more, and the step's errors say why."""
    server.fault("evaluate", EVERY_FAULT[fault])
    rb = connect(e_traces_enabled=False)
    _, _, middleware = await answer_of(rb, asynchronous, steps=6)
    assert rb.stats()["breaker_open"]
    errors = [" ".join(entry.errors) for entry in middleware.step_log]
    assert ["breaker" in error for error in errors] == [False] * 4 + [True] * 3
    await rb.aclose()


async def test_c8_an_open_breaker_stops_the_requests_and_a_probe_closes_it(server: Standin, connect: Connect) -> None:
    """While open no lookup is sent; after the cool-down one probe is, and its success closes the breaker."""
    server.fault("evaluate", Fault(status=404))
    rb = connect(step_timeout=5.0, e_traces_enabled=False)
    await answer_of(rb, steps=3)
    assert server.count("evaluate") == 3
    await answer_of(rb, steps=3)
    assert server.count("evaluate") == 3
    server.clear_faults()
    await asyncio.sleep(1.2)
    _, _, middleware = await answer_of(rb, steps=3)
    assert not rb.stats()["breaker_open"]
    assert [entry.errors for entry in middleware.step_log] == [[]] * 4
    assert server.count("evaluate", 200) == 3
    await rb.aclose()


async def test_c8_a_probe_that_fails_keeps_the_breaker_open(server: Standin, connect: Connect) -> None:
    """After the cool-down a server that still fails gets one request, not one per step and run."""
    server.fault("evaluate", Fault(status=404))
    rb = connect(step_timeout=5.0, e_traces_enabled=False)
    await answer_of(rb, steps=3)
    await asyncio.sleep(1.2)
    before = server.count("evaluate")
    await asyncio.gather(*(answer_of(rb, steps=2) for _ in range(5)))
    assert server.count("evaluate") == before + 1
    assert rb.stats()["breaker_open"]
    await rb.aclose()


async def test_c8_two_failures_and_a_success_do_not_open_the_breaker(server: Standin, connect: Connect) -> None:
    """Only failures in a row count."""
    numbers = count(1)
    server.fault("evaluate", Fault(status=404, when=lambda request: next(numbers) % 3 != 0))
    rb = connect(step_timeout=5.0, e_traces_enabled=False)
    await answer_of(rb, steps=9)
    assert server.count("evaluate") == 9
    assert not rb.stats()["breaker_open"]
    await rb.aclose()


async def test_c8_a_probe_cancelled_with_its_agent_does_not_block_the_next_one(
    server: Standin, connect: Connect
) -> None:
    """An agent that is cancelled while it probes leaves the probing to the next."""
    server.fault("evaluate", Fault(status=404))
    rb = connect(step_timeout=30.0, e_traces_enabled=False)
    await answer_of(rb, steps=3)
    server.fault("evaluate", Fault(black_hole=True))
    await asyncio.sleep(1.2)
    probing = asyncio.create_task(answer_of(rb, steps=1))
    await server.await_for(lambda: server.count("evaluate") == 4)
    probing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probing
    server.clear_faults()
    _, _, middleware = await answer_of(rb, steps=2)
    assert [entry.errors for entry in middleware.step_log] == [[], [], []]
    await rb.aclose()


# -- what users see ----------------------------------------------------------------------------------------


async def test_c8_a_wrong_key_is_logged_once_with_a_hint(
    server: Standin, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """A refused key gives the advice to check it, once for each place and never with the key itself."""
    rb = connect(step_timeout=5.0)
    server.key = "rb_test_another"
    answer, _, _ = await answer_of(rb, steps=6)
    await answer_of(rb, steps=6)
    await rb.aclose()
    hints = [record.getMessage() for record in caplog.records if "check the API key" in record.getMessage()]
    assert hints
    assert len(hints) == len({hint.split(":")[1] for hint in hints})
    assert answer == vanilla(6)
    assert "rb_test_standin" not in caplog.text


async def test_c8_a_wrong_key_is_reported_although_another_refusal_came_before(
    server: Standin, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """A 401 is another cause than the 404 that the same lookup met before, and its hint is not swallowed."""
    server.fault("*", Fault(status=404))
    rb = connect(step_timeout=5.0)
    await answer_of(rb, steps=1)
    server.fault("*", Fault(status=401))
    other = connect(step_timeout=5.0)
    await answer_of(other, steps=1)
    assert "check the API key" in caplog.text
    await other.aclose()
    await rb.aclose()


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "sync"])
async def test_c8_disabled_is_a_no_op(
    server: Standin, connect: Connect, monkeypatch: pytest.MonkeyPatch, asynchronous: bool
) -> None:
    """`REASONBLOCKS_DISABLED=1` sends nothing, changes nothing and records nothing; unset, the next run works."""
    rb = connect(step_timeout=5.0)
    monkeypatch.setenv("REASONBLOCKS_DISABLED", "1")
    answer, model, middleware = await answer_of(rb, asynchronous)
    assert answer == vanilla()
    assert {type(content) for content in model.systems} == {str}
    assert middleware.step_log == []
    assert server.requests == []
    assert server.connections_total == 0
    monkeypatch.delenv("REASONBLOCKS_DISABLED")
    _, model, _ = await answer_of(rb, asynchronous)
    assert model.blocks[0] is not None
    await rb.aclose()


async def test_c8_the_errors_of_a_step_are_in_its_event(server: Standin, connect: Connect) -> None:
    """What failed before a model call is visible in the step's log entry and in its event alike."""
    server.fault("evaluate", Fault(status=422))
    rb = connect(step_timeout=5.0)
    _, _, middleware = await answer_of(rb, steps=2)
    await rb.aclose()
    (run,) = server.runs.values()
    sent = [run.steps[index]["metadata"]["reasonblocks"]["errors"] for index in range(3)]
    assert sent == [entry.errors for entry in middleware.step_log]
    assert sent[0] == []
    assert all("422" in sent[index][0] for index in (1, 2))


async def test_c7_c8_the_history_is_not_modified_by_a_failing_step(server: Standin, connect: Connect) -> None:
    """Whatever fails, the model sees the messages of a vanilla agent."""
    server.fault("*", Fault(garbage=True))
    plain = ScriptedModel(script(STEPS))
    await create_agent(plain, [lookup], system_prompt=PROMPT).ainvoke(QUESTION)
    _, model, _ = await answer_of(connect())
    without_system = [[m for m in request if not isinstance(m, SystemMessage)] for request in model.requests]
    expected = [[m for m in request if not isinstance(m, SystemMessage)] for request in plain.requests]
    assert [shown(request) for request in without_system] == [shown(request) for request in expected]


async def test_c8_an_odd_reply_of_the_model_breaks_nothing(server: Standin, connect: Connect) -> None:
    """Replies with broken text, odd blocks or odd arguments are answered and delivered as any other."""
    odd = [
        AIMessage(content="\ud800 broken", tool_calls=[{"name": "lookup", "args": {"key": "\udfff"}, "id": "1"}]),
        AIMessage(
            content=[{"type": "image", "url": "x"}, {"type": "text", "text": "n"}, "y"],
            tool_calls=[{"name": "lookup", "args": {"key": "2"}, "id": "2"}],
        ),
        AIMessage(content="x" * 100_000, tool_calls=[{"name": "lookup", "args": {"key": "\x00"}, "id": "3"}]),
        AIMessage(content=[], tool_calls=[{"name": "lookup", "args": {"key": "4"}, "id": "4"}]),
        AIMessage(content=""),
    ]
    rb = connect(step_timeout=5.0)
    model = ScriptedModel(odd)
    middleware = rb.middleware(run_id="odd")
    await create_agent(model, [lookup], middleware=[middleware]).ainvoke(QUESTION)
    await rb.aclose()
    assert model.calls == 5
    assert sorted(server.runs["odd"].steps) == [0, 1, 2, 3, 4]
    assert server.violations == []
    assert [entry.errors for entry in middleware.step_log] == [[]] * 5


def test_c8_debug_logging_adds_no_lines(server: Standin, connect: Connect, caplog: pytest.LogCaptureFixture) -> None:
    """With logging at DEBUG a cause is still logged once."""
    caplog.set_level(logging.DEBUG, "reasonblocks")
    server.fault("evaluate", Fault(status=500))
    agent = create_agent(ScriptedModel(script(6)), [lookup], middleware=[connect().middleware()])
    agent.invoke(QUESTION)
    assert set(causes(caplog).values()) == {1}
