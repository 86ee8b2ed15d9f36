"""What is recorded of a run: the step log, the step events, and who may see them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import anyio
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware
from langchain_core.messages import AIMessageChunk

from reasonblocks import ReasonBlocks
from reasonblocks.injections import BaseInjection
from reasonblocks.types import InjectionNotice, PendingInjection, StepLogEntry, TraceState
from support.agents import (
    Reply,
    ScriptedModel,
    call,
    complaining_tool,
    flaky,
    lookup,
    make_tool,
    say,
    script,
    thought,
)
from support.standin import Fault, Standin, healthy, inject

QUESTION: Any = {"messages": [("user", "What is it?")]}
SECRET = "tok-7f3a-secret"
TELEMETRY = ("run_start", "step", "finish", "events")

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
        server = settings.pop("server", standin)
        made.append(ReasonBlocks(server.key, base_url=server.url, **({"step_timeout": 10.0} | settings)))
        return made[-1]

    yield make
    for rb in made:
        rb.close()
    assert standin.violations == []


def agent_of(
    middleware: Any,
    replies: Sequence[Reply],
    *,
    tools: Sequence[Any] = (lookup,),
    outside: Sequence[AgentMiddleware[Any, Any, Any]] = (),
) -> tuple[Any, ScriptedModel]:
    model = ScriptedModel(replies)
    return create_agent(model, list(tools), system_prompt="Be brief.", middleware=[*outside, middleware]), model


def record(invoke: Invoke, rb: ReasonBlocks, replies: Sequence[Reply], **about: Any) -> tuple[list[Any], ScriptedModel]:
    """Runs an agent under the id `r`, delivers its events, and gives its step log and model."""
    tools = about.pop("tools", (lookup,))
    middleware = rb.middleware(run_id="r", **about)
    agent, model = agent_of(middleware, replies, tools=tools)
    invoke(agent)
    middleware.close()
    return middleware.step_log, model


def steps_of(server: Standin, run_id: str = "r") -> list[dict[str, Any]]:
    return list(server.runs[run_id].steps.values())


# -- C33: the step log -----------------------------------------------------------------------------

FIELDS = {
    "step",
    "timestamp",
    "difficulty",
    "fsm_state",
    "model_id",
    "injections",
    "injection_sources",
    "intervention_texts",
    "monitors_fired",
    "failure_type",
    "skipped_reason",
    "thought_preview",
    "tool_calls",
    "tokens",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "latency_ms",
    "composite",
    "scores",
    "errors",
}


def test_c33_one_entry_per_model_call_with_every_field(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Each call has an entry with what was decided before it and what came of it."""
    standin.evaluate = lambda steps, body: inject("Stop.", composite=0.7)
    began = time.time()
    log, _ = record(invoke, connect(), script(2))
    assert [entry.step for entry in log] == [0, 1, 2]
    assert all(began <= entry.timestamp <= time.time() for entry in log)
    assert [entry.timestamp for entry in log] == sorted(entry.timestamp for entry in log)
    first, second, last = log
    assert (first.difficulty, first.fsm_state, first.thought_preview, first.composite) == (None, "INIT", "", None)
    assert second.difficulty == ReasonBlocks.score_step(thought(0))
    assert (second.fsm_state, second.thought_preview) == ("NORMAL", thought(0))
    assert (second.model_id, second.tool_calls, last.tool_calls) == ("claude-sonnet-4-5", ["lookup"], [])
    assert (second.tokens, second.input_tokens, second.output_tokens, second.cache_read_tokens) == (120, 100, 20, 40)
    assert (second.monitors_fired, second.failure_type, second.composite) == (["semantic_loop"], "loop", 0.7)
    assert second.scores["semantic_loop"] == 0.9
    assert second.injection_sources == ["MonitorSteeringInjection", "E1Injection", "E2Injection"]
    assert [entry.errors for entry in log] == [[], [], []]
    assert "cool-down" in (last.skipped_reason or "") or "repeats" in (last.skipped_reason or "")


def test_c33_intervention_texts_are_the_block(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """The full texts of every source, in block order, are exactly what the model was shown."""
    standin.evaluate = lambda steps, body: inject(f"Advice {len(steps)}.")
    log, model = record(invoke, connect(), script(4))
    for entry, block in zip(log, model.blocks, strict=True):
        expected = "[REASONBLOCKS]\n" + "\n\n".join(entry.intervention_texts) if entry.intervention_texts else None
        assert block == expected
        assert len(entry.intervention_texts) == len(entry.injection_sources) == len(entry.injections)
    assert sum(bool(block) for block in model.blocks) >= 3


def test_c33_previews_are_short_and_texts_are_whole(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Previews have at most 150 characters, of the same beginning; the texts beside them are whole."""
    advice = "Look at the loader once more. " * 20
    standin.evaluate = lambda steps, body: inject(advice)
    log, _ = record(invoke, connect(e_traces_enabled=False), [say("Long. " * 100, call("lookup", key="a")), "done"])
    entry = log[1]
    assert entry.intervention_texts == [advice]
    assert len(entry.injections[0]) <= 150
    assert advice.startswith(entry.injections[0].rstrip("…"))
    assert len(entry.injections[0]) > 100
    assert len(entry.thought_preview) <= 150
    assert entry.thought_preview.startswith("Long. Long.")


def test_c33_latency_is_that_of_the_model_call(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """`latency_ms` covers the model's time and not that of our lookups."""
    standin.fault("retrieve", Fault(latency=0.8))
    middleware = connect().middleware()
    model = ScriptedModel(["done"], think=0.1)
    agent = create_agent(model, [], middleware=[middleware])
    begun = time.perf_counter()
    invoke(agent)
    elapsed_ms = (time.perf_counter() - begun) * 1000
    assert middleware.step_log[0].injection_sources == ["E3Injection"]
    # Compared with the whole of this run, because a busy machine stretches either part.
    assert 99 <= middleware.step_log[0].latency_ms <= elapsed_ms - 790


def test_c33_as_dict_is_json(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """`as_dict()` has exactly the fields of the contract, as plain values, and JSON brings them back unchanged."""
    standin.evaluate = lambda steps, body: inject("Stop.", fired=["tide_watch"], failure_type="tide")
    standin.fault("retrieve", Fault(garbage=True, times=1))
    log, _ = record(invoke, connect(), script(3))
    for entry in log:
        plain = entry.as_dict()
        assert plain.keys() == FIELDS
        assert json.loads(json.dumps(plain)) == plain
        assert {name: getattr(entry, name) for name in FIELDS} == plain
    assert log[0].errors


def test_c33_a_call_that_only_raised_is_no_step(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """A step exists once a model call returned: failed attempts leave no entry and no event."""
    middleware = connect().middleware(run_id="r")
    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    agent, model = agent_of(middleware, [flaky(ConnectionError("gone"), "done", times=2)], outside=[retry])
    invoke(agent)
    middleware.close()
    assert model.calls == 3
    assert [entry.step for entry in middleware.step_log] == [0]
    assert standin.runs["r"].step_order == [0]


def test_c33_reasoning_is_part_of_the_thought(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Reasoning blocks are scored, shown and sent with the text."""
    reply = say("So I look.", call("lookup", key="a"), reasoning="Perhaps it failed.")
    log, _ = record(invoke, connect(), [reply, "done"])
    assert log[1].thought_preview == "Perhaps it failed.\nSo I look."
    assert log[1].difficulty == ReasonBlocks.score_step("Perhaps it failed.\nSo I look.")
    assert steps_of(standin)[0]["thought"] == "Perhaps it failed.\nSo I look."


# -- C34: step events ------------------------------------------------------------------------------


@pytest.mark.parametrize("capable", [False, True], ids=["single", "batches"])
def test_c34_one_step_event_per_model_call_in_order(
    standin: Standin, capable_standin: Standin, connect: Connect, invoke: Invoke, capable: bool
) -> None:
    """Start, then each step once with its index from 0, then the finish, whichever routes the server has."""
    server = capable_standin if capable else standin
    record(invoke, connect(server=server), script(4))
    run = server.runs["r"]
    assert run.timeline == ["run_start", *(f"step {index}" for index in range(5)), "run_finish success"]
    assert server.violations == []


def test_c34_a_step_says_what_the_call_said_did_and_got(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Thought, action and input are of call i itself, the observation is what followed, the last has none."""
    log, _ = record(invoke, connect(), script(2))
    sent = steps_of(standin)
    for number in range(2):
        step = sent[number]
        assert (step["thought"], step["action"]) == (thought(number), "lookup")
        assert json.loads(step["action_input"]) == {"key": f"key-{number}"}
        assert step["observation"] == f"record key-{number}: value=42"
        assert step["is_error"] is False
    assert (sent[2]["thought"], sent[2]["action"], sent[2]["action_input"], sent[2]["observation"]) == (
        "done",
        None,
        None,
        None,
    )
    for step, entry in zip(sent, log, strict=True):
        assert (step["tokens"], step["input_tokens"], step["output_tokens"]) == (120, 100, 20)
        assert (step["cache_read_tokens"], step["step_model"]) == (40, "claude-sonnet-4-5")
        assert step["injections"] == entry.injections


def test_c34_a_step_says_what_was_injected(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Sources, previews, full texts, monitors and failure type of each call are in its event."""
    standin.evaluate = lambda steps, body: inject("Stop.")
    log, _ = record(invoke, connect(), script(2))
    for step, entry in zip(steps_of(standin), log, strict=True):
        for name in ("injections", "injection_sources", "intervention_texts", "monitors_fired", "failure_type"):
            assert step[name] == getattr(entry, name)
    assert steps_of(standin)[1]["injection_sources"] == ["MonitorSteeringInjection", "E1Injection", "E2Injection"]


def test_c34_parallel_calls_are_all_in_one_step(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Names joined by a comma, arguments as one list, results joined by a blank line."""
    replies = [say("Both.", call("lookup", key="a"), call("lookup", key="b")), "done"]
    log, _ = record(invoke, connect(), replies)
    step = steps_of(standin)[0]
    assert step["action"] == "lookup, lookup"
    assert json.loads(step["action_input"]) == [{"key": "a"}, {"key": "b"}]
    assert step["observation"] == "record a: value=42\n\nrecord b: value=42"
    assert log[0].tool_calls == ["lookup", "lookup"]
    assert standin.evaluations[0].steps[0]["observation"] == step["observation"]


def test_c34_a_tools_error_is_marked(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """A tool that answers with an error makes `is_error` true, for the monitors too."""
    replies = [say("Try.", call("complaining_tool", reason="no such record")), "done"]
    record(invoke, connect(), replies, tools=(complaining_tool,))
    step = steps_of(standin)[0]
    assert (step["is_error"], step["observation"]) == (True, "no such record")
    assert standin.evaluations[0].steps[0]["observation_is_error"] is True


def test_c34_the_details_are_in_the_metadata(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """`metadata.reasonblocks` holds the evaluation, the gate, the candidates with similarity, and the errors."""
    standin.evaluate = lambda steps, body: inject("Stop.", composite=0.7)
    standin.fault("retrieve", Fault(garbage=True, times=1))
    log, _ = record(invoke, connect(), script(2))
    details = [step["metadata"]["reasonblocks"] for step in steps_of(standin)]
    for each, entry in zip(details, log, strict=True):
        assert each.keys() >= {
            *("composite", "scores", "difficulty", "fsm_state", "gate", "candidates"),
            *("skipped_reason", "errors", "latency_ms"),
        }
        for name in ("composite", "scores", "difficulty", "fsm_state", "skipped_reason", "errors", "latency_ms"):
            assert each[name] == getattr(entry, name)
    assert "E3Injection" in details[0]["errors"][0]
    assert [(one["pattern_id"], one["similarity"]) for one in details[1]["candidates"] if one["tier"] == "e1"] == [
        ("e1-1", 0.9)
    ]
    assert [one["similarity"] for one in details[1]["candidates"] if one["tier"] == "e2"] == [0.8, 0.75]
    assert details[1]["gate"]
    assert details[2]["skipped_reason"]


def test_c34_a_step_is_sent_when_its_tools_have_answered(standin: Standin, connect: Connect) -> None:
    """The event of a call leaves before the next call is over, and not before its tools have answered."""
    during: list[bool] = []

    def note(key: str) -> str:
        standin.wait_for(lambda: standin.runs["r"].starts)
        time.sleep(0.4)  # had it left before its tools, it would be there by now
        during.append(0 in standin.runs["r"].steps)
        return "noted"

    def last(messages: Any) -> str:
        standin.wait_for(lambda: standin.runs["r"].steps[0])
        return "done"

    middleware = connect().middleware(run_id="r")
    agent, _ = agent_of(middleware, [say("Note.", call("note", key="a")), last], tools=[make_tool("note", note)])
    agent.invoke(QUESTION)
    middleware.close()
    assert during == [False]
    assert standin.runs["r"].step_order == [0, 1]
    assert steps_of(standin)[0]["observation"] == "noted"


def test_c34_the_agent_does_not_wait_for_telemetry(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """While no event can be delivered the agent runs to its end; afterwards all arrive, in order."""
    standin.fault("run_start", Fault(status=503))
    middleware = connect().middleware(run_id="r")
    agent, _ = agent_of(middleware, script(4))
    result = invoke(agent)
    assert result["messages"][-1].content == "done"
    assert standin.runs == {}
    standin.clear_faults()
    middleware.close()
    assert standin.runs["r"].timeline[0] == "run_start"
    assert standin.runs["r"].step_order == [0, 1, 2, 3, 4]


def test_c34_long_texts_stay_within_the_wire(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Thoughts, arguments and results beyond 64,000 characters are shortened, not refused."""
    big = make_tool("big", lambda key: "y" * 100_000)
    record(invoke, connect(), [say("x" * 100_000, call("big", key="z" * 100_000)), "done"], tools=(big,))
    step = steps_of(standin)[0]
    assert all(60_000 < len(step[name]) <= 64_000 for name in ("thought", "action_input", "observation"))


def test_c34_live_streaming_off_sends_no_events_and_steers(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """`live_streaming_enabled=False`: no event leaves, lookups and guidance go on."""
    standin.evaluate = lambda steps, body: inject("Stop.")
    log, model = record(invoke, connect(live_streaming_enabled=False), script(2))
    assert [standin.count(route) for route in TELEMETRY] == [0, 0, 0, 0]
    assert standin.count("evaluate") == 2
    assert model.blocks[1] is not None
    assert len(log) == 3


# -- C34: redact -----------------------------------------------------------------------------------


def secretive() -> list[Reply]:
    """Two calls that say, pass on and get a secret, and a final answer with it."""
    replies: list[Reply] = [
        say(f"I use {SECRET} now, step {n}.", call("lookup", key=f"{SECRET}-{n}")) for n in range(2)
    ]
    return [*replies, f"It was {SECRET}."]


def without_secret(event: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(event).replace(SECRET, "***"))  # type: ignore[no-any-return]


def leaks(server: Standin) -> list[str]:
    return [request.route for request in server.requests if SECRET in json.dumps(request.body)]


def test_c34_redact_runs_before_anything_leaves(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Telemetry, evaluation and retrieval all see the redacted step; the agent and its log see the real one."""
    standin.evaluate = lambda steps, body: healthy(0.5)
    standin.patterns = {}
    log, model = record(
        invoke, connect(redact=without_secret), secretive(), task=f"use {SECRET}", metadata={"key": SECRET}
    )
    assert leaks(standin) == []
    assert len(standin.retrievals("e1")) == 2
    assert "I use *** now, step 1." in standin.retrievals("e1")[1]["context"]
    assert standin.evaluations[1].steps[0]["action_input"] == '{"key":"***-0"}'
    assert steps_of(standin)[0]["observation"] == "record ***-0: value=42"
    assert standin.runs["r"].start is not None
    assert standin.runs["r"].start["task"] == "use ***"
    assert SECRET in log[1].thought_preview
    assert SECRET in str(model.requests[1][-1].content)


def test_c34_without_redact_the_same_agent_leaks(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """The tests of redaction can fail: without it the secret is in events, evaluations and retrievals."""
    standin.evaluate = lambda steps, body: healthy(0.5)
    record(invoke, connect(), secretive())
    assert {"/monitors/evaluate", "/traces/retrieve", "/monitor/runs/{run_id}/steps"} <= set(leaks(standin))


def broken(event: dict[str, Any]) -> Any:
    raise KeyError("thought")


@pytest.mark.parametrize(
    "redact",
    [broken, lambda event: None, lambda event: "text", lambda event: [event]],
    ids=["raises", "drops", "text", "list"],
)
def test_c34_a_redact_that_fails_lets_nothing_out(
    standin: Standin, connect: Connect, invoke: Invoke, redact: Any
) -> None:
    """An event whose redaction raises, drops it or gives something else stays in, and so do its words."""
    standin.patterns = {}
    log, model = record(invoke, connect(redact=redact), secretive(), task=SECRET)
    assert leaks(standin) == []
    assert [standin.count(route) for route in TELEMETRY] == [0, 0, 0, 0]
    assert model.calls == len(log) == 3


def test_c34_redact_cannot_misdirect_an_event(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Which run and step an event belongs to is not text to redact."""

    def confused(event: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in event.items() if name not in ("type", "run_id", "step_index")}

    record(invoke, connect(redact=confused), script(1))
    assert standin.runs.keys() == {"r"}
    assert standin.runs["r"].timeline == ["run_start", "step 0", "step 1", "run_finish success"]


def test_c34_redact_sees_each_event_once(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """One call for each of start, steps and finish, in order, with type and run id."""
    seen: list[tuple[str, str]] = []

    def note(event: dict[str, Any]) -> dict[str, Any]:
        seen.append((event["type"], event["run_id"]))
        return event

    record(invoke, connect(redact=note), script(1))
    assert seen == [("run_start", "r"), ("step", "r"), ("step", "r"), ("run_finish", "r")]


def test_c34_redacting_in_place_leaves_the_log_alone(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """A redact that changes the event's own lists and maps does not reach into the step log."""
    standin.evaluate = lambda steps, body: inject("Stop.")

    def wipe(event: dict[str, Any]) -> dict[str, Any]:
        for name in ("injections", "injection_sources", "intervention_texts", "monitors_fired"):
            event.get(name, []).clear()
        event.get("metadata", {}).get("reasonblocks", {}).get("scores", {}).clear()
        return event

    log, _ = record(invoke, connect(redact=wipe), script(1))
    assert steps_of(standin)[1]["intervention_texts"] == []
    assert log[1].injection_sources == ["MonitorSteeringInjection", "E1Injection", "E2Injection"]
    assert log[1].intervention_texts[0] == "Stop."
    assert log[1].monitors_fired == ["semantic_loop"]
    assert log[1].scores["semantic_loop"] == 0.9


def test_c34_redacting_in_place_leaves_the_next_run_alone(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """A redact that changes the caller's metadata in place changes one event, not the middleware's settings."""

    def wipe(event: dict[str, Any]) -> dict[str, Any]:
        event.get("metadata", {}).get("user", {}).pop("name", None)
        return event

    metadata = {"user": {"name": "Ada", "plan": "pro"}}
    middleware = connect(redact=wipe).middleware(run_id="r", metadata=metadata)
    agent, _ = agent_of(middleware, ["done"])
    invoke(agent)
    middleware.close()
    assert standin.runs["r"].start is not None
    assert standin.runs["r"].start["metadata"] == {"user": {"plan": "pro"}}
    assert metadata == {"user": {"name": "Ada", "plan": "pro"}}


# -- on_injection ----------------------------------------------------------------------------------


def test_c33_on_injection_is_told_once_per_injected_step(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """One notice for each call that is steered, before the model sees it, also where that call is retried."""
    standin.evaluate = lambda steps, body: inject("Stop.") if len(steps) == 2 else healthy()
    notices: list[InjectionNotice] = []
    known: list[int] = []
    rb = connect(on_injection=notices.append, e_traces_enabled=False)
    middleware = rb.middleware(run_id="r")
    replies = script(3)
    third = replies[2]
    attempts = iter([ConnectionError("gone"), third])

    def reply(messages: Any) -> Any:
        known.append(len(notices))
        return next(attempts)

    replies[2] = reply
    retry = ModelRetryMiddleware(max_retries=1, initial_delay=0.0, jitter=False)
    agent, _ = agent_of(middleware, replies, outside=[retry])
    invoke(agent)
    assert notices == [
        InjectionNotice(
            run_id="r",
            step=2,
            fsm_state="NORMAL",
            sources=("MonitorSteeringInjection",),
            texts=("Stop.",),
            monitors_fired=("semantic_loop",),
            failure_type="loop",
            applied=True,
        )
    ]
    assert known == [1, 1]


def test_c33_a_failing_on_injection_is_contained(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """A callback that raises spoils neither the guidance nor the agent, and is named in `errors`."""

    def complain(notice: InjectionNotice) -> None:
        raise RuntimeError("no room")

    log, model = record(invoke, connect(on_injection=complain), script(1))
    assert all(block is not None for block in model.blocks)
    assert ["on_injection" in "".join(entry.errors) for entry in log] == [True, True]
    assert model.calls == 2


# -- C35: streaming --------------------------------------------------------------------------------


class Watched(ScriptedModel):
    """Notes the length of the step log after every piece it streams."""

    _look: Any = None
    _lengths: list[int] = []  # noqa: RUF012  pydantic copies private defaults

    def _stream(self, *arguments: Any, **settings: Any) -> Iterator[Any]:
        for piece in super()._stream(*arguments, **settings):
            yield piece
            self._lengths.append(len(self._look.step_log))

    async def _astream(self, *arguments: Any, **settings: Any) -> Any:
        async for piece in super()._astream(*arguments, **settings):
            yield piece
            self._lengths.append(len(self._look.step_log))


def collect(agent: Any, kind: str) -> list[tuple[Any, ...]]:
    """The pieces of the model's messages as a caller sees them."""

    def shown(piece: AIMessageChunk) -> tuple[Any, ...]:
        return (piece.content, [(part["name"], part["args"]) for part in piece.tool_call_chunks], piece.usage_metadata)

    if kind == "sync":
        pieces = list(agent.stream(QUESTION, stream_mode="messages"))
    else:

        async def gather() -> list[Any]:
            return [piece async for piece in agent.astream(QUESTION, stream_mode="messages")]

        pieces = asyncio.run(gather())
    return [shown(piece) for piece, _ in pieces if isinstance(piece, AIMessageChunk)]


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_c35_streaming_passes_through_and_is_recorded_when_complete(
    standin: Standin, connect: Connect, kind: str
) -> None:
    """The pieces are those of the agent without us, and a step is logged when its last piece is out."""
    standin.evaluate = lambda steps, body: inject("Stop.")
    plain = create_agent(ScriptedModel(script(1)), [lookup], system_prompt="Be brief.")
    middleware = connect().middleware(run_id="r")
    model = Watched(script(1))
    model._look = middleware
    steered = create_agent(model, [lookup], system_prompt="Be brief.", middleware=[middleware])
    pieces = collect(steered, kind)
    assert pieces == collect(plain, kind)
    assert len(pieces) > 10
    assert model.blocks[1] is not None
    assert model._lengths == sorted(model._lengths)
    assert set(model._lengths) == {0, 1}
    assert model._lengths.count(1) == 2
    middleware.close()
    log = middleware.step_log
    assert [(entry.tokens, entry.tool_calls) for entry in log] == [(120, ["lookup"]), (120, [])]
    assert log[1].thought_preview == thought(0)
    assert [step["thought"] for step in steps_of(standin)] == [thought(0), "done"]


def test_c35_a_stream_that_is_given_up_leaves_no_step(standin: Standin, connect: Connect) -> None:
    """Where the caller stops listening in the middle of a reply, that call is not recorded."""
    middleware = connect(e_traces_enabled=False).middleware(run_id="r")
    model = ScriptedModel(["one two three four five six seven eight"], think=2.0)
    agent = create_agent(model, [], middleware=[middleware])

    async def listen_briefly() -> None:
        stream = agent.astream(QUESTION, stream_mode="messages")
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(listen_briefly())
    assert middleware.run("r").step_log == []


# -- C36: observing only, opting out, off ----------------------------------------------------------


def test_c36_observing_changes_nothing_in_the_request(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """`steer=False`: the model gets what it would get without us; all is scored, evaluated, retrieved and logged."""
    standin.evaluate = lambda steps, body: inject("Stop.")
    steered_log, steered = record(invoke, connect(), script(3))
    standin.forget()
    notices: list[InjectionNotice] = []
    log, model = record(invoke, connect(steer=False, on_injection=notices.append), script(3))
    plain = ScriptedModel(script(3))
    invoke(create_agent(plain, [lookup], system_prompt="Be brief."))
    assert model.systems == plain.systems == ["Be brief."] * 4
    assert model.options == plain.options
    assert standin.count("evaluate") == 3
    assert [body["tier"] for body in standin.retrievals()] != []
    for would, did in zip(log, steered_log, strict=True):
        assert would.intervention_texts == did.intervention_texts
        assert (would.injection_sources, would.difficulty, would.fsm_state) == (
            did.injection_sources,
            did.difficulty,
            did.fsm_state,
        )
        assert ("would have injected" in (would.skipped_reason or "")) is bool(did.injection_sources)
        assert "would have injected" not in (did.skipped_reason or "")
    assert [notice.applied for notice in notices] == [False, False]
    assert any(block for block in steered.blocks)


def test_c36_an_observed_step_says_so_on_the_wire(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """The step event of an observed run tells that its guidance was not given."""
    record(invoke, connect(steer=False), ["done"])
    details = steps_of(standin)[0]["metadata"]["reasonblocks"]
    assert "would have injected" in details["skipped_reason"]


class Counting(BaseInjection):
    """Says something at every call and counts how often it was asked."""

    on_first_call = True

    def __init__(self) -> None:
        self.asked = 0

    def retrieve(self, state: TraceState) -> list[PendingInjection]:
        self.asked += 1
        return [PendingInjection(text="Something.")]


@pytest.mark.parametrize("switch", ["off", "OFF", False])
def test_c36_a_run_can_opt_out(standin: Standin, connect: Connect, invoke: Invoke, switch: Any) -> None:
    """`reasonblocks: off` in the config's metadata: no request, no change, no log; the next run is watched again."""
    own = Counting()
    middleware = connect(injections=[own]).middleware()
    agent, model = agent_of(middleware, script(1))
    invoke(agent, {"metadata": {"reasonblocks": switch}})
    middleware.close()
    assert standin.requests == []
    assert own.asked == 0
    assert model.systems == ["Be brief."] * 2
    assert middleware.step_log == []
    invoke(agent)
    assert len(middleware.step_log) == 2
    assert own.asked == 2


def test_c36_any_other_metadata_does_not_opt_out(standin: Standin, connect: Connect, invoke: Invoke) -> None:
    """Only a switch that says off is one."""
    middleware = connect().middleware()
    agent, model = agent_of(middleware, ["done"])
    invoke(agent, {"metadata": {"reasonblocks": "on", "other": "off"}})
    assert len(middleware.step_log) == 1
    assert model.blocks[0] is not None


def test_c36_disabled_by_the_environment(
    standin: Standin, connect: Connect, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`REASONBLOCKS_DISABLED=1` is read at each run: set, nothing of ours happens; unset, everything does."""
    own = Counting()
    routed = ScriptedModel(["done"], model_name="claude-haiku-4-5")
    middleware = connect(injections=[own], model_routing={"init": routed}).middleware(run_id="r")
    agent, model = agent_of(middleware, ["done"])
    monkeypatch.setenv("REASONBLOCKS_DISABLED", "1")
    result = invoke(agent)
    middleware.close()
    assert (standin.requests, own.asked, routed.calls) == ([], 0, 0)
    assert model.systems == ["Be brief."]
    assert middleware.step_log == []
    assert result.keys() == {"messages"}
    monkeypatch.delenv("REASONBLOCKS_DISABLED")
    invoke(agent)
    middleware.close()
    assert routed.calls == 1
    assert standin.runs["r"].outcome == "success"


def test_c34_concurrent_runs_keep_their_steps_apart(standin: Standin, connect: Connect) -> None:
    """Runs that share a middleware each have their own log and their own events, in order."""
    middleware = connect().middleware()
    agent, _ = agent_of(middleware, script(3))

    async def many() -> None:
        async with anyio.create_task_group() as tasks:
            for number in range(5):
                config = {"metadata": {"reasonblocks_run_id": f"run-{number}"}}
                tasks.start_soon(agent.ainvoke, QUESTION, config)
        await middleware.aclose()

    asyncio.run(many())
    expected = ["run_start", *(f"step {index}" for index in range(4)), "run_finish success"]
    assert {run_id: run.timeline for run_id, run in standin.runs.items()} == {
        f"run-{number}": expected for number in range(5)
    }
    for number in range(5):
        log: list[StepLogEntry] = middleware.run(f"run-{number}").step_log
        assert [entry.step for entry in log] == [0, 1, 2, 3]
