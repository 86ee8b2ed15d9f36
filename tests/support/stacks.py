"""One of our middlewares in a stack of LangChain's own, driven sync or async, and its record checked."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage

from reasonblocks import ReasonBlocks
from reasonblocks.types import InjectionNotice
from support.agents import lookup
from support.standin import Run, Standin

MODES = ("sync", "async")
ORDERS = ("outside", "inside")
BASE = "You keep the records."
QUESTION: Any = {"messages": [HumanMessage("Find the record.", id="question")]}
EPHEMERAL = {"type": "ephemeral"}


class Bench:
    """A stand-in, a client, one middleware of ours, and the runs it had."""

    def __init__(self, standin: Standin, **settings: Any) -> None:
        self.standin = standin
        self.notices: list[InjectionNotice] = []
        """What was counted as given, each time it was."""
        settings = {"step_timeout": 5.0, "on_injection": self.notices.append} | settings
        self.rb = ReasonBlocks(standin.key, base_url=standin.url, **settings)
        self.mw = self.rb.middleware()

    def agent(
        self,
        model: Any,
        *others: Any,
        order: str = "outside",
        tools: Sequence[Any] = (lookup,),
        system_prompt: Any = BASE,
        **settings: Any,
    ) -> Any:
        """Build an agent with ours outside (first in the list) or inside (last) of the others."""
        stack = [self.mw, *others] if order == "outside" else [*others, self.mw]
        return create_agent(model, list(tools), system_prompt=system_prompt, middleware=stack, **settings)

    def invoke(self, mode: str, agent: Any, given: Any = QUESTION, config: Any = None, **settings: Any) -> Any:
        """Run the agent as `invoke` or `ainvoke` does, the latter on a loop of its own."""
        if mode == "sync":
            return agent.invoke(given, config, **settings)
        return self.on_loop(lambda: agent.ainvoke(given, config, **settings))

    def failure(self, mode: str, agent: Any, given: Any = QUESTION, config: Any = None) -> str:
        """Run the agent, which has to raise, and give the exception's name; its frames are let go."""
        try:
            self.invoke(mode, agent, given, config)
        except Exception as error:
            name = type(error).__name__
        else:
            raise AssertionError("the agent did not raise")
        gc.collect()
        return name

    def on_loop(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Run a coroutine on a new event loop and leave no connection of ours on it."""

        async def main() -> Any:
            try:
                return await work()
            finally:
                await self.rb.aclose()

        return asyncio.run(main())

    def finished(
        self, steps: int, outcome: str | tuple[str, ...] = "success", run_id: str | None = None, within: float = 5.0
    ) -> Run:
        """Give the record of the only run, which has so many steps, each sent once, one start and one finish.

        Where several outcomes are given, any one of them will do.
        """
        self.mw.close()
        run: Run = self.standin.wait_for(lambda: self._ended(run_id), within)
        allowed = (outcome,) if isinstance(outcome, str) else outcome
        assert len(run.finishes) == 1
        assert run.outcome in allowed
        assert run.starts == 1
        assert run.step_order == list(range(steps))
        assert run.timeline == [
            "run_start",
            *(f"step {number}" for number in range(steps)),
            f"run_finish {run.outcome}",
        ]
        log = self.mw.run(run.run_id).step_log
        assert [entry.step for entry in log] == list(range(steps))
        assert [entry.errors for entry in log] == [[]] * steps
        assert [run.steps[entry.step]["intervention_texts"] for entry in log] == [e.intervention_texts for e in log]
        assert self.standin.violations == []
        return run

    def _ended(self, run_id: str | None) -> Run | None:
        runs = self.standin.runs
        if run_id is None:
            assert len(runs) <= 1, f"more than one run: {list(runs)}"
            run_id = next(iter(runs), "")
        run = runs[run_id]
        return run if run.finishes else None


def markers(value: Any) -> int:
    """Count the cache markers anywhere in a request."""
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(markers(item) for item in value.values())
    if isinstance(value, list | tuple):
        return sum(markers(item) for item in value)
    return 0


def essence(message: BaseMessage) -> tuple[Any, ...]:
    """Give what a message says, without the ids that differ from run to run."""
    return (
        message.type,
        message.content,
        getattr(message, "tool_calls", None),
        getattr(message, "tool_call_chunks", None),
        getattr(message, "tool_call_id", None),
        getattr(message, "usage_metadata", None),
        message.response_metadata,
        message.additional_kwargs,
        message.name,
    )


def essences(messages: Sequence[BaseMessage]) -> list[tuple[Any, ...]]:
    """Give what all messages say."""
    return [essence(message) for message in messages]


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    """Run the test with a sync and with an async agent."""
    chosen: str = request.param
    return chosen


@pytest.fixture(params=ORDERS)
def order(request: pytest.FixtureRequest) -> str:
    """Run the test with ours outside (first in the list) and inside (last) of the others."""
    chosen: str = request.param
    return chosen


@pytest.fixture
def bench(standin: Standin) -> Iterator[Bench]:
    """A bench with the default settings, against an old server."""
    made = Bench(standin)
    yield made
    made.rb.close()


@pytest.fixture
def make_bench(standin: Standin) -> Iterator[Callable[..., Bench]]:
    """Make benches with settings of their own."""
    made: list[Bench] = []

    def make(**settings: Any) -> Bench:
        made.append(Bench(standin, **settings))
        return made[-1]

    yield make
    for one in made:
        one.rb.close()
