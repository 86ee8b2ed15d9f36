"""Another model while the agent struggles: the difficulty of its thoughts decides.

python examples/model_routing.py [--model PROVIDER:MODEL] [--strong PROVIDER:MODEL]
"""

from langchain.agents import create_agent
from offline import QUESTION, TOOLS, Script, chosen_model, parser, say

from reasonblocks import ReasonBlocks

STRUGGLES = [
    say(
        f"Hmm, wait. Attempt {attempt}: maybe the error is in 'web/login.py', perhaps the exception is a bug in "
        "settings.COOKIE_MAX_AGE, not sure. It failed again with a traceback; this issue is a problem, probably "
        "broken. I might reconsider 'deploy/app.env', 'docs/accounts.md', \"start_session\", session.token, "
        "response.set_cookie.",
        "search_code",
        query=f"session error {attempt}",
    )
    for attempt in range(5)
]
ANSWER = say("A session lasts 1800 seconds.")


def main() -> None:
    """Ask the agent one question, and show which model answered at each step."""
    options = parser(__doc__)
    options.add_argument("--strong", help="the model for hard stretches")
    chosen = options.parse_args()
    model = chosen_model(chosen.model, Script(replies=[*STRUGGLES, ANSWER], model_name="small"))
    strong = chosen_model(chosen.strong, Script(replies=[*STRUGGLES, ANSWER], model_name="large"))
    # Real agents need five hard thoughts in a row; two are enough here.
    with ReasonBlocks(model_routing={"SLOW": strong}, fsm_thresholds={"slow_window": 2}) as rb:
        middleware = rb.middleware(agent_name="routing-example", task=QUESTION)
        agent = create_agent(model, TOOLS, middleware=[middleware])
        agent.invoke({"messages": [("user", QUESTION)]})
        for step in middleware.step_log:
            hard = "" if step.difficulty is None else f"difficulty {step.difficulty:.2f}"
            print(f"step {step.step}  {hard:16}  {step.fsm_state:6}  {step.model_id}")


if __name__ == "__main__":
    main()
