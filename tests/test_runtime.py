"""The process runtime: starts on first use, outlives many event loops, survives a fork, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from langchain.agents import create_agent

from reasonblocks import ReasonBlocks
from reasonblocks.api.http import Transport
from reasonblocks.invocation import Invocation
from reasonblocks.runtime.contain import incidents
from reasonblocks.runtime.supervisor import THREAD_NAME, runtime
from support.agents import ScriptedModel, failing_tool, lookup, say, script
from support.agents import call as tool_call
from support.standin import Standin

QUESTION: Any = {"messages": [("user", "What is the value?")]}
TESTS = Path(__file__).parent
PROCESS_SECONDS = 60


@pytest.fixture(autouse=True)
def no_incidents_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test sees its own causes as new ones."""
    monkeypatch.setattr(incidents, "counts", {})


@pytest.fixture
def rb(standin: Standin) -> Iterator[ReasonBlocks]:
    client = ReasonBlocks(standin.key, base_url=standin.url, step_timeout=5.0)
    yield client
    client.close()


def agent_of(rb: ReasonBlocks, run_id: str | None = None, steps: int = 2) -> Any:
    return create_agent(ScriptedModel(script(steps)), [lookup], middleware=[rb.middleware(run_id=run_id)])


def timeline(steps: int, outcome: str = "success") -> list[str]:
    return ["run_start", *(f"step {number}" for number in range(steps)), f"run_finish {outcome}"]


def our_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("reasonblocks")]


# -- threads and loops -------------------------------------------------------------------------------------


def test_c40_the_runtime_starts_on_first_use_and_goes_with_close(standin: Standin) -> None:
    """No thread before the first run, none after `close()`, and another run brings it back.

    During a run there is one, besides that of the spool, which looks once what others left and ends.
    """
    runtime.release()
    standin.wait_for(lambda: our_threads() == [])  # an embedder that an earlier test used rests after a second
    rb = ReasonBlocks(standin.key, base_url=standin.url, step_timeout=5.0)
    agent = agent_of(rb)
    assert our_threads() == []
    for number in range(2):
        agent.invoke(QUESTION)
        standin.wait_for(lambda: our_threads() == [THREAD_NAME])
        rb.close()
        assert our_threads() == []
        assert len(standin.runs) == number + 1
    assert [run.timeline for run in standin.runs.values()] == [timeline(3)] * 2


@pytest.mark.usefixtures("no_threads_left")
def test_c40_fifty_event_loops_one_after_another(standin: Standin) -> None:
    """One client and one middleware serve every `asyncio.run` of a process; no connection outlives its loop."""
    rb = ReasonBlocks(standin.key, base_url=standin.url, step_timeout=5.0)
    agent = agent_of(rb, steps=1)
    for number in range(50):
        asyncio.run(agent.ainvoke(QUESTION, {"metadata": {"reasonblocks_run_id": f"run-{number}"}}))
    rb.close()
    assert [run.timeline for run in standin.runs.values()] == [timeline(2)] * 50
    standin.wait_for(lambda: standin.open_connections == 0)
    assert incidents.counts == {}


@pytest.mark.usefixtures("no_threads_left")
def test_c40_agents_on_several_loops_and_threads_at_once(standin: Standin) -> None:
    """Sync agents, and async ones on loops of their own, share one client without mixing anything up."""
    rb = ReasonBlocks(standin.key, base_url=standin.url, step_timeout=10.0)
    agent = agent_of(rb)

    def work(number: int) -> None:
        config: Any = {"metadata": {"reasonblocks_run_id": f"run-{number}"}}
        if number % 2:
            agent.invoke(QUESTION, config)
        else:
            asyncio.run(agent.ainvoke(QUESTION, config))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    rb.close()
    assert {run_id: run.timeline for run_id, run in standin.runs.items()} == {
        f"run-{number}": timeline(3) for number in range(8)
    }
    assert incidents.counts == {}


async def test_c40_invoke_inside_a_running_loop_works_and_warns_once(
    rb: ReasonBlocks, standin: Standin, caplog: pytest.LogCaptureFixture
) -> None:
    """A sync agent on an event loop's thread gets its guidance from the runtime's own loop, with one warning."""
    agent = agent_of(rb, "r")
    agent.invoke(QUESTION)
    agent.invoke(QUESTION)
    await rb.aclose()
    assert standin.runs["r"].timeline == timeline(3)
    assert standin.runs["r"].steps[0]["injection_sources"] == ["E3Injection"]
    warned = [record for record in caplog.records if "inside a running event loop" in record.getMessage()]
    assert [(record.levelno, "ainvoke" in record.getMessage()) for record in warned] == [(logging.WARNING, True)]


def test_c41_an_actor_that_crashes_is_restarted_with_its_mailbox(
    capable_standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug in the delivery costs a restart and no event."""
    rb = ReasonBlocks(capable_standin.key, base_url=capable_standin.url, step_timeout=5.0)
    agent_of(rb, "first").invoke(QUESTION)
    rb.close()
    send, crashes = rb._backend.send_batch, iter([LookupError("a bug"), LookupError("another")])

    async def broken(events: Any) -> Any:
        for crash in crashes:
            raise crash
        return await send(events)

    monkeypatch.setattr(rb._backend, "send_batch", broken)
    agent_of(rb, "r").invoke(QUESTION)
    rb.close()
    assert capable_standin.runs["r"].timeline == timeline(3)
    assert incidents.counts == {"actor telemetry: ExceptionGroup": 2}
    assert rb.stats()["set_aside"] == 0


@pytest.mark.parametrize("capabilities", [(), ("events",)], ids=["old", "new"])
def test_c41_an_event_that_crashes_three_times_is_set_aside(
    capabilities: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One event over which our own code always crashes is set aside and counted; all others arrive, in order."""
    with Standin(capabilities) as standin:
        rb = ReasonBlocks(standin.key, base_url=standin.url, step_timeout=5.0)
        agent_of(rb, "first").invoke(QUESTION)
        rb.close()
        whole, single = rb._backend.send_batch, rb._backend.send

        async def broken(events: Any) -> Any:
            if any(b'"step_index":1' in event and b'"poisoned"' in event for event in events):
                raise LookupError("a bug")
            return await whole(events)

        async def broken_alone(event: Any) -> None:
            if event.get("step_index") == 1 and event["run_id"] == "poisoned":
                raise LookupError("a bug")
            await single(event)

        monkeypatch.setattr(rb._backend, "send_batch", broken)
        monkeypatch.setattr(rb._backend, "send", broken_alone)
        agent_of(rb, "poisoned").invoke(QUESTION)
        agent_of(rb, "healthy").invoke(QUESTION)
        standin.wait_for(lambda: standin.runs["poisoned"].finishes and standin.runs["healthy"].finishes, 10.0)
        rb.close()
        assert list(dict.fromkeys(standin.runs["poisoned"].timeline)) == [e for e in timeline(3) if e != "step 1"]
        assert list(dict.fromkeys(standin.runs["healthy"].timeline)) == timeline(3)
        stats = rb.stats()
        assert (stats["set_aside"], stats["dropped"], stats["waiting"]) == (1, {}, 0)
        assert stats["enqueued"] == stats["sent"] + 1


# -- processes -----------------------------------------------------------------------------------------------


def script_of(body: str) -> str:
    """A program with an agent at hand."""
    return textwrap.dedent(
        """
            import asyncio, os, sys
            sys.path.insert(0, sys.argv[1])
            from langchain.agents import create_agent
            from reasonblocks import ReasonBlocks
            from support.agents import ScriptedModel, lookup, script
            QUESTION = {"messages": [("user", "What is the value?")]}
            rb = ReasonBlocks(sys.argv[3], base_url=sys.argv[2], step_timeout=5.0)
            def agent_of(run_id):
                return create_agent(ScriptedModel(script(2)), [lookup], middleware=[rb.middleware(run_id=run_id)])
            """
    ) + textwrap.dedent(body)


def run_program(standin: Standin, body: str) -> subprocess.CompletedProcess[str]:
    """Run such a program to its end; what it prints on stderr is a failure."""
    done = subprocess.run(
        [sys.executable, "-c", script_of(body), str(TESTS), standin.url, standin.key],
        capture_output=True,
        text=True,
        timeout=PROCESS_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done


@pytest.mark.parametrize(
    "body",
    [
        "agent_of('r').invoke(QUESTION)",
        "asyncio.run(agent_of('r').ainvoke(QUESTION))",
        "with rb: agent_of('r').invoke(QUESTION)",
    ],
    ids=["sync", "async", "with"],
)
def test_c5_everything_is_delivered_at_interpreter_exit(standin: Standin, body: str) -> None:
    """A program that ends right after its agent loses no event, says nothing and does not hang."""
    run_program(standin, body)
    assert standin.runs["r"].timeline == timeline(3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")
def test_c40_a_forked_child_starts_anew(standin: Standin) -> None:
    """Parent and child each deliver their own runs, once, whatever the parent had under way."""
    run_program(
        standin,
        """
        agent_of("before").invoke(QUESTION)
        child = os.fork()
        agent_of("child" if child == 0 else "parent").invoke(QUESTION)
        rb.close()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        """,
    )
    assert {run_id: run.timeline for run_id, run in standin.runs.items()} == {
        run_id: timeline(3) for run_id in ("before", "child", "parent")
    }


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_c40_multiprocessing(standin: Standin, tmp_path: Path, method: str) -> None:
    """Workers of a pool deliver their runs, started either way."""
    program = tmp_path / "program.py"
    program.write_text(
        script_of(
            f"""
            import multiprocessing
            def work(number):
                agent_of(f"run-{{number}}").invoke(QUESTION)
                rb.close()
            if __name__ == "__main__":
                agent_of("first").invoke(QUESTION)
                with multiprocessing.get_context("{method}").Pool(2) as pool:
                    pool.map(work, range(4))
                rb.close()
            """
        )
    )
    arguments = [str(TESTS), standin.url, standin.key]
    done = subprocess.run(
        [sys.executable, str(program), *arguments], capture_output=True, text=True, timeout=PROCESS_SECONDS, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    expected = {"first", *(f"run-{number}" for number in range(4))}
    assert {run_id: run.timeline for run_id, run in standin.runs.items()} == {
        run_id: timeline(3) for run_id in expected
    }


# -- where LangGraph or aiohttp do not let us at their inner parts ---------------------------------------------


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A LangGraph whose loop cannot be had from the config of a node."""
    monkeypatch.setattr(Invocation, "when_over", lambda self, tell: False)
    monkeypatch.setattr("reasonblocks.registry.PROVISIONAL_SECONDS", 0.2)


@pytest.mark.usefixtures("unguarded")
async def test_c6_without_the_graphs_word_an_exception_that_we_saw_counts(rb: ReasonBlocks, standin: Standin) -> None:
    """The exception that passed our hook is the outcome if no hook follows."""
    model = ScriptedModel([say("I try.", tool_call("failing_tool", reason="no space"))])
    agent = create_agent(model, [failing_tool], middleware=[rb.middleware(run_id="r")])
    with pytest.raises(RuntimeError):
        await agent.ainvoke(QUESTION)
    await standin.await_for(lambda: standin.runs["r"].finishes)
    assert standin.runs["r"].timeline == timeline(1, "failure: RuntimeError")


@pytest.mark.usefixtures("unguarded")
async def test_c6_without_the_graphs_word_a_run_that_vanished_has_failed(rb: ReasonBlocks, standin: Standin) -> None:
    """A run that ends where none of our hooks sees it is reported once its state is collected."""
    import gc

    agent = agent_of(rb, "r", steps=20)
    with pytest.raises(Exception, match=r"[Rr]ecursion limit"):
        await agent.ainvoke(QUESTION, {"recursion_limit": 6})
    gc.collect()
    await standin.await_for(lambda: standin.runs["r"].finishes)
    assert standin.runs["r"].outcome == "failure: unknown"


@pytest.mark.usefixtures("unguarded")
async def test_c6_without_the_graphs_word_success_is_success(rb: ReasonBlocks, standin: Standin) -> None:
    """A clean return is reported by `after_agent` alone."""
    await agent_of(rb, "r").ainvoke(QUESTION)
    await rb.aclose()
    assert standin.runs["r"].timeline == timeline(3)


@pytest.mark.parametrize(
    "part", ["connector.BaseConnector.connect", "client_proto.ResponseHandler.set_response_params"]
)
async def test_an_aiohttp_without_the_short_way_is_used_the_long_way(
    rb: ReasonBlocks, standin: Standin, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """If an inner part of aiohttp has changed, requests go through its session; the cause is counted, nothing leaks."""
    module, name, method = part.split(".")
    kind = getattr(getattr(aiohttp, module), name)
    known = getattr(kind, method)

    def changed(*arguments: Any, **named: Any) -> Any:
        if Transport.short:
            raise TypeError(f"{method}() takes other arguments now")
        return known(*arguments, **named)

    monkeypatch.setattr(Transport, "short", True)
    monkeypatch.setattr(kind, method, changed)
    await agent_of(rb, "r").ainvoke(QUESTION)
    await rb.aclose()
    assert standin.runs["r"].timeline == timeline(3)
    assert standin.runs["r"].steps[0]["injection_sources"] == ["E3Injection"]
    assert list(incidents.counts) == ["the short way through aiohttp: TypeError"]
    await standin.await_for(lambda: standin.open_connections == 0)
