"""The rehearsal of an engine that opens: it prepares what the first run needs, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import Connection, event

from engine.runs.house import finish, start, step
from engine.store.opened import Store, opened
from reasonblocks.engine.principal import LOCAL
from reasonblocks.engine.runs.decoding import decode_events
from reasonblocks.engine.runs.ingest import apply
from reasonblocks.engine.runs.rehearsal import rehearse

TABLES = ("organisations", "projects", "runs", "steps", "evaluations", "changes")


async def rows(store: Store) -> dict[str, Any]:
    return {table: await store.query(f"SELECT * FROM {table}") for table in TABLES}


@pytest.mark.parametrize("in_memory", [False, True])
async def test_a_rehearsal_leaves_nothing_behind(tmp_path: Path, in_memory: bool) -> None:
    """After it the tables are as they were, and the first run gets the first number."""
    async with opened(None if in_memory else tmp_path) as store:
        before = await rows(store)
        await store.transactions.open(rehearse)
        assert await rows(store) == before
        await store.transactions.run(told(start()))
        assert await store.query("SELECT id FROM runs") == [(1,)]


async def test_the_first_run_needs_no_statement_that_was_not_rehearsed(tmp_path: Path) -> None:
    """However many of its steps come at once."""
    spoken: list[str] = []

    def listened_to(connection: Connection, work: Any) -> None:
        @event.listens_for(connection, "before_cursor_execute")
        def hear(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
            spoken.append(statement)

        work(connection)

    async with opened(tmp_path) as store:
        await store.transactions.open(lambda connection: listened_to(connection, rehearse))
        rehearsed = set(spoken)
        spoken.clear()
        for count in (1, 31, 40):
            steps = [step(index, f"of {count}") for index in range(count)]
            work = told(start(f"of {count}"), *steps, finish("success", f"of {count}"))
            await store.transactions.run(lambda connection, work=work: listened_to(connection, work))
    assert spoken
    assert set(spoken) <= rehearsed


async def test_a_database_that_refuses_a_rehearsal_opens_all_the_same(tmp_path: Path) -> None:
    """What is wrong with it is for whoever needs it."""
    async with opened(tmp_path) as store:
        await store.execute("ALTER TABLE steps RENAME TO gone")
        await store.transactions.open(rehearse)
        assert await store.query("SELECT * FROM runs") == []


def told(*events: dict[str, Any]) -> Any:
    """A transaction that takes these events in."""
    entries = decode_events([msgspec.json.encode(event) for event in events])
    return lambda connection: apply(connection, entries, LOCAL, None, 1.0)
