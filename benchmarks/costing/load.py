"""Agents at work, in a process of their own: load.py WAY AGENTS STEPS THINK_SECONDS SPREAD [URL]; the key is COST_KEY.

Prints what it took as one line of JSON. It imports nothing but LangChain and the client, whichever is installed.
"""

import asyncio
import json
import os
import random
import resource
import statistics
import sys
import threading
import time
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

TASK = "Find out why the nightly import of the customers' records is incomplete, and say which records are missing."
PLACES = "import.log orders.csv customers.csv mapping.yaml schema.sql retry_queue scheduler.conf notes.md".split()
BEAT_SECONDS = 0.005
FINDINGS = (
    "the batch of {place} ends before its last line, so the count and the checksum belong to different files",
    "{place} has two formats of dates; the second begins where the export tool was upgraded",
    "nothing in {place} names the missing region, which leaves the mapping between codes and regions",
    "the rows of {place} that carry an empty code are skipped, and there are about as many as are missing",
)


class Worker(BaseChatModel):
    """A model that looks at one thing after another and then answers; each thought is about something else."""

    number: int
    steps: int
    think_seconds: float
    spread: float

    @property
    def _llm_type(self) -> str:
        return "worker"

    def bind_tools(self, tools: Any, **settings: Any) -> Any:
        """Take any tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *arguments: Any, **settings: Any) -> ChatResult:
        said = sum(isinstance(message, AIMessage) for message in messages)
        place = f"{said}-{PLACES[said % len(PLACES)]}"
        text = f"In step {said} I look at {place}: {FINDINGS[said % len(FINDINGS)].format(place=place)}."
        call = {"name": "look_up", "args": {"key": place}, "id": f"call-{said}"}
        usage = {"input_tokens": 900, "output_tokens": 60, "total_tokens": 960}
        message = AIMessage(text, tool_calls=[call] if said < self.steps else [], usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(self, messages: list[BaseMessage], *arguments: Any, **settings: Any) -> ChatResult:
        if self.think_seconds:
            chance = random.Random(f"{self.number} {len(messages)}")  # agents do not work in step; alike in all ways
            await asyncio.sleep(self.think_seconds * chance.uniform(1 - self.spread, 1 + self.spread))
        return self._generate(messages)


def look_up(key: str) -> str:
    """Look a record up."""
    return f"{key}: {len(key) * 37} rows, {len(key) * 3} of them without a code, written by job {key[::-1]}."


def main() -> None:
    """Run the agents, and print what that took."""
    way, agents, steps, think, spread, *url = sys.argv[1:]
    client = _client(way, url)
    made = [_agent(client, number, int(steps), float(think), float(spread)) for number in range(int(agents))]
    asyncio.run(_warm_up(_agent(None, 0, 2, 0.0, 0.0)))
    threads: list[int] = []
    lags: list[float] = []
    processor, clock = time.process_time(), time.perf_counter()
    taken = asyncio.run(_all(made, threads, lags))
    clock = time.perf_counter() - clock
    _close(client)  # delivery is part of the price
    processor = time.process_time() - processor
    calls = int(agents) * (int(steps) + 1)
    print(
        json.dumps(
            {
                "clock_ms": statistics.median(taken) * 1e3 / (int(steps) + 1),
                "whole_s": clock,
                "held_up_ms": max(lags) * 1e3,
                "processor_ms": processor * 1e3 / calls,
                "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "threads": max(threads),
            }
        )
    )


def _client(way: str, url: list[str]) -> Any:
    if way == "without":
        return None
    from reasonblocks import ReasonBlocks

    if way == "embedded":
        return ReasonBlocks(data_dir=":memory:")
    return ReasonBlocks(api_key=os.environ["COST_KEY"], base_url=url[0])


def _agent(client: Any, number: int, steps: int, think: float, spread: float) -> Any:
    """An agent with a middleware of its own, as both kinds of client allow."""
    middleware = [] if client is None else [client.middleware(agent_name="cost", task=TASK, model="claude-sonnet-4-5")]
    return create_agent(
        Worker(number=number, steps=steps, think_seconds=think, spread=spread), [look_up], middleware=middleware
    )


async def _warm_up(agent: Any) -> None:
    await agent.ainvoke({"messages": [("user", TASK)]})


async def _all(agents: list[Any], threads: list[int], lags: list[float]) -> list[float]:
    """How long each agent took; meanwhile, how late the event loop comes to what is due."""

    async def watch() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(BEAT_SECONDS)
            lags.append(time.perf_counter() - began - BEAT_SECONDS)

    async def one(agent: Any) -> float:
        began = time.perf_counter()
        await agent.ainvoke({"messages": [("user", TASK)]}, {"recursion_limit": 1_000})
        threads.append(threading.active_count())
        return time.perf_counter() - began

    watching = asyncio.create_task(watch())
    try:
        return await asyncio.gather(*(one(agent) for agent in agents))
    finally:
        watching.cancel()


def _close(client: Any) -> None:
    close = getattr(client, "close", None)
    if close is not None:
        close()


if __name__ == "__main__":
    main()
