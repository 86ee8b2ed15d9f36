"""A thousand agents at once with one middleware, and a progress bar.

python examples/batch.py [--runs 1000] [--at-once 200] [--model PROVIDER:MODEL]
"""

import asyncio
from collections import Counter

from langchain.agents import create_agent
from offline import QUESTION, TOOLS, chosen_model, parser
from rich.progress import Progress

from reasonblocks import ReasonBlocks


async def main() -> None:
    """Run the batch, and count what happened in it."""
    options = parser(__doc__)
    options.add_argument("--runs", type=int, default=1_000)
    options.add_argument("--at-once", type=int, default=200)
    chosen = options.parse_args()
    rooms = asyncio.Semaphore(chosen.at_once)
    fired: Counter[str] = Counter()
    rb = ReasonBlocks(on_injection=lambda notice: fired.update(notice.monitors_fired))
    middleware = rb.middleware(agent_name="batch-example", task=QUESTION)
    agent = create_agent(chosen_model(chosen.model), TOOLS, middleware=[middleware])

    async def one(number: int, progress: Progress, bar: int) -> str:
        async with rooms:
            config = {"metadata": {"reasonblocks_run_id": f"batch-{number}"}}
            result = await agent.ainvoke({"messages": [("user", QUESTION)]}, config)
            progress.advance(bar)
            return str(result["messages"][-1].text)

    with Progress() as progress:
        bar = progress.add_task("agents", total=chosen.runs)
        answers = await asyncio.gather(*(one(number, progress, bar) for number in range(chosen.runs)))
    await rb.aclose()
    for answer, count in Counter(answers).most_common(3):
        print(f"{count:5}  {answer}")
    print("interventions:", dict(fired))
    print("telemetry:", rb.stats())


if __name__ == "__main__":
    asyncio.run(main())
