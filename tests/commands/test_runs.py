"""`reasonblocks runs` and `runs show`: on a directory and on a server the same."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path

import pytest

from commands.conftest import Server
from commands.story import command, complaint, printed, read
from reasonblocks.commands.runs import moment, short_ids
from reasonblocks.recordings import read_runs

NEWEST_FIRST = [
    "helper-of-boss",
    "0a1b2c3d4e5f60718293a4b5c6d7e8f9",
    "broken-tool",
    "read-records",
    "fix-timeout",
]


def test_runs_are_listed_newest_first(told: Path) -> None:
    """With agent, project, steps, tokens, outcome and what fired, within 80 columns."""
    title, *rows = printed("runs", "--data-dir", told).splitlines()
    assert title.split() == "run agent project began steps tokens outcome fired".split()
    assert [row.split()[0] for row in rows] == [name[:8] if len(name) > 20 else name for name in NEWEST_FIRST]
    assert max(map(len, (title, *rows))) <= 80
    assert rows[-1].split()[1:3] == ["fixer", "web"]
    assert rows[-1].split()[-4:] == ["720", "success", "loop", "3"]


def test_the_json_has_whole_ids_and_monitor_names(told: Path) -> None:
    """Every field of the wire, and the steps on which each monitor fired."""
    listed = read("runs", "--data-dir", told)
    assert [run["run_id"] for run in listed] == NEWEST_FIRST
    assert listed[-1]["fired"] == {"semantic_loop": 3}
    assert (listed[2]["outcome"], listed[2]["step_count"], listed[2]["fired"]) == ("failure: RuntimeError", 1, {})


def test_a_server_shows_what_its_directory_shows(told: Path, server: Server) -> None:
    """Lists, one run, its tree and its children are the same by HTTP, with either key."""
    for environment in (server.admin, server.member):
        assert read("runs", "--org", "default", **environment) == read("runs", "--data-dir", told)
        assert read("runs", "show", "fix-timeout", **environment) == read(
            "runs", "show", "fix-timeout", "--data-dir", told
        )
        assert printed("runs", "show", "0a1b", **environment) == printed("runs", "show", "0a1b", "--data-dir", told)


def test_options_name_a_server_and_the_variable_of_its_key(server: Server) -> None:
    """`--base-url` and `--api-key-env` stand above the environment."""
    environment = {"OTHER_KEY": server.admin["REASONBLOCKS_API_KEY"], "REASONBLOCKS_BASE_URL": "http://127.0.0.1:1"}
    listed = read(
        "runs", "--base-url", server.url, "--api-key-env", "OTHER_KEY", "--org", "default", "-n", "1", **environment
    )
    assert [run["run_id"] for run in listed] == ["helper-of-boss"]


def test_a_listing_is_narrowed(told: Path) -> None:
    """By number, offset, project and organisation."""
    at = ("--data-dir", told)
    assert [run["run_id"] for run in read("runs", "-n", "2", "--offset", "1", *at)] == NEWEST_FIRST[1:3]
    assert [run["run_id"] for run in read("runs", "--project", "web", *at)] == ["fix-timeout"]
    assert read("runs", "--org", "acme", *at) == []


def test_a_run_is_a_tree_with_the_runs_that_came_of_it(told: Path) -> None:
    """The nested run hangs below its parent; options may stand before or after `show`."""
    tree = printed("runs", "show", NEWEST_FIRST[1], "--data-dir", told)
    assert "└─ nested run helper-of-boss" in tree
    assert tree == printed("runs", "--data-dir", told, "show", NEWEST_FIRST[1])
    assert "semantic_loop 0.65" in printed("runs", "show", "fix-timeout", "--data-dir", told)
    assert "Repeating it has brought nothing new." in printed("runs", "show", "fix", "--full", "--data-dir", told)


# -- what a newcomer meets -------------------------------------------------------------------------


def test_an_unknown_or_ambiguous_run_is_said_to_be_so(told: Path, server: Server) -> None:
    """Exit code 1, and how to find the right one."""
    for where in ({}, server.admin):
        at = () if where else ("--data-dir", told)
        assert "`reasonblocks runs` lists them" in complaint("runs", "show", "nobody", *at, **where)
    assert "give more of the id" in complaint("runs", "show", "", "--data-dir", told)


def test_a_directory_without_a_database_is_named(tmp_path: Path) -> None:
    """A look makes nothing: neither where there is no directory nor where it is empty."""
    for directory in (tmp_path, tmp_path / "nowhere"):
        assert f"there is nothing in '{directory}' yet" in complaint("runs", "--data-dir", directory)
    assert list(tmp_path.iterdir()) == []


def test_no_runs_is_no_error(tmp_path: Path) -> None:
    """Nothing on stdout, `[]` for scripts, and a word on stderr."""
    printed("patterns", "list", "--data-dir", tmp_path)
    result = command("runs", "--data-dir", tmp_path)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "there are no runs" in result.stderr
    assert read("runs", "--data-dir", tmp_path) == []


def test_a_newer_database_is_refused(data_dir: Path) -> None:
    """The message says to upgrade."""
    with closing(sqlite3.connect(data_dir / "reasonblocks.db")) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    for arguments in (["runs"], ["stats"], ["patterns", "list"], ["explain", "fix-timeout"]):
        assert "upgrade reasonblocks" in complaint(*arguments, "--data-dir", data_dir)


def test_a_damaged_database_is_told_in_one_line(data_dir: Path) -> None:
    """Whatever SQLite says about it."""
    path = data_dir / "reasonblocks.db"
    for extra in data_dir.glob("reasonblocks.db-*"):
        extra.unlink()
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    assert str(data_dir) in complaint("runs", "--data-dir", data_dir)


@pytest.mark.skipif(not os.path.isdir("/proc/1"), reason="a place that not even root can write to")
def test_a_directory_that_cannot_be_written_is_named() -> None:
    """With what to do about it."""
    for arguments in (["patterns", "list"], ["patterns", "add", "--tier", "e3", "--field", "instruction=Look."]):
        message = complaint(*arguments, "--data-dir", "/proc/1/reasonblocks")
        assert "'/proc/1/reasonblocks' cannot be used" in message
        assert "--data-dir" in message


@pytest.mark.parametrize("arguments", [["runs"], ["stats"], ["patterns", "list"], ["explain", "r"]])
def test_a_server_that_is_away_or_refuses_the_key_is_named(server: Server, arguments: list[str]) -> None:
    """Its address, the variable of the key, and what to do."""
    away = complaint(*arguments, REASONBLOCKS_BASE_URL="http://127.0.0.1:1", REASONBLOCKS_API_KEY="no-such-key-0001")
    assert "http://127.0.0.1:1" in away
    assert "reasonblocks serve" in away
    refused = complaint(*arguments, REASONBLOCKS_BASE_URL=server.url, REASONBLOCKS_API_KEY="no-such-key-0002")
    assert "REASONBLOCKS_API_KEY" in refused
    assert "reasonblocks keys create" in refused


def test_what_is_not_rb_api_is_said_to_be_so(standin: object) -> None:
    """An address where something else answers."""
    url, key = standin.url, standin.key  # type: ignore[attr-defined]
    message = complaint("runs", REASONBLOCKS_BASE_URL=url, REASONBLOCKS_API_KEY=key)
    assert url in message


def test_half_a_server_is_refused(told: Path) -> None:
    """A URL without a key, a key without a URL, and two places at once."""
    assert "no API key in REASONBLOCKS_API_KEY" in complaint("runs", "--base-url", "http://127.0.0.1:1")
    assert "without a URL" in complaint("runs", REASONBLOCKS_API_KEY="no-such-key-0001")
    assert "one of them" in complaint("runs", "--base-url", "http://127.0.0.1:1", "--data-dir", told, code=2)
    assert ":memory:" in complaint("runs", "--data-dir", ":memory:")


def test_a_defect_is_no_traceback(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that nobody thought of is one line, with the way to see more."""
    from reasonblocks.commands.sources.local import LocalSource

    monkeypatch.setattr(LocalSource, "runs", lambda *arguments: 1 / 0)
    assert "ZeroDivisionError" in (message := complaint("runs", "--data-dir", told))
    assert "REASONBLOCKS_TRACEBACK=1" in message


# -- the shell -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("reasonblocks ", {"demo", "doctor", "explain", "keys", "patterns", "runs", "stats", "trace"}),
        ("reasonblocks ex", {"explain"}),
        ("reasonblocks patterns ", {"list", "show", "add", "edit", "approve", "retire", "export", "import"}),
        ("reasonblocks runs --da", {"--data-dir"}),
    ],
)
def test_the_shell_completes_commands_and_options(words: str, offered: set[str]) -> None:
    """As bash asks for it, in a process of its own."""
    environment = os.environ | {
        "_REASONBLOCKS_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    shown = subprocess.run([sys.executable, "-m", "reasonblocks"], capture_output=True, text=True, env=environment)
    assert offered <= {line.removeprefix("plain,") for line in shown.stdout.splitlines()}
    assert shown.stderr == ""


def test_a_look_loads_neither_embedder_nor_index_nor_langchain(told: Path) -> None:
    """Reading runs and patterns needs SQL and nothing else that is slow."""
    code = (
        "import sys\nfrom reasonblocks.commands.root import reasonblocks\n"
        "for words in ('runs', 'explain fix-timeout 3', 'stats', 'patterns list'):\n"
        "    reasonblocks([*words.split(), '--data-dir', sys.argv[1]], standalone_mode=False)\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code, str(told)], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "sqlalchemy" in loaded
    assert (
        loaded & {"onnxruntime", "tokenizers", "langchain", "langchain_core", "langgraph", "aiohttp", "alembic"}
        == set()
    )


# -- parts -----------------------------------------------------------------------------------------


def test_long_ids_are_cut_to_what_tells_them_apart() -> None:
    """Eight characters or as many as it takes; short ones stay whole."""
    same = "abcdefgh" * 3
    assert short_ids(["r1", f"{same}1", f"{same}2", "0123456789" * 3]) == ["r1", f"{same}1", f"{same}2", "01234567"]
    assert short_ids(["x" * 30, "x" * 30]) == ["x" * 8, "x" * 8]


def test_a_time_of_another_year_shows_the_year() -> None:
    """And otherwise the hour."""
    now = datetime(2026, 5, 1)
    assert moment("2025-05-01T12:00:00.000Z", now) == "2025-05-01"
    assert moment("2026-05-01T12:00:00.000Z", now).startswith("05-01 ")


# -- runs as recordings ----------------------------------------------------------------------------


@pytest.mark.parametrize("from_server", [False, True], ids=["directory", "server"])
def test_runs_are_exported_as_recordings(data_dir: Path, server: Server, tmp_path: Path, from_server: bool) -> None:
    """What was stored can be replayed: the steps, the task and how it ended; the monitors find the same loop again."""
    where, environment = ((), server.member) if from_server else (("--data-dir", data_dir), {})
    recordings, replay = tmp_path / "runs.jsonl.gz", tmp_path / "replay.jsonl"
    result = command("runs", "export", *where, "-o", recordings, **environment)
    assert (result.exit_code, result.stderr) == (0, f"5 runs in {recordings}\n")
    outcomes = {run.run_id: run.outcome for run in read_runs(recordings)}
    assert outcomes["fix-timeout"] == outcomes["read-records"] == "success"
    assert outcomes["broken-tool"] == "failure"
    assert command("replay", recordings, "-o", replay).exit_code == 0
    replayed = {one["run_id"]: one for one in map(json.loads, replay.read_text().splitlines())}
    assert ["semantic_loop" in step["fired"] for step in replayed["fix-timeout"]["steps"]][:3] == [False, False, True]


def test_as_many_are_exported_as_are_wanted(data_dir: Path, tmp_path: Path) -> None:
    """The newest of them; a file that cannot be written is named."""
    target = tmp_path / "runs.jsonl"
    assert command("runs", "export", "--data-dir", data_dir, "-n", "2", "-o", target).exit_code == 0
    assert [run.run_id for run in read_runs(target)] == ["helper-of-boss", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"]
    assert "cannot be written" in complaint("runs", "export", "--data-dir", data_dir, "-o", tmp_path / "no" / "file")
