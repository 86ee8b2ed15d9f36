"""Every run as a trace in Honeycomb: its agent timeline shows the model and tool calls, and what our monitors saw.

HONEYCOMB_API_KEY=... python examples/honeycomb.py [--endpoint https://api.honeycomb.io] [--model PROVIDER:MODEL]
"""

import os
import sys

from langchain.agents import create_agent
from offline import QUESTION, TOOLS, chosen_model, parser

from reasonblocks import ReasonBlocks


def main() -> None:
    """Ask the agent one question; the standard OTEL_* variables say where its spans go."""
    options = parser(__doc__)
    options.add_argument("--endpoint", default="https://api.honeycomb.io")
    chosen = options.parse_args()
    key = os.environ.get("HONEYCOMB_API_KEY")
    if not key:
        sys.exit("HONEYCOMB_API_KEY is not set: make a key in Honeycomb's settings, and set it")
    os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = chosen.endpoint
    os.environ["OTEL_EXPORTER_OTLP_HEADERS"] = f"x-honeycomb-team={key}"
    with ReasonBlocks(otel=True) as rb:
        middleware = rb.middleware(agent_name="honeycomb-example", task=QUESTION)
        agent = create_agent(chosen_model(chosen.model), TOOLS, middleware=[middleware])
        # A conversation is what Honeycomb's timeline goes by: the thread of the agent, where it has one.
        agent.invoke({"messages": [("user", QUESTION)]}, {"configurable": {"thread_id": "honeycomb-example"}})
    print(f"{len(middleware.step_log)} steps were sent to {chosen.endpoint}.")


if __name__ == "__main__":
    main()
