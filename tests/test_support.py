"""The stand-in and the scripted agents do what the other tests rely on."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import aiohttp
import anyio
import httpx
import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from pydantic import BaseModel

from reasonblocks.steering.scoring import score_step
from support.agents import (
    Difficulty,
    ScriptedModel,
    ScriptExhaustedError,
    call,
    complaining_tool,
    failing_tool,
    flaky,
    lookup,
    make_tool,
    say,
    script,
    steering_block,
    system_text,
    thought,
)
from support.standin import EVERY_FAULT, MONITORS, WRONG_SHAPES, Fault, Standin, inject, pattern

QUESTION: Any = {"messages": [("user", "What is it?")]}
STEP = {"thought": "I look.", "action": "lookup", "action_input": "{}", "observation": "42"}


@pytest.fixture
def old_server() -> Iterator[Standin]:
    with Standin() as standin:
        yield standin


@pytest.fixture
def new_server() -> Iterator[Standin]:
    with Standin(capabilities=("events", "incremental")) as standin:
        yield standin


def client(standin: Standin, timeout: float = 5.0) -> httpx.Client:
    headers = {"Authorization": f"Bearer {standin.key}"}
    return httpx.Client(base_url=standin.url, headers=headers, timeout=timeout, trust_env=False, verify=False)


def post(standin: Standin, path: str, body: Any) -> httpx.Response:
    with client(standin) as http:
        return http.post(path, json=body)


# -- life ------------------------------------------------------------------------------------------


def test_starts_and_stops_in_milliseconds_and_leaves_nothing() -> None:
    before = set(threading.enumerate())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        started = time.perf_counter()
        for _ in range(20):
            with Standin() as standin:
                assert "standin" in {thread.name for thread in threading.enumerate()}
                socket.create_connection(("127.0.0.1", standin.port)).close()
        elapsed = time.perf_counter() - started
        gc.collect()
    assert set(threading.enumerate()) == before
    assert elapsed < 2.0


def test_stops_while_clients_are_connected_and_waiting() -> None:
    standin = Standin().start()
    standin.fault("*", Fault(black_hole=True))
    with socket.create_connection(("127.0.0.1", standin.port)) as waiting:
        waiting.sendall(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
        standin.wait_for(lambda: standin.in_flight == 1)
        standin.stop()
        standin.stop()
        with pytest.raises(ConnectionError):
            waiting.recv(1)
    assert standin.open_connections == 0
    assert standin.in_flight == 0


def test_a_client_that_vanishes_is_forgotten(old_server: Standin) -> None:
    old_server.fault("health", Fault(black_hole=True))
    with client(old_server, timeout=0.05) as http, pytest.raises(httpx.ReadTimeout):
        http.get("/health")
    old_server.wait_for(lambda: old_server.count("health") == 1)
    old_server.wait_for(lambda: old_server.open_connections == 0 and old_server.in_flight == 0)
    assert old_server.requests[0].status is None


# -- routes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_every_route_answers_with_and_without_the_prefix(old_server: Standin, prefix: str) -> None:
    with client(old_server) as http:
        health = http.get(f"{prefix}/health")
        traces = http.post(f"{prefix}/traces/retrieve", json={"context": "x", "tier": "e3", "level": "e3"})
        monitors = http.post(f"{prefix}/monitors/evaluate", json={"steps": [STEP], "model": "m"})
        score = http.post(f"{prefix}/score", json={"text": "x"})
        start = http.post(f"{prefix}/monitor/runs", json={"run_id": "a/b:c", "task": "t"})
        step = http.post(f"{prefix}/monitor/runs/a%2Fb%3Ac/steps", json={"step_index": 0, "thought": "x"})
        finish = http.post(f"{prefix}/monitor/runs/a%2Fb%3Ac/finish", json={"outcome": "success"})
    assert health.json() == {"status": "ok", "version": "standin"}
    assert [trace["tier"] for trace in traces.json()["traces"]] == ["e3", "e3"]
    assert monitors.json()["inject"] is False
    assert set(monitors.json()["scores"]) == set(MONITORS)
    assert score.json() == {"difficulty": 0.4}
    assert start.status_code == 201
    assert set(step.json()) == {"scores", "total_score", "fired"}
    assert finish.json()["outcome"] == "success"
    assert old_server.violations == []
    assert old_server.unknown_fields == set()
    assert [request.path.startswith("/v1") for request in old_server.requests] == [bool(prefix)] * 7
    run = old_server.runs["a/b:c"]
    assert run.timeline == ["run_start", "step 0", "run_finish success"]
    assert run.start == {"run_id": "a/b:c", "task": "t"}
    assert run.steps == {0: {"step_index": 0, "thought": "x"}}
    assert (run.starts, run.step_order, run.finishes, run.outcome) == (1, [0], ["success"], "success")


def test_records_can_be_asked_for_by_short_name_or_path(old_server: Standin) -> None:
    for tier in ("e1", "e2", "e1"):
        post(old_server, "/v1/traces/retrieve", {"context": "x", "tier": tier})
    assert old_server.count("retrieve") == old_server.count("/v1/traces/retrieve", status=200) == 3
    assert len(old_server.retrievals("e1")) == 2
    assert old_server.bodies("retrieve")[1] == {"context": "x", "tier": "e2"}
    assert old_server.requests[0].headers["authorization"] == f"Bearer {old_server.key}"
    with pytest.raises(ValueError, match="unknown route"):
        old_server.count("retreive")


BREACHES: list[tuple[str, Any, int, str]] = [
    ("/traces/retrieve", {"tier": "e1"}, 422, "context"),
    ("/traces/retrieve", {"context": "x" * 64_001, "tier": "e1"}, 422, "context"),
    ("/traces/retrieve", {"context": "x", "tier": "e4"}, 422, "tier"),
    ("/traces/retrieve", {"context": "x"}, 422, "tier"),
    ("/traces/retrieve", {"context": "x", "tier": "e1", "level": "e2"}, 422, "level"),
    ("/traces/retrieve", {"context": "x", "tier": "e1", "top_k": 0}, 422, "top_k"),
    ("/traces/retrieve", {"context": "x", "tier": "e1", "top_k": True}, 422, "top_k"),
    ("/monitors/evaluate", {"steps": [STEP] * 2_001}, 422, "steps"),
    ("/monitors/evaluate", {"steps": [{"thought": None}]}, 422, "thought"),
    ("/monitors/evaluate", {"steps": [STEP | {"observation": "x" * 64_001}]}, 422, "observation"),
    ("/monitors/evaluate", {"steps": [], "weights": {"late_sprawl": "much"}}, 422, "late_sprawl"),
    ("/monitor/runs", {"run_id": "white space"}, 422, "run_id"),
    ("/monitor/runs", {"run_id": "x" * 257}, 422, "run_id"),
    ("/monitor/runs", {"run_id": "x", "task": "x" * 4_001}, 422, "task"),
    ("/monitor/runs/white%20space/steps", {"step_index": 0}, 422, "run_id"),
    ("/monitor/runs/x/steps", {"step_index": 10_001}, 422, "step_index"),
    ("/monitor/runs/x/steps", {"step_index": 1.0}, 422, "step_index"),
    ("/monitor/runs/x/steps", {"step_index": 1, "tokens": None}, 422, "tokens"),
    ("/monitor/runs/x/steps", {"step_index": 1, "injections": "x"}, 422, "injections"),
    ("/monitor/runs/x/finish", {"outcome": "x" * 65}, 422, "outcome"),
    ("/monitor/runs/a/b/finish", {"outcome": "success"}, 404, "Not Found"),
    ("/monitor/events", {"events": []}, 404, "Not Found"),
    ("/score", {"text": "x", "context": "x" * 5_000_000}, 413, "bytes"),
    ("/score", [], 422, "object"),
]


@pytest.mark.parametrize(("path", "body", "status", "named"), BREACHES)
def test_a_breach_of_the_contract_is_refused_and_recorded(
    old_server: Standin, path: str, body: Any, status: int, named: str
) -> None:
    answer = post(old_server, path, body)
    assert answer.status_code == status
    assert named in json.dumps(answer.json()["detail"])
    assert len(old_server.violations) == 1
    assert named in old_server.violations[0]
    assert old_server.runs == {}


@pytest.mark.parametrize("raw", [b"{", b'{"text": NaN}', b'{"text": "\\ud800"}', b'{"text": "\xff"}', b""])
def test_malformed_json_is_refused(old_server: Standin, raw: bytes) -> None:
    with client(old_server) as http:
        answer = http.post("/score", content=raw, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert len(old_server.violations) == 1


def test_only_its_key_opens_it(old_server: Standin) -> None:
    for headers in ({}, {"Authorization": "Bearer other"}, {"Authorization": old_server.key}):
        answer = httpx.post(f"{old_server.url}/score", json={"text": "x"}, headers=headers, trust_env=False)
        assert answer.status_code == 401
    assert len(old_server.violations) == 3


def test_chunked_requests_are_understood(old_server: Standin) -> None:
    with client(old_server) as http:
        pieces = iter([b'{"text": ', b'"x"}'])
        answer = http.post("/score", content=pieces, headers={"content-type": "application/json"})
    assert answer.status_code == 200
    assert old_server.bodies("score") == [{"text": "x"}]


def test_bytes_that_are_no_request_are_refused(old_server: Standin) -> None:
    with socket.create_connection(("127.0.0.1", old_server.port)) as raw:
        raw.sendall(b"hello\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 400")
    assert old_server.violations == ["malformed request: hello"]


# -- capabilities ----------------------------------------------------------------------------------


def test_events_are_applied_in_order_and_one_bad_one_spoils_nothing(new_server: Standin) -> None:
    events = [
        {"type": "run_start", "run_id": "r", "task": "t"},
        {"type": "step", "run_id": "r", "step_index": 0, "thought": "x"},
        {"type": "step", "run_id": "r", "step_index": -1},
        {"type": "step", "run_id": "r", "step_index": 0, "thought": "again"},
        "nonsense",
        {"type": "run_finish", "run_id": "r", "outcome": "success"},
    ]
    answer = post(new_server, "/v1/monitor/events", {"events": events}).json()
    assert answer["accepted"] == 4
    assert [rejection["index"] for rejection in answer["rejected"]] == [2, 4]
    run = new_server.runs["r"]
    assert run.timeline == ["run_start", "step 0", "step 0", "run_finish success"]
    assert run.steps == {0: {"step_index": 0, "thought": "x"}}
    assert run.start == {"run_id": "r", "task": "t"}
    assert len(new_server.violations) == 2
    assert post(new_server, "/monitor/events", {"events": events[:1] * 501}).status_code == 422


def test_incremental_evaluation_continues_what_is_held(new_server: Standin) -> None:
    def send(offset: int, count: int) -> httpx.Response:
        return post(new_server, "/monitors/evaluate", {"run_id": "r", "offset": offset, "steps": [STEP] * count})

    assert send(0, 2).status_code == 200
    assert send(2, 1).status_code == 200
    assert send(3, 0).status_code == 200
    conflict = send(5, 1)
    assert conflict.status_code == 409
    assert conflict.json()["have"] == 3
    new_server.forget_trace("r", keep=1)
    assert send(3, 1).json()["have"] == 1
    assert send(1, 3).status_code == 200
    assert [len(evaluation.steps) for evaluation in new_server.evaluations] == [2, 3, 3, 4]
    assert new_server.violations == []


def test_an_old_server_ignores_the_offset_and_says_that_it_was_sent(old_server: Standin) -> None:
    body = {"run_id": "r", "offset": 7, "steps": [STEP]}
    assert post(old_server, "/monitors/evaluate", body).status_code == 200
    assert len(old_server.evaluations[0].steps) == 1
    assert len(old_server.violations) == 1


# -- programmed answers ----------------------------------------------------------------------------


def test_evaluate_can_be_programmed(old_server: Standin) -> None:
    def evaluate(steps: list[dict[str, Any]], body: dict[str, Any]) -> Any:
        return inject(f"after {len(steps)}") if body["model"] == "m" else (503, {"detail": "busy"})

    old_server.evaluate = evaluate
    answer = post(old_server, "/monitors/evaluate", {"steps": [STEP], "model": "m"}).json()
    assert (answer["inject"], answer["intervention_text"]) == (True, "after 1")
    assert (answer["fired"], answer["failure_type"], answer["composite"]) == (["semantic_loop"], "loop", 0.7)
    assert answer["scores"]["semantic_loop"] >= 0.6 > answer["scores"]["late_sprawl"]
    assert post(old_server, "/monitors/evaluate", {"steps": [], "model": "n"}).status_code == 503
    assert post(old_server, "/monitors/evaluate", {"steps": []}).status_code == 500
    assert "KeyError" in old_server.violations[0]


def test_patterns_can_be_programmed(old_server: Standin) -> None:
    def found(tier: str, **more: Any) -> list[str]:
        answer = post(old_server, "/traces/retrieve", {"context": "x", "tier": tier} | more).json()
        return [trace["pattern_id"] for trace in answer["traces"]]

    assert found("e2", top_k=1) == ["e2-1"]
    assert found("e2", failure_type="drift") == []
    assert found("e2", failure_type="loop") == ["e2-1", "e2-2"]
    old_server.patterns = {"e1": [], "e2": lambda body: [pattern("e2", body["context"])]}
    assert (found("e1"), found("e2"), found("e3")) == ([], ["x"], [])
    old_server.patterns = lambda body: [pattern(body["tier"], title="T", guidance="G")]
    assert found("e3") == ["e3-standin"]


# -- faults ----------------------------------------------------------------------------------------

READ_FAILURES = {
    "slow": httpx.ReadTimeout,
    "black_hole": httpx.ReadTimeout,
    "reset": httpx.ReadError,
    "hang_up": httpx.RemoteProtocolError,
    "refuse": httpx.ConnectError,
    "truncated": httpx.RemoteProtocolError,
}
STATUSES = {
    "unavailable": 503,
    "rate_limited": 429,
    "server_error": 500,
    "unauthorized": 401,
    "not_found": 404,
    "redirect": 307,
}


@pytest.mark.parametrize("name", [name for name in EVERY_FAULT if name != "drip"])
def test_every_fault_looks_right_to_a_client_and_ends(old_server: Standin, name: str) -> None:
    old_server.fault("*", EVERY_FAULT[name])
    with client(old_server, timeout=0.3) as http:
        if name in READ_FAILURES:
            with pytest.raises(READ_FAILURES[name]):
                http.get("/health")
        else:
            check_answer(name, http.get("/health", timeout=5))
        old_server.clear_faults()
        assert http.get("/health", timeout=5).json()["status"] == "ok"
    old_server.wait_for(lambda: old_server.open_connections == 0)


def check_answer(name: str, answer: httpx.Response) -> None:
    assert answer.status_code == STATUSES.get(name, 200)
    if name == "rate_limited":
        assert answer.headers["retry-after"] == "1"
    elif name == "redirect":
        assert answer.headers["location"] == "/elsewhere"
    elif name == "garbage":
        with pytest.raises(ValueError, match=r"codec|Expecting"):
            answer.json()
    elif name == "huge":
        assert len(answer.content) > 20_000_000
        assert answer.json()["status"] == "ok"
    elif name in ("null", "list"):
        assert answer.json() == EVERY_FAULT[name].answer


def test_a_dripping_answer_takes_its_time(old_server: Standin) -> None:
    old_server.fault("health", Fault(drip=0.002))
    started = time.monotonic()
    with client(old_server) as http:
        assert http.get("/health").json()["status"] == "ok"
    assert time.monotonic() - started > 0.05
    old_server.fault("health", EVERY_FAULT["drip"])
    with client(old_server) as http, http.stream("GET", "/health") as answer:
        assert len(next(answer.iter_raw())) == 1


def test_wrong_shapes_are_sent_as_they_are(old_server: Standin) -> None:
    with client(old_server) as http:
        for shape in WRONG_SHAPES:
            old_server.fault("health", Fault(answer=shape))
            assert repr(http.get("/health").json()) == repr(shape)


def test_a_fault_strikes_its_route_so_many_times_and_only_what_it_is_meant_for(old_server: Standin) -> None:
    def statuses(tier: str, count: int) -> list[int]:
        sent = [post(old_server, "/traces/retrieve", {"context": "x", "tier": tier}) for _ in range(count)]
        return [answer.status_code for answer in sent]

    old_server.fault("retrieve", Fault(status=503, times=2), Fault(status=429, times=1))
    old_server.fault("*", Fault(status=500, times=1))
    assert statuses("e1", 5) == [503, 503, 429, 500, 200]
    old_server.fault("retrieve", Fault(status=503, when=lambda request: request.body["tier"] == "e1"))
    assert (statuses("e1", 1), statuses("e2", 1)) == ([503], [200])
    old_server.fault("retrieve")
    assert statuses("e1", 1) == [200]


def test_a_rate_is_the_same_for_the_same_seed() -> None:
    def outcomes(seed: int) -> list[int]:
        with Standin(seed=seed) as standin, client(standin) as http:
            standin.fault("health", Fault(status=503, rate=0.3))
            return [http.get("/health").status_code for _ in range(100)]

    assert outcomes(1) == outcomes(1)
    assert 15 < outcomes(1).count(503) < 45


def test_an_answer_can_be_lost_after_the_request_took_effect(old_server: Standin) -> None:
    old_server.fault("run_start", Fault(reset=True, times=1), Fault(reset=True, applied=True, times=1))
    for expected in (0, 1):
        with pytest.raises(httpx.ReadError):
            post(old_server, "/monitor/runs", {"run_id": "r"})
        assert len(old_server.runs) == expected
    assert post(old_server, "/monitor/runs", {"run_id": "r"}).status_code == 201
    assert old_server.runs["r"].starts == 2


def test_an_outage_ends_on_the_same_port_and_breaks_what_was_open(old_server: Standin) -> None:
    url = old_server.url
    with client(old_server) as http:
        http.get("/health")
        for _ in range(3):
            old_server.refuse()
            with pytest.raises(httpx.TransportError):
                http.get("/health")
            with pytest.raises(httpx.ConnectError):
                http.get("/health")
            old_server.accept()
            assert http.get("/health").status_code == 200
    assert old_server.url == url
    with pytest.raises(ValueError, match="every route"):
        old_server.fault("score", Fault(refuse=True))


def test_idle_connections_can_be_dropped(old_server: Standin) -> None:
    with client(old_server) as http:
        http.get("/health")
        assert old_server.open_connections == 1
        old_server.drop_connections()
        old_server.wait_for(lambda: old_server.open_connections == 0)
        assert http.get("/health").status_code == 200
    assert old_server.connections_total == 2


@pytest.mark.anyio
async def test_many_concurrent_requests_of_an_async_client(old_server: Standin) -> None:
    old_server.fault("score", Fault(latency=0.05))
    headers = {"Authorization": f"Bearer {old_server.key}"}
    started = time.monotonic()
    async with aiohttp.ClientSession(old_server.url, headers=headers) as session:

        async def ask(number: int) -> None:
            async with session.post("/score", json={"text": str(number)}) as answer:
                assert (await answer.json()) == {"difficulty": 0.4}

        async with anyio.create_task_group() as group:
            for number in range(100):
                group.start_soon(ask, number)
            await old_server.await_for(lambda: old_server.in_flight > 50)
    assert time.monotonic() - started < 3
    assert {body["text"] for body in old_server.bodies("score")} == set(map(str, range(100)))
    await old_server.await_for(lambda: old_server.open_connections == 0)


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["reset", "hang_up", "truncated", "black_hole", "refuse"])
async def test_faults_look_right_to_aiohttp(old_server: Standin, name: str) -> None:
    old_server.fault("*", EVERY_FAULT[name])
    timeout = aiohttp.ClientTimeout(total=0.3)
    async with aiohttp.ClientSession(old_server.url, timeout=timeout) as session:
        with pytest.raises((aiohttp.ClientError, asyncio.TimeoutError)):
            async with session.get("/health") as answer:
                await answer.json()


@pytest.mark.anyio
async def test_waiting_says_what_was_seen_instead(old_server: Standin) -> None:
    post(old_server, "/monitor/runs", {"run_id": "r"})
    with pytest.raises(AssertionError, match="run r: run_start"):
        old_server.wait_for(lambda: old_server.runs["other"], timeout=0.02)
    with pytest.raises(AssertionError, match="POST /monitor/runs -> 201"):
        await old_server.await_for(lambda: old_server.runs["r"].outcome, timeout=0.02)
    old_server.forget()
    assert (old_server.requests, old_server.runs, old_server.count()) == ([], {}, 0)


# -- scripted agents -------------------------------------------------------------------------------


def make_agent(model: ScriptedModel, **settings: Any) -> Any:
    tools = [lookup, failing_tool, complaining_tool]
    return create_agent(model, tools, system_prompt="Be brief.", **settings)


def test_a_scripted_agent_runs() -> None:
    model = ScriptedModel(script(3, final="It is 42."))
    answer = make_agent(model).invoke(QUESTION)["messages"]
    assert answer[-1].content == "It is 42."
    assert [message.content for message in answer if isinstance(message, ToolMessage)] == [
        f"record key-{number}: value=42" for number in range(3)
    ]
    said = [message for message in answer if isinstance(message, AIMessage)]
    assert len({message.content for message in said}) == 4
    assert said[0].usage_metadata is not None
    assert said[0].usage_metadata["input_token_details"] == {"cache_read": 40}
    assert model.calls == len(model.requests) == 4
    assert model.systems == ["Be brief."] * 4
    assert model.blocks == [None] * 4
    assert model.tools_offered == [["lookup", "failing_tool", "complaining_tool"]] * 4


@pytest.mark.anyio
async def test_one_script_serves_concurrent_runs() -> None:
    model = ScriptedModel(script(3), think=0.005)
    agent = make_agent(model)
    answers: list[Any] = []

    async def run() -> None:
        answers.append(await agent.ainvoke(QUESTION))

    async with anyio.create_task_group() as group:
        for _ in range(10):
            group.start_soon(run)
    assert [len(answer["messages"]) for answer in answers] == [8] * 10
    assert len({message.id for answer in answers for message in answer["messages"]}) == 80


def collect(pieces: list[Any]) -> list[AIMessageChunk]:
    """Add up the streamed chunks by message."""
    messages: dict[str, AIMessageChunk] = {}
    for piece, _ in pieces:
        if isinstance(piece, AIMessageChunk):
            messages[piece.id or ""] = messages[piece.id or ""] + piece if piece.id in messages else piece
    return list(messages.values())


def check_streamed(pieces: list[Any]) -> None:
    first, last = collect(pieces)
    assert first.content == "two at once"
    assert [(one["name"], one["args"], one["id"]) for one in first.tool_calls] == [
        ("lookup", {"key": "a"}, "call_0_0"),
        ("lookup", {"key": "b"}, "call_0_1"),
    ]
    assert first.usage_metadata == say("").usage_metadata
    assert last.content == "all  done now"
    assert last.response_metadata["model_name"] == "claude-sonnet-4-5"
    assert len(pieces) > 10


def streaming_model() -> ScriptedModel:
    calls = (call("lookup", key="a"), call("lookup", key="b"))
    return ScriptedModel([say("two at once", *calls), "all  done now"], think=0.001)


def test_a_scripted_agent_streams() -> None:
    check_streamed(list(make_agent(streaming_model()).stream(QUESTION, stream_mode="messages")))


@pytest.mark.anyio
async def test_a_scripted_agent_streams_asynchronously() -> None:
    stream = make_agent(streaming_model()).astream(QUESTION, stream_mode="messages")
    check_streamed([piece async for piece in stream])


def test_reasoning_survives_streaming() -> None:
    model = ScriptedModel([say("text", reasoning="because")])
    whole = list(model.stream("x"))
    total = whole[0]
    for piece in whole[1:]:
        total += piece
    assert [block["type"] for block in total.content_blocks] == ["reasoning", "text"]
    assert [block["type"] for block in model.invoke("x").content_blocks] == ["reasoning", "text"]


def test_replies_may_be_calls_errors_and_functions() -> None:
    model = ScriptedModel(
        [
            call("complaining_tool", reason="closed"),
            lambda messages: say(f"seen {messages[-1].content}", call("lookup", key="a")),
            ValueError("the model broke"),
        ]
    )
    with pytest.raises(ValueError, match="the model broke"):
        make_agent(model).invoke(QUESTION)
    assert model.requests[-1][-2].content == "seen closed"
    assert model.requests[-1][2].content == ""
    complaint = model.requests[1][-1]
    assert isinstance(complaint, ToolMessage)
    assert complaint.status == "error"
    with pytest.raises(RuntimeError, match="the disk is full"):
        make_agent(ScriptedModel([call("failing_tool")])).invoke(QUESTION)


def test_the_place_in_the_script() -> None:
    two_turns: Any = [("user", "a"), ("ai", "b"), ("user", "c")]
    assert ScriptedModel(["first", "second"]).invoke(two_turns).content == "first"
    assert ScriptedModel(["first", "second"], by="conversation").invoke(two_turns).content == "second"
    counting = ScriptedModel(["first", "second"], by="calls")
    assert [counting.invoke(two_turns).content for _ in range(2)] == ["first", "second"]
    with pytest.raises(ScriptExhaustedError, match="reply 3"):
        counting.invoke(two_turns)
    recovering = ScriptedModel([flaky(ValueError("once"), "fine")])
    with pytest.raises(ValueError, match="once"):
        recovering.invoke("x")
    assert recovering.invoke("x").content == "fine"


def test_an_endless_script_has_a_new_id_for_every_call() -> None:
    model = ScriptedModel([call("lookup", key="a")], repeat=True)
    with pytest.raises(Exception, match="Recursion limit"):
        make_agent(model).invoke(QUESTION, {"recursion_limit": 12})
    calls = [one["id"] for message in model.requests[-1] for one in getattr(message, "tool_calls", ())]
    assert len(calls) == len(set(calls)) > 3


def test_structured_output_by_tool() -> None:
    class Verdict(BaseModel):
        """What was found."""

        value: int

    model = ScriptedModel([call("lookup", key="a"), call("Verdict", value=42)])
    answer = make_agent(model, response_format=ToolStrategy(Verdict)).invoke(QUESTION)
    assert answer["structured_response"] == Verdict(value=42)


@pytest.mark.anyio
async def test_tools_work_both_ways() -> None:
    async def double(number: int) -> int:
        return number * 2

    assert await make_tool("double", double).ainvoke({"number": 2}) == 4
    assert make_tool("negate", lambda number: -number).invoke({"number": 2}) == -2
    assert lookup.invoke({"key": "a"}) == await lookup.ainvoke({"key": "a"}) == "record a: value=42"


def test_the_steering_block_is_found_and_never_twice() -> None:
    base = {"type": "text", "text": "Be brief."}
    block = {"type": "text", "text": "[REASONBLOCKS]\nLook again."}
    assert steering_block([base, block]) == "[REASONBLOCKS]\nLook again."
    assert steering_block("Be brief.") is None
    assert system_text([base, block]) == "Be brief.\n[REASONBLOCKS]\nLook again."
    assert system_text(None) == ""
    with pytest.raises(AssertionError, match="more than one"):
        steering_block([block, block])


@pytest.mark.parametrize(("difficulty", "low", "high"), [("easy", 0.0, 0.2), ("normal", 0.3, 0.6), ("hard", 0.85, 1.0)])
def test_thoughts_are_distinct_and_as_difficult_as_promised(difficulty: Difficulty, low: float, high: float) -> None:
    thoughts = [thought(number, difficulty) for number in range(50)]
    assert len(set(thoughts)) == 50
    assert all(low < score_step(text) < high for text in thoughts)
