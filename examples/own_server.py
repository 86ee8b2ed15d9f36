"""A server of your own: rb-api on this machine, a key, and an agent that uses it over HTTP.

python examples/own_server.py [--model PROVIDER:MODEL]
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from langchain.agents import create_agent
from offline import QUESTION, TOOLS, chosen_model, parser, show

from reasonblocks import ReasonBlocks


@contextmanager
def served() -> Iterator[tuple[str, str]]:
    """`reasonblocks serve` on a free port, with data that goes when it ends; its URL, and the key it prints once."""
    command = [sys.executable, "-m", "reasonblocks", "serve", "--port", "0", "--data-dir"]
    with tempfile.TemporaryDirectory() as data_dir:
        server = subprocess.Popen(
            [*command, data_dir], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        with server:
            try:
                assert server.stdout is not None
                assert server.stderr is not None
                url = next(json.loads(line)["url"] for line in server.stderr if '"listening"' in line)
                yield url, server.stdout.readline().strip()
            finally:
                server.terminate()


def main() -> None:
    """Ask the agent one question."""
    options = parser(__doc__).parse_args()
    with served() as (url, key), ReasonBlocks(key, base_url=url) as rb:
        middleware = rb.middleware(agent_name="server-example", task=QUESTION)
        agent = create_agent(chosen_model(options.model), TOOLS, middleware=[middleware])
        result = agent.invoke({"messages": [("user", QUESTION)]})
        show(middleware.step_log)
        print(result["messages"][-1].text)
        middleware.close()
        print("delivered:", rb.stats()["sent"], "events")


if __name__ == "__main__":
    main()
