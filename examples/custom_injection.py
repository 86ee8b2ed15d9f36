"""Guidance of your own: a reminder of the token budget, given once, when half of it is spent.

python examples/custom_injection.py [--model PROVIDER:MODEL]
"""

from langchain.agents import create_agent
from offline import QUESTION, TOOLS, chosen_model, parser, show

from reasonblocks import ReasonBlocks
from reasonblocks.injections import BaseInjection
from reasonblocks.types import PendingInjection, TraceState


class BudgetReminder(BaseInjection):
    """Says how much is left. It holds no state: how often it fired is counted on the run."""

    max_calls = 1

    def retrieve(self, state: TraceState) -> list[PendingInjection]:
        """What to say before the next model call; `async def` works as well."""
        if not state.token_budget or state.total_tokens < state.token_budget / 2:
            return []
        left = state.token_budget - state.total_tokens
        return [PendingInjection(source="BudgetReminder", text=f"{left:,} of {state.token_budget:,} tokens are left.")]


def main() -> None:
    """Ask the agent one question with a budget of 2,000 tokens."""
    options = parser(__doc__).parse_args()
    with ReasonBlocks(injections=[BudgetReminder()], token_budget=2_000, e_traces_enabled=False) as rb:
        middleware = rb.middleware(agent_name="injection-example", task=QUESTION)
        agent = create_agent(chosen_model(options.model), TOOLS, middleware=[middleware])
        agent.invoke({"messages": [("user", QUESTION)]})
        show(middleware.step_log)
        print(*[text for step in middleware.step_log for text in step.intervention_texts if "tokens are left" in text])


if __name__ == "__main__":
    main()
