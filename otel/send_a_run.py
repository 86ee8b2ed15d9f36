"""Send one run of a scripted agent to a collector: python otel/send_a_run.py [http://localhost:4318]

The agent is that of `reasonblocks demo`: it searches in circles until a monitor notices. It needs no key and no model.
"""

import sys

from langchain.agents import create_agent

from reasonblocks import ReasonBlocks
from reasonblocks.demo.model import ScriptedModel
from reasonblocks.demo.world import QUESTION, TOOLS


def main(collector: str) -> None:
    """Run the agent, with its spans going to `collector`."""
    with ReasonBlocks(data_dir=":memory:", otel=collector) as rb:
        middleware = rb.middleware(agent_name="demo", task=QUESTION)
        agent = create_agent(ScriptedModel(), TOOLS, middleware=[middleware])
        result = agent.invoke({"messages": [("user", QUESTION)]}, {"configurable": {"thread_id": "otel-demo"}})
    print(result["messages"][-1].text)
    print(f"{len(middleware.step_log)} steps were sent to {collector}; look for the service 'reasonblocks'.")


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["http://localhost:4318"])
