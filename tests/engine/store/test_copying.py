"""Databases as a whole: from one to another, into a file and back; and one organisation out of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from sqlalchemy import text

from engine.runs.house import SUITE, house_at, start, step
from engine.store.opened import Store, opened
from reasonblocks.commands.root import reasonblocks
from reasonblocks.engine.findings import FindingService
from reasonblocks.engine.index.follower import Follower
from reasonblocks.engine.keys import Keys
from reasonblocks.engine.patterns.editing import Patterns
from reasonblocks.engine.principal import Principal
from reasonblocks.engine.profiles import Profiles
from reasonblocks.engine.requests import FindingCreate, PatternCreate, ProfileCreate, TraceUpload
from reasonblocks.engine.store.copying import TABLES
from reasonblocks.engine.store.owning import owned
from reasonblocks.engine.traces import Traces
from support.cluster import Cluster, Place

ACME, RIVAL = Principal("1", "acme"), Principal("2", "rival")


@pytest.fixture
def other_url(cluster: Cluster) -> Iterator[str]:
    """A second database on the server, without tables."""
    name = f"other_{os.getpid()}"
    cluster.create(name, "template0")
    yield cluster.url(name)
    cluster.drop(name)


async def fill(place: Place) -> None:
    """Something in every table, of two organisations."""
    async with house_at(place, scoring=True) as house:
        for who in (ACME, RIVAL):
            await _fill(house.store, who)
            events = [
                start("r", task="a\0b"),
                *(step(index, "r", thought=f"ü {index}", tokens=2**40) for index in range(7)),
            ]
            await house.events(*events, principal=who)
        await house.runs.scorer.drained()


async def _fill(store: Store, who: Principal) -> None:
    database, transactions = store.database, store.transactions
    org = who.org_id
    assert org is not None
    await Keys(database, transactions).create(org, "web")
    await Profiles(database, transactions, SUITE).create(who, ProfileCreate("mine", {"semantic_loop": 0.9}))
    await Traces(transactions).store(who, TraceUpload(trace_id="t", steps=[]))
    pattern = await Patterns(database, Follower(database)).create(who, PatternCreate("e1", {"observation": "x"}))
    finding = await FindingService(database, transactions, None).create(who, "shop", FindingCreate("found"))  # type: ignore[arg-type]
    for kind, item in (("pattern", pattern.pattern_id), ("finding", finding.finding_id)):
        await store.execute(
            "INSERT INTO vectors VALUES (:kind, :item, 'm', 2, 'd', :vector)",
            kind=kind,
            item=item,
            vector=b"\0\x80\xff",
        )
    await store.execute("DELETE FROM facts")
    await store.execute("INSERT INTO facts VALUES ('library_version', '1')")


async def content(place: Place) -> dict[str, list[str]]:
    """All rows, as texts."""
    async with opened(place) as store, store.database.reading() as connection:
        return {
            table.name: sorted(
                repr([bytes(value) if isinstance(value, memoryview) else value for value in row])
                for row in await connection.execute(table.select())
            )
            for table in TABLES
        }


def run(*arguments: str | Path, succeeds: bool = True) -> Result:
    """A command, as people give it."""
    done = CliRunner().invoke(reasonblocks, [str(argument) for argument in arguments])
    assert (done.exit_code == 0) == succeeds, done.output
    return done


def at(place: Place) -> tuple[str, str]:
    """The option that names a place."""
    return ("--database-url" if isinstance(place, str) else "--data-dir"), str(place)


def without_zeros(rows: dict[str, list[str]]) -> dict[str, list[str]]:
    return {name: [row.replace("\\x00b", "\N{REPLACEMENT CHARACTER}b") for row in some] for name, some in rows.items()}


def test_migrate_copies_everything_and_counts_it(tmp_path: Path, other_url: str) -> None:
    """Every row of every table is there afterwards, new ones are numbered after them, and nothing is mixed up."""
    asyncio.run(fill(tmp_path))
    before = asyncio.run(content(tmp_path))
    assert all(before.values()), "a table was left out of the test"
    done = run("migrate", "--data-dir", tmp_path, "--database-url", other_url)
    assert "        14  steps" in done.output
    assert "2 rows had U+0000" in done.output
    assert "compared" in done.output
    assert asyncio.run(content(other_url)) == without_zeros(before)
    assert asyncio.run(content(tmp_path)) == before

    async def go_on() -> None:
        async with house_at(other_url) as house:
            await house.events(start("new"), step(0, "new"), step(7, "r"), principal=ACME)
            assert (await house.show("r", ACME)).step_count == 8
            assert (await house.show("new", ACME)).step_count == 1

    asyncio.run(go_on())
    again = run("migrate", "--data-dir", tmp_path, "--database-url", other_url, succeeds=False)
    assert "is not empty" in again.output


def test_backup_and_restore_give_the_same_database(place: Place, tmp_path: Path, other_url: str) -> None:
    """Into either kind, whichever it came from; the file is for its owner only, and only an empty place will do."""
    file = tmp_path / "all.jsonl.gz"
    asyncio.run(fill(place))
    before = asyncio.run(content(place))
    run("backup", file, *at(place))
    assert file.stat().st_mode & 0o777 == 0o600
    for target in (other_url, tmp_path / "restored"):
        assert "compared" in run("restore", file, *at(target)).output
        expected = without_zeros(before) if isinstance(target, str) else before
        assert asyncio.run(content(target)) == expected
        assert "is not empty" in run("restore", file, *at(target), succeeds=False).output


@pytest.mark.parametrize("damage", ["cut off", "changed", "something else"])
def test_damaged_backup_is_refused_and_leaves_nothing(tmp_path: Path, damage: str) -> None:
    """A file without its end, or with another row than it was made with, is noticed before anything is kept."""
    file, target = tmp_path / "all.jsonl.gz", tmp_path / "restored"
    asyncio.run(fill(tmp_path / "data"))
    run("backup", file, "--data-dir", tmp_path / "data")
    lines = gzip.decompress(file.read_bytes()).splitlines(keepends=True)
    if damage == "cut off":
        file.write_bytes(gzip.compress(b"".join(lines[:-1])))
    elif damage == "changed":
        file.write_bytes(gzip.compress(b"".join(lines).replace("ü 3".encode(), b"u 3")))
    else:
        file.write_bytes(b"hello")
    refused = run("restore", file, "--data-dir", target, succeeds=False).output
    assert {"cut off": "cut off", "changed": "not the same", "something else": "no backup"}[damage] in refused
    run("keys", "list", "--data-dir", target)
    rows = asyncio.run(content(target))
    assert not any(rows.values())


def test_export_has_what_one_organisation_owns(place: Place, tmp_path: Path) -> None:
    """All of it and nothing of another; keys without their digests. It is no backup, and says so."""
    file = tmp_path / "acme.jsonl.gz"
    asyncio.run(fill(place))
    run("export", "acme", file, *at(place))
    lines = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    rows = {
        line["table"]: [dict(zip(line["columns"], row, strict=True)) for row in line["rows"]] for line in lines[1:-1]
    }
    assert set(rows) == set(owned("acme"))
    assert {row["org_id"] for some in rows.values() for row in some if "org_id" in row} == {"acme"}
    assert [row["thought"] for row in rows["steps"]] == [f"ü {index}" for index in range(7)]
    assert "digest" not in rows["keys"][0]
    assert "restore takes a backup" in run("restore", file, "--data-dir", tmp_path / "x", succeeds=False).output
    assert "no organisation 'nobody'" in run("export", "nobody", file, *at(place), succeeds=False).output


def test_delete_org_leaves_nothing_of_it_and_all_of_others(place: Place) -> None:
    """In any table, by any way that leads to it; those who follow the changes are told."""
    asyncio.run(fill(place))
    before = asyncio.run(content(place))
    assert "Aborted" in run("delete-org", "acme", *at(place), succeeds=False).output
    done = run("delete-org", "acme", "--yes", *at(place))
    assert "         7  steps" in done.output

    async def check() -> None:
        async with opened(place) as store, store.database.reading() as connection:
            for name, where in owned("acme").items():
                assert (await connection.execute(text(f"SELECT count(*) FROM {name}"))).scalar_one() == (
                    len(before[name]) // 2
                ), name
                assert where is not None
            kinds = [kind for kind, _ in await store.changes()]
        assert sorted(kinds[-4:]) == ["finding", "key", "pattern", "profile"]

    asyncio.run(check())
    after = asyncio.run(content(place))
    assert not [row for rows in after.values() for row in rows if "acme" in row]
    assert [row for rows in before.values() for row in rows if "rival" in row] == [
        row for rows in after.values() for row in rows if "rival" in row
    ]
    assert "no organisation 'acme'" in run("delete-org", "acme", "--yes", *at(place), succeeds=False).output
