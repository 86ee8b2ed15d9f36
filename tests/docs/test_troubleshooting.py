"""docs/troubleshooting.md: each error that a newcomer meets is provoked here, and says what the page says."""

from __future__ import annotations

import asyncio
import importlib.metadata
import importlib.util
import logging
import re
import socket
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from langchain.agents import create_agent

import reasonblocks
from docs.blocks import blocks, executes
from reasonblocks import ReasonBlocks, cli
from reasonblocks.commands.root import reasonblocks as command
from reasonblocks.errors import SettingsError
from reasonblocks.runtime.contain import incidents
from support.agents import ScriptedModel, lookup, script
from support.standin import EVERY_FAULT, Standin

QUESTION: Any = {"messages": [("user", "What is the value?")]}
SERVER = "https://rb-api.example.com"
Hide = Callable[..., None]


@pytest.fixture(autouse=True)
def no_incidents_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each cause is a new one here."""
    monkeypatch.setattr(incidents, "counts", {})


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Hide:
    """Make packages look as if they were not installed."""
    found = importlib.util.find_spec

    def hide(*names: str) -> None:
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name, *rest: None if name in names else found(name, *rest)
        )

    return hide


def raised(provoke: Callable[[], object], kind: type[BaseException] = SettingsError) -> str:
    """What an error says."""
    with pytest.raises(kind) as caught:
        provoke()
    return str(caught.value)


def complaint(*arguments: object) -> str:
    """What a command says on stderr before it ends."""
    result = CliRunner().invoke(command, [str(one) for one in arguments], prog_name="reasonblocks")
    assert result.exit_code == 1, result.output
    return result.stderr.strip().removeprefix("Error: ")


# -- one function for each message, in the order of the page -------------------------------------------


def engine_missing(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(sys.modules, "qdrant_edge", None)
    return raised(ReasonBlocks)


def command_line_missing(hide: Hide, monkeypatch: pytest.MonkeyPatch) -> str:
    hide(*cli.NEEDED)
    monkeypatch.setattr(sys, "argv", ["reasonblocks", "demo"])
    return raised(cli.main, SystemExit)


def server_missing(hide: Hide) -> str:
    hide("litestar", "uvicorn")
    return complaint("serve", "--port", "0")


def langchain_too_old(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.3.27")
    monkeypatch.setattr(reasonblocks, "import_module", _without_middleware)
    return raised(lambda: reasonblocks.ReasonBlocks, ImportError)


def _without_middleware(name: str, package: str) -> None:
    raise ImportError("No module named 'langchain.agents.middleware'", name="langchain.agents.middleware")


def key_without_url() -> str:
    return raised(lambda: ReasonBlocks("rb_live_abc"))


def url_without_key() -> str:
    return raised(lambda: ReasonBlocks(base_url=SERVER))


def plain_http() -> str:
    return raised(lambda: ReasonBlocks("rb_live_abc", base_url="http://rb-api.example.com"))


def wrong_key(standin: Standin, caplog: pytest.LogCaptureFixture) -> str:
    return _logged_by_agent(caplog, ReasonBlocks("rb_test_wrong", base_url=standin.url))


def server_down(standin: Standin, caplog: pytest.LogCaptureFixture) -> str:
    standin.stop()
    return _logged_by_agent(caplog, ReasonBlocks("rb_test_standin", base_url=standin.url, spool_dir=False))


def server_slow(standin: Standin, caplog: pytest.LogCaptureFixture) -> str:
    standin.fault("evaluate", EVERY_FAULT["black_hole"])
    return _logged_by_agent(caplog, ReasonBlocks("rb_test_standin", base_url=standin.url, step_timeout=0.3))


def _logged_by_agent(caplog: pytest.LogCaptureFixture, rb: ReasonBlocks) -> str:
    """What an agent's run leaves in the log about the monitors; the agent answers all the same."""
    agent = create_agent(ScriptedModel(script(1)), [lookup], middleware=[rb.middleware()])
    assert agent.invoke(QUESTION)["messages"][-1].text
    rb._streams.close()
    (line,) = [record.getMessage() for record in caplog.records if "MonitorSteering" in record.getMessage()]
    return line


def directory_not_writable(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> str:
    (tmp_path / "file").touch()
    said = raised(lambda: ReasonBlocks(data_dir=tmp_path / "file" / "data"))
    assert caplog.records == []  # nobody is told twice
    return said


def directory_too_new(tmp_path: Path) -> str:
    ReasonBlocks(data_dir=tmp_path).close()
    with sqlite3.connect(tmp_path / "reasonblocks.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    return raised(lambda: ReasonBlocks(data_dir=tmp_path))


def directory_empty(tmp_path: Path) -> str:
    return complaint("runs", "--data-dir", tmp_path / "nothing")


def middleware_twice() -> str:
    rb = ReasonBlocks("rb_live_abc", base_url=SERVER)
    pair = [rb.middleware(), rb.middleware()]
    return raised(lambda: create_agent(ScriptedModel(["done"]), [], middleware=pair))


def sync_inside_a_loop(standin: Standin, caplog: pytest.LogCaptureFixture) -> str:
    with ReasonBlocks("rb_test_standin", base_url=standin.url) as rb:
        agent = create_agent(ScriptedModel(["done"]), [], middleware=[rb.middleware()])

        async def main() -> None:
            agent.invoke(QUESTION)

        asyncio.run(main())
    (line,) = [record.getMessage() for record in caplog.records]
    return line


def port_taken(tmp_path: Path) -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return complaint("serve", "--port", taken.getsockname()[1], "--data-dir", tmp_path)


def workers_alone(tmp_path: Path) -> str:
    return complaint("serve", "--workers", "4", "--data-dir", tmp_path)


PROVOKED = (
    engine_missing,
    command_line_missing,
    server_missing,
    langchain_too_old,
    key_without_url,
    url_without_key,
    plain_http,
    wrong_key,
    server_down,
    server_slow,
    directory_not_writable,
    directory_too_new,
    directory_empty,
    middleware_twice,
    sync_inside_a_loop,
    port_taken,
    workers_alone,
)
MESSAGES = blocks("", page="docs/troubleshooting.md")


def test_every_message_of_the_page_is_provoked() -> None:
    """A message that is added to the page needs somebody who gets it."""
    assert len(MESSAGES) == len(PROVOKED)


@pytest.fixture
def provoked(request: pytest.FixtureRequest) -> str:
    """What is said; a case takes the fixtures that it names."""
    request.getfixturevalue("caplog").set_level(logging.WARNING)
    names = list(request.param.__annotations__)
    arguments = {name: request.getfixturevalue(name) for name in names if name != "return"}
    return str(request.param(**arguments))


@executes(*MESSAGES, together=True)
@pytest.mark.parametrize(
    ("provoked", "block"),
    list(zip(PROVOKED, MESSAGES, strict=False)),
    indirect=["provoked"],
    ids=[case.__name__ for case in PROVOKED],
)
def test_the_message_is_that_of_the_page(provoked: str, block: Any) -> None:
    """Word for word, but for what differs from place to place."""
    pattern = re.escape(block.text.strip()).replace(re.escape("..."), ".*")
    assert re.fullmatch(pattern, provoked), provoked
