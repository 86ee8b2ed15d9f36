"""A data directory as agents leave it: five real runs with a scripted model, and one pattern of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from langchain.agents import create_agent

from reasonblocks import ReasonBlocks
from reasonblocks.commands.root import reasonblocks
from support.agents import ScriptedModel, call, failing_tool, lookup, make_tool, say, script

QUESTION: Any = {"messages": [("user", "Find the timeout.")]}
AGAIN = "Maybe the timeout is wrong in src/app/config.py, I should look it up again."
LESSON = {
    "patterns": [
        {
            "tier": "e1",
            "pattern_id": "timeout-is-in-config",
            "status": "live",
            "fields": {
                "observation": "The timeout was looked up three times although the first answer had it.",
                "recommended_action": "Use the value you were given.",
                "task_context_embedding_text": "\n".join([AGAIN] * 3),
            },
            "provenance": {"source": "curated"},
        }
    ]
}


def command(*arguments: object, stdin: str | None = None, **environment: str) -> Result:
    """A command in this process, on a terminal of 80 columns; whatever happens, there is no traceback."""
    result = CliRunner().invoke(
        reasonblocks,
        [str(one) for one in arguments],
        stdin,
        prog_name="reasonblocks",
        env={"COLUMNS": "80"} | environment,
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


def printed(*arguments: object, **environment: str) -> str:
    """What a command that goes well prints."""
    result = command(*arguments, **environment)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    return result.stdout


def read(*arguments: object, **environment: str) -> Any:
    """What a command prints for scripts."""
    return json.loads(printed(*arguments, "--json", **environment))


def complaint(*arguments: object, code: int = 1, **environment: str) -> str:
    """The line in which a command says what went wrong; on stdout there is nothing."""
    result = command(*arguments, **environment)
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    return result.stderr.splitlines()[-1].removeprefix("Error: ")


def tell(data_dir: Path) -> None:
    """Fill a data directory."""
    lesson = data_dir.parent / "lesson.json"
    lesson.write_text(json.dumps(LESSON))
    printed("patterns", "import", lesson, "--data-dir", data_dir)
    again = say(AGAIN, call("lookup", key="timeout"))
    with ReasonBlocks(data_dir=data_dir, step_timeout=30) as rb:
        fixer = {"run_id": "fix-timeout", "agent_name": "fixer", "task": "Find the timeout.", "project_id": "web"}
        _run(rb, [again] * 5 + ["It is 42."], lookup, **fixer)
        _run(rb, script(2), lookup, run_id="read-records", agent_name="reader")
        _run(rb, [say("Call it.", call("failing_tool"))], failing_tool, run_id="broken-tool", agent_name="reader")
        helper = create_agent(ScriptedModel(script(1)), [lookup], middleware=[rb.middleware(run_id="helper-of-boss")])

        def ask(question: str) -> str:
            return str(helper.invoke(QUESTION)["messages"][-1].content)

        asking = say("The helper knows.", call("ask", question="why"))
        _run(rb, [asking, "Done."], make_tool("ask", ask), run_id="0a1b2c3d4e5f60718293a4b5c6d7e8f9", agent_name="boss")


def _run(rb: ReasonBlocks, replies: list[Any], tool: Any, **facts: Any) -> None:
    middleware = rb.middleware(**facts)
    agent = create_agent(ScriptedModel(replies), [tool], middleware=[middleware])
    try:
        agent.invoke(QUESTION)
    except RuntimeError:
        assert facts["run_id"] == "broken-tool"
    middleware.close()
