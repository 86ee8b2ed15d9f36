"""`ReasonBlocks()` without a key and a URL: the engine in process, real agents on it, its data on disk."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import socket
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.embeddings import Embeddings
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from reasonblocks import ReasonBlocks
from reasonblocks.api import ReasonBlocksAPI
from reasonblocks.engine.answers import RunWithSteps
from reasonblocks.engine.engine import Engine
from reasonblocks.engine.principal import LOCAL, Principal
from reasonblocks.engine.requests import PatternCreate
from reasonblocks.engine.settings import EngineSettings
from reasonblocks.errors import SettingsError
from reasonblocks.runtime.supervisor import runtime
from support.agents import ScriptedModel, call, lookup, make_tool, say, script
from support.stacks import BASE, QUESTION

SYNONYMS = ("session timeout", "session expiry", "session token expiration", "session lifetime", "session duration")


def _search(query: str) -> str:
    return "web/login.py:2: session = start_session(user)"


search = make_tool("search_code", _search)


def looping(final: str = "I give up.") -> ScriptedModel:
    """An agent that asks the same in other words."""
    asks = [say(f"Nothing yet, so I try {words}.", call("search_code", query=words)) for words in SYNONYMS]
    return ScriptedModel([*asks, final])


def run_agent(rb: ReasonBlocks, model: ScriptedModel, mode: str = "sync", **settings: Any) -> Any:
    """One run of an agent on a middleware of its own, which is returned."""
    middleware = rb.middleware(**settings)
    agent = create_agent(model, [search, lookup], system_prompt=BASE, middleware=[middleware])
    if mode == "sync":
        agent.invoke(QUESTION)
    else:
        asyncio.run(agent.ainvoke(QUESTION))
    return middleware


def with_engine(data_dir: Path, work: Callable[[Engine], Any]) -> Any:
    """What `work` makes of an engine on a directory."""

    async def main() -> Any:
        engine = await Engine.open(EngineSettings(data_dir=data_dir))
        try:
            return await work(engine)
        finally:
            await engine.aclose()

    return asyncio.run(main())


def stored_run(data_dir: Path, run_id: str) -> RunWithSteps:
    """A run as another process finds it."""
    found: RunWithSteps = with_engine(data_dir, lambda engine: engine.runs.show(LOCAL, run_id))
    return found


# -- steering ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_c19_without_a_server_the_engine_steers_in_process(mode: str) -> None:
    """Standing rules on the first call; a loop is named, with the agent's own words, while it goes on."""
    model = looping()
    with ReasonBlocks(data_dir=":memory:") as rb:
        log = run_agent(rb, model, mode).step_log
    assert log[0].injection_sources == ["E3Injection"]
    assert len((model.blocks[0] or "").split("\n\n")) >= 10
    assert "semantic_loop" in log[3].monitors_fired
    assert log[3].failure_type == "loop"
    assert "session token expiration" in (model.blocks[3] or "")
    assert [entry.errors for entry in log if any("Monitor" in error for error in entry.errors)] == []


def test_a_healthy_agent_is_told_the_rules_and_nothing_else() -> None:
    """Different questions with different answers are no reason to say anything."""
    model = ScriptedModel(script(6))
    with ReasonBlocks(data_dir=":memory:") as rb:
        log = run_agent(rb, model).step_log
    assert [bool(block) for block in model.blocks] == [True] + [False] * 6
    assert [entry.monitors_fired for entry in log] == [[]] * 7


def test_the_engine_opens_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    """Embedded means embedded: nothing connects and nothing listens."""
    used: list[str] = []
    monkeypatch.setattr(socket.socket, "connect", lambda *_: used.append("connect"))
    monkeypatch.setattr(socket.socket, "bind", lambda *_: used.append("bind"))
    with ReasonBlocks(data_dir=":memory:") as rb:
        run_agent(rb, looping())
    assert used == []


async def test_a_constructor_on_a_loop_does_not_hold_it_up() -> None:
    """Made inside a coroutine the engine opens in the background; the first run waits within its budget."""
    model = ScriptedModel(script(2))
    async with ReasonBlocks(data_dir=":memory:", step_timeout=30) as rb:
        middleware = rb.middleware()
        agent = create_agent(model, [lookup], system_prompt=BASE, middleware=[middleware])
        await agent.ainvoke(QUESTION)
        assert [entry.errors for entry in middleware.step_log] == [[], [], []]
        assert model.blocks[0]


async def test_lookups_by_hand_work_without_a_server() -> None:
    """`ReasonBlocksAPI` falls back on the engine, too."""
    api = ReasonBlocksAPI(data_dir=":memory:", step_timeout=30)
    assert {trace.tier for trace in await api.fetch_e3_patterns()} == {"e3"}
    assert await api.fetch_e1_pattern("I read the file again.") is None


# -- what is kept ------------------------------------------------------------------------------------


def test_a_run_is_kept_with_its_steps_scores_and_evidence(tmp_path: Path) -> None:
    """What an agent did is in the directory after `close`: outcome, steps, what the monitors saw."""
    with ReasonBlocks(data_dir=tmp_path) as rb:
        run_agent(rb, looping(), run_id="kept", agent_name="searcher", task="Find it")
    run = stored_run(tmp_path, "kept")
    assert (run.outcome, run.agent_name, run.task, run.org_id) == ("success", "searcher", "Find it", "default")
    assert [step.step_index for step in run.steps] == list(range(6))
    assert run.steps[2].scores is not None
    assert run.steps[2].scores["semantic_loop"] >= 0.6
    evidence = {piece.monitor: piece for piece in run.steps[2].evidence or ()}
    assert evidence["semantic_loop"].steps == [0, 1, 2]


def test_files_are_for_their_owner_only(tmp_path: Path) -> None:
    """The data directory and everything in it can be read by nobody else."""
    with ReasonBlocks(data_dir=tmp_path / "data") as rb:
        run_agent(rb, ScriptedModel(script(1)))
    for path in [tmp_path / "data", *(tmp_path / "data").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.usefixtures("no_threads_left")
def test_a_closed_client_goes_on_when_it_is_used_again(tmp_path: Path) -> None:
    """`close` leaves no thread and no open file, and the next run opens the engine again."""
    gc.collect()  # engines in memory of earlier tests end with their clients
    runtime.release()
    before = set(threading.enumerate())
    rb = ReasonBlocks(data_dir=tmp_path)
    run_agent(rb, ScriptedModel(script(1)), run_id="first")
    rb.close()
    deadline = time.monotonic() + 5  # the thread that embeds ends after a moment without work
    while left := set(threading.enumerate()) - before:
        assert time.monotonic() < deadline, left
        time.sleep(0.01)
    run_agent(rb, ScriptedModel(script(1)), run_id="second")
    rb.close()
    assert stored_run(tmp_path, "first").outcome == "success"
    assert stored_run(tmp_path, "second").outcome == "success"


@pytest.mark.usefixtures("no_threads_left")
def test_clients_on_one_directory_share_an_engine(tmp_path: Path) -> None:
    """Two clients of a process use one engine; closing one of them takes nothing from the other."""
    one, other = ReasonBlocks(data_dir=tmp_path), ReasonBlocks(data_dir=tmp_path)
    assert one._backend._host is other._backend._host  # type: ignore[attr-defined]
    one.close()
    run_agent(other, ScriptedModel(script(1)), run_id="other")
    other.close()
    assert stored_run(tmp_path, "other").outcome == "success"


def test_memory_is_kept_until_the_client_goes() -> None:
    """With `:memory:` a `close` loses nothing; two clients never see each other's runs."""
    one, other = ReasonBlocks(data_dir=":memory:"), ReasonBlocks(data_dir=":memory:")
    for rb in (one, other):
        run_agent(rb, ScriptedModel(script(1)), run_id="same-id")
        rb.close()
        run_agent(rb, ScriptedModel(script(1)), run_id="next")
        rb.close()
        assert rb.stats()["dropped"] == {}
    del one, other, rb


# -- several processes -------------------------------------------------------------------------------

CHILD = """
    import sys
    sys.path.insert(0, {tests!r})
    from test_embedded import *
    rb = ReasonBlocks(data_dir={data_dir!r})
    run_agent(rb, ScriptedModel(script(3)), run_id={run_id!r})
    rb.close()
"""


def in_child(data_dir: Path, run_id: str) -> subprocess.Popen[str]:
    """Another interpreter that runs an agent on the same directory."""
    code = textwrap.dedent(CHILD).format(tests=str(Path(__file__).parent), data_dir=str(data_dir), run_id=run_id)
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


@pytest.mark.usefixtures("no_threads_left")
def test_two_processes_share_a_directory(tmp_path: Path) -> None:
    """Processes that start at once on an empty directory each have an index and lose nothing to each other."""
    with ReasonBlocks(data_dir=tmp_path) as rb:
        children = [in_child(tmp_path, f"child-{number}") for number in range(2)]
        run_agent(rb, ScriptedModel(script(3)), run_id="parent")
        for child in children:
            _, complaint = child.communicate(timeout=120)
            assert child.returncode == 0, complaint
    for run_id in ("parent", "child-0", "child-1"):
        run = stored_run(tmp_path, run_id)
        assert (run.outcome, [step.step_index for step in run.steps]) == ("success", [0, 1, 2, 3])


def test_a_pattern_of_another_process_is_found_here(tmp_path: Path) -> None:
    """What one process adds to the library, another one retrieves soon after."""
    admin = Principal("test")
    rule = PatternCreate(tier="e3", fields={"instruction": "Say the word heliotrope."})
    model = ScriptedModel(script(1))
    with ReasonBlocks(data_dir=tmp_path) as rb:
        with_engine(tmp_path, lambda engine: engine.patterns.create(admin, rule))
        deadline = time.monotonic() + 30
        while "heliotrope" not in (model.blocks[0] if model.calls else ""):
            assert time.monotonic() < deadline
            model = ScriptedModel(script(1))
            run_agent(rb, model)


def _run_in_fork(rb: ReasonBlocks) -> None:
    run_agent(rb, ScriptedModel(script(2)), run_id="forked")
    rb.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_opens_an_engine_of_its_own(tmp_path: Path) -> None:
    """A client that was made before a fork serves parent and child."""
    with ReasonBlocks(data_dir=tmp_path) as rb:
        child = multiprocessing.get_context("fork").Process(target=_run_in_fork, args=(rb,))
        child.start()
        run_agent(rb, ScriptedModel(script(2)), run_id="parent")
        child.join(60)
        assert child.exitcode == 0
    for run_id in ("parent", "forked"):
        assert stored_run(tmp_path, run_id).outcome == "success"


def test_the_last_events_are_stored_when_the_interpreter_exits(tmp_path: Path) -> None:
    """Without any `close` the end of the program still stores everything, and says nothing on stderr."""
    code = textwrap.dedent(CHILD).replace("rb.close()", "").strip()
    code = code.format(tests=str(Path(__file__).parent), data_dir=str(tmp_path), run_id="unclosed")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    run = stored_run(tmp_path, "unclosed")
    assert (run.outcome, len(run.steps)) == ("success", 4)


# -- C6: who waits for a person is not dead ----------------------------------------------------------


def test_c6_an_interrupted_run_is_not_silent(tmp_path: Path) -> None:
    """A run that waits for a person is marked as such, and the sweeper leaves it alone until it goes on."""
    model = ScriptedModel(script(1))
    with ReasonBlocks(data_dir=tmp_path) as rb:
        middleware = rb.middleware(run_id="asked")
        agent = create_agent(
            model,
            [lookup],
            system_prompt=BASE,
            middleware=[middleware, HumanInTheLoopMiddleware({"lookup": True})],
            checkpointer=InMemorySaver(),
        )
        config: Any = {"configurable": {"thread_id": "one"}}
        assert agent.invoke(QUESTION, config)["__interrupt__"]
        rb.close()
        assert waits_for_a_person(tmp_path, "asked")
        agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
        rb.close()
        assert not waits_for_a_person(tmp_path, "asked")
    assert stored_run(tmp_path, "asked").outcome == "success"


def waits_for_a_person(data_dir: Path, run_id: str) -> bool:
    """Whether the store has it that a run is interrupted."""
    connection = sqlite3.connect(data_dir / "reasonblocks.db")
    try:
        (interrupted,) = connection.execute("SELECT interrupted_at FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    finally:
        connection.close()
    return interrupted is not None


# -- what can go wrong -------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{}, {"api_key": "", "base_url": " "}, {"data_dir": "somewhere"}])
def test_without_the_extra_the_error_has_the_install_command(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]
) -> None:
    """Where the engine is not installed, the error tells how to install it."""
    monkeypatch.setitem(sys.modules, "qdrant_edge", None)  # as if it were not there
    with pytest.raises(SettingsError, match=r"pip install 'reasonblocks\[engine\]'"):
        ReasonBlocks(**settings)


@pytest.mark.usefixtures("no_threads_left")
def test_a_directory_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    """A path that is no directory is an error with the path and what to do, and no thread stays."""
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"file/data.*make it writable, name another one") as caught:
        ReasonBlocks(data_dir=tmp_path / "file" / "data")
    assert str(tmp_path) in str(caught.value)


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    """A schema that this version does not know is not touched."""
    ReasonBlocks(data_dir=tmp_path).close()
    with sqlite3.connect(tmp_path / "reasonblocks.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(SettingsError, match=r"'9999'.*upgrade reasonblocks"):
        ReasonBlocks(data_dir=tmp_path)


def test_a_directory_that_is_mended_can_be_used(tmp_path: Path) -> None:
    """An error is not remembered: once its cause is gone, the next client opens the same directory."""
    (tmp_path / "data").write_text("in the way")
    for _ in range(2):
        with pytest.raises(SettingsError, match="make it writable"):
            ReasonBlocks(data_dir=tmp_path / "data")
    (tmp_path / "data").unlink()
    with ReasonBlocks(data_dir=tmp_path / "data") as rb:
        assert run_agent(rb, ScriptedModel(script(1))).step_log[0].errors == []


def test_a_client_after_one_that_was_dropped_does_not_wait_for_it(tmp_path: Path) -> None:
    """One client for each request, never closed: the next one has an engine of its own, at once."""
    for number in range(5):
        rb = ReasonBlocks(data_dir=tmp_path)
        log = run_agent(rb, ScriptedModel(script(1)), run_id=f"run-{number}").step_log
        assert [entry.errors for entry in log] == [[], []]
        del rb, log
        gc.collect()
    assert stored_run(tmp_path, "run-0").outcome == "success"


@pytest.mark.parametrize("wrong", [17, "", " ", b"bytes", "nul\0byte"])
def test_a_wrong_data_dir_names_itself(wrong: Any) -> None:
    """A value that is no path is refused with what was expected."""
    with pytest.raises(SettingsError, match=r"data_dir is .*expected the path of a directory"):
        ReasonBlocks(data_dir=wrong)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("EMBEDDINGS", "nonsense", "nonsense"),
        ("EMBEDDINGS", "no.such.module:thing", "no.such.module"),
        ("STALE_AFTER", "soon", "REASONBLOCKS_STALE_AFTER is 'soon'; expected a number"),
        ("KEEP_DAYS", "-1", "keep_days is -1.0; expected a number of days above 0"),
    ],
)
def test_a_wrong_setting_of_the_engine_names_itself(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, expected: str
) -> None:
    """What the environment says about the embedded engine is checked when it is opened."""
    monkeypatch.setenv(f"REASONBLOCKS_{name}", value)
    with pytest.raises(SettingsError) as caught:
        ReasonBlocks(data_dir=":memory:")
    assert expected in str(caught.value)


class Loud(Embeddings):
    """An embedder of one's own: how loud a text is."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """How many capitals, marks and other characters each has."""
        return [[sum(map(str.isupper, text)) + 1.0, text.count("!") + 1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """The same for one."""
        return self.embed_documents([text])[0]


def test_any_langchain_embeddings_may_be_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A setting names an `Embeddings` class, and what is stored says by which model and in how many numbers."""
    monkeypatch.setenv("REASONBLOCKS_EMBEDDINGS", "test_embedded:Loud")
    monkeypatch.syspath_prepend(Path(__file__).parent)
    with ReasonBlocks(data_dir=tmp_path) as rb:
        run_agent(rb, ScriptedModel(script(1)))
    with sqlite3.connect(tmp_path / "reasonblocks.db") as connection:
        stored = set(connection.execute("SELECT model, dimension FROM vectors"))
    connection.close()
    assert len(stored) == 1
    ((model, dimension),) = stored
    assert (("Loud" in model), dimension) == (True, 3)


def test_a_directory_beside_a_server_is_refused() -> None:
    """A server and a data directory at once cannot both be meant."""
    with pytest.raises(SettingsError, match=r"data_dir is 'here'.*leave data_dir out"):
        ReasonBlocks("rb_live_key", base_url="http://127.0.0.1:9", data_dir="here")


def test_the_directory_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """REASONBLOCKS_DATA_DIR names the directory where no argument does."""
    monkeypatch.setenv("REASONBLOCKS_DATA_DIR", str(tmp_path / "from variable"))
    with ReasonBlocks() as rb:
        assert "from variable" in repr(rb)
    assert (tmp_path / "from variable" / "reasonblocks.db").exists()
