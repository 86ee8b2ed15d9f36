"""Whole transactions in one trip: committed or undone, in turn with other writers, finished once begun."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from engine.store.opened import Store, opened
from reasonblocks.engine.errors import Busy, Invalid, StoreError
from reasonblocks.engine.store import sqlite_transact
from reasonblocks.engine.store.sqlite import BUSY_SECONDS, FILE_NAME
from reasonblocks.engine.store.values import MAX_DEPTH, dump, dump_given, load, too_deep
from support.cluster import Place


def add(connection: Connection, org: str) -> None:
    connection.execute(text("INSERT INTO organisations VALUES (:org, 1.0)"), {"org": org})


async def orgs(store: Store) -> list[str]:
    return [org for (org,) in await store.query("SELECT org_id FROM organisations ORDER BY org_id")]


async def commit_and_fail(place: Place) -> None:
    def fail(connection: Connection) -> None:
        add(connection, "lost")
        raise KeyError("no")

    async with opened(place) as store:
        assert await store.transactions.run(lambda connection: add(connection, "acme") or 5) == 5
        with pytest.raises(KeyError):
            await store.transactions.run(fail)
        assert await orgs(store) == ["acme"]


async def test_commits_what_is_done_and_undoes_what_fails(place: Place) -> None:
    """A transaction that raises leaves nothing behind, one that returns leaves everything."""
    await commit_and_fail(place)


async def test_commits_and_undoes_in_memory() -> None:
    """So it is where nothing is kept."""
    await commit_and_fail(None)


async def test_takes_turns_with_other_writers_of_the_process(place: Place) -> None:
    """Both ways of writing share one queue: none of many writers at once finds the database locked."""
    async with opened(place) as store:

        async def by_trips(number: int) -> None:
            async with store.database.writing() as connection:
                await connection.run_sync(add, f"trip {number}")

        async def whole(number: int) -> None:
            await store.transactions.run(lambda connection: add(connection, f"whole {number}"))

        await asyncio.gather(*map(by_trips, range(10)), *map(whole, range(10)))
        assert len(await orgs(store)) == 20


async def test_cancelled_caller_leaves_a_whole_transaction(tmp_path: Path) -> None:
    """What has begun is finished, though nobody waits for it any more; the next writer has its turn after it."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection) -> None:
        add(connection, "first")
        begun.set()
        go_on.wait(10)
        add(connection, "second")

    async with opened(tmp_path) as store:
        caller = asyncio.create_task(store.transactions.run(slow))
        await asyncio.to_thread(begun.wait, 10)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        next_one = asyncio.create_task(store.transactions.run(lambda connection: add(connection, "third")))
        await asyncio.sleep(0)
        go_on.set()
        await next_one
        assert await orgs(store) == ["first", "second", "third"]


async def test_cancelled_caller_leaves_a_whole_transaction_on_a_server(postgres_url: str) -> None:
    """What has begun is finished there as well, and nobody waits for it meanwhile."""

    def slow(connection: Connection) -> None:
        add(connection, "first")
        connection.execute(text("SELECT pg_sleep(0.3)"))
        add(connection, "second")

    async with opened(postgres_url) as store:
        caller = asyncio.create_task(store.transactions.run(slow))
        await asyncio.sleep(0.1)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        await store.transactions.run(lambda connection: add(connection, "third"))
        assert await orgs(store) == ["third"]
        await store.transactions.aclose()
        assert await orgs(store) == ["first", "second", "third"]


async def test_database_that_cannot_be_written_is_explained(place: Place) -> None:
    """A complaint of the database becomes one sentence with what to do."""
    async with opened(place) as store:
        with pytest.raises(StoreError, match=r'no such table: missing|relation "missing" does not exist'):
            await store.transactions.run(lambda connection: connection.execute(text("INSERT INTO missing VALUES (1)")))


async def test_close_leaves_no_thread(tmp_path: Path, no_threads_left: None) -> None:
    """The thread goes with the store."""
    async with opened(tmp_path) as store:
        await store.transactions.run(lambda connection: add(connection, "acme"))
        assert any(thread.name.startswith("reasonblocks-store") for thread in threading.enumerate())


async def test_closed_store_refuses(tmp_path: Path, no_threads_left: None) -> None:
    """Also whoever waited for a turn meanwhile; no thread comes back, and the turn goes on to others."""
    async with opened(tmp_path) as store:
        await store.database.writer.acquire()
        waiting = asyncio.create_task(store.transactions.run(lambda connection: add(connection, "late")))
        await asyncio.sleep(0)
        await store.transactions.aclose()
        store.database.writer.release()
        with pytest.raises(StoreError, match="the database is closed"):
            await waiting
        with pytest.raises(StoreError, match="the database is closed"):
            await store.transactions.run(lambda connection: add(connection, "later"))
        assert not store.database.writer.locked()
        assert await orgs(store) == []


async def test_closed_store_takes_nothing_more(place: Place) -> None:
    """Whoever comes after the end is told so, and nothing is written."""
    async with opened(place) as store:
        await store.transactions.aclose()
        with pytest.raises(StoreError, match="the database is closed"):
            await store.transactions.run(lambda connection: add(connection, "later"))
        assert await orgs(store) == []


async def test_opened_store_waits_for_no_other_process(tmp_path: Path) -> None:
    """Its connection is there before the first transaction, and needs nobody's leave for that."""
    async with opened(tmp_path) as store:
        with contextlib.closing(await asyncio.to_thread(_holding_the_lock, tmp_path)):
            await store.transactions.open()
        assert any(thread.name.startswith("reasonblocks-store") for thread in threading.enumerate())
        await store.transactions.run(lambda connection: add(connection, "acme"))
        assert await orgs(store) == ["acme"]


async def test_close_does_not_wait_for_another_process(tmp_path: Path, no_threads_left: None) -> None:
    """A transaction that could not begin yet is refused as busy, long before its patience ends."""
    async with opened(tmp_path) as store:
        with contextlib.closing(await asyncio.to_thread(_holding_the_lock, tmp_path)):
            waiting = asyncio.create_task(store.transactions.run(lambda connection: add(connection, "late")))
            await asyncio.sleep(0)
            async with asyncio.timeout(BUSY_SECONDS / 3):
                await store.transactions.aclose()
            with pytest.raises(Busy):
                await waiting
        assert await orgs(store) == []


async def test_another_process_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For as long as it takes, whatever a single attempt may take; then it is busy."""
    monkeypatch.setattr(sqlite_transact, "MOMENT_SECONDS", 0.01)
    async with opened(tmp_path) as store:
        with contextlib.closing(await asyncio.to_thread(_holding_the_lock, tmp_path)) as other:
            waiting = asyncio.create_task(store.transactions.run(lambda connection: add(connection, "patient")))
            await asyncio.sleep(0.1)
            await asyncio.to_thread(other.rollback)
            await waiting
            await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
            monkeypatch.setattr(sqlite_transact, "BUSY_SECONDS", 0.05)
            with pytest.raises(Busy):
                await store.transactions.run(lambda connection: add(connection, "impatient"))
        assert await orgs(store) == ["patient"]


def _holding_the_lock(data_dir: Path) -> sqlite3.Connection:
    """What another process may do."""
    other = sqlite3.connect(data_dir / FILE_NAME, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    return other


def test_json_that_is_nested_too_deeply_is_refused() -> None:
    """What could not be read again is not stored; the error names the field."""
    nested: dict[str, object] = {}
    for _ in range(MAX_DEPTH - 1):
        nested = {"inner": nested}
    assert not too_deep(nested)
    assert load(dump_given(nested, "metadata")) == nested
    with pytest.raises(Invalid, match=r"metadata is nested deeper than 100") as refusal:
        dump_given({"inner": nested}, "metadata")
    assert refusal.value.location == ("metadata",)


def test_json_beyond_all_numbers_can_be_read() -> None:
    """Numbers that fit no float or no 64 bits do not make a row unreadable."""
    assert load('{"a": 1e999}') == {"a": float("inf")}
    assert load(dump({"a": 2**80})) == {"a": 2**80}
    assert load(f"[{'9' * 5_000}, -{'9' * 5_000}]") == [float("inf"), float("-inf")]


def test_number_that_cannot_be_written_is_refused() -> None:
    """Python itself makes no text of an integer of so many digits."""
    with pytest.raises(Invalid, match="metadata cannot be kept as JSON: Exceeds the limit") as refusal:
        dump_given({"a": 10**5_000}, "metadata")
    assert refusal.value.location == ("metadata",)
