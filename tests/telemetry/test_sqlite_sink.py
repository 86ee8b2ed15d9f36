"""SQLiteMonitorSink: the events of runs in one file, and the tree that `reasonblocks trace` makes of it."""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner, Result
from langchain.agents import create_agent

from reasonblocks import ReasonBlocks, SQLiteMonitorSink
from reasonblocks.commands.root import reasonblocks
from reasonblocks.errors import SettingsError, Unavailable
from support.agents import ScriptedModel, call, complaining_tool, lookup, make_tool, say, script
from support.standin import Fault, Standin, inject

QUESTION: Any = {"messages": [("user", "What is it?")]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the sink shall write; the folder is not there yet."""
    return tmp_path / "traces" / "runs.db"


@pytest.fixture
def connect(standin: Standin, file: Path) -> Iterator[Callable[..., ReasonBlocks]]:
    """Build a client with a sink, closed when the test is over."""
    made: list[ReasonBlocks] = []

    def make(**settings: Any) -> ReasonBlocks:
        settings = {"base_url": standin.url, "step_timeout": 5.0, "sinks": [SQLiteMonitorSink(file)]} | settings
        made.append(ReasonBlocks(standin.key, **settings))
        return made[-1]

    yield make
    standin.clear_faults()
    for client in made:
        client.close()


def ask(client: ReasonBlocks, replies: list[Any], *, tools: Any = (lookup,), **facts: Any) -> None:
    """One run of an agent, and its events where they belong."""
    middleware = client.middleware(**facts)
    create_agent(ScriptedModel(replies), list(tools), middleware=[middleware]).invoke(QUESTION)
    middleware.close()


def rows(file: Path, query: str) -> list[tuple[Any, ...]]:
    """What a plain SQL client sees."""
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute(query).fetchall()


def trace(*arguments: object) -> Result:
    """The command, as wide as a wide terminal."""
    environment = {"COLUMNS": "160"}
    return CliRunner().invoke(reasonblocks, ["trace", *map(str, arguments)], prog_name="reasonblocks", env=environment)


# -- the file --------------------------------------------------------------------------------------


def test_c43_the_file_holds_the_same_events(standin: Standin, connect: Callable[..., ReasonBlocks], file: Path) -> None:
    """Every field of every step is in the file as the server got it, in order."""
    standin.evaluate = lambda steps, body: inject("Look at the result.", fired=["semantic_loop"])
    ask(connect(), script(3), run_id="r1", agent_name="fixer", task="Mend it", metadata={"ticket": 7})
    (sent,) = standin.runs.values()
    assert sent.start is not None
    names = "thought, action, action_input, observation, is_error, tokens, step_model, failure_type"
    stored = rows(file, f"SELECT step_index, {names} FROM steps WHERE run_id = 'r1' ORDER BY step_index")
    assert stored == [tuple(step[name] for name in f"step_index, {names}".split(", ")) for step in sent.steps.values()]
    assert rows(file, "SELECT run_id, agent_name, task, outcome, json_extract(metadata, '$.ticket') FROM runs") == [
        ("r1", "fixer", "Mend it", "success", 7)
    ]
    assert (
        rows(file, "SELECT intervention_texts FROM steps WHERE step_index = 1")[0][0].count("Look at the result.") == 1
    )
    assert rows(file, "SELECT monitors_fired FROM steps WHERE step_index = 1") == [('["semantic_loop"]',)]


def test_c43_it_needs_no_live_stream(standin: Standin, connect: Callable[..., ReasonBlocks], file: Path) -> None:
    """With the live stream off nothing is sent, and the file is written all the same."""
    ask(connect(live_streaming_enabled=False), script(2), run_id="r1")
    assert standin.runs == {}
    assert rows(file, "SELECT count(*) FROM steps") == [(3,)]


def test_c43_a_server_that_is_away_takes_nothing_from_the_file(
    standin: Standin, connect: Callable[..., ReasonBlocks], file: Path
) -> None:
    """The file is complete while the server gets nothing."""
    for route in ("start", "step", "finish"):
        standin.fault(route, Fault(status=503))
    client = connect()
    create_agent(ScriptedModel(script(2)), [lookup], middleware=[client.middleware(run_id="r1")]).invoke(QUESTION)
    client.close()
    assert rows(file, "SELECT outcome FROM runs") == [("success",)]
    assert rows(file, "SELECT count(*) FROM steps") == [(3,)]


def test_c34_redaction_comes_before_the_file(connect: Callable[..., ReasonBlocks], file: Path) -> None:
    """What a user's `redact` takes out is in no byte of the file."""

    def redact(event: dict[str, Any]) -> dict[str, Any]:
        return {
            name: "-" if name in ("thought", "observation", "action_input") else value for name, value in event.items()
        }

    secret = make_tool("read", lambda: "PASSWORD-51")
    ask(connect(redact=redact), [say("PASSWORD-51 is it", call("read")), "done"], tools=[secret], run_id="r1")
    written = b"".join(path.read_bytes() for path in file.parent.iterdir())
    assert b"PASSWORD-51" not in written
    assert rows(file, "SELECT thought FROM steps WHERE step_index = 0") == [("-",)]


def test_the_file_is_for_its_owner_only(file: Path) -> None:
    """Thoughts are nobody else's business: 0600 from the first moment."""
    SQLiteMonitorSink(file)
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_an_event_that_comes_twice_is_there_once(file: Path) -> None:
    """A delivery that is repeated changes nothing, and the last finish counts."""
    sink = SQLiteMonitorSink(file)
    step = {"type": "step", "run_id": "r", "step_index": 0, "thought": "once"}
    finish = {"type": "run_finish", "run_id": "r", "outcome": "failure: ValueError"}

    async def deliver() -> None:
        for event in (step, {**step, "thought": "twice"}, finish, {**finish, "outcome": "success"}):
            await sink.send(event)

    anyio.run(deliver)
    assert rows(file, "SELECT thought FROM steps") == [("once",)]
    assert rows(file, "SELECT outcome FROM runs") == [("success",)]


def test_two_processes_may_write_to_one_file(file: Path) -> None:
    """Four processes write at once; every event of each is there."""
    SQLiteMonitorSink(file)
    program = (
        "import sys, anyio\nfrom reasonblocks import SQLiteMonitorSink\nsink = SQLiteMonitorSink(sys.argv[1])\n"
        "async def main():\n    for i in range(20):\n"
        "        await sink.send({'type': 'step', 'run_id': sys.argv[2], 'step_index': i})\nanyio.run(main)\n"
    )
    command = [sys.executable, "-c", program, str(file)]
    writers = [subprocess.Popen([*command, f"r{number}"]) for number in range(4)]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    assert rows(file, "SELECT run_id, count(*) FROM steps GROUP BY 1") == [(f"r{number}", 20) for number in range(4)]


async def test_a_locked_file_is_a_reason_to_try_again(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While somebody else holds the file, a write says that it has to be repeated."""
    monkeypatch.setattr("reasonblocks.telemetry.sqlite_sink.BUSY_SECONDS", 0.05)
    sink = SQLiteMonitorSink(file)
    await sink.send({"type": "run_start", "run_id": "r"})
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match=r"runs\.db.*locked"):
            await sink.send({"type": "run_finish", "run_id": "r", "outcome": "success"})


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (lambda file: file.mkdir(parents=True), "cannot write to"),
        (lambda file: file.write_text("just text, and more than a page of it\n" * 200), "not a database"),
        (lambda file: sqlite3.connect(file).execute("CREATE TABLE mine (a)").connection.close(), "something else"),
        (lambda file: _of_version(file, 99), "version 99"),
    ],
)
def test_a_file_that_is_not_ours_is_refused(tmp_path: Path, prepare: Callable[[Path], object], says: str) -> None:
    """Nothing is written into a directory, a text, another program's database or a later version's."""
    file = tmp_path / "file"
    prepare(file)
    with pytest.raises(SettingsError, match=f"SQLiteMonitorSink cannot write to .*file.*{says}|{says}.*file"):
        SQLiteMonitorSink(file)


def _of_version(file: Path, version: int) -> None:
    SQLiteMonitorSink(file)
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")


@pytest.mark.parametrize("sinks", [3, ["runs.db"]])
def test_sinks_are_checked_where_they_are_given(standin: Standin, sinks: Any) -> None:
    """Whatever is no sink is named in the error."""
    with pytest.raises(SettingsError, match=r"sinks .*(3|runs\.db).*SQLiteMonitorSink"):
        ReasonBlocks(standin.key, base_url=standin.url, sinks=sinks)


# -- the command -----------------------------------------------------------------------------------


def test_trace_lists_runs_newest_first(connect: Callable[..., ReasonBlocks], file: Path) -> None:
    """Without a run, one line each: agent, steps, tokens, outcome."""
    client = connect()
    ask(client, script(1), run_id="first", agent_name="fixer")
    ask(client, script(2), run_id="second", agent_name="fixer")
    result = trace(file)
    assert result.exit_code == 0
    heading, *lines = result.stdout.splitlines()
    assert heading.split() == ["run", "agent", "began", "steps", "tokens", "outcome"]
    assert [re.split(r"\s{2,}", line)[:2] + re.split(r"\s{2,}", line)[3:] for line in lines] == [
        ["second", "fixer", "3", "360", "success"],
        ["first", "fixer", "2", "240", "success"],
    ]
    assert len(trace(file, "-n", "1").stdout.splitlines()) == 2


def test_trace_shows_a_run_as_a_tree(standin: Standin, connect: Callable[..., ReasonBlocks], file: Path) -> None:
    """Each step with what was said, done and got, what the monitors saw and what the model was told."""
    standin.evaluate = lambda steps, body: inject("Look at the result.", fired=["semantic_loop"])
    replies = [say("I look it up", call("complaining_tool", reason="no\x1b[31m such\trecord")), "It is not there."]
    ask(connect(), replies, tools=[complaining_tool], run_id="run-77", agent_name="fixer", task="Find it")
    lines = trace(file, "run-7").stdout.splitlines()
    assert re.fullmatch(r"run run-77  fixer  success  2 steps  240 tokens  \d+\.\d s", lines[0])
    assert lines[1] == "   task  Find it"
    assert re.fullmatch(r"├─ step 0  INIT  .* \d+ ms  100 in, 20 out", lines[2])
    shown = "\n".join(lines)
    assert "│     said  I look it up" in shown
    assert '│     did   complaining_tool {"reason":"no' in shown
    assert "│     got   no·[31m such" in shown
    assert "└─ step 1  NORMAL  difficulty 0." in shown
    assert "semantic_loop" in shown
    assert "      told  [MonitorSteeringInjection] Look at the result." in shown


def test_trace_shows_nested_runs_below_their_parent(connect: Callable[..., ReasonBlocks], file: Path) -> None:
    """An agent that a tool called hangs on the run that called it."""
    client = connect()
    inner = create_agent(ScriptedModel(script(1)), [lookup], middleware=[client.middleware(agent_name="inner")])

    def delegate() -> str:
        return str(inner.invoke(QUESTION)["messages"][-1].content)

    ask(client, [say("over to you", call("delegate")), "done"], tools=[make_tool("delegate", delegate)], run_id="outer")
    shown = trace(file, "outer").stdout
    assert re.search(r"^└─ nested run \S+  inner  success  2 steps", shown, re.MULTILINE)
    assert re.search(r"^   └─ step 1", shown, re.MULTILINE)


def test_trace_shows_texts_in_full_when_asked(connect: Callable[..., ReasonBlocks], file: Path) -> None:
    """A long thought is cut to the line, and not with `--full`."""
    text = "word " * 100 + "END"
    ask(connect(), [text], tools=[], run_id="r")
    assert "END" not in trace(file, "r").stdout
    assert "END" in trace(file, "r", "--full").stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.db"], "there is no file 'missing.db'"),
        (["text.db"], "cannot be read as a file of SQLiteMonitorSink"),
        (["other.db"], "not one of SQLiteMonitorSink's"),
        (["runs.db", "nobody"], "no run in 'runs.db' is called 'nobody'"),
        (["runs.db", "r"], "'r' may be r1, r2: give more of the id"),
    ],
)
def test_trace_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    """One line that names the file or the run, and no traceback."""
    monkeypatch.chdir(tmp_path)
    Path("text.db").write_text("nothing\n" * 500)
    with closing(sqlite3.connect("other.db")) as connection:
        connection.execute("CREATE TABLE mine (a)")
    for run_id in ("r1", "r2"):
        anyio.run(SQLiteMonitorSink("runs.db").send, {"type": "run_finish", "run_id": run_id, "outcome": "success"})
    result = trace(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert says in result.stderr


def test_a_run_that_is_not_over_says_so(tmp_path: Path) -> None:
    """A file of a program that still works, or was killed, is shown as far as it goes."""
    sink = SQLiteMonitorSink(tmp_path / "runs.db")
    assert trace(sink.path).stdout == "No runs yet.\n"
    anyio.run(sink.send, {"type": "run_start", "run_id": "r", "agent_name": "a"})
    anyio.run(sink.send, {"type": "step", "run_id": "r", "step_index": 0, "thought": "hm"})
    assert "not finished" in trace(sink.path, "r").stdout
    anyio.run(sink.send, {"type": "run_interrupt", "run_id": "r"})
    assert "waits for a person" in trace(sink.path, "r").stdout
