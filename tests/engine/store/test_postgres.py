"""A database server that is slow, busy or away: what was not committed is not acknowledged, and all of it is said."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from engine.runs.house import ACME, House, house_at, start, step
from engine.store.opened import Store, opened
from reasonblocks.engine.errors import Away, Busy
from reasonblocks.engine.keys import Keys
from reasonblocks.engine.settings import EngineSettings
from reasonblocks.engine.store.database import Database, asked_again
from reasonblocks.engine.store.pool import PoolSettings
from reasonblocks.errors import SettingsError
from support.cluster import Cluster
from support.parts import PATIENCE
from support.proxy import Proxy


@pytest.fixture
async def proxy(cluster: Cluster) -> AsyncIterator[Proxy]:
    """A way to the server that can be cut."""
    proxy = Proxy(cluster.port)
    await proxy.open()
    yield proxy
    await proxy.cut()


@pytest.fixture
def proxied_url(cluster: Cluster, database_name: str, postgres_url: str, proxy: Proxy) -> str:
    """The database by that way."""
    return cluster.url(database_name, host="127.0.0.1", port=proxy.port)


def add(connection: Connection, org: str) -> None:
    connection.execute(text("INSERT INTO organisations VALUES (:org, 1.0)"), {"org": org})


async def orgs(store: Store) -> list[str]:
    return [org for (org,) in await store.query("SELECT org_id FROM organisations ORDER BY org_id")]


# -- two at once --------------------------------------------------------------------------------------


async def test_transactions_run_at_the_same_time(postgres_url: str) -> None:
    """One that takes long keeps nobody else waiting."""
    async with opened(postgres_url) as store:
        slow = asyncio.create_task(
            store.transactions.run(lambda connection: connection.execute(text("SELECT pg_sleep(1)")))
        )
        await asyncio.sleep(0.05)
        async with asyncio.timeout(0.8):
            await store.transactions.run(lambda connection: add(connection, "quick"))
        assert not slow.done()
        await slow


async def test_transactions_that_lock_each_other_out_are_both_done(postgres_url: str) -> None:
    """The server ends one of them, which is run again; nobody is told of it."""
    async with opened(postgres_url) as store:
        await store.transactions.run(lambda connection: [add(connection, org) for org in "ab"])
        attempts: list[str] = []

        def touch(connection: Connection, first: str, second: str) -> None:
            attempts.append(first)
            for org in (first, second):
                connection.execute(
                    text("UPDATE organisations SET created_at = created_at + 1 WHERE org_id = :o"), {"o": org}
                )
                connection.execute(text("SELECT pg_sleep(:s)"), {"s": 0.5 if len(attempts) == 1 else 0.1})

        await asyncio.gather(
            store.transactions.run(lambda connection: touch(connection, "a", "b")),
            store.transactions.run(lambda connection: touch(connection, "b", "a")),
        )
        assert await store.query("SELECT DISTINCT created_at FROM organisations") == [(3.0,)]
        assert len(attempts) > 2


async def test_the_same_run_begun_by_two_is_one(postgres_url: str) -> None:
    """Both look, find nothing and write: the second looks again, and adds to what the first has written."""
    async with house_at(postgres_url) as one, house_at(postgres_url) as other:

        async def begin(house: House, number: int) -> None:
            receipt = await house.events(start("r", task="mend"), step(number, "r", tokens=1), principal=ACME)
            assert receipt.accepted == 2

        await asyncio.gather(*(begin((one, other)[number % 2], number) for number in range(12)))
        run = await one.show("r", ACME)
        assert (run.step_count, run.total_tokens, len(run.steps)) == (12, 12, 12)


# -- what goes wrong ----------------------------------------------------------------------------------


async def test_connection_that_was_lost_while_idle_costs_nobody_anything(proxied_url: str, proxy: Proxy) -> None:
    """After a restart of the server or of what is between, the next read and the next write simply work."""
    async with opened(proxied_url) as store:
        await asyncio.gather(*(store.query("SELECT pg_sleep(0.05)") for _ in range(4)))  # several connections
        await proxy.cut()
        await proxy.open()
        await store.transactions.run(lambda connection: add(connection, "acme"))
        assert await orgs(store) == ["acme"]


async def test_read_whose_connection_is_lost_is_asked_again(proxied_url: str, proxy: Proxy) -> None:
    """Nothing has happened by it, so nobody need know."""
    async with opened(proxied_url) as store:
        asked = 0

        @asked_again
        async def read() -> int:
            nonlocal asked
            asked += 1
            async with store.database.reading() as connection:
                await connection.execute(text("SELECT pg_sleep(:seconds)"), {"seconds": 10 if asked == 1 else 0})
            return asked

        reading = asyncio.create_task(read())
        await asyncio.sleep(0.3)
        await proxy.cut()
        await proxy.open()
        async with asyncio.timeout(PATIENCE):
            assert await reading == 2


async def test_write_whose_connection_is_lost_is_not_acknowledged(
    proxied_url: str, postgres_url: str, proxy: Proxy
) -> None:
    """Whether it was committed nobody can know, so its sender is told to send it again; here it was not."""

    def slow(connection: Connection) -> None:
        add(connection, "lost")
        connection.execute(text("SELECT pg_sleep(10)"))

    async with opened(proxied_url) as store:
        writing = asyncio.create_task(store.transactions.run(slow))
        await asyncio.sleep(0.3)
        await proxy.cut()
        with pytest.raises(Away, match="cannot be reached"):
            await writing
    async with opened(postgres_url) as store:
        assert await orgs(store) == []


async def test_server_that_is_away_is_said_to_be(proxied_url: str, proxy: Proxy) -> None:
    """Reads, writes and the check of a key alike; once it is back all goes on."""
    async with opened(proxied_url) as store:
        keys = Keys(store.database, store.transactions)
        _, plain = await keys.create("acme")
        await proxy.cut()
        for work in (
            orgs(store),
            store.execute("SELECT 1"),
            store.transactions.run(lambda connection: add(connection, "x")),
            keys.authenticate(plain),
        ):
            with pytest.raises(
                Away, match=r"postgresql\+asyncpg://postgres@127.0.0.1.*cannot be reached.*see to the server"
            ):
                await work
        await proxy.open()
        assert await keys.authenticate(plain) is not None


async def test_statement_that_takes_too_long_is_ended(postgres_url: str) -> None:
    """By the server itself, after the time that the settings give it; whoever asked may try again."""
    database = await asyncio.to_thread(Database.at, None, postgres_url, PoolSettings(statement_seconds=0.2))
    try:
        with pytest.raises(Busy, match="statement timeout"):
            async with database.reading() as connection:
                await connection.execute(text("SELECT pg_sleep(5)"))
    finally:
        await database.aclose()


async def test_more_work_than_connections_waits_and_is_refused_in_the_end(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool is as large as the settings say."""
    monkeypatch.setattr("reasonblocks.engine.store.postgres.POOL_SECONDS", 0.2)
    database = await asyncio.to_thread(Database.at, None, postgres_url, PoolSettings(size=1, overflow=1))
    try:
        async with database.reading() as one, database.reading() as other:
            await asyncio.gather(one.execute(text("SELECT 1")), other.execute(text("SELECT 1")))
            with pytest.raises(Busy, match="no connection to the database was free"):
                async with database.reading():
                    pass
    finally:
        await database.aclose()


async def test_what_nobody_expects_is_not_explained_away(postgres_url: str) -> None:
    """A mistake of ours is not taken for a server that is away."""
    async with opened(postgres_url) as store:
        with pytest.raises(DBAPIError, match="syntax error"):
            await store.query("SELEC 1")


# -- what is kept ----------------------------------------------------------------------------------------


async def test_text_with_a_character_that_the_server_cannot_keep_spoils_no_batch(postgres_url: str) -> None:
    """U+0000 gives way to U+FFFD wherever it is: in texts, in JSON, in the id of a run that nobody can have."""
    async with house_at(postgres_url) as house:
        receipt = await house.events(
            start("r", task="a\0b", metadata={"k\0": "v\0"}),
            step(0, "r", thought="\0", observation="x\0y", injections=["\0"], metadata={"z": "\0"}),
            step(1, "r\0", thought="of another"),
            step(2, "r", thought="whole"),
        )
        assert [refused.index for refused in receipt.rejected] == [2]
        run = await house.show("r")
        assert run.task == "a\ufffdb"
        assert [one.thought for one in run.steps] == ["\ufffd", "whole"]
        assert run.steps[0].observation == "x\ufffdy"


async def test_longest_texts_of_the_wire_fit(postgres_url: str) -> None:
    """What the limits of the wire let through, the columns take: unlike SQLite's they have a length."""
    name, label = "ü" * 256, "ü" * 64
    async with house_at(postgres_url) as house:
        await house.events(
            start(
                "r" * 256,
                model=name,
                framework=name,
                codebase_id=name,
                org_id=name,
                project_id=name,
                task_profile=label,
            ),
            principal=ACME,
        )
        fields = {"step_model": name, "failure_type": label, "thought": "x" * 64_000, "tokens": 2**53}
        receipt = await house.events(
            step(10_000, "r" * 256, **fields),
            {"type": "run_finish", "run_id": "r" * 256, "outcome": label},
            principal=ACME,
        )
        assert receipt.rejected == []
        assert (await house.show("r" * 256, ACME)).outcome == label


# -- its settings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("nonsense", "not understood"),
        ("mysql://host/database", "begins with 'mysql'"),
        ("postgresql+asyncpg://user:s3cret@host", "names no database"),
        ("sqlite:///file.db", "begins with 'sqlite'"),
    ],
)
def test_url_that_cannot_be_is_refused(url: str, complaint: str) -> None:
    """The error says what is expected and shows no password."""
    with pytest.raises(SettingsError, match=complaint) as refusal:
        Database.at(None, url)
    assert "postgresql+asyncpg://user:password@host/database" in str(refusal.value)
    assert "s3cret" not in str(refusal.value)


def test_missing_driver_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is `postgres`."""
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "asyncpg" else found(name))
    with pytest.raises(SettingsError, match=r"pip install 'reasonblocks\[postgres\]'"):
        Database.at(None, "postgresql+asyncpg://user@host/database")


def test_password_is_nowhere_to_be_seen() -> None:
    """Neither in what a database is called nor in what settings show of themselves."""
    url = "postgresql+asyncpg://user:s3cret-word@host/database"
    assert "s3cret" not in Database.at(None, url).name
    assert "s3cret" not in repr(EngineSettings(database_url=url))


@pytest.mark.parametrize("settings", [{"size": 0}, {"overflow": -1}, {"statement_seconds": 0.0}])
def test_pool_that_cannot_work_is_refused(settings: dict[str, int]) -> None:
    """The error names the setting."""
    with pytest.raises(SettingsError, match=next(iter(settings))):
        PoolSettings(**settings)
