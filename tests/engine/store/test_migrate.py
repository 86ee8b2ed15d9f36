"""The tables are made or brought up to date when a database is opened, and what cannot be used is said so."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine

from engine.store.opened import opened
from reasonblocks.engine.errors import StoreError
from reasonblocks.engine.store.migrate import OURS, History, prepare, upgrade
from reasonblocks.engine.store.schema import metadata
from reasonblocks.engine.store.sqlite import FILE_NAME
from support.cluster import Cluster, Place, database_at

NEXT_VERSION = '''
"""A column more, and one that is no longer null: the table has to be copied."""
import sqlalchemy as sa
from alembic import op

revision = "9998"
down_revision = "0002"

def upgrade():
    with op.batch_alter_table("runs") as table:
        table.add_column(sa.Column("colour", sa.String(16), nullable=False, server_default="blue"))
        table.alter_column("outcome", type_=sa.String(100))
'''


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """A database without any tables."""
    if request.param == "sqlite":
        yield tmp_path
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    name = f"empty_{os.getpid()}"
    cluster.create(name, "template0")
    yield cluster.url(name)
    cluster.drop(name)


def schema_of(connection: Connection) -> dict[str, str]:
    rows = connection.exec_driver_sql(
        "SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'"
    )
    return {name: "".join((sql or "").split()) for name, sql in rows}


def test_head_in_code_is_that_of_alembic() -> None:
    """The versions that the code names are those that alembic finds, in the same order."""
    config = Config()
    config.set_main_option("script_location", str(OURS.location))
    found = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    assert list(OURS.versions) == found[::-1]


def test_upgrading_from_nothing_gives_exactly_the_tables_of_today(tmp_path: Path) -> None:
    """All migrations one after another end in the very schema that a new database gets at once."""
    with create_engine(f"sqlite:///{tmp_path / 'migrated.db'}").begin() as migrated:
        upgrade(migrated)
        differences = compare_metadata(MigrationContext.configure(migrated, opts={"compare_type": True}), metadata)
        ours = schema_of(migrated)
    with create_engine(f"sqlite:///{tmp_path / 'new.db'}").begin() as new:
        metadata.create_all(new)
        theirs = schema_of(new)
    assert differences == []
    assert {name: sql for name, sql in ours.items() if "alembic" not in name} == theirs


async def test_upgrading_from_nothing_on_a_server_gives_the_tables_of_today(cluster: Cluster) -> None:
    """The same migrations run on PostgreSQL, and a new database there gets at once what they end in."""
    name = f"migrated_{os.getpid()}"
    await asyncio.to_thread(cluster.create, name, "template0")
    database = await asyncio.to_thread(database_at, cluster.url(name))
    differences: list[object] = []

    def migrate(connection: Connection) -> None:
        upgrade(connection)
        differences.extend(compare_metadata(MigrationContext.configure(connection), metadata))

    try:
        await asyncio.to_thread(database.migrate, migrate)
        assert differences == []
        await prepare(database)
    finally:
        await database.aclose()
        await asyncio.to_thread(cluster.drop, name)


async def test_new_database_is_stamped_as_alembic_would(tmp_path: Path) -> None:
    """The version table of a database that was made at once is the one that alembic makes."""
    async with opened(tmp_path, copied=False) as store:
        made = await store.query("SELECT sql FROM sqlite_master WHERE name = 'alembic_version'")
        assert await store.query("SELECT version_num FROM alembic_version") == [(OURS.head,)]

    def migrate() -> str:
        with create_engine(f"sqlite:///{tmp_path / 'migrated.db'}").begin() as migrated:
            upgrade(migrated)
            return schema_of(migrated)["table alembic_version"]

    by_alembic = await asyncio.to_thread(migrate)
    assert "".join(made[0][0].split()) == by_alembic


async def test_opening_again_changes_nothing(empty_place: Place) -> None:
    """A database that is up to date is left alone, with what is in it."""
    async with opened(empty_place, copied=False) as store:
        await store.execute("INSERT INTO organisations VALUES ('acme', 1.0)")
    async with opened(empty_place, copied=False) as store:
        assert await store.query("SELECT * FROM organisations") == [("acme", 1.0)]


async def test_several_that_start_at_once_make_the_tables_once(empty_place: Place) -> None:
    """However many open an empty database at the same moment, all of them find the tables made."""
    databases = [await asyncio.to_thread(database_at, empty_place) for _ in range(10)]
    try:
        await asyncio.gather(*map(prepare, databases))
        async with databases[0].reading() as connection:
            versions = (await connection.exec_driver_sql("SELECT version_num FROM alembic_version")).all()
        assert [tuple(version) for version in versions] == [(OURS.head,)]
    finally:
        for database in databases:
            await database.aclose()


async def test_tables_in_memory(tmp_path: Path) -> None:
    """A database that is kept nowhere gets the same tables."""
    async with opened(None) as store:
        assert await store.query("SELECT count(*) FROM runs") == [(0,)]


def history_with_a_version_more(directory: Path) -> History:
    """Ours and one version more."""
    versions = directory / "versions"
    versions.mkdir(parents=True)
    for file in ("env.py", *(f"versions/{path.name}" for path in (OURS.location / "versions").glob("*.py"))):
        (directory / file).write_text((OURS.location / file).read_text())
    (versions / "9998_next.py").write_text(NEXT_VERSION)
    return History(directory, (*OURS.versions, "9998"), metadata)


async def test_older_database_is_brought_up_to_date(empty_place: Place, tmp_path: Path) -> None:
    """A migration that copies a table keeps its rows and those that refer to it; of many at once one does it."""
    history = await asyncio.to_thread(history_with_a_version_more, tmp_path / "migrations")
    async with opened(empty_place, copied=False) as store, opened(empty_place, copied=False) as other:
        await store.execute(
            "INSERT INTO runs (id, org_id, project_id, run_id, started_at, last_seen_at) "
            "VALUES (7, 'acme', 'web', 'first', 1, 1)"
        )
        await store.execute("INSERT INTO evaluations VALUES (7, 0, '{}', 0.0, '[]', NULL, '[]', 1.0)")
        await asyncio.gather(*(prepare(each.database, history) for each in (store, other)))
        assert await store.query("SELECT run_id, colour FROM runs") == [("first", "blue")]
        assert await store.query("SELECT run FROM evaluations") == [(7,)]
        assert await store.query("SELECT version_num FROM alembic_version") == [("9998",)]
        if isinstance(empty_place, Path):
            assert await store.query("PRAGMA foreign_keys") == [(1,)]


async def test_a_database_of_the_first_version_keeps_its_runs(tmp_path: Path) -> None:
    """What was stored before losses were known is there after the upgrade, and lost nothing."""

    def make() -> None:
        with create_engine(f"sqlite:///{tmp_path / FILE_NAME}").begin() as connection:
            upgrade(connection, target="0001")
            connection.exec_driver_sql(
                "INSERT INTO runs (id, org_id, project_id, run_id, started_at, last_seen_at) "
                "VALUES (7, 'acme', 'web', 'first', 1, 1)"
            )
            connection.exec_driver_sql("INSERT INTO evaluations VALUES (7, 0, '{}', 0.0, '[]', NULL, '[]', 1.0)")

    await asyncio.to_thread(make)
    async with opened(tmp_path, copied=False) as store:
        assert await store.query("SELECT run_id, lost_steps, loss_cause FROM runs") == [("first", 0, None)]
        assert await store.query("SELECT run FROM evaluations") == [(7,)]


async def test_newer_database_is_refused(empty_place: Place) -> None:
    """What a newer reasonblocks wrote is not touched; the error names both versions and what to do."""
    async with opened(empty_place, copied=False) as store:
        await store.execute("UPDATE alembic_version SET version_num = '9999'")
    advice = "use another data directory" if isinstance(empty_place, Path) else "see to the server"
    with pytest.raises(StoreError, match=rf"'9999'.*'{OURS.head}'.*upgrade reasonblocks, or {advice}"):
        async with opened(empty_place, copied=False):
            pass


async def test_database_of_something_else_is_refused(tmp_path: Path) -> None:
    """A file that holds somebody else's tables is left as it is."""

    def make() -> None:
        with sqlite3.connect(tmp_path / FILE_NAME) as connection:
            connection.execute("CREATE TABLE songs (title)")
        connection.close()

    await asyncio.to_thread(make)
    with pytest.raises(StoreError, match="not of reasonblocks"):
        async with opened(tmp_path, copied=False):
            pass


async def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    """A file that SQLite cannot read is named, with what to do."""
    await asyncio.to_thread((tmp_path / FILE_NAME).write_text, "these are not the tables you are looking for" * 100)
    with pytest.raises(StoreError, match=r"reasonblocks\.db.*not a database.*another data directory"):
        async with opened(tmp_path, copied=False):
            pass


def test_ready_database_opens_without_alembic(tmp_path: Path) -> None:
    """Neither a first start nor a later one imports alembic, which takes long."""
    program = (
        "import asyncio, sys; from pathlib import Path\n"
        "from reasonblocks.engine.store.database import Database\n"
        "from reasonblocks.engine.store.migrate import prepare\n"
        "async def main():\n"
        "    for _ in range(2):\n"
        f"        database = Database.at(Path({str(tmp_path)!r})); await prepare(database); await database.aclose()\n"
        "asyncio.run(main()); print('alembic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"
