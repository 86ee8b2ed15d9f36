"""The follower: whoever listens is told of every change, in this process and in others."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection

import pytest

from reasonblocks.engine.index.follower import Follower, prune_changes, record_changes
from reasonblocks.engine.store.database import Database
from reasonblocks.engine.store.migrate import prepare
from support.cluster import Place, database_at
from support.parts import PATIENCE

Told = list[tuple[str, Collection[str] | None]]


class Listener:
    """Remembers what it is told; may be made to fail."""

    def __init__(self) -> None:
        self.told: Told = []
        self.heard = asyncio.Event()
        self.failures = 0

    async def pattern(self, item_ids: Collection[str] | None) -> None:
        """Told of patterns."""
        await self._hear("pattern", item_ids)

    async def profile(self, item_ids: Collection[str] | None) -> None:
        """Told of profiles."""
        await self._hear("profile", item_ids)

    async def _hear(self, kind: str, item_ids: Collection[str] | None) -> None:
        if self.failures:
            self.failures -= 1
            raise ConnectionError("not now")
        self.told.append((kind, item_ids))
        self.heard.set()


@pytest.fixture
async def database(place: Place) -> AsyncIterator[Database]:
    """A database with its tables."""
    database = await asyncio.to_thread(database_at, place)
    await prepare(database)
    yield database
    await database.aclose()


async def following(database: Database, listener: Listener) -> Follower:
    """A follower that is open, with a listener for both kinds."""
    follower = Follower(database, poll_seconds=0.05)
    await follower.open()
    follower.listen("pattern", listener.pattern)
    follower.listen("profile", listener.profile)
    return follower


async def write(database: Database, kind: str, *item_ids: str) -> None:
    """A transaction that changes items."""
    async with database.writing() as connection:
        await record_changes(connection, kind, item_ids)


async def test_a_refresh_tells_each_kind_what_changed_once(database: Database) -> None:
    """Ids come by kind and without repetition, and not again the next time."""
    listener = Listener()
    follower = await following(database, listener)
    await write(database, "pattern", "a", "b", "a")
    await write(database, "profile", "p")
    await write(database, "unknown", "x")

    await follower.refresh()
    await follower.refresh()

    assert listener.told == [("pattern", {"a", "b"}), ("profile", {"p"})]


async def test_what_was_there_when_it_opened_is_not_told(database: Database) -> None:
    """Who loads the tables after `open` has seen it."""
    listener = Listener()
    await write(database, "pattern", "old")
    follower = await following(database, listener)

    await follower.refresh()

    assert listener.told == []


async def test_what_was_rolled_back_is_not_told(database: Database) -> None:
    """A change is part of its transaction."""
    listener = Listener()
    follower = await following(database, listener)

    with contextlib.suppress(ZeroDivisionError):
        async with database.writing() as connection:
            await record_changes(connection, "pattern", ["never"])
            raise ZeroDivisionError
    await follower.refresh()

    assert listener.told == []


async def test_a_listener_that_fails_is_told_again(database: Database) -> None:
    """A change counts as told when all have dealt with it."""
    listener = Listener()
    follower = await following(database, listener)
    await write(database, "pattern", "a")
    listener.failures = 1

    with pytest.raises(ConnectionError):
        await follower.refresh()
    await follower.refresh()

    assert listener.told == [("pattern", {"a"})]


async def test_a_failure_in_the_background_shows_in_the_state_until_it_is_over(database: Database) -> None:
    """Readiness can tell that changes are not followed."""
    listener = Listener()
    follower = await following(database, listener)
    listener.failures = 1
    states = []
    follower.start()
    await write(database, "pattern", "a")
    follower.notify()

    async with asyncio.timeout(PATIENCE):
        while not listener.told:
            states.append(follower.state())
            await asyncio.sleep(0.01)
        while follower.state() != "ok":  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0.01)
    await follower.aclose()

    assert any("not now" in state for state in states)


async def test_notify_has_it_told_at_once_and_a_poll_finds_what_others_wrote(database: Database, place: Place) -> None:
    """A writer here says so; a writer in another process is noticed, and known not to be us."""
    listener = Listener()
    follower = await following(database, listener)
    follower.start()
    other = await asyncio.to_thread(database_at, place)
    async with asyncio.timeout(PATIENCE):
        await write(database, "pattern", "ours")
        follower.notify()
        await listener.heard.wait()
        assert follower.local

        listener.heard.clear()
        await write(other, "pattern", "theirs")
        await listener.heard.wait()
        assert not follower.local
    await follower.aclose()
    await other.aclose()

    assert listener.told == [("pattern", {"ours"}), ("pattern", {"theirs"})]


@pytest.mark.parametrize("turns", range(6))
async def test_it_stops_when_told_to_whatever_it_is_doing(database: Database, turns: int) -> None:
    """A stop that comes together with a notice is not lost between the two."""
    follower = await following(database, Listener())
    follower.start()
    await asyncio.sleep(0.01)
    follower.notify()
    for _ in range(turns):
        await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE):
        await follower.aclose()


async def test_who_was_away_while_changes_were_pruned_is_told_to_look_at_everything(database: Database) -> None:
    """Rows do not pile up for ever, and nobody misses one for that."""
    listener = Listener()
    follower = await following(database, listener)
    await write(database, "pattern", *"abcdef")

    assert await prune_changes(database, keep=2) == 4
    await follower.refresh()
    await write(database, "pattern", "g")
    await follower.refresh()

    assert listener.told == [("pattern", None), ("profile", None), ("pattern", {"g"})]


async def test_pruning_what_was_told_already_changes_nothing(database: Database) -> None:
    """A follower that is up to date goes on from where it is, and numbers are not given twice."""
    listener = Listener()
    follower = await following(database, listener)
    await write(database, "pattern", *"abc")
    await follower.refresh()

    await prune_changes(database, keep=1)
    await write(database, "pattern", "d")
    await follower.refresh()

    assert listener.told == [("pattern", {"a", "b", "c"}), ("pattern", {"d"})]
