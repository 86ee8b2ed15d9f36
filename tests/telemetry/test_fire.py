"""Servers that misbehave in every way they can: memory is bounded, agents are not held up, recovery takes seconds."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent

from reasonblocks import ReasonBlocks
from reasonblocks.telemetry.spool.policy import SpoolPolicy
from support.agents import ScriptedModel, lookup, script
from support.standin import Fault, Standin
from telemetry.events import run_events, until

MOST_MEMORY = 64_000_000
RECOVERY_SECONDS = 5.0
STEP_TIMEOUT = 0.2
FIRE = {
    "resetting": Fault(reset=True),
    "black-holed": Fault(black_hole=True),
    "slow": Fault(drip=1.0),
    "429": Fault(status=429, retry_after=30),
    "503": Fault(status=503, retry_after=30),
    "garbage": Fault(garbage=True),
    "refusing": Fault(refuse=True),
    "500": Fault(status=500),
}
QUICK = ("resetting", "refusing")


def held(rb: ReasonBlocks) -> int:
    """About how many bytes of events are in memory."""
    stream = rb._stream
    under_way = sum(2 * parcel.weight for parcel in list(stream._under_way))
    reader = stream._spool._reader if stream._spool is not None else None
    reading = sum(parcel.weight for parcel in list(reader._portion)) if reader is not None else 0
    return stream.mailbox.bytes + under_way + stream._courier.lanes._bytes + reading


def flood(rb: ReasonBlocks, prefix: str, runs: int, size: int) -> tuple[int, int, float]:
    """Post many large events, as agents would; how many, how much was held at most, how long one took at worst."""
    posted, most, longest = 0, 0, 0.0
    for number in range(runs):
        for event in run_events(f"{prefix}-{number}", 20, size):
            began = time.perf_counter()
            rb._stream.post(event)
            longest = max(longest, time.perf_counter() - began)
            posted += 1
        most = max(most, held(rb))
        time.sleep(0.02)  # 30 MB a second, far more than agents say
    return posted, most, longest


@pytest.fixture(
    params=[pytest.param((), id="old", marks=pytest.mark.slow), pytest.param(("events", "losses"), id="new")]
)
def server(request: pytest.FixtureRequest) -> Iterator[Standin]:
    """A server of either generation."""
    with Standin(capabilities=request.param) as standin:
        yield standin


@pytest.mark.parametrize("fault", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in FIRE])
def test_c8_a_server_under_fire_costs_no_memory_no_time_and_no_event(
    server: Standin, tmp_path: Path, fault: str
) -> None:
    """Through 60 MB of events nothing is dropped, little is held, and all arrives within 5 s of the server's return."""
    policy = SpoolPolicy(fsync="never")
    rb = ReasonBlocks(server.key, base_url=server.url, spool_dir=tmp_path, spool=policy, step_timeout=STEP_TIMEOUT)
    try:
        agent = create_agent(ScriptedModel(script(1)), [lookup], middleware=[rb.middleware(run_id="first")])
        agent.invoke({"messages": [("user", "?")]})
        rb.close()
        before = rb.stats()["sent"]
        server.fault("*", FIRE[fault])
        posted, most, longest = flood(rb, "run", 100, 30_000)
        assert most < MOST_MEMORY
        assert longest < STEP_TIMEOUT
        assert took_no_longer_than_its_budget(rb)
        until(rb, lambda stats: stats["spooled"]["ever"] > 0, 20.0)
        assert held(rb) < MOST_MEMORY
        server.clear_faults()
        server.accept()
        back = time.monotonic()
        until(rb, lambda stats: stats["sent"] > before, 20.0)
        assert time.monotonic() - back < RECOVERY_SECONDS
        stats = until(rb, lambda stats: not stats["waiting"], 60.0)
        assert (stats["dropped"], stats["set_aside"]) == ({}, 0)
        assert stats["sent"] == before + posted + 6
        assert sorted(server.runs["run-7"].steps) == list(range(20))
    finally:
        server.clear_faults()
        server.accept()
        rb.close()


def took_no_longer_than_its_budget(rb: ReasonBlocks) -> bool:
    """Whether an agent of four calls was held up by no more than its steps' budgets."""
    agent = create_agent(ScriptedModel(script(3)), [lookup], middleware=[rb.middleware(run_id="held-up")])
    began = time.monotonic()
    agent.invoke({"messages": [("user", "What is the value?")]})
    return time.monotonic() - began < 4 * STEP_TIMEOUT + 2.0


@pytest.fixture
def no_tls() -> Iterator[int]:
    """The port of somebody who does not speak TLS."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(1_000)
                    connection.sendall(b"220 smtp.example.com ready\r\n" * 100)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]


def test_c8_a_server_with_broken_tls_costs_no_event(no_tls: int, tmp_path: Path) -> None:
    """What cannot be delivered for lack of TLS is on disk; no agent is held up."""
    policy = SpoolPolicy(begin_after=0.2, fsync="never")
    rb = ReasonBlocks(
        "rb_test_tls",
        base_url=f"https://127.0.0.1:{no_tls}",
        spool_dir=tmp_path,
        spool=policy,
        step_timeout=STEP_TIMEOUT,
    )
    posted, most, longest = flood(rb, "run", 20, 10_000)
    assert took_no_longer_than_its_budget(rb)
    stats = until(rb, lambda stats: stats["spooled"]["now"] == posted + 6)
    assert (stats["dropped"], stats["sent"]) == ({}, 0)
    assert most < MOST_MEMORY
    assert longest < STEP_TIMEOUT
    rb._stream.close()


SOAK = """
import gc, json, os, sys, threading, time
sys.path.insert(0, sys.argv[1])
import psutil
from reasonblocks import ReasonBlocks
from telemetry.events import run_events

url, key, spool, events, rate = sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6])
rb = ReasonBlocks(key, base_url=url, spool_dir=spool)
process = psutil.Process()
marks, posted, began = [], 0, time.monotonic()
while posted < events:
    for event in run_events(f"run-{posted}", 18, 500):
        rb._stream.post(event)
        posted += 1
    ahead = posted / rate - (time.monotonic() - began)
    if ahead > 0:
        time.sleep(ahead)
    if posted % (events // 10) < 20:
        gc.collect()
        marks.append((process.memory_info().rss, process.num_fds(), process.num_threads()))
took = time.monotonic() - began
rb.close()
print(json.dumps({"marks": marks, "took": took, "stats": rb.stats(), "threads": threading.active_count()}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("away", [False, True], ids=["there", "away now and then"])
def test_c41_a_long_stream_leaves_memory_and_handles_flat(tmp_path: Path, away: bool) -> None:
    """100,000 events at 2,000 a second, with and without outages: no memory, no handle and no thread stays behind."""
    pytest.importorskip("psutil")
    with Standin(capabilities=("events", "losses")) as server:
        arguments = [str(Path(__file__).parent.parent), server.url, server.key, str(tmp_path), "100000", "2000"]
        with subprocess.Popen([sys.executable, "-c", SOAK, *arguments], stdout=subprocess.PIPE, text=True) as process:
            while process.poll() is None:
                time.sleep(3.0)
                server.forget()
                if away and process.poll() is None:
                    server.refuse()
                    time.sleep(3.0)
                    server.accept()
            assert process.stdout is not None
            said: dict[str, Any] = json.loads(process.stdout.read())
        stats = said["stats"]
        assert (stats["sent"], stats["dropped"], stats["waiting"]) == (100_000, {}, 0)
        memory, handles, threads = zip(*said["marks"], strict=True)
        # The first tenth warms up; from then on there is no trend, whatever the moment of an outage.
        assert max(memory[2:]) - memory[2] < (MOST_MEMORY if away else 10_000_000), memory
        assert max(handles) <= min(handles) + 20, handles  # one for each lane, until the client knows of batches
        assert handles[-1] <= handles[1] + 4, handles
        assert max(threads) <= min(threads) + 2, threads
        assert said["threads"] == 1
