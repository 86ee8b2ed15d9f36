"""What a file of `SQLiteMonitorSink` says about runs."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ..errors import ReasonBlocksError
from .sqlite_sink import APPLICATION_ID

Row = dict[str, Any]
_JSON = frozenset({"metadata", "scores", "injection_sources", "intervention_texts", "monitors_fired"})
_SUMMARY = """
SELECT runs.*, count(steps.run_id) AS steps, coalesce(sum(steps.tokens), 0) AS tokens,
    coalesce(started_at, min(steps.recorded_at)) AS began
FROM runs LEFT JOIN steps USING (run_id) {where} GROUP BY runs.run_id ORDER BY began DESC, runs.rowid DESC
"""
_PARENT = "json_extract(runs.metadata, '$.reasonblocks.parent_run_id')"


class TraceFileError(ReasonBlocksError):
    """A file, or a run in it, that cannot be shown."""


@dataclass(frozen=True)
class TracedRun:
    """One run: its facts, its steps in order, and the runs that came of it."""

    facts: Row
    steps: list[Row] = field(default_factory=list)
    children: list["TracedRun"] = field(default_factory=list)


class TraceFile:
    """A file that an `SQLiteMonitorSink` has written, also while it is being written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.is_file():
            raise TraceFileError(f"there is no file {str(path)!r}; expected one that SQLiteMonitorSink has written")

    def runs(self, limit: int) -> list[Row]:
        """The newest runs, with the number of their steps and tokens."""
        with self._reading() as connection:
            return [_row(found) for found in connection.execute(f"{_SUMMARY.format(where='')} LIMIT ?", (limit,))]

    def run(self, named: str) -> TracedRun:
        """The run of this id, or the only one whose id begins so."""
        with self._reading() as connection:
            return _traced(connection, _meant(connection, named, self._path), seen=set())

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
                connection.row_factory = sqlite3.Row
                (found,) = connection.execute("PRAGMA application_id").fetchone()
                if found != APPLICATION_ID:
                    raise TraceFileError(f"{str(self._path)!r} is a database, but not one of SQLiteMonitorSink's")
                yield connection
        except sqlite3.Error as error:
            raise TraceFileError(
                f"{str(self._path)!r} cannot be read as a file of SQLiteMonitorSink: {error}"
            ) from error


def _meant(connection: sqlite3.Connection, named: str, path: Path) -> str:
    exact = connection.execute("SELECT run_id FROM runs WHERE run_id = ?", (named,)).fetchone()
    if exact:
        return str(exact["run_id"])
    length = len(named)
    rows = connection.execute("SELECT run_id FROM runs WHERE substr(run_id, 1, ?) = ? LIMIT 4", (length, named))
    found = [str(row["run_id"]) for row in rows]
    if not found:
        raise TraceFileError(
            f"no run in {str(path)!r} is called {named!r}, or begins so; `reasonblocks trace {path}` lists them"
        )
    if len(found) > 1:
        raise TraceFileError(
            f"{named!r} may be {', '.join(found[:3])}{' or others' if len(found) > 3 else ''}: give more of the id"
        )
    return found[0]


def _traced(connection: sqlite3.Connection, run_id: str, seen: set[str]) -> TracedRun:
    seen.add(run_id)
    facts = connection.execute(_SUMMARY.format(where="WHERE runs.run_id = ?"), (run_id,)).fetchone()
    steps = connection.execute("SELECT * FROM steps WHERE run_id = ? ORDER BY step_index", (run_id,))
    children = connection.execute(f"SELECT run_id FROM runs WHERE {_PARENT} = ? ORDER BY started_at", (run_id,))
    below = [str(child["run_id"]) for child in children.fetchall()]
    return TracedRun(
        _row(facts),
        [_row(step) for step in steps],
        [_traced(connection, child, seen) for child in below if child not in seen],
    )


def _row(found: sqlite3.Row) -> Row:
    """A row with its JSON read."""
    return {name: _decoded(found[name]) if name in _JSON else found[name] for name in found.keys()}  # noqa: SIM118  a Row iterates over values


def _decoded(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)
