"""The events of runs in one SQLite file, for looking at them offline.

It needs nothing but Python: no server, no engine. `reasonblocks trace FILE` shows what is in it, and so does any SQL.
"""

import asyncio
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import time
from typing import Any

import msgspec

from ..api.backend import Event
from ..api.wire import encode_event
from ..errors import SettingsError, Unavailable
from ..runtime.drivers import on_event_loop

APPLICATION_ID = 0x72622D74  # "rb-t": what tells our files from other SQLite files
VERSION = 1
BUSY_SECONDS = 5.0
"""How long a write waits for another process that writes to the same file."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, agent_name TEXT, task TEXT, framework TEXT, model TEXT, codebase_id TEXT, org_id TEXT,
    project_id TEXT, task_profile TEXT, metadata TEXT, started_at REAL, finished_at REAL, outcome TEXT,
    interrupted_at REAL
);
CREATE TABLE IF NOT EXISTS steps (
    run_id TEXT NOT NULL, step_index INTEGER NOT NULL, recorded_at REAL, thought TEXT, action TEXT, action_input TEXT,
    observation TEXT, is_error INTEGER, tokens INTEGER, input_tokens INTEGER, output_tokens INTEGER,
    cache_read_tokens INTEGER, step_model TEXT, injection_sources TEXT, intervention_texts TEXT, monitors_fired TEXT,
    failure_type TEXT, difficulty REAL, fsm_state TEXT, composite REAL, scores TEXT, latency_ms REAL, metadata TEXT,
    PRIMARY KEY (run_id, step_index)
);
"""

_RUN_FACTS = (
    "agent_name", "task", "framework", "model", "codebase_id", "org_id", "project_id", "task_profile", "metadata",
)  # fmt: skip
_STEP_FACTS = (
    "thought", "action", "action_input", "observation", "is_error", "tokens", "input_tokens", "output_tokens",
    "cache_read_tokens", "step_model", "injection_sources", "intervention_texts", "monitors_fired", "failure_type",
    "metadata",
)  # fmt: skip
_DETAILS = ("difficulty", "fsm_state", "composite", "scores", "latency_ms")
"""Of what `metadata.reasonblocks` of a step holds, what people ask for most has columns of its own."""

_START = f"""
INSERT INTO runs (run_id, started_at, {", ".join(_RUN_FACTS)}) VALUES (?, ?, {", ".join("?" * len(_RUN_FACTS))})
ON CONFLICT (run_id) DO UPDATE SET started_at = coalesce(started_at, excluded.started_at),
    {", ".join(f"{name} = coalesce({name}, excluded.{name})" for name in _RUN_FACTS)}
"""
_STEP = f"""
INSERT INTO steps (run_id, step_index, recorded_at, {", ".join((*_STEP_FACTS, *_DETAILS))})
VALUES (?, ?, ?, {", ".join("?" * len((*_STEP_FACTS, *_DETAILS)))}) ON CONFLICT DO NOTHING
"""
_GOES_ON = """
INSERT INTO runs (run_id) VALUES (?) ON CONFLICT (run_id) DO UPDATE SET interrupted_at = NULL
"""
_FINISH = """
INSERT INTO runs (run_id, finished_at, outcome) VALUES (?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET finished_at = excluded.finished_at, outcome = excluded.outcome, interrupted_at = NULL
"""
_INTERRUPT = """
INSERT INTO runs (run_id, interrupted_at) VALUES (?, ?)
ON CONFLICT (run_id) DO UPDATE SET interrupted_at = excluded.interrupted_at
"""


class SQLiteMonitorSink:
    """Keeps the events of runs in a file: `ReasonBlocks(sinks=[SQLiteMonitorSink("runs.db")])`.

    Agents never wait for it: events are written in the background, many in one transaction. Any number of processes
    may write to one file.
    """

    batches = True
    losses = False
    destination = None
    linger_seconds = 0.1

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).expanduser().absolute()
        if on_event_loop():
            return  # it must not be held up: the first events find out whether the file can be written
        try:
            self._opened().close()
        except (OSError, sqlite3.Error) as error:
            raise SettingsError(
                f"SQLiteMonitorSink cannot write to {str(self.path)!r}: {error}; expected a file that is new, or that "
                "an SQLiteMonitorSink has written"
            ) from error

    def _opened(self) -> sqlite3.Connection:
        """A connection for one transaction: none is ever open when a process forks."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite would let others read it
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            _check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    async def discover(self) -> None:
        """Nothing to ask."""

    async def send(self, event: Event) -> None:
        """Write one event."""
        await self.send_batch([encode_event(event)])

    async def send_batch(self, events: Sequence[bytes]) -> list[tuple[int, str]]:
        """Write encoded events, all or none."""
        try:
            await asyncio.to_thread(self._write, events)
        except (OSError, sqlite3.Error) as error:
            raise Unavailable(f"events cannot be written to {str(self.path)!r}: {error}") from error
        return []

    def _write(self, events: Sequence[bytes]) -> None:
        now = time()
        with closing(self._opened()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            for encoded in events:
                _apply(connection, msgspec.json.decode(encoded), now)
            connection.execute("COMMIT")

    def release(self) -> None:
        """Nothing is held between two writes."""

    def __repr__(self) -> str:
        return f"SQLiteMonitorSink({str(self.path)!r})"


def _check(connection: sqlite3.Connection) -> None:
    """Make a new file ours; raise where it is somebody else's, or of a later version."""
    (found,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if found == APPLICATION_ID and version > VERSION:
        raise sqlite3.DatabaseError(f"it is of version {version}, and this one knows {VERSION}: upgrade reasonblocks")
    if found == APPLICATION_ID:
        return
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if found or tables:
        raise sqlite3.DatabaseError("it holds something else")
    marks = f"PRAGMA user_version = {VERSION}; PRAGMA application_id = {APPLICATION_ID};"
    connection.executescript(f"BEGIN IMMEDIATE; {SCHEMA} {marks} COMMIT;")  # at once: another process sees all or none


def _apply(connection: sqlite3.Connection, event: Event, now: float) -> None:
    run_id, kind = event["run_id"], event["type"]
    if kind == "run_start":
        connection.execute(_START, (run_id, now, *(_column(event.get(name)) for name in _RUN_FACTS)))
    elif kind == "step":
        details = _details(event)
        values = [*(event.get(name) for name in _STEP_FACTS), *(details.get(name) for name in _DETAILS)]
        at = details.get("timestamp", now)
        connection.execute(_GOES_ON, (run_id,))
        connection.execute(_STEP, (run_id, event["step_index"], at, *map(_column, values)))
    elif kind == "run_finish":
        connection.execute(_FINISH, (run_id, now, event.get("outcome")))
    elif kind == "run_interrupt":
        connection.execute(_INTERRUPT, (run_id, now))


def _details(event: Event) -> dict[str, Any]:
    """What we said about a step; whatever a user's `redact` made of it."""
    metadata = event.get("metadata")
    details = metadata.get("reasonblocks") if isinstance(metadata, dict) else None
    return details if isinstance(details, dict) else {}


def _column(value: object) -> object:
    """A value as SQLite takes it; what has parts, as JSON."""
    return msgspec.json.encode(value).decode() if isinstance(value, dict | list) else value
