"""An agent that apologises, and the monitor of this package that notices.

pip install ./examples/own_monitor
python examples/own_monitor/watch.py [--model PROVIDER:MODEL]
"""

import sys
from importlib.metadata import entry_points
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from langchain.agents import create_agent
from offline import QUESTION, TOOLS, Script, chosen_model, parser, say, show

from reasonblocks import ReasonBlocks

SORRY = [
    say("I am sorry, that was the wrong file. I search again.", "search_code", query="session timeout"),
    say("Sorry, I overlooked the settings. I look at them.", "read_file", path="docs/accounts.md"),
    say("I am so sorry, this was not it either.", "read_file", path="web/login.py"),
    say("Now I read the settings.", "read_file", path="deploy/app.env"),
    say("A session lasts 1800 seconds."),
]


def main() -> None:
    """Ask the agent one question."""
    options = parser(__doc__).parse_args()
    if "apologies" not in entry_points(group="reasonblocks.monitors").names:
        sys.exit("The monitor is not installed: run `pip install ./examples/own_monitor`")
    with ReasonBlocks() as rb:
        middleware = rb.middleware(agent_name="monitor-example", task=QUESTION)
        agent = create_agent(chosen_model(options.model, Script(replies=SORRY)), TOOLS, middleware=[middleware])
        agent.invoke({"messages": [("user", QUESTION)]})
        show(middleware.step_log)


if __name__ == "__main__":
    main()
