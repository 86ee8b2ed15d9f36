"""Every run as a trace in Jaeger, or in any other collector of OpenTelemetry on this machine.

docker run --rm -d -p 16686:16686 -p 4318:4318 jaegertracing/jaeger:2.21.0
python examples/jaeger.py [--collector http://localhost:4318] [--model PROVIDER:MODEL]
"""

import os

from langchain.agents import create_agent
from offline import QUESTION, TOOLS, chosen_model, parser

from reasonblocks import ReasonBlocks


def main() -> None:
    """Ask the agent one question, with its spans going to the collector."""
    options = parser(__doc__)
    options.add_argument("--collector", default="http://localhost:4318")
    chosen = options.parse_args()
    os.environ.setdefault("OTEL_METRICS_EXPORTER", "none")  # Jaeger takes traces only
    with ReasonBlocks(otel=chosen.collector) as rb:
        middleware = rb.middleware(agent_name="jaeger-example", task=QUESTION)
        agent = create_agent(chosen_model(chosen.model), TOOLS, middleware=[middleware])
        agent.invoke({"messages": [("user", QUESTION)]})
    print(f"{len(middleware.step_log)} steps were sent to {chosen.collector}: look for the service 'reasonblocks'.")


if __name__ == "__main__":
    main()
