"""Observe first: everything is scored, evaluated and logged, and nothing is changed in what the model gets.

python examples/observe_only.py [--model PROVIDER:MODEL]
"""

from langchain.agents import create_agent
from offline import QUESTION, TOOLS, chosen_model, parser

from reasonblocks import ReasonBlocks


def main() -> None:
    """Ask the agent one question, and show what it would have been told."""
    options = parser(__doc__).parse_args()
    with ReasonBlocks(steer=False) as rb:
        middleware = rb.middleware(agent_name="observe-example", task=QUESTION)
        agent = create_agent(chosen_model(options.model), TOOLS, middleware=[middleware])
        result = agent.invoke({"messages": [("user", QUESTION)]})
        for step in middleware.step_log:
            for source, text in zip(step.injection_sources, step.intervention_texts, strict=True):
                print(f"step {step.step}: {source} would have said: {text.splitlines()[0][:90]}")
        print(result["messages"][-1].text)


if __name__ == "__main__":
    main()
