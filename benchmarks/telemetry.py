"""What telemetry costs an agent: processor time per step with the live stream, and without it.

    python benchmarks/telemetry.py [--runs N] [--steps N] [--rounds N]

Agents with a model that answers at once run against a real rb-api in another process, in turns with
`live_streaming_enabled` on and off; all threads of the client's process count. Lookups are off, so that the agent
itself and telemetry are all there is. Printed are the processor time of a step without telemetry, what telemetry
adds to it (the median of the rounds), the ratio of the two, and what `post()` takes on the agent's own thread.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from serving.processes import ours

from reasonblocks import ReasonBlocks

BAR_MILLISECONDS = 0.15
AT_ONCE = 10


class Talker(BaseChatModel):
    """A model that calls its tool until its steps are used up."""

    steps: int

    @property
    def _llm_type(self) -> str:
        return "talker"

    def bind_tools(self, tools: Any, **settings: Any) -> Any:
        """Take any tools."""
        return self

    def _generate(self, messages: list[BaseMessage], *arguments: Any, **settings: Any) -> ChatResult:
        said = sum(isinstance(message, AIMessage) for message in messages)
        text = f"Step {said}: the record is not what was expected, so the next one has to be looked up. " * 3
        calls = [{"name": "look_up", "args": {"key": f"key-{said}"}, "id": f"call-{said}"}] if said < self.steps else []
        message = AIMessage(text, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def look_up(key: str) -> str:
    """Look a record up."""
    return f"record {key}: value=42, checked, owner unknown, last change yesterday. " * 4


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=20, help="in each round; the default is %(default)s")
    parser.add_argument("--steps", type=int, default=20, help="of each run; the default is %(default)s")
    parser.add_argument("--rounds", type=int, default=7, help="the default is %(default)s")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory, ours(Path(directory)) as server:
        url = f"http://127.0.0.1:{server.port}"
        quiet: dict[str, Any] = {"base_url": url, "monitors_enabled": False, "e_traces_enabled": False}
        with (
            ReasonBlocks(server.key, **quiet) as live,
            ReasonBlocks(server.key, live_streaming_enabled=False, **quiet) as still,
        ):
            steps = options.runs * (options.steps + 1)
            for client in (live, still):
                cost(client, 5, options.steps)
            pairs = [
                (cost(still, options.runs, options.steps), cost(live, options.runs, options.steps))
                for _ in range(options.rounds)
            ]
            without = median(still_cost for still_cost, _ in pairs) / steps * 1e3
            added = median(live_cost - still_cost for still_cost, live_cost in pairs) / steps * 1e3
            print(f"a step without telemetry     {without:8.3f} ms of processor time")
            print(f"telemetry adds               {added:8.3f} ms (bar: {BAR_MILLISECONDS} ms)")
            print(f"ratio                        {(without + added) / without:8.2f}")
            print(f"post() on the agent's thread {posting(live):8.4f} ms")


def cost(client: ReasonBlocks, runs: int, steps: int) -> float:
    """Processor time of so many runs, delivery included."""
    agent = create_agent(Talker(steps=steps), [look_up], middleware=[client.middleware()])

    async def some(number: int) -> None:
        for _ in range(number):
            await agent.ainvoke({"messages": [("user", "Find the value.")]}, {"recursion_limit": 1_000})

    async def all_of_them() -> None:
        await asyncio.gather(*(some(runs // AT_ONCE or 1) for _ in range(min(AT_ONCE, runs))))
        await client.aclose()

    return seconds(lambda: asyncio.run(all_of_them()))


def posting(client: ReasonBlocks, events: int = 2_000) -> float:
    """Milliseconds that one `post()` takes its caller, while the stream delivers."""
    post = client._stream.post
    post({"type": "run_start", "run_id": "posting"})
    made = [
        {
            "type": "step",
            "run_id": "posting",
            "step_index": number,
            "thought": "x" * 300,
            "metadata": {"reasonblocks": {}},
        }
        for number in range(events)
    ]
    began = time.thread_time()
    for event in made:
        post(event)
    took = (time.thread_time() - began) / events * 1e3
    client.close()
    return took


def seconds(work: Callable[[], object]) -> float:
    """The processor time of all threads of this process."""
    began = time.process_time()
    work()
    return time.process_time() - began


if __name__ == "__main__":
    main()
