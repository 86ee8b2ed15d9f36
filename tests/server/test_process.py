"""The server as a process: its first key, real sockets, streams, and an end that loses nothing."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from reasonblocks.errors import SettingsError
from reasonblocks.server.run import listening
from server.process import ServerProcess, running

KEY = "process-admin-key"
HEADERS = {"authorization": f"Bearer {KEY}"}
EVALUATE = "/v1/monitors/evaluate"


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """One for the tests that do not end it."""
    with running(":memory:", KEYS=KEY, HEARTBEAT_SECONDS="0.2") as server:
        yield server


def exchange(server: ServerProcess, *parts: bytes, pause: float = 0.0) -> bytes:
    """Send parts of a request as they are, and read until the server closes."""
    with socket.create_connection(server.address, timeout=30) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        answer = b""
        while chunk := connection.recv(65_536):
            answer += chunk
    return answer


def head(method: str, path: str, *more: str) -> bytes:
    """The head of a request whose connection ends with it."""
    lines = [
        f"{method} {path} HTTP/1.1",
        "host: rb-api.test",
        f"authorization: Bearer {KEY}",
        "connection: close",
        *more,
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def test_a_first_start_prints_a_key_that_works(tmp_path: Path) -> None:
    """Once, alone on its line on stdout; a second start finds it and prints none."""
    with running(tmp_path) as server:
        url = server.url
        key = server.first_key()
        me = httpx.get(f"{url}/v1/monitor/me", headers={"authorization": f"Bearer {key}"})
        assert me.json()["org_id"] == "default"
        assert server.stop() == 0
        assert key.startswith("rb_live_")
        assert key not in json.dumps(server.log) + "".join(server.said)
        assert any("not shown again" in line for line in server.said)
    with running(tmp_path) as again:
        assert httpx.get(f"{again.url}/monitor/me", headers={"authorization": f"Bearer {key}"}).status_code == 200
        assert again.stop() == 0
        assert (again.printed, again.said) == ([], [])


def test_static_keys_are_keys_enough(server: ServerProcess) -> None:
    """With one in the environment nothing is printed, and its holder is an admin."""
    assert httpx.get(f"{server.url}/v1/monitor/me", headers=HEADERS).json()["is_admin"] is True
    assert (server.printed, server.said) == ([], [])


def test_a_slash_in_an_id_survives_the_socket(server: ServerProcess) -> None:
    """As `%2F`, which the server's own parser decodes before anybody else sees it."""
    httpx.post(f"{server.url}/v1/monitor/runs", headers=HEADERS, json={"run_id": "team/a:b@c"})
    body = b'{"step_index": 0, "thought": "hm"}'
    answer = exchange(
        server, head("POST", "/v1/monitor/runs/team%2Fa%3Ab%40c/steps", f"content-length: {len(body)}") + body
    )
    assert answer.startswith(b"HTTP/1.1 200 ")
    shown = exchange(server, head("GET", "/monitor/runs/team%2Fa%3Ab%40c"))
    assert json.loads(shown.split(b"\r\n\r\n", 1)[1])["run_id"] == "team/a:b@c"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_cap_is_answered_not_cut_off(server: ServerProcess, chunked: bool) -> None:
    """The client gets its 413 and can go on with the connection."""
    body = b" " * 6_000_000
    with httpx.Client(base_url=server.url, headers=HEADERS) as client:
        answer = client.post(EVALUATE, content=iter([body]) if chunked else body)
        assert (answer.status_code, "bytes" in answer.json()["detail"]) == (413, True)
        assert client.post(EVALUATE, json={"steps": []}).status_code == 200


def test_a_client_that_waits_for_leave_to_send_is_refused_at_once(server: ServerProcess) -> None:
    """`Expect: 100-continue` with too much to come is not answered with 100."""
    answer = exchange(server, head("POST", EVALUATE, "content-length: 6000000", "expect: 100-continue"), pause=0.0)
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_without_an_end_is_cut_off(server: ServerProcess) -> None:
    """The server stops to read, answers and closes."""
    chunk = b"%x\r\n%b\r\n" % (1_000_000, b" " * 1_000_000)
    with socket.create_connection(server.address, timeout=30) as connection:
        connection.sendall(head("POST", EVALUATE, "transfer-encoding: chunked"))
        sent = 0
        try:
            while sent < 500:
                connection.sendall(chunk)
                sent += 1
        except OSError:
            pass
    assert 5 < sent < 200


def test_many_requests_share_a_connection(server: ServerProcess) -> None:
    """Also after refusals of all kinds."""
    with httpx.Client(base_url=server.url, headers=HEADERS) as client:
        for _ in range(5):
            assert client.post(EVALUATE, content=b"{").status_code == 400
            assert client.get("/v1/monitor/me", headers={"authorization": "Bearer x"}).status_code == 401
            assert client.post(EVALUATE, content=b"x" * 100_000, headers={"authorization": "x"}).status_code == 401
            assert client.post(EVALUATE, json={"steps": []}).status_code == 200
        pool = client._transport._pool  # type: ignore[attr-defined]
        assert len(pool.connections) == 1


def test_the_log_is_json_with_one_line_for_each_request(server: ServerProcess) -> None:
    """And nothing else on stderr."""
    httpx.get(f"{server.url}/health", headers={"x-request-id": "find-me"})
    deadline = time.monotonic() + 10
    found: list[dict[str, object]] = []
    while not found and time.monotonic() < deadline:
        time.sleep(0.05)
        found = [line for line in server.log if line.get("request_id") == "find-me"]
    assert [(line["path"], line["status"]) for line in found] == [("/v1/health", 200)]
    assert server.said == []
    assert KEY not in json.dumps(server.log)


def events(lines: Iterator[str]) -> Iterator[tuple[str, object]]:
    """Server-sent events, and comments as `:`."""
    name = ""
    for line in lines:
        if line.startswith(":"):
            yield ":", None
        elif line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def test_a_stream_shows_steps_as_they_come_in(server: ServerProcess) -> None:
    """First `ready`, then signs of life, then a `step` for each step of the org that was asked for."""
    with (
        httpx.Client(base_url=server.url, headers=HEADERS, timeout=30) as client,
        httpx.stream("GET", f"{server.url}/v1/monitor/stream?org_id=watched", headers=HEADERS, timeout=30) as stream,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        incoming = events(stream.iter_lines())
        assert next(incoming) == ("ready", {})
        assert next(incoming) == (":", None)
        for org in ("other", "watched"):
            client.post("/v1/monitor/runs", json={"run_id": "seen", "org_id": org})
            client.post(f"/v1/monitor/runs/seen/steps?org_id={org}", json={"step_index": 3, "thought": "hm"})
        step = next(data for name, data in incoming if name == "step")
    assert isinstance(step, dict)
    assert set(step) == {"run_id", "step_index", "org_id", "project_id", "total_score", "fired"}
    assert (step["run_id"], step["step_index"], step["org_id"]) == ("seen", 3, "watched")


def test_a_key_that_is_revoked_elsewhere_ends_its_stream(tmp_path: Path) -> None:
    """Another process revokes it; within seconds the server lets nobody in with it, nor lets anybody stay."""
    with running(tmp_path, HEARTBEAT_SECONDS="0.2") as server:
        url = server.url
        headers = {"authorization": f"Bearer {server.first_key()}"}
        with httpx.stream("GET", f"{url}/monitor/stream", headers=headers, timeout=30) as stream:
            incoming = events(stream.iter_lines())
            assert next(incoming) == ("ready", {})
            key_id = httpx.get(f"{url}/monitor/me", headers=headers).json()["key_id"]
            command = [sys.executable, "-m", "reasonblocks", "keys", "revoke", key_id, "--data-dir", str(tmp_path)]
            subprocess.run(command, check=True, capture_output=True, timeout=30)
            assert {name for name, _ in incoming} <= {":"}
        assert httpx.get(f"{url}/monitor/me", headers=headers).status_code == 401


def test_streams_end_with_the_server(tmp_path: Path) -> None:
    """A watcher sees a proper end, not a broken connection, and does not hold up the end."""
    with running(tmp_path, KEYS=KEY) as server:
        with httpx.stream("GET", f"{server.url}/monitor/stream", headers=HEADERS, timeout=30) as stream:
            incoming = events(stream.iter_lines())
            assert next(incoming) == ("ready", {})
            began = time.monotonic()
            server.signal(signal.SIGTERM)
            assert [name for name, _ in incoming if name != ":"] == []
        assert server.wait() == 0
        assert time.monotonic() - began < 15
        assert [line["event"] for line in server.log][-1] == "stopped"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_batch_in_flight_is_finished_before_the_end(tmp_path: Path, number: signal.Signals) -> None:
    """What had begun to arrive when the signal came is stored and acknowledged; after that nobody is let in."""
    batch = [{"type": "run_start", "run_id": "last"}]
    batch += [
        {"type": "step", "run_id": "last", "step_index": index, "thought": f"step {index}"} for index in range(300)
    ]
    body = json.dumps({"events": batch}).encode()
    with running(tmp_path, KEYS=KEY) as server:
        address = server.address
        with socket.create_connection(address, timeout=30) as connection:
            connection.sendall(head("POST", "/v1/monitor/events", f"content-length: {len(body)}") + body[:1_000])
            time.sleep(0.3)
            server.signal(number)
            time.sleep(0.3)
            connection.sendall(body[1_000:])
            answer = connection.makefile("rb").read()
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert json.loads(answer.split(b"\r\n\r\n", 1)[1])["accepted"] == 301
        assert server.wait() == 0
        with pytest.raises(OSError):  # noqa: PT011  refused or reset, as the system likes
            socket.create_connection(address, timeout=5).close()
    with running(tmp_path, KEYS=KEY) as again:
        shown = httpx.get(f"{again.url}/v1/monitor/runs/last?org_id=default", headers=HEADERS).json()
        assert [step["thought"] for step in shown["steps"]] == [f"step {index}" for index in range(300)]


def test_a_port_that_is_taken_is_said_so() -> None:
    """Before anything is opened that would have to be closed again."""
    with listening("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"cannot listen on 127.0.0.1:{port}"), listening("127.0.0.1", port):
            pass
    with pytest.raises(SettingsError, match="no-such-host"), listening("no-such-host.invalid", 0):
        pass
