"""However a process ends, forks or starts others: every run's end arrives, if need be by the next process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from support.standin import Standin
from telemetry.events import timeline

TESTS = Path(__file__).parent.parent
PROCESS_SECONDS = 300
BEGINNING = """
import asyncio, os, signal, sys, threading, time
sys.path.insert(0, sys.argv[1])
from langchain.agents import create_agent
from reasonblocks import ReasonBlocks
from reasonblocks.telemetry.spool.policy import SpoolPolicy
from support.agents import ScriptedModel, lookup, script
QUESTION = {"messages": [("user", "What is the value?")]}
policy = SpoolPolicy(begin_after=0.3, adopt_every=0.3, fsync="never")
rb = ReasonBlocks(sys.argv[3], base_url=sys.argv[2], step_timeout=0.2, spool_dir=sys.argv[4], spool=policy)
def agent_of(run_id, think=0.0):
    return create_agent(ScriptedModel(script(2), think=think), [lookup], middleware=[rb.middleware(run_id=run_id)])
"""
WAYS = {
    "without close": "agent_of('r').invoke(QUESTION)",
    "with close": "agent_of('r').invoke(QUESTION); rb.close()",
    "async": "asyncio.run(agent_of('r').ainvoke(QUESTION))",
    "with": "with rb: agent_of('r').invoke(QUESTION)",
    "sys.exit": "agent_of('r').invoke(QUESTION); sys.exit(0)",
    "interrupted": """
        try:
            agent_of('r').invoke(QUESTION)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10)
        except KeyboardInterrupt:
            pass
        """,
    "cancelled": """
        async def main():
            async with asyncio.TaskGroup() as tasks:
                work = tasks.create_task(agent_of('r', think=0.2).ainvoke(QUESTION))
                await asyncio.sleep(0.3)
                work.cancel()
        asyncio.run(main())
        """,
    "in a thread": """
        def work():
            threading.main_thread().join()
            try:
                agent_of('r').invoke(QUESTION)
            except RuntimeError:
                pass
        threading.Thread(target=work).start()
        """,
    "dropped": "agent_of('r').invoke(QUESTION); del rb, agent_of",
}
FAILURES = {"cancelled": "failure: CancelledError", "in a thread": "failure: RuntimeError"}
"""LangGraph cannot use its thread pool any more once the main thread is over."""
FORKS = {
    "os.fork": """
        agent_of("before").invoke(QUESTION)
        child = os.fork()
        agent_of("child" if child == 0 else "parent").invoke(QUESTION)
        if child:
            assert os.waitpid(child, 0)[1] == 0
        """,
    "os.fork in an outage": """
        agent_of("before").invoke(QUESTION)
        time.sleep(1.0)
        child = os.fork()
        agent_of("child" if child == 0 else "parent").invoke(QUESTION)
        if child:
            assert os.waitpid(child, 0)[1] == 0
        """,
    "preloaded": """
        children = []
        for name in ("before", "child", "parent"):
            pid = os.fork()
            if not pid:
                agent_of(name).invoke(QUESTION)
                sys.exit(0)
            children.append(pid)
        for pid in children:
            assert os.waitpid(pid, 0)[1] == 0
        """,
    "multiprocessing": """
        import multiprocessing
        def work(name):
            agent_of(name).invoke(QUESTION)
            rb.close()
        agent_of("before").invoke(QUESTION)
        processes = [multiprocessing.get_context("fork").Process(target=work, args=(n,)) for n in ("child", "parent")]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        """,
}


def run(standin: Standin, spool: Path, body: str) -> None:
    """Run a program with an agent at hand to its end."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            BEGINNING + textwrap.dedent(body),
            *(str(TESTS), standin.url, standin.key, str(spool)),
        ],
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def arrived(standin: Standin) -> dict[str, list[str]]:
    """What arrived of each run, repetitions aside."""
    return {run_id: list(dict.fromkeys(run.timeline)) for run_id, run in standin.runs.items()}


def deliver_the_rest(standin: Standin, spool: Path) -> None:
    """The next process, which has hardly anything to say itself."""
    standin.accept()
    run(
        standin,
        spool,
        """
        agent_of("next").invoke(QUESTION)
        deadline = time.monotonic() + 120
        while any(name.endswith(".events") for _, _, names in os.walk(sys.argv[4]) for name in names):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        rb.close()
        """,
    )


@pytest.fixture(
    params=[pytest.param((), id="old", marks=pytest.mark.slow), pytest.param(("events", "losses"), id="new")]
)
def server(request: pytest.FixtureRequest) -> Any:
    """A server of either generation."""
    with Standin(capabilities=request.param) as standin:
        yield standin


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=() if way == "cancelled" else pytest.mark.slow) for way in WAYS]
)
def test_c5_the_end_of_a_run_arrives_however_the_process_ends(server: Standin, tmp_path: Path, way: str) -> None:
    """With the server there, everything has arrived when the process is gone, and nothing is left on disk."""
    run(server, tmp_path, WAYS[way])
    if way in FAILURES:
        assert server.runs["r"].outcome == FAILURES[way]
    else:
        assert arrived(server) == {"r": timeline(3)}
    assert list(tmp_path.rglob("*.events")) == []


@pytest.mark.parametrize("way", [pytest.param(way, marks=() if way == "async" else pytest.mark.slow) for way in WAYS])
def test_c5_the_next_process_delivers_what_could_not_be(server: Standin, tmp_path: Path, way: str) -> None:
    """With the server away when the process ends, the next one delivers its runs to their end, once and in order."""
    server.refuse()
    run(server, tmp_path, WAYS[way])
    assert list(tmp_path.rglob("*.events")) != []
    deliver_the_rest(server, tmp_path)
    assert list(arrived(server)) == ["next", "r"] or list(arrived(server)) == ["r", "next"]
    if way in FAILURES:
        assert server.runs["r"].outcome == FAILURES[way]
    else:
        assert arrived(server) == {"r": timeline(3), "next": timeline(3)}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
@pytest.mark.parametrize("away", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["there", "away"])
@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=() if way == "os.fork" else pytest.mark.slow) for way in FORKS]
)
def test_c40_parent_and_children_deliver_their_own_runs(server: Standin, tmp_path: Path, way: str, away: bool) -> None:
    """Each process delivers what was posted in it; with the server away each leaves files of its own for the next."""
    if away:
        server.refuse()
    run(server, tmp_path, FORKS[way])
    if away:
        deliver_the_rest(server, tmp_path)
    expected = {name: timeline(3) for name in ("before", "child", "parent")}
    assert {name: got for name, got in arrived(server).items() if name != "next"} == expected
    for name in expected:
        assert server.runs[name].step_order == [0, 1, 2]
