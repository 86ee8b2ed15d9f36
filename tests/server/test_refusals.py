"""Every way to be refused: its status, its detail, and the place of the mistake."""

from typing import Any

import anyio
import httpx
import pytest

from reasonblocks.engine.errors import Busy, StoreError
from reasonblocks.engine.requests import EvaluateRequest, RetrieveRequest
from reasonblocks.limits import MAX_BODY
from reasonblocks.server import bodies
from server.house import House

EVALUATE = "/v1/monitors/evaluate"
START = "/v1/monitor/runs"
DEEP = b"[" * 10_000 + b"]" * 10_000


def detail(answer: httpx.Response) -> Any:
    """The one thing that every error has."""
    assert answer.headers["content-type"] == "application/json"
    return answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "body", "loc", "kind"),
    [
        (EVALUATE, {"steps": [{}, {}, {}, {"thought": 5}]}, ["body", "steps", 3, "thought"], "type"),
        (EVALUATE, {}, ["body", "steps"], "missing"),
        (EVALUATE, [], ["body"], "type"),
        (EVALUATE, "text", ["body"], "type"),
        (EVALUATE, {"steps": [{}] * 2_001}, ["body", "steps"], "value"),
        (EVALUATE, {"steps": [{"observation": "x" * 64_001}]}, ["body", "steps", 0, "observation"], "value"),
        (EVALUATE, {"steps": [], "weights": {"semantic_loop": "much"}}, ["body", "weights"], "type"),
        (EVALUATE, {"steps": [], "weights": {"x" * 300: 1.0}}, ["body", "weights"], "value"),
        (EVALUATE, {"steps": [], "run_id": "has blanks"}, ["body", "run_id"], "value"),
        (EVALUATE, {"steps": [], "offset": -1, "run_id": "a"}, ["body", "offset"], "value"),
        ("/v1/traces/retrieve", {"context": "x", "tier": "e9"}, ["body", "tier"], "value"),
        ("/v1/traces/retrieve", {"context": "x", "tier": "e1", "top_k": 51}, ["body", "top_k"], "value"),
        ("/v1/traces/retrieve", {"context": "x" * 64_001, "tier": "e1"}, ["body", "context"], "value"),
        ("/v1/traces/retrieve", {"context": "x"}, ["body", "tier"], "value"),
        (START, {"run_id": ""}, ["body", "run_id"], "value"),
        (START, {"run_id": "a" * 257}, ["body", "run_id"], "value"),
        (START, {"run_id": "r", "task": "x" * 4_001}, ["body", "task"], "value"),
        (START, {"run_id": "r", "metadata": []}, ["body", "metadata"], "type"),
        ("/v1/monitor/runs/r/steps", {"step_index": 10_001}, ["body", "step_index"], "value"),
        ("/v1/monitor/runs/r/steps", {"step_index": "3"}, ["body", "step_index"], "type"),
        ("/v1/monitor/runs/r/steps", {"step_index": 1, "injections": ["a", 2]}, ["body", "injections", 1], "type"),
        ("/v1/monitor/runs/r/finish", {"outcome": "x" * 65}, ["body", "outcome"], "value"),
        ("/v1/monitor/events", {"events": [{}] * 501}, ["body", "events"], "value"),
        ("/v1/findings/shop", {"content": ""}, ["body", "content"], "value"),
        ("/v1/findings/shop/search", {"query": "x", "score_threshold": 1.5}, ["body", "score_threshold"], "value"),
        ("/v1/findings/shop/invalidate", {"file_paths": ["a"] * 1_025}, ["body", "file_paths"], "value"),
        (
            "/v1/library/patterns",
            {"tier": "e1", "fields": {}, "gate_threshold": 2},
            ["body", "gate_threshold"],
            "value",
        ),
    ],
)
async def test_a_field_that_does_not_fit_is_named(
    acme: httpx.AsyncClient, path: str, body: object, loc: list[str | int], kind: str
) -> None:
    """422 with the location of the field, from the outside in."""
    answer = await acme.post(path, json=body)
    assert answer.status_code == 422
    (problem,) = detail(answer)
    assert (problem["loc"], problem["type"]) == (loc, kind)
    assert problem["msg"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("limit=0", ["limit"]),
        ("limit=x&offset=-1", ["limit", "offset"]),
        ("limit=", ["limit"]),
    ],
)
async def test_a_query_that_does_not_fit_is_named(acme: httpx.AsyncClient, query: str, names: list[str]) -> None:
    """422 for the parameters of a query, too; all of them at once."""
    answer = await acme.get(f"/v1/monitor/runs?{query}")
    assert answer.status_code == 422
    assert [problem["loc"] for problem in detail(answer)] == [["query", name] for name in names]


HOSTILE = {
    "empty": (b"", 400),
    "blank": (b"   ", 400),
    "truncated": (b'{"steps": [', 400),
    "trailing garbage": (b'{"steps": []} x', 400),
    "two documents": (b'{"steps": []}{"steps": []}', 400),
    "bad UTF-8": (b'{"steps": [{"thought": "\xff\xfe"}]}', 400),
    "a byte order mark": (b'\xef\xbb\xbf{"steps": []}', 400),
    "UTF-16": ('{"steps": []}'.encode("utf-16"), 400),
    "a lone surrogate, truncated": (b'{"steps": [{"thought": "\\ud800"', 400),
    "a form": (b"steps=1&model=x", 400),
    "null": (b"null", 422),
    "NaN": (b'{"steps": [], "weights": {"semantic_loop": NaN}}', 400),
    "Infinity": (b'{"steps": [], "weights": {"semantic_loop": -Infinity}}', 400),
    "1e999": (b'{"steps": [], "weights": {"semantic_loop": 1e999}}', 422),
    "a huge integer": (b'{"steps": [], "offset": 1' + b"0" * 400 + b"}", 422),
    "deep where it is not expected": (b'{"steps": ' + DEEP + b"}", 422),
    "deep in a field nobody knows": (b'{"steps": [], "extra": ' + DEEP + b"}", 400),
    "deep and never closed": (b'{"extra": ' + b"[" * 100_000, 400),
    "a huge string": (b'{"steps": [{"thought": "' + b"x" * 4_000_000 + b'"}]}', 422),
    "over the cap": (b'{"steps": [], "extra": "' + b"x" * 6_000_000 + b'"}', 413),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_body_gets_a_clear_answer(acme: httpx.AsyncClient, name: str) -> None:
    """Whatever is sent, the answer is a 4xx that says what is wrong."""
    body, status = HOSTILE[name]
    answer = await acme.post(EVALUATE, content=body)
    assert answer.status_code == status
    assert detail(answer)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (START, b'{"run_id": "deep", "metadata": {"x": %b}}'),
        ("/v1/library/patterns", b'{"tier": "e1", "fields": {"observation": %b}}'),
        ("/v1/traces", b'{"manifest": {"x": %b}, "calls": []}'),
        ("/v1/findings/deep", b'{"content": "x", "metadata": {"x": %b}}'),
    ],
)
@pytest.mark.parametrize("levels", [150, 900, 10_000])
async def test_free_form_values_cannot_be_nested_without_end(
    acme: httpx.AsyncClient, path: str, body: bytes, levels: int
) -> None:
    """What could be decoded but not encoded again is refused when it is sent."""
    answer = await acme.post(path, content=body % (b"[" * levels + b"]" * levels))
    assert answer.status_code in (400, 422)
    assert detail(answer)


async def test_a_deep_event_spoils_no_other(acme: httpx.AsyncClient) -> None:
    """Of a batch only the one that is nested too deeply is rejected; what is around the events cannot be."""
    whole = b'{"events": [{"type": "run_start", "run_id": "d"}, %b, {"type": "step", "run_id": "d", "step_index": 1}]}'
    for levels in (200, 2_000, 100_000):
        nested = b"[" * levels + b"]" * levels
        deep = b'{"type": "step", "run_id": "d", "step_index": 0, "metadata": {"x": %b}}' % nested
        answer = await acme.post("/v1/monitor/events", content=whole % deep)
        assert answer.status_code == 200
        assert answer.json()["accepted"] == 2
        assert [rejected["index"] for rejected in answer.json()["rejected"]] == [1]
        assert "nested" in answer.json()["rejected"][0]["detail"]
    around = await acme.post("/v1/monitor/events", content=b'{"events": [], "more": %b}' % DEEP)
    assert (around.status_code, around.json()["detail"]) == (400, "the body is nested too deeply")


async def test_half_a_character_is_replaced(acme: httpx.AsyncClient) -> None:
    """A text with one is taken by the single routes as well."""
    answer = await acme.post(START, content=b'{"run_id": "halved", "task": "a\\ud800b"}')
    assert (answer.status_code, answer.json()["task"]) == (201, "a\ufffdb")


async def test_half_a_character_spoils_no_other(acme: httpx.AsyncClient) -> None:
    """It is replaced wherever it is, and nothing is lost; a batch with a deep event beside it is no worse off."""
    events = (
        b'{"type": "run_start", "run_id": "half", "task": "\\udc00"}',
        b'{"type": "step", "run_id": "half", "step_index": 0, "thought": "a\\ud800b \\\\ud800 \\ud83d\\ude00"}',
        b'{"type": "step", "run_id": "half", "step_index": 1, "metadata": {"\\uDBFF": "\\uD83D\\uD83D\\uDE00"}}',
        b'{"type": "step", "run_id": "half", "step_index": 2, "metadata": {"x": %b}}' % DEEP,
    )
    answer = await acme.post("/v1/monitor/events", content=b'{"events": [%b]}' % b", ".join(events))
    assert (answer.json()["accepted"], [one["index"] for one in answer.json()["rejected"]]) == (3, [3])
    run = (await acme.get("/v1/monitor/runs/half")).json()
    assert (run["task"], run["steps"][0]["thought"]) == ("\ufffd", "a\ufffdb \\ud800 \U0001f600")
    assert run["steps"][1]["metadata"] == {"\ufffd": "\ufffd\U0001f600"}


async def test_a_number_beyond_all_floats_is_refused_alike(acme: httpx.AsyncClient) -> None:
    """Alone and in a batch, both times with the field's name."""
    await acme.post(START, json={"run_id": "far"})
    alone = await acme.post("/v1/monitor/runs/far/steps", content=b'{"step_index": 0, "metadata": {"a": 1e999}}')
    assert (alone.status_code, alone.json()["detail"][0]["loc"]) == (422, ["body", "metadata"])
    event = b'{"type": "step", "run_id": "far", "step_index": 0, "metadata": {"a": 1e999}}'
    batch = await acme.post("/v1/monitor/events", content=b'{"events": [%b]}' % event)
    assert "metadata" in batch.json()["rejected"][0]["detail"]


async def test_of_a_key_that_is_there_twice_the_last_counts(acme: httpx.AsyncClient) -> None:
    """As most readers of JSON have it."""
    answer = await acme.post(START, content=b'{"run_id": "first", "run_id": "twice"}')
    assert answer.json()["run_id"] == "twice"


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "nonsense", None])
async def test_the_content_type_is_not_asked_for(acme: httpx.AsyncClient, content_type: str | None) -> None:
    """Older clients send what they like; a body is JSON or it is not."""
    headers = {} if content_type is None else {"content-type": content_type}
    answer = await acme.post(EVALUATE, content=b'{"steps": []}', headers=headers)
    assert answer.status_code == 200


async def test_null_is_as_good_as_left_out(acme: httpx.AsyncClient) -> None:
    """Some clients send every field they know."""
    body: dict[str, Any] = dict.fromkeys(EvaluateRequest.__struct_fields__)
    assert (await acme.post(EVALUATE, json=body | {"steps": [{"thought": None}]})).status_code == 200
    question: dict[str, Any] = dict.fromkeys(RetrieveRequest.__struct_fields__)
    answer = await acme.post("/v1/traces/retrieve", json=question | {"context": "x", "tier": "e3"})
    assert answer.status_code == 200


async def chunks(size: int, total: int, sent: list[int]) -> Any:
    """A body in pieces, of which nobody said how many there are."""
    while sum(sent) < total:
        sent.append(size)
        yield b" " * size


async def test_a_body_without_a_length_is_cut_off(acme: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the cap nothing is kept, and after a while nothing is read any more."""
    monkeypatch.setattr(bodies, "DRAIN_BYTES", 10_000_000)
    sent: list[int] = []
    answer = await acme.post(EVALUATE, content=chunks(100_000, 10**9, sent))
    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"
    assert sum(sent) < MAX_BODY + 11_000_000


async def test_a_body_that_is_only_a_little_too_large_keeps_its_connection(acme: httpx.AsyncClient) -> None:
    """It is read to its end, so that the client gets to see the answer."""
    sent: list[int] = []
    answer = await acme.post(EVALUATE, content=chunks(500_000, 6_000_000, sent))
    assert answer.status_code == 413
    assert "connection" not in answer.headers
    assert sum(sent) == 6_000_000


async def test_a_body_at_the_cap_is_taken(acme: httpx.AsyncClient) -> None:
    """The cap itself is still allowed."""
    frame = b'{"steps": [], "extra": "%b"}'
    body = frame % (b"x" * (MAX_BODY - len(frame) + 2))
    assert len(body) == MAX_BODY
    assert (await acme.post(EVALUATE, content=body)).status_code == 200
    assert (await acme.post(EVALUATE, content=body + b" ")).status_code == 413


async def test_a_body_that_never_comes_times_out(acme: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """408 instead of a request that is open for ever."""
    monkeypatch.setattr(bodies, "READ_SECONDS", 0.05)

    async def stuck() -> Any:
        yield b"{"
        await anyio.sleep(60)

    answer = await acme.post(EVALUATE, content=stuck())
    assert (answer.status_code, answer.headers["connection"]) == (408, "close")


async def test_a_method_that_is_not_there_names_those_that_are(acme: httpx.AsyncClient) -> None:
    """405 with Allow."""
    answer = await acme.put("/v1/monitor/runs", json={})
    assert answer.status_code == 405
    assert {"GET", "POST"} <= set(answer.headers["allow"].split(", "))
    assert detail(answer)


@pytest.mark.parametrize("path", ["/v1/nope", "/nope", "/v1", "/v2/health", "/v1/monitor/runs/a/steps/b/c"])
async def test_a_route_that_is_not_there(acme: httpx.AsyncClient, path: str) -> None:
    """404, in the same words as for anything else that is not there."""
    answer = await acme.get(path)
    assert (answer.status_code, answer.json()) == (404, {"detail": "not found"})


@pytest.mark.parametrize(
    ("error", "status", "retry"),
    [(Busy("too many texts wait", retry_after=2.3), 503, "3"), (StoreError("/secret/path is full"), 503, "5")],
)
async def test_an_engine_that_cannot_is_503_with_patience(
    house: House, acme: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, retry: str
) -> None:
    """With Retry-After, and without the server's own affairs."""

    async def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(house.engine.retriever, "retrieve", refuse)
    answer = await acme.post("/v1/traces/retrieve", json={"context": "x", "tier": "e3"})
    assert (answer.status_code, answer.headers["retry-after"]) == (status, retry)
    assert "/secret/path" not in answer.text


async def test_a_defect_is_logged_under_an_id_and_tells_nothing(
    house: House, acme: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """500 without the text of the error, which is in the log with the request's id."""

    async def fail(*_: object) -> None:
        raise ZeroDivisionError("the password is hunter2")

    monkeypatch.setattr(house.engine.retriever, "retrieve", fail)
    answer = await acme.post(
        "/v1/traces/retrieve", json={"context": "x", "tier": "e3"}, headers={"x-request-id": "trace-me"}
    )
    assert answer.status_code == 500
    assert "hunter2" not in answer.text
    assert "trace-me" in detail(answer)
    (record,) = [record for record in caplog.records if record.getMessage() == "failed"]
    assert record.fields["request_id"] == "trace-me"  # type: ignore[attr-defined]
    assert record.exc_info is not None


async def test_a_defect_before_the_routes_is_answered_alike(
    house: House, acme: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the key is looked up."""

    def fail(_: str) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(house.engine.keys, "known", fail)
    answer = await acme.get("/v1/monitor/me")
    assert answer.status_code == 500
    assert detail(answer)


async def test_a_part_that_is_missing_is_not_ready(
    house: House, stranger: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """503 names the part; why is for the log."""
    parts = {"database": "ok", "index": "the directory /secret/path is full", "embedder": "ok"}
    monkeypatch.setattr(house.engine, "health", lambda: parts)
    answer = await stranger.get("/v1/ready")
    assert answer.status_code == 503
    assert answer.json() == {
        "status": "not ready",
        "database": "ok",
        "index": "unavailable",
        "embedder": "ok",
        "detail": "not available: index",
    }
    assert (await stranger.get("/v1/health")).status_code == 200
