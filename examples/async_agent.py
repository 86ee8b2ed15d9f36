"""An async agent with one middleware: watched, and steered out of its loop.

python examples/async_agent.py [--model PROVIDER:MODEL]
"""

import asyncio

from langchain.agents import create_agent
from offline import QUESTION, TOOLS, chosen_model, parser, show

from reasonblocks import ReasonBlocks


async def main() -> None:
    """Ask the agent one question."""
    options = parser(__doc__).parse_args()
    async with ReasonBlocks() as rb:
        middleware = rb.middleware(agent_name="async-example", task=QUESTION)
        agent = create_agent(chosen_model(options.model), TOOLS, middleware=[middleware])
        result = await agent.ainvoke({"messages": [("user", QUESTION)]})
        show(middleware.step_log)
        print(result["messages"][-1].text)


if __name__ == "__main__":
    asyncio.run(main())
