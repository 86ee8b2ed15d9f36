"""`reasonblocks replay`: what it writes where, and what it says when it cannot."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reasonblocks.commands.root import reasonblocks
from support.recorded import healthy, looping, read_json_lines, write_runs


def replay(*arguments: str | Path) -> Result:
    """The command in this process."""
    given = ["replay", *(str(argument) for argument in arguments)]
    return CliRunner().invoke(reasonblocks, given, prog_name="reasonblocks")


def complaint(result: Result) -> str:
    """The one line in which it says what went wrong."""
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    (line,) = result.stderr.splitlines()
    assert line.startswith("Error: ")
    return line


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Some runs that differ in length."""
    return write_runs(tmp_path / "runs.jsonl.gz", [healthy("b", 9), looping("a"), healthy("c", 1)])


def test_one_line_per_run_and_one_entry_per_step(runs: Path, tmp_path: Path) -> None:
    """In the order of the input; how much there was and how fast it went is on stderr."""
    result = replay(runs, "-o", tmp_path / "out.jsonl")
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    assert result.stderr.startswith("3 runs, 22 steps in ")
    assert result.stderr.endswith(" steps/s\n")
    lines = read_json_lines((tmp_path / "out.jsonl").read_bytes())
    assert [(line["run_id"], len(line["steps"])) for line in lines] == [("b", 9), ("a", 12), ("c", 1)]
    assert any(entry["inject"] for entry in lines[1]["steps"])


@pytest.mark.slow
def test_any_number_of_jobs_writes_the_same_bytes(runs: Path, tmp_path: Path) -> None:
    """In processes with other hash seeds, too; and gzipped, the file has no time in it."""
    for name, jobs in (("one", 1), ("two", 2)):
        assert replay(runs, "-o", tmp_path / f"{name}.jsonl.gz", "--jobs", str(jobs)).exit_code == 0
    packed = (tmp_path / "one.jsonl.gz").read_bytes()
    assert (tmp_path / "two.jsonl.gz").read_bytes() == packed
    replay(runs, "-o", tmp_path / "plain.jsonl")
    assert gzip.decompress(packed) == (tmp_path / "plain.jsonl").read_bytes()


def test_a_dash_is_stdout(runs: Path, tmp_path: Path) -> None:
    """As a process of its own: nothing but the lines is there."""
    command = [sys.executable, "-m", "reasonblocks", "replay", str(runs), "-o", "-"]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    replay(runs, "-o", tmp_path / "out.jsonl")
    assert done.stdout == (tmp_path / "out.jsonl").read_bytes()


def test_settings_of_the_monitors_count(runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment, as for an embedded engine, or by an option, which comes first; a wrong one is told."""
    monkeypatch.setenv("REASONBLOCKS_MONITORS_OFF", "semantic_loop")
    replay(runs, "-o", tmp_path / "out.jsonl")
    entries = [entry for line in read_json_lines((tmp_path / "out.jsonl").read_bytes()) for entry in line["steps"]]
    assert {entry["scores"]["semantic_loop"] for entry in entries} == {0.0}
    for jobs in ("1", "2"):
        given = ("--jobs", jobs, "--monitors-off", "nonsense")
        assert "nonsense" in complaint(replay(runs, "-o", tmp_path / "out.jsonl", *given))


@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_bad_line_leaves_no_output(tmp_path: Path, jobs: str) -> None:
    """It is named, and what was written before stays as it was; no half-written file is left."""
    path = write_runs(tmp_path / "runs.jsonl", [healthy("a"), healthy("b")])
    path.write_text(path.read_text() + '{"run_id": "c"}\n')
    output = tmp_path / "out.jsonl"
    output.write_text("from yesterday")
    assert "line 3" in complaint(replay(path, "-o", output, "--jobs", jobs))
    assert output.read_text() == "from yesterday"
    assert sorted(os.listdir(tmp_path)) == ["out.jsonl", "runs.jsonl"]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="open files are listed under /proc")
def test_a_bad_line_leaves_no_file_open(tmp_path: Path) -> None:
    """Whoever holds on to the error does not hold on to the file."""
    path = write_runs(tmp_path / "runs.jsonl", [healthy("a"), healthy("b")])
    path.write_text('{"run_id": "c"}\n' + path.read_text())
    result = replay(path, "-o", tmp_path / "out.jsonl", "--jobs", "1")
    opened = [os.path.realpath(f"/proc/self/fd/{name}") for name in os.listdir("/proc/self/fd")]
    assert "line 1" in complaint(result)
    assert str(path) not in opened


def test_two_runs_with_one_id_are_refused(tmp_path: Path) -> None:
    """Nobody could tell their entries apart."""
    path = write_runs(tmp_path / "runs.jsonl", [healthy("a"), healthy("a")])
    assert "line 2: run_id 'a'" in complaint(replay(path, "-o", tmp_path / "out.jsonl"))


def test_files_that_cannot_be_are_told_in_one_line(runs: Path, tmp_path: Path) -> None:
    """No input, an empty one, an output that is the input or lies nowhere."""
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    link = tmp_path / "link.jsonl.gz"
    link.symlink_to(runs)
    before = runs.read_bytes()
    assert "there is no such file" in complaint(replay(tmp_path / "none.jsonl", "-o", tmp_path / "out.jsonl"))
    assert "no runs" in complaint(replay(empty, "-o", tmp_path / "out.jsonl"))
    for output in (runs, link):
        assert "overwrite" in complaint(replay(runs, "-o", output))
    assert "cannot be written" in complaint(replay(runs, "-o", tmp_path / "nowhere" / "out.jsonl"))
    assert runs.read_bytes() == before
    assert not (tmp_path / "out.jsonl").exists()


def test_a_device_is_written_to_as_it_is(runs: Path) -> None:
    """It is not replaced by a file."""
    assert replay(runs, "-o", os.devnull).exit_code == 0
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("arguments", [[], ["runs.jsonl"], ["runs.jsonl", "-o", "x", "--profile", "nonsense"]])
def test_what_is_missing_or_unknown_is_a_usage_error(arguments: list[str]) -> None:
    """Exit code 2, and where to find help."""
    result = replay(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--help" in result.stderr


@pytest.mark.slow
def test_a_bar_is_shown_to_whoever_watches(runs: Path, tmp_path: Path) -> None:
    """On a terminal alone; it ends at all of the runs."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "reasonblocks", "replay", str(runs), "-o", str(tmp_path / "out.jsonl")]
    with subprocess.Popen(command, stderr=theirs) as process:
        assert process.wait(60) == 0
    os.close(theirs)
    shown = os.read(ours, 65_536).decode()
    os.close(ours)
    assert "replaying" in shown
    assert "3/3" in shown
    assert "3 runs, 22 steps" in shown
