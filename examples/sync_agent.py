"""A sync agent: nothing is different but the missing `await`.

python examples/sync_agent.py [--model PROVIDER:MODEL]
"""

from langchain.agents import create_agent
from offline import QUESTION, TOOLS, chosen_model, parser, show

from reasonblocks import ReasonBlocks


def main() -> None:
    """Ask the agent one question."""
    options = parser(__doc__).parse_args()
    with ReasonBlocks() as rb:
        middleware = rb.middleware(agent_name="sync-example", task=QUESTION)
        agent = create_agent(chosen_model(options.model), TOOLS, middleware=[middleware])
        result = agent.invoke({"messages": [("user", QUESTION)]})
        show(middleware.step_log)
        print(result["messages"][-1].text)


if __name__ == "__main__":
    main()
