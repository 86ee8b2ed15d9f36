#!/usr/bin/env python3
"""What the hooks alone cost an agent of LangChain, and what is done in them.

    python benchmarks/hooks.py [--rounds 9] [--agents 200]

Three ways, in turns in one process: no middleware; one that has all our hooks and does nothing in them; and ours, with
the engine in the process. For each what it takes to create an agent, a step of processor time (one agent, 50 steps,
a model that answers at once), and how long an event loop stands still when so many agents are created and begin in one
of its turns, as a batch does. Figures are medians over the rounds, with the quartiles, after two rounds that do not
count; ratios are to the way before it. What the second way takes is the price of the hooks themselves: a middleware
with `before_model` and the others cannot be had for less.
"""

import argparse
import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from statistics import median, quantiles
from typing import Any

from costing.load import TASK, Worker, look_up
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware

from reasonblocks import ReasonBlocks

STEPS, CREATED = 50, 20
UNCOUNTED = 2


class Idle(AgentMiddleware[Any, Any, Any]):
    """All hooks, each as short as it can be."""

    def before_agent(self, state: Any, runtime: Any) -> None:
        """Nothing."""

    async def abefore_agent(self, state: Any, runtime: Any) -> None:
        """Nothing."""

    def before_model(self, state: Any, runtime: Any) -> None:
        """Nothing."""

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        """Nothing."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Go on."""
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Go on."""
        return await handler(request)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Go on."""
        return handler(request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Go on."""
        return await handler(request)

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Nothing."""

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """Nothing."""


def main() -> None:
    """Measure in turns, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=9, help="the default is %(default)s")
    parser.add_argument("--agents", type=int, default=200, help="in one turn of a loop; the default is %(default)s")
    options = parser.parse_args()
    rb = ReasonBlocks(data_dir=":memory:")
    ways: dict[str, Callable[[], list[Any]]] = {
        "no middleware": list,
        "hooks that do nothing": lambda: [Idle()],
        "reasonblocks": lambda: [rb.middleware(task=TASK)],
    }
    found: dict[str, list[tuple[float, float, float]]] = {way: [] for way in ways}
    for number in range(UNCOUNTED + options.rounds):
        for way in ways if number % 2 else reversed(ways):
            figures = created(ways[way]), stepped(ways[way]), stood_still(ways[way], options.agents)
            if number >= UNCOUNTED:
                found[way].append(figures)
    rb.close()
    tell(found, options.agents)


def agent(middleware: list[Any], steps: int = STEPS) -> Any:
    """An agent whose model answers at once."""
    model = Worker(number=0, steps=steps, think_seconds=0.0, spread=0.0)
    return create_agent(model, [look_up], middleware=middleware, system_prompt="Look things up.")


def created(middleware: Callable[[], list[Any]]) -> float:
    """Milliseconds of processor time for one agent."""
    gc.collect()
    begin = time.process_time()
    for _ in range(CREATED):
        agent(middleware())
    return (time.process_time() - begin) / CREATED * 1e3


def stepped(middleware: Callable[[], list[Any]]) -> float:
    """Milliseconds of processor time for one step."""
    one = agent(middleware())
    gc.collect()
    begin = time.process_time()
    asyncio.run(one.ainvoke({"messages": [("user", TASK)]}, {"recursion_limit": 10 * STEPS}))
    return (time.process_time() - begin) / (STEPS + 1) * 1e3


def stood_still(middleware: Callable[[], list[Any]], agents: int) -> float:
    """The longest time that a loop had no turn for others, in milliseconds, while so many agents began."""
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0)
            longest = max(longest, time.perf_counter() - before)

    async def begin() -> None:
        await agent(middleware(), steps=0).ainvoke({"messages": [("user", TASK)]})

    async def batch() -> None:
        beating = asyncio.create_task(beat())
        await asyncio.gather(*(begin() for _ in range(agents)))
        beating.cancel()

    gc.collect()
    asyncio.run(batch())
    return longest * 1e3


def tell(found: dict[str, list[tuple[float, float, float]]], agents: int) -> None:
    """Print what came of it."""
    titles = ("create an agent, ms", "a step, ms", f"{agents} begin at once, ms")
    print(f"{'':24}" + "".join(f"{title:>38}" for title in titles))
    before: list[float] = []
    for way, rounds in found.items():
        columns = list(zip(*rounds, strict=True))
        cells = []
        for place, values in enumerate(columns):
            low, middle, high = quantiles(values, n=4) if len(values) > 1 else [values[0]] * 3
            ratio = f"{middle / before[place]:.2f}x" if before else ""
            cells.append(f"{f'{middle:.2f} ({low:.2f} to {high:.2f})':>30}{ratio:>8}")
        before = [median(values) for values in columns]
        print(f"{way:24}" + "".join(cells))


if __name__ == "__main__":
    main()
