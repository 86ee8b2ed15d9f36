"""Recorded runs as files have them: what is taken as it comes, and what is refused in which words."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from reasonblocks.recordings import RecordedStep, RecordingError, read_runs
from support.recorded import healthy, run, step, write_runs


def complaint(path: Path) -> str:
    with pytest.raises(RecordingError) as raised:
        list(read_runs(path))
    return str(raised.value)


@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz"])
def test_runs_are_read_plain_and_gzipped(tmp_path: Path, name: str) -> None:
    """In the order of the file; blank lines are passed over."""
    path = write_runs(tmp_path / name, [healthy("a"), healthy("b", 2)])
    if name == "runs.jsonl":
        path.write_bytes(path.read_bytes().replace(b"\n", b"\n\n  \n"))
    assert [(one.run_id, len(one.steps)) for one in read_runs(path)] == [("a", 6), ("b", 2)]


def test_anything_but_text_becomes_compact_json(tmp_path: Path) -> None:
    """Tools are called with objects, and answer with lists and numbers."""
    given = step(None, "f", action_input={"path": "a b", "lines": [1, 2]}, observation=[{"é": None}])
    (found,) = read_runs(write_runs(tmp_path / "r.jsonl", [run("a", [given])]))
    assert found.steps == [RecordedStep(None, "f", '{"path":"a b","lines":[1,2]}', '[{"é":null}]', None)]


def test_unknown_keys_and_missing_fields_do_no_harm(tmp_path: Path) -> None:
    """A run needs an id and steps; a step needs nothing at all."""
    line = {"run_id": "a", "steps": [{}, {"colour": "red"}], "labels": None, "dataset": None, "weather": {"wind": 3}}
    (found,) = read_runs(write_runs(tmp_path / "r.jsonl", [line]))
    assert found.steps == [RecordedStep(), RecordedStep()]
    assert (found.labels, found.dataset, found.outcome, found.task) == ({}, "", None, None)


def test_what_python_writes_is_read(tmp_path: Path) -> None:
    """NaN, and halves of characters, which become a sign that can be written again."""
    path = tmp_path / "r.jsonl"
    path.write_text('{"run_id": "a", "reward": NaN, "steps": [{"thought": "cut \\ud83d"}]}\n')
    (found,) = read_runs(path)
    assert found.steps[0].thought == "cut ?"
    assert found.reward is not None
    assert found.reward != found.reward


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", ["line 2", "run_id"]),
        ("[]", ["line 2", "object"]),
        ('{"steps": []}', ["line 2", "run_id"]),
        ('{"run_id": 3, "steps": [{}]}', ["line 2", "$.run_id"]),
        ('{"run_id": "b", "steps": [{"action": ["f"]}]}', ["line 2", "$.steps[0].action"]),
        ('{"run_id": "b", "steps": []}', ["line 2", "'b'", "no steps"]),
        ('{"run_id": "b", "steps": [{}], "outcome": "pass"}', ["line 2", "'pass'", "'success', 'failure' or null"]),
        ('{"run_id": "b", "steps": [{}], "outcome": true}', ["line 2", "True", "'success', 'failure' or null"]),
        ('{"run_id": "a", "steps": [{}]}', ["line 2", "'a'", "line 1"]),
        ("\udcff", ["line 2"]),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, words: list[str]) -> None:
    """With its number, what is wrong with it and what was expected."""
    path = write_runs(tmp_path / "r.jsonl", [healthy("a")])
    path.write_bytes(path.read_bytes() + line.encode("utf-8", "surrogateescape"))
    message = complaint(path)
    assert [word for word in [str(path), "expected", *words] if word not in message] == []


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """One that is missing, one that is a directory, one that is no gzip, one that was cut off."""
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(gzip.compress(json.dumps(healthy("a")).encode())[:-12])
    no_gzip = tmp_path / "plain.jsonl.gz"
    no_gzip.write_text("{}")
    for path in (tmp_path / "none.jsonl", tmp_path, no_gzip, cut):
        assert str(path) in complaint(path)


def test_errors_travel_between_processes(tmp_path: Path) -> None:
    """A replay's workers raise them elsewhere."""
    import pickle

    error: Any = pickle.loads(pickle.dumps(RecordingError("line 3: no")))
    assert (type(error), str(error)) == (RecordingError, "line 3: no")
