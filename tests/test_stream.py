"""The live stream: every event of every run arrives, once and in order, whatever happens on the way."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain.agents import create_agent

from reasonblocks import ReasonBlocks
from reasonblocks.runtime.contain import incidents
from reasonblocks.runtime.supervisor import THREAD_NAME
from support.agents import ScriptedModel, call, complaining_tool, failing_tool, lookup, make_tool, say, script, thought
from support.standin import Fault, Run, Standin, healthy, inject

QUESTION: Any = {"messages": [("user", "What is the value?")]}
PATIENCE = 8.0
OLD: tuple[str, ...] = ()
NEW = ("events", "incremental")

Connect = Callable[..., ReasonBlocks]


@pytest.fixture(autouse=True)
def no_incidents_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test sees its own causes as new ones."""
    monkeypatch.setattr(incidents, "counts", {})


@pytest.fixture(params=[OLD, NEW], ids=["old", "new"])
def server(request: pytest.FixtureRequest) -> Iterator[Standin]:
    """A server of either generation."""
    with Standin(capabilities=request.param) as standin:
        yield standin


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Build a ReasonBlocks that is closed when the test is over."""
    made: list[tuple[ReasonBlocks, Standin]] = []

    def make(standin: Standin, **settings: Any) -> ReasonBlocks:
        settings = {"step_timeout": 5.0, "base_url": standin.url} | settings
        made.append((ReasonBlocks(standin.key, **settings), standin))
        return made[-1][0]

    yield make
    for rb, standin in made:
        standin.clear_faults()
        with contextlib.suppress(RuntimeError):  # the test has stopped its server already
            standin.drop_connections()
        rb.close()


def timeline(steps: int, outcome: str = "success") -> list[str]:
    """Everything a run of so many steps sends, in order."""
    return ["run_start", *(f"step {index}" for index in range(steps)), f"run_finish {outcome}"]


def arrived(run: Run) -> list[str]:
    """What arrived of a run, repetitions aside, in the order of the first arrival."""
    return list(dict.fromkeys(run.timeline))


async def run_agent(rb: ReasonBlocks, run_id: str, steps: int = 3, **facts: Any) -> Any:
    """Run one agent of so many lookups to its end; it makes one more model call than that."""
    middleware = rb.middleware(run_id=run_id, **facts)
    agent = create_agent(ScriptedModel(script(steps)), [lookup], middleware=[middleware])
    await agent.ainvoke(QUESTION)
    return middleware


async def know_capabilities(rb: ReasonBlocks, standin: Standin) -> None:
    """Wait until the client has heard what the server offers."""
    await run_agent(rb, "warm-up", 0)
    await standin.await_for(lambda: standin.count("health", 200))
    await standin.await_for(lambda: rb._backend.capabilities is not None)
    await rb.aclose()
    standin.forget()


# -- order and content -------------------------------------------------------------------------------------


@pytest.mark.parametrize("asynchronous", [True, False], ids=["async", "sync"])
async def test_c34_the_events_of_a_run_arrive_in_order(server: Standin, connect: Connect, asynchronous: bool) -> None:
    """run_start, the steps from 0, then run_finish, each once."""
    rb = connect(server)
    agent = create_agent(ScriptedModel(script(5)), [lookup], middleware=[rb.middleware(run_id="a")])
    if asynchronous:
        await agent.ainvoke(QUESTION)
    else:
        await asyncio.to_thread(agent.invoke, QUESTION)
    await rb.aclose()
    assert server.runs["a"].timeline == timeline(6)
    assert server.violations == []


async def test_c34_a_step_says_what_its_own_call_did(server: Standin, connect: Connect) -> None:
    """Step i holds thought, action, arguments and observation of call i, its tokens, and what was injected into it."""
    server.evaluate = lambda steps, body: inject("Slow down.")
    rb = connect(server, e_traces_enabled=False)
    replies = [
        say(thought(0), call("lookup", key="one"), input_tokens=7, output_tokens=3, cache_read_tokens=2),
        say(thought(1), call("lookup", key="two"), call("complaining_tool")),
        "done",
    ]
    agent = create_agent(
        ScriptedModel(replies), [lookup, complaining_tool], middleware=[rb.middleware(run_id="a", metadata={"k": 1})]
    )
    await agent.ainvoke(QUESTION)
    await rb.aclose()
    run = server.runs["a"]
    first, second, last = (run.steps[index] for index in range(3))
    assert (first["thought"], first["action"], first["action_input"]) == (thought(0), "lookup", '{"key":"one"}')
    assert (first["observation"], first["is_error"]) == ("record one: value=42", False)
    assert (first["tokens"], first["input_tokens"], first["output_tokens"], first["cache_read_tokens"]) == (10, 7, 3, 2)
    assert first["intervention_texts"] == []
    assert second["action"] == "lookup, complaining_tool"
    assert second["observation"] == "record two: value=42\n\nno such record"
    assert second["is_error"] is True
    assert second["intervention_texts"] == ["Slow down."]
    assert second["injection_sources"] == ["MonitorSteeringInjection"]
    assert second["monitors_fired"] == ["semantic_loop"]
    assert (last["thought"], last["action"], last["observation"]) == ("done", None, None)
    details = second["metadata"]["reasonblocks"]
    wanted = "composite scores difficulty fsm_state gate candidates skipped_reason errors latency_ms".split()
    assert set(wanted) <= set(details)
    assert run.start is not None
    assert run.start["metadata"] == {"k": 1}


async def test_c34_a_step_is_sent_when_its_tools_have_answered(server: Standin, connect: Connect) -> None:
    """A step goes out before the run is over, but not before its observation is there."""
    rb = connect(server)
    gate = asyncio.Event()

    async def slow_tool() -> str:
        await gate.wait()
        return "opened"

    tool = make_tool("slow_tool", slow_tool)
    replies = [say("First.", call("lookup", key="a")), say("Second.", call("slow_tool")), "done"]
    agent = create_agent(ScriptedModel(replies), [lookup, tool], middleware=[rb.middleware(run_id="a")])
    running = asyncio.create_task(agent.ainvoke(QUESTION))
    await server.await_for(lambda: server.runs["a"].steps[0], PATIENCE)
    await asyncio.sleep(0.3)
    assert server.runs["a"].timeline == ["run_start", "step 0"]
    gate.set()
    await running
    await rb.aclose()
    assert server.runs["a"].steps[1]["observation"] == "opened"
    assert server.runs["a"].timeline == timeline(3)


async def test_c34_redact_runs_before_anything_leaves_the_process(server: Standin, connect: Connect) -> None:
    """What `redact` removed is in no event, no evaluation and no retrieval."""

    def redact(event: dict[str, Any]) -> dict[str, Any]:
        hidden = {name: value.replace("SECRET", "***") for name, value in event.items() if isinstance(value, str)}
        return event | hidden

    rb = connect(server, redact=redact)
    replies = [say(f"SECRET {number}", call("lookup", key="SECRET")) for number in range(3)]
    agent = create_agent(
        ScriptedModel([*replies, "done SECRET"]), [lookup], middleware=[rb.middleware(run_id="a", task="SECRET")]
    )
    await agent.ainvoke(QUESTION)
    await rb.aclose()
    assert server.runs["a"].timeline == timeline(4)
    assert "SECRET" not in str([request.body for request in server.requests])
    assert "***" in str(server.bodies("evaluate"))


@pytest.mark.parametrize(
    ("told", "redact", "heard"),
    [
        ("", None, "What is the value?"),
        ("Find the value", None, "Find the value"),
        ("Find it", lambda event: event | {"task": event["task"].upper()} if "task" in event else event, "FIND IT"),
        ("", lambda event: event, None),
        ("Find it", lambda event: None if event["type"] == "run_start" else event, None),
    ],
    ids=["the request", "as told", "redacted", "not redacted", "dropped"],
)
async def test_a_server_that_knows_tasks_is_told_it_once(
    connect: Connect, told: str, redact: Any, heard: str | None
) -> None:
    """With the first steps of a run: what the middleware was told, else what the person asked, never unredacted."""
    with Standin(capabilities=(*NEW, "task")) as standin:
        rb = connect(standin, redact=redact)
        middleware = rb.middleware(task=told)
        await know_capabilities(rb, standin)
        replies = [say(f"Thought {number}.", call("lookup", key="k")) for number in range(3)]
        agent = create_agent(ScriptedModel([*replies, "done"]), [lookup], middleware=[middleware])
        await agent.ainvoke(QUESTION)
        await rb.aclose()
        tasks = [body.get("task") for body in standin.bodies("evaluate")]
        assert tasks == ([heard] if heard else [""]) + [None] * (len(tasks) - 1)
        assert len(tasks) > 1
        assert standin.violations == []


async def test_c34_an_event_that_redact_drops_is_not_sent_and_holds_nothing_up(
    server: Standin, connect: Connect
) -> None:
    """`redact` may return None for one event; the others arrive."""
    rb = connect(server, redact=lambda event: None if event.get("step_index") == 1 else event)
    await run_agent(rb, "a", 3)
    await rb.aclose()
    assert arrived(server.runs["a"]) == ["run_start", "step 0", "step 2", "step 3", "run_finish success"]


async def test_c34_a_redact_that_returns_odd_values_spoils_no_later_step(server: Standin, connect: Connect) -> None:
    """Numbers where the wire wants text cost that step at most: the steps after it are evaluated and delivered."""

    def redact(event: dict[str, Any]) -> dict[str, Any]:
        return event | {"observation": 5} if event.get("step_index") == 0 else event

    rb = connect(server, redact=redact)
    middleware = await run_agent(rb, "a", 3)
    await rb.aclose()
    assert {"step 1", "step 2", "step 3", "run_finish success"} <= set(server.runs["a"].timeline)
    assert middleware.step_log[3].errors == []
    assert [step["thought"] for step in server.evaluations[-1].steps][-2:] == [thought(1), thought(2)]


@pytest.mark.parametrize("failure", ["model", "tool", "cancelled"])
async def test_c6_a_failed_run_is_finished_and_its_last_step_delivered(
    server: Standin, connect: Connect, failure: str
) -> None:
    """A run that ends by an exception sends its open step and a finish with the exception's type within 5 s."""
    rb = connect(server)
    waiting = asyncio.Event()

    async def wait_for_ever() -> str:
        waiting.set()
        await asyncio.Event().wait()
        return ""

    tools = [lookup, failing_tool, make_tool("wait_for_ever", wait_for_ever)]
    endings: dict[str, Any] = {
        "model": RuntimeError("overloaded"),
        "tool": say("Now.", call("failing_tool")),
        "cancelled": say("Now.", call("wait_for_ever")),
    }
    middleware = rb.middleware(run_id="a")
    agent = create_agent(
        ScriptedModel([say("First.", call("lookup", key="a")), endings[failure]]), tools, middleware=[middleware]
    )
    running = asyncio.create_task(agent.ainvoke(QUESTION))
    if failure == "cancelled":
        await waiting.wait()
        running.cancel()
    with pytest.raises((RuntimeError, asyncio.CancelledError)):
        await running
    steps = 1 if failure == "model" else 2
    kind = "CancelledError" if failure == "cancelled" else "RuntimeError"
    await server.await_for(lambda: server.runs["a"].finishes, PATIENCE)
    assert server.runs["a"].timeline == timeline(steps, f"failure: {kind}")
    await rb.aclose()


async def test_c5_the_context_manager_drains_on_exit(server: Standin, connect: Connect) -> None:
    """When `async with middleware` is left, everything has arrived."""
    rb = connect(server)
    async with rb.middleware(run_id="a") as middleware:
        agent = create_agent(ScriptedModel(script(4)), [lookup], middleware=[middleware])
        await agent.ainvoke(QUESTION)
    assert server.runs["a"].timeline == timeline(5)
    await rb.aclose()


async def test_c34_without_streaming_nothing_is_sent(server: Standin, connect: Connect) -> None:
    """`live_streaming_enabled=False` sends no event and asks for no capabilities; steering goes on."""
    rb = connect(server, live_streaming_enabled=False)
    await run_agent(rb, "a")
    await rb.aclose()
    assert {request.route for request in server.requests} == {"/traces/retrieve", "/monitors/evaluate"}


# -- batches ---------------------------------------------------------------------------------------------


async def test_c34_events_go_in_batches_where_the_server_takes_them(capable_standin: Standin, connect: Connect) -> None:
    """Once the server has said `events`, no single route is used, and a batch carries several events."""
    rb = connect(capable_standin)
    await know_capabilities(rb, capable_standin)
    await asyncio.gather(*(run_agent(rb, f"run-{number}", 4) for number in range(10)))
    await rb.aclose()
    routes = {request.route for request in capable_standin.requests}
    assert not {route for route in routes if route.startswith("/monitor/runs")}
    assert capable_standin.count("events") < 70 / 3
    for number in range(10):
        assert capable_standin.runs[f"run-{number}"].timeline == timeline(5)


async def test_c34_health_is_asked_once(server: Standin, connect: Connect) -> None:
    """Many runs on one client ask once what the server offers."""
    rb = connect(server)
    for number in range(4):
        await run_agent(rb, f"run-{number}", 1)
    await rb.aclose()
    await run_agent(rb, "again", 1)
    await rb.aclose()
    assert server.count("health") == 1


async def test_c34_the_old_protocol_serves_until_health_has_answered(
    capable_standin: Standin, connect: Connect
) -> None:
    """A server that is slow to say what it offers gets the events in the meantime, and in order after it."""
    capable_standin.fault("health", Fault(latency=0.7))
    rb = connect(capable_standin)
    middleware = rb.middleware(run_id="a")
    model = ScriptedModel(script(8), think=0.15)
    await create_agent(model, [lookup], middleware=[middleware]).ainvoke(QUESTION)
    await rb.aclose()
    assert capable_standin.runs["a"].timeline == timeline(9)
    assert capable_standin.count("run_start") == 1
    assert capable_standin.count("events") >= 1


@pytest.mark.parametrize("status", [404, 405])
async def test_c34_capabilities_that_vanish_lose_nothing(
    capable_standin: Standin, connect: Connect, status: int
) -> None:
    """A server replaced by an old one gets the batch it refused, and all that follows, by the single routes."""
    rb = connect(capable_standin)
    await know_capabilities(rb, capable_standin)
    capable_standin.capabilities = ()
    if status == 405:
        capable_standin.fault("events", Fault(status=405))
    await asyncio.gather(*(run_agent(rb, f"run-{number}", 3) for number in range(5)))
    await rb.aclose()
    for number in range(5):
        assert capable_standin.runs[f"run-{number}"].timeline == timeline(4)
    assert rb.stats()["dropped"] == {}
    assert capable_standin.count("events") == 1


@pytest.mark.parametrize("status", [400, 413, 422, 403])
async def test_c34_a_batch_that_is_refused_whole_does_not_take_good_events_with_it(
    capable_standin: Standin, connect: Connect, status: int
) -> None:
    """One event for which the whole batch is refused is dropped alone."""
    rb = connect(capable_standin)
    await know_capabilities(rb, capable_standin)

    def holds_bad(request: Any) -> bool:
        return any(event.get("thought") == thought(1) for event in request.body["events"])

    capable_standin.fault("events", Fault(status=status, when=holds_bad))
    await run_agent(rb, "a", 4)
    await rb.aclose()
    expected = [entry for entry in timeline(5) if entry != "step 1"]
    assert arrived(capable_standin.runs["a"]) == expected
    assert sum(rb.stats()["dropped"].values()) == 1


async def test_c34_entries_that_a_batch_rejects_are_counted_and_the_others_kept(
    capable_standin: Standin, connect: Connect
) -> None:
    """An event the server rejects inside a batch is dropped alone, counted, and not sent again."""
    rb = connect(capable_standin, redact=lambda event: event | ({"tokens": -5} if event.get("step_index") == 1 else {}))
    await know_capabilities(rb, capable_standin)
    await run_agent(rb, "a", 3)
    await rb.aclose()
    assert capable_standin.runs["a"].timeline == [entry for entry in timeline(4) if entry != "step 1"]
    assert sum(rb.stats()["dropped"].values()) == 1
    sent = [event for body in capable_standin.bodies("events") for event in body["events"]]
    assert sum(event.get("step_index") == 1 for event in sent) == 1


@pytest.mark.parametrize(
    "rejected",
    [None, "all", [None], ["x"], [{"index": "0"}], [{"index": 99}], [{"index": -1}], [{"index": True}], [{}], {}],
    ids=str,
)
async def test_c34_odd_rejections_neither_lose_nor_repeat_events(
    capable_standin: Standin, connect: Connect, rejected: Any
) -> None:
    """An answer to a batch with nonsense in `rejected` costs nothing: what was applied counts as sent."""
    rb = connect(capable_standin)
    await know_capabilities(rb, capable_standin)
    capable_standin.fault("events", Fault(answer={"accepted": 1, "rejected": rejected}, applied=True, times=2))
    await run_agent(rb, "a", 3)
    await rb.aclose()
    assert arrived(capable_standin.runs["a"]) == timeline(4)
    stats = rb.stats()
    assert stats["sent"] + sum(stats["dropped"].values()) == stats["enqueued"]


async def test_c34_a_big_batch_is_cut_below_the_body_cap(capable_standin: Standin, connect: Connect) -> None:
    """Steps with the longest texts the wire carries never make a body over 5 MB, and all arrive."""
    rb = connect(capable_standin, monitors_enabled=False, e_traces_enabled=False)
    await know_capabilities(rb, capable_standin)
    capable_standin.fault("events", Fault(latency=0.5, times=1))
    big = "ü€😀\x01" * 20_000

    async def big_tool(key: str) -> str:
        return big

    replies = [say(big, call("big_tool", key=f"{big}{number}")) for number in range(12)]
    agent = create_agent(
        ScriptedModel([*replies, "done"]), [make_tool("big_tool", big_tool)], middleware=[rb.middleware(run_id="a")]
    )
    await agent.ainvoke(QUESTION)
    await rb.aclose()
    assert arrived(capable_standin.runs["a"]) == timeline(13)
    assert max(request.size for request in capable_standin.requests) <= 5_000_000
    assert capable_standin.violations == []


# -- refusals of one event, by the single routes ---------------------------------------------------------


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
async def test_c34_a_refused_event_does_not_spoil_the_others(
    standin: Standin, connect: Connect, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A step the server refuses is dropped and counted; the run's other events arrive."""
    standin.fault("step", Fault(status=status, when=lambda request: request.body["step_index"] in (1, 2)))
    rb = connect(standin)
    await run_agent(rb, "a", 4)
    await rb.aclose()
    assert arrived(standin.runs["a"]) == ["run_start", "step 0", "step 3", "step 4", "run_finish success"]
    assert rb.stats()["dropped"] == {f"refused with {status}": 2}
    assert sum("telemetry" in record.getMessage() for record in caplog.records) == 1


async def test_c34_a_run_that_hangs_does_not_hold_up_another(standin: Standin, connect: Connect) -> None:
    """A server that never answers the events of one run still gets those of the others."""
    standin.fault("step", Fault(black_hole=True, when=lambda request: request.run_id == "stuck"))
    rb = connect(standin)
    await run_agent(rb, "stuck", 2)
    await asyncio.gather(*(run_agent(rb, f"run-{number}", 2) for number in range(4)))
    await standin.await_for(
        lambda: all(standin.runs[f"run-{number}"].timeline == timeline(3) for number in range(4)), 4.0
    )
    standin.clear_faults()
    standin.drop_connections()
    await rb.aclose()
    assert arrived(standin.runs["stuck"]) == timeline(3)


@pytest.mark.parametrize("capabilities", [OLD, NEW], ids=["old", "new"])
async def test_c34_deliveries_wait_as_long_as_the_server_says(connect: Connect, capabilities: tuple[str, ...]) -> None:
    """A rate-limited delivery is not repeated before `Retry-After` is over, and nothing is lost."""
    with Standin(capabilities) as server:
        rb = connect(server, e_traces_enabled=False, monitors_enabled=False)
        await know_capabilities(rb, server)
        route = "events" if capabilities else "run_start"
        server.fault(route, Fault(status=429, retry_after=1.5, times=1))
        await run_agent(rb, "a", 1)
        await rb.aclose()
        first, second = [request.at for request in server.received(route)][:2]
        assert server.runs["a"].timeline == timeline(2)
        assert second - first >= 1.4


# -- incremental evaluation ------------------------------------------------------------------------------


async def test_incremental_evaluation_sends_each_step_once(capable_standin: Standin, connect: Connect) -> None:
    """Where the server can continue a trace, each evaluation carries only what is new, at the right offset."""
    rb = connect(capable_standin, e_traces_enabled=False)
    await know_capabilities(rb, capable_standin)
    await run_agent(rb, "a", 12)
    await rb.aclose()
    bodies = capable_standin.bodies("evaluate")
    assert [(body["offset"], len(body["steps"])) for body in bodies] == [(index, 1) for index in range(12)]
    last = capable_standin.evaluations[-1].steps
    assert [step["thought"] for step in last] == [thought(index) for index in range(12)]
    assert capable_standin.violations == []


async def test_incremental_evaluation_costs_linear_bytes(connect: Connect) -> None:
    """Twice the steps cost about twice the bytes, while an old server is sent ever longer traces."""
    sizes: dict[tuple[bool, int], int] = {}
    for capabilities in (NEW, OLD):
        for steps in (10, 20):
            with Standin(capabilities) as server:
                rb = connect(server, e_traces_enabled=False)
                await know_capabilities(rb, server)
                await run_agent(rb, "a", steps)
                await rb.aclose()
                sizes[bool(capabilities), steps] = sum(request.size for request in server.received("evaluate"))
    assert sizes[True, 20] < 2.3 * sizes[True, 10]
    assert sizes[False, 20] > 3 * sizes[False, 10]


@pytest.mark.parametrize("keep", [0, 1, 3])
async def test_a_server_that_forgot_the_trace_is_sent_what_is_missing(
    capable_standin: Standin, connect: Connect, keep: int
) -> None:
    """After a 409 the client goes on from what the server holds, and the evaluation sees the whole trace."""
    rb = connect(capable_standin, e_traces_enabled=False)
    await know_capabilities(rb, capable_standin)

    async def forget(key: str) -> str:
        if key == "key-4":
            capable_standin.forget_trace("a", keep=keep)
        return key

    middleware = rb.middleware(run_id="a")
    tool = make_tool("lookup", forget)
    await create_agent(ScriptedModel(script(8)), [tool], middleware=[middleware]).ainvoke(QUESTION)
    await rb.aclose()
    assert capable_standin.count("evaluate", 409) == 1
    evaluated = [len(evaluation.steps) for evaluation in capable_standin.evaluations]
    assert evaluated == list(range(1, 9))
    assert [step["thought"] for step in capable_standin.evaluations[-1].steps] == [thought(i) for i in range(8)]
    assert [entry.errors for entry in middleware.step_log] == [[]] * 9


@pytest.mark.parametrize(
    "answer", [{"detail": "no"}, {"have": "many"}, {"have": -3}, {"have": 10**6}, {"have": None}, [], None], ids=str
)
async def test_an_odd_conflict_costs_that_step_only(capable_standin: Standin, connect: Connect, answer: Any) -> None:
    """A 409 that does not say what the server holds makes the client start from the beginning."""
    rb = connect(capable_standin, e_traces_enabled=False)
    await know_capabilities(rb, capable_standin)
    odd: list[Any] = [(409, answer)]
    capable_standin.evaluate = lambda steps, body: odd.pop() if len(steps) == 3 and odd else healthy()
    middleware = await run_agent(rb, "a", 5)
    await rb.aclose()
    assert [len(entry.errors) for entry in middleware.step_log] == [0] * 6
    assert len(capable_standin.evaluations[-1].steps) == 5


async def test_a_server_that_always_conflicts_is_given_up_within_the_step(
    capable_standin: Standin, connect: Connect
) -> None:
    """An endless disagreement about offsets ends after a few requests and is an error of the step."""
    rb = connect(capable_standin, e_traces_enabled=False)
    await know_capabilities(rb, capable_standin)
    capable_standin.evaluate = lambda steps, body: (409, {"detail": "no", "have": 7})
    middleware = await run_agent(rb, "a", 2)
    await rb.aclose()
    assert all(entry.errors for entry in middleware.step_log[1:])
    assert capable_standin.count("evaluate") <= 12


async def test_a_lost_answer_does_not_shift_the_offsets(capable_standin: Standin, connect: Connect) -> None:
    """Where the server took the steps but its answer was lost, no step is evaluated twice or left out."""
    rb = connect(capable_standin, e_traces_enabled=False)
    await know_capabilities(rb, capable_standin)
    capable_standin.fault(
        "evaluate", Fault(reset=True, applied=True, times=2, when=lambda request: request.body["offset"] == 2)
    )
    await run_agent(rb, "a", 6)
    await rb.aclose()
    last = capable_standin.evaluations[-1].steps
    assert [step["thought"] for step in last] == [thought(index) for index in range(6)]


async def test_incremental_that_vanishes_is_noticed(capable_standin: Standin, connect: Connect) -> None:
    """A server replaced by an old one, which ignores offsets, must not judge the end of a trace as the whole."""
    rb = connect(capable_standin, e_traces_enabled=False)
    await know_capabilities(rb, capable_standin)
    capable_standin.capabilities = ()
    await run_agent(rb, "a", 3)
    await capable_standin.await_for(lambda: capable_standin.count("events", 404))
    await capable_standin.await_for(lambda: not rb._backend.batches)
    await run_agent(rb, "b", 4)
    await rb.aclose()
    of_b = [len(evaluation.steps) for evaluation in capable_standin.evaluations][3:]
    assert of_b == [1, 2, 3, 4]


async def test_evaluations_of_concurrent_runs_do_not_mix(capable_standin: Standin, connect: Connect) -> None:
    """Each of many runs at once continues its own trace."""
    rb = connect(capable_standin, e_traces_enabled=False)
    await know_capabilities(rb, capable_standin)
    middleware = rb.middleware()
    agent = create_agent(ScriptedModel(script(6)), [lookup], middleware=[middleware])
    await asyncio.gather(
        *(agent.ainvoke(QUESTION, {"metadata": {"reasonblocks_run_id": f"run-{number}"}}) for number in range(8))
    )
    await rb.aclose()
    for number in range(8):
        mine = [body for body in capable_standin.bodies("evaluate") if body["run_id"] == f"run-{number}"]
        assert [(body["offset"], len(body["steps"])) for body in mine] == [(index, 1) for index in range(6)]
        assert capable_standin.runs[f"run-{number}"].timeline == timeline(7)


# -- outages ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["refuse", "reset", "hang_up", "503", "garbage", "black_hole"])
async def test_c34_an_outage_in_the_middle_loses_nothing(server: Standin, connect: Connect, fault: str) -> None:
    """After an outage of more than a second, in the middle of runs, everything arrives, in order."""
    rb = connect(server, step_timeout=0.2)
    broken = {
        "refuse": Fault(refuse=True),
        "reset": Fault(reset=True),
        "hang_up": Fault(hang_up=True),
        "503": Fault(status=503),
        "garbage": Fault(garbage=True),
        "black_hole": Fault(black_hole=True),
    }
    began = asyncio.Event()

    async def slow_lookup(key: str) -> str:
        began.set()
        await asyncio.sleep(0.3)
        return key

    tool = make_tool("lookup", slow_lookup)

    async def one(number: int) -> None:
        middleware = rb.middleware(run_id=f"run-{number}")
        await create_agent(ScriptedModel(script(4)), [tool], middleware=[middleware]).ainvoke(QUESTION)

    async def outage() -> None:
        await began.wait()
        await asyncio.sleep(0.2)
        server.fault("*", broken[fault])
        await asyncio.sleep(1.2)
        server.clear_faults()
        server.drop_connections()

    await asyncio.gather(outage(), *(one(number) for number in range(3)))
    await server.await_for(lambda: all(server.runs[f"run-{n}"].finishes for n in range(3)), PATIENCE)
    await rb.aclose()
    for number in range(3):
        assert arrived(server.runs[f"run-{number}"]) == timeline(5)
    stats = rb.stats()
    assert stats["dropped"] == {}
    assert stats["sent"] == stats["enqueued"] == 3 * 7


async def test_c34_a_lost_answer_repeats_an_event_but_changes_nothing(server: Standin, connect: Connect) -> None:
    """Where an event was applied and its answer lost it is sent again, and the run reads the same."""
    server.fault("*", Fault(reset=True, applied=True, rate=0.4))
    rb = connect(server, monitors_enabled=False, e_traces_enabled=False)
    await run_agent(rb, "a", 5)
    await server.await_for(lambda: server.runs["a"].finishes, PATIENCE)
    server.clear_faults()
    await rb.aclose()
    assert arrived(server.runs["a"]) == timeline(6)
    assert rb.stats()["sent"] == 8


async def test_c34_steering_goes_on_while_telemetry_is_down(server: Standin, connect: Connect) -> None:
    """Events that cannot be delivered do not open the breaker of the lookups."""
    for route in ("run_start", "step", "run_finish", "events", "health"):
        server.fault(route, Fault(status=503))
    rb = connect(server)
    middleware = await run_agent(rb, "a", 6)
    assert [entry.errors for entry in middleware.step_log] == [[]] * 7
    assert not rb.stats()["breaker_open"]


async def test_c34_telemetry_goes_on_while_the_breaker_is_open(server: Standin, connect: Connect) -> None:
    """Lookups that fail do not stop the events."""
    for route in ("retrieve", "evaluate"):
        server.fault(route, Fault(status=404))
    rb = connect(server)
    await run_agent(rb, "a", 6)
    assert rb.stats()["breaker_open"]
    await rb.aclose()
    assert server.runs["a"].timeline == timeline(7)


# -- closing and counting --------------------------------------------------------------------------------


def test_close_drains_and_leaves_everything_usable(server: Standin, connect: Connect) -> None:
    """After `close()` everything has arrived, no thread is left, and the next run works."""
    rb = connect(server)
    middleware = rb.middleware()
    agent = create_agent(ScriptedModel(script(3)), [lookup], middleware=[middleware])
    for _ in range(3):
        agent.invoke(QUESTION)
        rb.close()
        assert THREAD_NAME not in {thread.name for thread in threading.enumerate()}
    assert [run.timeline for run in server.runs.values()] == [timeline(4)] * 3


def test_close_of_the_middleware_drains_and_leaves_it_usable(server: Standin, connect: Connect) -> None:
    """After `middleware.close()` everything has arrived, and the next run works."""
    middleware = connect(server).middleware()
    agent = create_agent(ScriptedModel(script(3)), [lookup], middleware=[middleware])
    for number in range(1, 4):
        agent.invoke(QUESTION)
        middleware.close()
        assert [run.timeline for run in server.runs.values()] == [timeline(4)] * number


def test_closing_twice_and_without_a_run_is_fine(server: Standin, connect: Connect) -> None:
    """`close()` needs no run before it and may be repeated."""
    rb = connect(server)
    rb.close()
    rb.close()
    rb.middleware().close()
    assert server.requests == []


async def test_close_reports_runs_that_failed(server: Standin, connect: Connect) -> None:
    """`rb.aclose()` right after a failed run delivers its finish, as the middleware's own does."""
    rb = connect(server)
    agent = create_agent(ScriptedModel([RuntimeError("overloaded")]), [lookup], middleware=[rb.middleware(run_id="a")])
    with pytest.raises(RuntimeError):
        await agent.ainvoke(QUESTION)
    await rb.aclose()
    assert server.runs["a"].timeline == timeline(0, "failure: RuntimeError")


async def test_close_gives_up_in_time_and_keeps_what_it_could_not_deliver(server: Standin, connect: Connect) -> None:
    """With the server down `aclose()` ends after about 5 s; the events arrive when it is back."""
    rb = connect(server, step_timeout=0.1)
    server.refuse()
    await run_agent(rb, "a", 1)
    began = time.monotonic()
    await rb.aclose()
    assert 4.0 < time.monotonic() - began < 12.0
    server.accept()
    await run_agent(rb, "b", 1)
    await rb.aclose()
    assert arrived(server.runs["a"]) == timeline(2)
    assert arrived(server.runs["b"]) == timeline(2)


@pytest.mark.slow
def test_a_second_close_drains_although_the_first_was_in_vain(server: Standin, connect: Connect) -> None:
    """After an outage `close()` waits again, so that a server that is back gets its events."""
    rb = connect(server, step_timeout=0.1)
    server.refuse()
    middleware = rb.middleware(run_id="a")
    create_agent(ScriptedModel(script(1)), [lookup], middleware=[middleware]).invoke(QUESTION)
    middleware.close()
    server.accept()
    rb.close()
    assert arrived(server.runs["a"]) == timeline(2)


async def test_stats_count_every_event(server: Standin, connect: Connect) -> None:
    """Enqueued is sent plus dropped once everything is dealt with, and retries are counted."""
    rb = connect(server)
    assert rb.stats() == {
        "enqueued": 0,
        "sent": 0,
        "waiting": 0,
        "retried": 0,
        "spooled": {"now": 0, "ever": 0},
        "replayed": 0,
        "set_aside": 0,
        "dropped": {},
        "breaker_open": False,
    }
    route = "events" if server.capabilities else "step"
    await know_capabilities(rb, server)
    server.fault(route, Fault(status=503, times=2))
    await run_agent(rb, "a", 3)
    await rb.aclose()
    stats = rb.stats()
    assert stats["enqueued"] == stats["sent"] == 6 + 3
    assert stats["retried"] == 2
    assert stats["dropped"] == {}


async def test_stats_is_a_copy(server: Standin, connect: Connect) -> None:
    """Changing what `stats()` gave changes nothing of ours."""
    rb = connect(server)
    rb.stats()["dropped"]["mine"] = 1
    assert rb.stats()["dropped"] == {}


async def test_many_runs_at_once_arrive_whole(server: Standin, connect: Connect) -> None:
    """Fifty concurrent runs on one middleware each deliver their own events in order."""
    rb = connect(server, monitors_enabled=False, e_traces_enabled=False)
    middleware = rb.middleware()
    agent = create_agent(ScriptedModel(script(3)), [lookup], middleware=[middleware])
    await asyncio.gather(
        *(agent.ainvoke(QUESTION, {"metadata": {"reasonblocks_run_id": f"run-{number}"}}) for number in range(50))
    )
    await rb.aclose()
    assert sorted(server.runs) == sorted(f"run-{number}" for number in range(50))
    assert [run.timeline for run in server.runs.values()] == [timeline(4)] * 50
    assert server.violations == []


@pytest.mark.filterwarnings(
    "ignore:Direct attribute assignment:DeprecationWarning"
)  # LangChain silences it, not thread-safely
def test_posting_while_others_wait_for_the_drain_raises_nowhere(standin: Standin, connect: Connect) -> None:
    """Threads that post events while others flush neither raise nor lose or repeat an event."""
    rb = connect(standin, monitors_enabled=False, e_traces_enabled=False)
    agent = create_agent(ScriptedModel(["done"]), [lookup], middleware=[rb.middleware()])
    errors: list[BaseException] = []
    over = threading.Event()

    def post() -> None:
        try:
            for _ in range(25):
                agent.invoke(QUESTION)
        except BaseException as error:
            errors.append(error)

    def flush() -> None:
        try:
            while not over.is_set():
                rb._stream.flush(5.0)
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        posting = [threading.Thread(target=post) for _ in range(4)]
        flushing = [threading.Thread(target=flush) for _ in range(2)]
        for thread in posting + flushing:
            thread.start()
        for thread in posting:
            thread.join()
        over.set()
        for thread in flushing:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    rb.close()
    assert errors == []
    assert incidents.counts == {}
    assert [run.timeline for run in standin.runs.values()] == [timeline(1)] * 100


# -- events that cannot be written -----------------------------------------------------------------------


class Unspeakable:
    """A value whose text cannot be had."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    __str__ = __repr__


def self_reference() -> dict[str, Any]:
    """A value that contains itself."""
    value: dict[str, Any] = {}
    value["self"] = value
    return value


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1: 2, None: 3, (1, 2): 4},
        {"set"},
        b"bytes\xff",
        float("nan"),
        10**30,
        "\ud800",
        self_reference(),
        pytest.param(10**5000, id="10**5000"),
        pytest.param(Unspeakable(), id="unspeakable"),
        pytest.param({"deep": [Unspeakable()]}, id="deep-unspeakable"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_c41_metadata_that_cannot_be_written_stops_no_other_run(
    server: Standin, connect: Connect, value: Any
) -> None:
    """Whatever a user puts into the metadata, the events of this and of other runs arrive."""
    rb = connect(server, monitors_enabled=False, e_traces_enabled=False)
    await run_agent(rb, "odd", 1, metadata={"value": value})
    await run_agent(rb, "plain", 1)
    await server.await_for(lambda: server.runs["plain"].finishes and server.runs["odd"].finishes, 4.0)
    assert server.runs["plain"].timeline == timeline(2)
    assert {"step 0", "step 1", "run_finish success"} <= set(server.runs["odd"].timeline)
    await rb.aclose()
