"""The catalogue: all live patterns in memory, as the tables have them, and a view that never changes under a reader."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from reasonblocks.engine.patterns import catalogue as catalogue_module
from reasonblocks.engine.patterns.catalogue import Catalogue, PatternSource, _recipe
from reasonblocks.engine.patterns.fields import MAX_FIELDS
from reasonblocks.engine.principal import LOCAL, Principal
from reasonblocks.engine.requests import PatternChange, PatternCreate
from reasonblocks.engine.store.database import Database
from reasonblocks.engine.store.schema import patterns as table
from reasonblocks.engine.store.values import dump
from support.parts import Parts, opened

ADMIN = Principal("admin")


@pytest.fixture
async def parts(tmp_path: Path) -> AsyncIterator[Parts]:
    """Everything that follows, on an empty library."""
    async with opened(tmp_path) as parts:
        yield parts


async def by_the_table(database: Database) -> set[str]:
    """The ids of live patterns."""
    async with database.reading() as connection:
        return set(
            await connection.scalars(select(table.c.pattern_id).where(table.c.status == "live", ~table.c.deleted))
        )


async def test_it_follows_every_change(parts: Parts) -> None:
    """Created, changed, approved, retired, deleted: after a refresh it has what is live."""
    kept = await parts.patterns.create(ADMIN, PatternCreate("e2", {"diagnosis": "kept"}, failure_type="loop"))
    candidate = await parts.patterns.create(ADMIN, PatternCreate("e2", {"diagnosis": "c"}, status="candidate"))
    retired = await parts.patterns.create(ADMIN, PatternCreate("e2", {"diagnosis": "r"}))
    own = await parts.patterns.create(LOCAL, PatternCreate("e1", {"observation": "seen"}, gate_threshold=0.9))
    rule = await parts.patterns.create(ADMIN, PatternCreate("e3", {"instruction": "look"}))
    await parts.settle()
    assert set(parts.catalogue.view.patterns) == {kept.pattern_id, retired.pattern_id, own.pattern_id, rule.pattern_id}
    assert parts.catalogue.view.e1_orgs == {"default": 1}

    await parts.patterns.change(ADMIN, "e2", candidate.pattern_id, PatternChange(status="live"))
    await parts.patterns.change(ADMIN, "e2", retired.pattern_id, PatternChange(status="retired"))
    await parts.patterns.change(ADMIN, "e2", kept.pattern_id, PatternChange({"diagnosis": "changed"}))
    await parts.patterns.delete(LOCAL, "e1", own.pattern_id)
    await parts.settle()

    view = parts.catalogue.view
    assert set(view.patterns) == await by_the_table(parts.database)
    assert view.patterns[kept.pattern_id].fields == {"diagnosis": "changed"}
    assert parts.catalogue.get(retired.pattern_id) is None
    assert view.e1_orgs == {}
    assert [pattern.pattern_id for pattern in parts.catalogue.e3()] == [rule.pattern_id]
    assert view.e2_failure_types == {"loop": 1, None: 1}


async def test_a_fresh_load_is_the_same_as_having_followed(parts: Parts) -> None:
    """Loading page by page finds all of them, whatever was followed before."""
    rows = [
        row(f"p{number:03}", tier=tier, org_id="red" if tier == "e1" else None)
        for number in range(450)
        for tier in (("e1", "e2", "e3")[number % 3],)
    ]
    await write(parts.database, *rows)
    await parts.catalogue.apply({f"p{number:03}" for number in range(450)})
    followed = parts.catalogue.view

    loaded = Catalogue(parts.database)
    await loaded.load()

    assert loaded.view.patterns == followed.patterns
    assert loaded.view.e3 == followed.e3
    assert loaded.view.e1_orgs == followed.e1_orgs == {"red": 150}
    assert len(loaded.view.patterns) == 450


async def test_a_view_that_somebody_holds_does_not_change(parts: Parts) -> None:
    """Readers on other threads never see half a change."""
    await parts.patterns.create(ADMIN, PatternCreate("e3", {"instruction": "look"}))
    await parts.settle()
    held = parts.catalogue.view
    before = dict(held.patterns)

    await parts.patterns.create(ADMIN, PatternCreate("e3", {"instruction": "listen"}))
    await parts.settle()

    assert held.patterns == before
    assert len(held.e3) == 1
    assert len(parts.catalogue.e3()) == 2


async def test_a_deleted_pattern_is_gone_before_the_new_screen_is_made(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To make the screen takes long where there are many patterns; until then the last one serves."""
    made = await parts.patterns.create(ADMIN, PatternCreate("e2", {"diagnosis": "parsers disagree about commas"}))
    await parts.settle()
    screen = parts.catalogue.view.screen
    seen: list[tuple[bool, bool]] = []

    def slow(live: object) -> None:
        seen.append((made.pattern_id in parts.catalogue.view.patterns, parts.catalogue.view.screen is screen))

    monkeypatch.setattr(catalogue_module, "_screen", slow)
    await parts.patterns.delete(ADMIN, "e2", made.pattern_id)
    await parts.settle()

    assert seen == [(False, True)]
    assert parts.catalogue.view.screen is not screen


async def test_the_screen_follows_the_e2_patterns(parts: Parts) -> None:
    """A context passes as soon as there is a pattern that it could have to do with."""
    context = "the pelican took the walnut from the tractor again"
    await parts.patterns.create(ADMIN, PatternCreate("e2", {"diagnosis": "parsers disagree about commas"}))
    await parts.settle()
    screen = parts.catalogue.view.screen
    assert screen is not None
    assert not screen.passes(context)

    await parts.patterns.create(LOCAL, PatternCreate("e1", {"observation": "no matter for the screen"}))
    await parts.settle()
    assert parts.catalogue.view.screen is screen

    await parts.patterns.create(ADMIN, PatternCreate("e2", {"diagnosis": "pelican, walnut and tractor"}))
    await parts.settle()
    assert parts.catalogue.view.screen is not None
    assert parts.catalogue.view.screen.passes(context)


async def test_rows_that_nobody_should_have_written_do_no_harm(parts: Parts) -> None:
    """What is no JSON object is left out, what is far too long is cut; the rest is there."""
    await write(
        parts.database,
        row("broken", fields="{"),
        row("list", fields="[1]"),
        row("long", fields=dump({"diagnosis": "x" * 100_000, "more": ["y" * 100_000]})),
        row("good", fields=dump({"diagnosis": "fine"})),
    )

    await parts.catalogue.load()
    await parts.index._apply("pattern", {"broken", "list", "long", "good"})
    await parts.index.settled()

    assert set(parts.catalogue.view.patterns) == {"long", "good"}
    assert len(parts.catalogue.view.patterns["long"].encoded) < MAX_FIELDS
    assert parts.index.state() == "ok"


async def test_what_changes_while_it_is_away_is_read_anew(parts: Parts) -> None:
    """Told that anything may have changed, it looks at everything."""
    await write(parts.database, row("a", fields=dump({"diagnosis": "old"})))
    await parts.catalogue.load()
    async with parts.database.writing() as connection:
        await connection.execute(update(table).values(fields=dump({"diagnosis": "new"})))

    await parts.catalogue.apply(None)

    assert parts.catalogue.view.patterns["a"].fields == {"diagnosis": "new"}


async def test_a_pattern_takes_little_room(parts: Parts) -> None:
    """10,000 ordinary ones fit into 40 MB with room to spare."""
    fields = dump({"diagnosis": "d" * 300, "intervention": "i" * 300, "title": "t" * 40})
    rows = [row(f"p{number}", fields=fields.replace("ddd", f"d{number}d", 1)) for number in range(500)]
    await write(parts.database, *rows)
    catalogue = Catalogue(parts.database)
    await catalogue.load()  # what is loaded once is not counted
    catalogue.view = Catalogue(parts.database).view
    gc.collect()
    tracemalloc.start()
    try:
        await catalogue.load()
        gc.collect()
        size = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert size / 500 < 3_000


def test_the_recipe_changes_with_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index made of other texts is not used: how they are made is part of what its marker says."""
    before = PatternSource().recipe
    assert before == _recipe()
    monkeypatch.setattr(
        "reasonblocks.engine.patterns.catalogue.embedding_text", lambda tier, fields: f"{tier} {fields}"
    )

    assert PatternSource().recipe != before


def row(pattern_id: str, **values: Any) -> dict[str, Any]:
    """A row of the table, past all checks."""
    return {
        "pattern_id": pattern_id,
        "tier": "e2",
        "org_id": None,
        "status": "live",
        "fields": dump({"diagnosis": f"number {pattern_id}"}),
        "provenance": "mined",
        "version": 1,
        "digest": "",
        "deleted": False,
        "created_at": 1.0,
        "updated_at": 1.0,
        **values,
    }


async def write(database: Database, *rows: dict[str, Any]) -> None:
    """Put rows into the table, and tell nobody."""
    async with database.writing() as connection:
        await connection.execute(insert(table), list(rows))
