"""A real rb-api that is away while many agents work: afterwards every event is there, once and in order."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest

from server.process import ServerProcess, running
from telemetry.gate import Gate

KEY = "outage-admin-key"
PATIENCE = 60.0
SETTINGS = {"KEYS": KEY, "STALE_AFTER": "6"}
STEP = b'"type":"step"'

AGENTS = """
import asyncio, json, sys
sys.path.insert(0, sys.argv[1])
from langchain.agents import create_agent
from reasonblocks import ReasonBlocks
from support.agents import ScriptedModel, lookup, script

url, key, spool, prefix, runs, steps, think = sys.argv[2:]
rb = ReasonBlocks(key, base_url=url, spool_dir=spool, step_timeout=0.5, monitors_enabled=False, e_traces_enabled=False)
agent = create_agent(ScriptedModel(script(int(steps) - 1), think=float(think)), [lookup], middleware=[rb.middleware()])

async def work(number):
    config = {"metadata": {"reasonblocks_run_id": f"{prefix}-{number}"}, "recursion_limit": 10_000}
    await agent.ainvoke({"messages": [("user", "What is the value?")]}, config)

async def main():
    await asyncio.gather(*(work(number) for number in range(int(runs))))

print("begun", flush=True)
asyncio.run(main())
print("worked", flush=True)
sys.stdin.readline()
rb.close()
print(json.dumps(rb.stats()), flush=True)
"""
"""Agents that work; their process ends, in order, when it is told to."""


class Server(Protocol):
    """An rb-api that can go away and come back on the same address."""

    url: str

    def go(self) -> None:
        """Be away, without a word."""

    def come_back(self) -> None:
        """Be there again."""


class KilledServer:
    """One that is killed, and started again on its data."""

    def __init__(self, data_dir: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._data_dir = data_dir
        self._settings = SETTINGS | {"PORT": str(port)}
        self._process = ServerProcess(data_dir, **self._settings)
        self.url = f"http://127.0.0.1:{port}"

    def go(self) -> None:
        self._process.signal(signal.SIGKILL)
        self._process.close()

    def come_back(self) -> None:
        self._process = ServerProcess(self._data_dir, **self._settings)
        until(lambda: reachable(self), "the server is back")

    def close(self) -> None:
        self._process.close()


class UnreachableServer:
    """One that lives on, but cannot be reached."""

    def __init__(self, process: ServerProcess) -> None:
        self._gate = Gate(*process.address)
        self.url = f"http://127.0.0.1:{self._gate.port}"
        self.go, self.come_back, self.close = self._gate.shut, self._gate.open, self._gate.close


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A real server for the short tests."""
    with running(tmp_path_factory.mktemp("data"), **SETTINGS) as server:
        yield server


@pytest.fixture(params=["short", pytest.param("long", marks=pytest.mark.slow)])
def scale(request: pytest.FixtureRequest) -> str:
    """How much of it."""
    return str(request.param)


@pytest.fixture
def server(scale: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    """Away for a moment, or killed and away for long."""
    made: KilledServer | UnreachableServer
    if scale == "short":
        made = UnreachableServer(request.getfixturevalue("process"))
    else:
        made = KilledServer(tmp_path / "data")
    try:
        until(lambda: reachable(made), "the server is there")
        yield made
    finally:
        made.close()


def reachable(server: Server) -> bool:
    try:
        return httpx.get(f"{server.url}/v1/health").status_code == 200
    except httpx.TransportError:
        return False


def get(server: Server, path: str) -> Any:
    answer = httpx.get(f"{server.url}/v1{path}", headers={"authorization": f"Bearer {KEY}"}, timeout=PATIENCE)
    return answer.json() if answer.status_code == 200 else None


class Agents:
    """The process of the agents."""

    def __init__(self, server: Server, spool: Path, prefix: str, runs: int, steps: int, think: float) -> None:
        arguments = [str(Path(__file__).parent.parent), server.url, KEY, str(spool), prefix, runs, steps, think]
        self.process = subprocess.Popen(
            [sys.executable, "-c", AGENTS, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ},
        )
        self.say("begun")

    def say(self, expected: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == expected

    def end(self) -> str:
        """Have it close and end; what it says of its telemetry."""
        said, _ = self.process.communicate("\n", timeout=PATIENCE)
        assert self.process.returncode == 0
        return said

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def until(good: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not good():
        assert time.monotonic() < deadline, f"it did not come about that {what}"
        time.sleep(0.1)


def check_run(server: Server, run_id: str, steps: int) -> None:
    """A run is there whole: each step once, stored in their order, and its end."""
    run = get(server, f"/monitor/runs/{run_id}")
    assert run is not None, f"{run_id} is not there"
    assert (run["outcome"], run["step_count"], run["lost_steps"]) == ("success", steps, 0)
    assert [step["step_index"] for step in run["steps"]] == list(range(steps))
    stored = [step["created_at"] for step in run["steps"]]
    assert stored == sorted(stored)
    assert run["finished_at"] >= stored[-1]


def on_disk(spool: Path) -> bytes:
    return b"".join(path.read_bytes() for path in spool.rglob("*.events"))


def test_c34_nothing_is_lost_while_the_server_is_away(server: Server, scale: str, tmp_path: Path) -> None:
    """The server is away in the middle of many runs and comes back: every event is there, once and in order."""
    runs, steps, away, think = (20, 10, 1.5, 0.2) if scale == "short" else (200, 50, 60.0, 1.2)
    agents = Agents(server, tmp_path / "spool", "run", runs, steps, think)
    until(lambda: get(server, "/monitor/runs/run-0"), "the first run has begun")
    server.go()
    time.sleep(away)
    until(lambda: on_disk(tmp_path), "something is on disk")
    server.come_back()
    agents.say("worked")
    said = agents.end()
    assert f'"sent": {runs * (steps + 2)}' in said, said
    assert '"dropped": {}' in said
    for number in range(runs):
        check_run(server, f"run-{number}", steps)
    assert on_disk(tmp_path) == b""


def test_c34_nothing_that_was_spooled_is_lost_with_its_process(server: Server, scale: str, tmp_path: Path) -> None:
    """A client is killed while the server is away: the next one delivers its spool, and its runs end as `abandoned`."""
    runs, steps, away, think = (10, 100, 1.5, 0.1) if scale == "short" else (200, 100, 30.0, 1.2)
    first = Agents(server, tmp_path / "spool", "dead", runs, steps, think)
    until(lambda: get(server, "/monitor/runs/dead-0"), "the first run has begun")
    server.go()
    time.sleep(away)
    until(lambda: on_disk(tmp_path).count(STEP) > 3 * runs, "there is much on disk")
    first.kill()
    left = on_disk(tmp_path)
    server.come_back()
    second = Agents(server, tmp_path / "spool", "alive", 2, 3, 0.1)
    second.say("worked")
    until(lambda: not on_disk(tmp_path), "the spool is empty")
    second.end()
    for number in range(2):
        check_run(server, f"alive-{number}", 3)
    for number in range(runs):
        there = [step["step_index"] for step in get(server, f"/monitor/runs/dead-{number}")["steps"]]
        spooled = [n for n in range(steps) if b'%b,"run_id":"dead-%d","step_index":%d,' % (STEP, number, n) in left]
        assert there == list(range(len(there)))
        assert set(spooled) <= set(there)
    until(
        lambda: all(get(server, f"/monitor/runs/dead-{number}")["outcome"] == "abandoned" for number in range(runs)),
        "the dead runs are abandoned",
    )
