"""A cancellation at any await of the pipeline leaves no task, no connection and no wrong state."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Generator
from typing import Any

import pytest
from langchain.agents import create_agent

from reasonblocks import ReasonBlocks
from reasonblocks.middleware import ReasonBlocksMiddleware
from support.agents import ScriptedModel, lookup, script
from support.standin import Standin, inject

QUESTION: Any = {"messages": [("user", "What is the value?")]}
STEPS = 3
PIPELINE = ("_decide", "_around_model", "_around_tool")
"""The coroutines that LangGraph awaits: every await of ours is inside one of them."""


class Walk:
    """Counts the times our coroutines are suspended, over a whole run, and cancels the agent at one of them."""

    def __init__(self, place: int | None = None) -> None:
        self.place = place
        self.count = 0
        self.agent: asyncio.Task[Any] | None = None

    def around(self, hook: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def walked(*arguments: Any) -> Any:
            return await Steps(self, hook(*arguments))

        return walked


class Steps:
    """Drives a coroutine as a task does, one suspension after another."""

    def __init__(self, walk: Walk, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._walk = walk
        self._coroutine = coroutine

    def __await__(self) -> Generator[Any, Any, Any]:
        error: BaseException | None = None
        while True:
            try:
                waited = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
            except StopIteration as done:
                return done.value
            if self._walk.count == self._walk.place:
                assert self._walk.agent is not None
                self._walk.agent.cancel()  # LangGraph passes it on to the node that is suspended here
            self._walk.count += 1
            try:
                yield waited
                error = None
            except BaseException as raised:
                error = raised


def agent_of(middleware: ReasonBlocksMiddleware) -> Any:
    return create_agent(ScriptedModel(script(STEPS), think=0.001), [lookup], middleware=[middleware])


async def cancelled_at(rb: ReasonBlocks, place: int | None, run_id: str) -> bool:
    """Run an agent, cancelled at a suspension of ours; whether it had so many."""
    walk = Walk(place)
    middleware = rb.middleware(run_id=run_id)
    for name in PIPELINE:
        setattr(middleware, name, walk.around(getattr(middleware, name)))
    walk.agent = asyncio.create_task(agent_of(middleware).ainvoke(QUESTION))
    await asyncio.wait([walk.agent])
    reached = place is not None and walk.count > place
    assert walk.agent.cancelled() is reached
    return reached


@pytest.mark.parametrize("capable", [False, True], ids=["old", "new"])
async def test_c8_cancellation_at_every_await_leaves_nothing_behind(
    standin: Standin, capable_standin: Standin, capable: bool
) -> None:
    """Wherever it strikes, the run ends as cancelled, nothing is left under way, and the next run is whole."""
    server = capable_standin if capable else standin
    server.evaluate = lambda steps, body: inject(f"Look at step {len(steps)} again.")
    rb = ReasonBlocks(server.key, base_url=server.url, step_timeout=5.0)
    before = asyncio.all_tasks()
    await cancelled_at(rb, None, "whole")
    places = 0
    while await cancelled_at(rb, places, f"at-{places}"):
        places += 1
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
        await server.await_for(lambda: server.in_flight == 0)
        assert not rb._backend.breaker.is_open
    assert places > 2 * STEPS
    healthy = rb.middleware(run_id="healthy")
    await agent_of(healthy).ainvoke(QUESTION)
    await rb.aclose()
    assert {run_id: run.outcome for run_id, run in server.runs.items()} == {
        "whole": "success",
        **{f"at-{place}": "failure: CancelledError" for place in range(places)},
        f"at-{places}": "success",
        "healthy": "success",
    }
    assert server.runs["healthy"].timeline == server.runs["whole"].timeline
    assert [entry.errors for entry in healthy.step_log] == [[]] * (STEPS + 1)
    assert healthy.step_log[0].injection_sources == ["E3Injection"]
    await server.await_for(lambda: server.open_connections == 0)
    assert server.violations == []


async def test_c8_cancellation_from_outside_at_any_moment(standin: Standin) -> None:
    """An agent that is cancelled by its caller after any number of loop iterations ends as cancelled, once."""
    rb = ReasonBlocks(standin.key, base_url=standin.url, step_timeout=5.0)
    middleware = rb.middleware()
    agent = agent_of(middleware)
    before = asyncio.all_tasks()
    for iterations in itertools.count():
        run_id = f"after-{iterations}"
        task = asyncio.create_task(agent.ainvoke(QUESTION, {"metadata": {"reasonblocks_run_id": run_id}}))
        for _ in range(iterations):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
        if not task.cancelled() or iterations == 150:
            break
    await rb.aclose()
    assert not middleware._book.open
    outcomes = {run_id: run.finishes for run_id, run in standin.runs.items()}
    assert len(outcomes) > 50
    assert set(map(len, outcomes.values())) == {1}
    assert {outcome for finishes in outcomes.values() for outcome in finishes} <= {"failure: CancelledError", "success"}
    await standin.await_for(lambda: standin.open_connections == 0)
