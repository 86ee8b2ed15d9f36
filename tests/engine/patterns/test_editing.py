"""The library as people work on it: who sees what, who may change what, and what stays of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from reasonblocks.engine.answers import Pattern
from reasonblocks.engine.errors import Conflict, Forbidden, Invalid, NotFound
from reasonblocks.engine.index.follower import Follower
from reasonblocks.engine.patterns import editing
from reasonblocks.engine.patterns.editing import STRUCTURAL, Patterns
from reasonblocks.engine.patterns.fields import pattern_digest
from reasonblocks.engine.patterns.library import Library, LibraryPattern, load_library
from reasonblocks.engine.principal import LOCAL, Principal
from reasonblocks.engine.requests import PatternChange, PatternCreate
from reasonblocks.engine.store.database import Database
from reasonblocks.engine.store.migrate import prepare
from reasonblocks.engine.store.schema import changes, organisations, pattern_versions
from reasonblocks.engine.store.values import load
from support.cluster import Place, database_at

ADMIN = Principal("admin")
RED, BLUE = Principal("key-red", "red"), Principal("key-blue", "blue")
OWN = PatternCreate("e1", {"observation": "the cache is stale", "recommended_action": "flush it"})
SHARED = PatternCreate("e2", {"diagnosis": "going in circles", "intervention": "stop"}, failure_type="loop")
RULE = PatternCreate("e3", {"instruction": "read the error"})


@pytest.fixture
async def database(place: Place) -> AsyncIterator[Database]:
    """A database with its tables."""
    database = await asyncio.to_thread(database_at, place)
    await prepare(database)
    yield database
    await database.aclose()


@pytest.fixture
async def patterns(database: Database) -> Patterns:
    """The service, and nobody else."""
    return Patterns(database, Follower(database))


async def ids(patterns: Patterns, principal: Principal, **settings: Any) -> set[str]:
    """What a principal sees."""
    return {pattern.pattern_id for pattern in await patterns.list(principal, **settings)}


async def changed_items(database: Database) -> list[str]:
    """What was written about changes, in order."""
    async with database.reading() as connection:
        rows = await connection.execute(select(changes.c.kind, changes.c.item_id).order_by(changes.c.number))
        return [item_id for kind, item_id in rows if kind == "pattern"]


# -- adding and seeing -----------------------------------------------------------------------------


async def test_a_new_pattern_is_live_and_has_all_its_parts(patterns: Patterns, database: Database) -> None:
    """It comes back as it was sent, with what was left out at its default, and its organisation comes into being."""
    request = PatternCreate("e1", OWN.fields, failure_type="loop", gate_threshold=0.9, model_family="opus")

    made = await patterns.create(RED, request)

    assert (made.tier, made.org_id, made.status, made.provenance, made.version) == ("e1", "red", "live", "curated", 1)
    assert (made.fields, made.failure_type, made.gate_threshold, made.model_family) == (
        OWN.fields,
        "loop",
        0.9,
        "opus",
    )
    assert await patterns.list(RED) == [made]
    assert await changed_items(database) == [made.pattern_id]
    async with database.reading() as connection:
        assert list(await connection.scalars(select(organisations.c.org_id))) == ["red"]


async def test_c25_e1_goes_to_the_organisation_of_the_key(patterns: Patterns) -> None:
    """A client cannot name another one; an admin can, and goes to the default one otherwise."""
    asked = PatternCreate("e1", OWN.fields, org_id="blue")

    assert (await patterns.create(RED, asked)).org_id == "red"
    assert (await patterns.create(ADMIN, asked)).org_id == "blue"
    assert (await patterns.create(ADMIN, OWN)).org_id == "default"


async def test_c25_one_sees_own_e1_and_the_shared_ones(patterns: Patterns) -> None:
    """Other organisations' patterns are not in the list, whichever is asked for."""
    red = (await patterns.create(RED, OWN)).pattern_id
    blue = (await patterns.create(BLUE, OWN)).pattern_id
    shared = {(await patterns.create(ADMIN, request)).pattern_id for request in (SHARED, RULE)}

    assert await ids(patterns, RED) == {red} | shared
    assert await ids(patterns, RED, org_id="blue") == {red} | shared
    assert await ids(patterns, RED, tier="e1") == {red}
    assert await ids(patterns, ADMIN) == {red, blue} | shared
    assert await ids(patterns, ADMIN, org_id="blue", tier="e1") == {blue}


async def test_what_is_not_approved_is_seen_by_its_owner_and_by_admins(patterns: Patterns) -> None:
    """A shared candidate may quote somebody's run; one's own may be anything."""
    own = (await patterns.create(RED, PatternCreate("e1", OWN.fields, status="candidate"))).pattern_id
    shared = (await patterns.create(ADMIN, PatternCreate("e2", SHARED.fields, status="candidate"))).pattern_id

    assert await ids(patterns, RED) == {own}
    assert await ids(patterns, ADMIN) == {own, shared}

    await patterns.change(ADMIN, "e2", shared, PatternChange(status="live"))
    assert await ids(patterns, RED) == {own, shared}


async def test_a_list_is_as_long_as_asked(patterns: Patterns) -> None:
    """Oldest first within a tier, up to the limit."""
    made = [(await patterns.create(RED, OWN)).pattern_id for _ in range(5)]

    assert [pattern.pattern_id for pattern in await patterns.list(RED, limit=3)] == made[:3]
    assert len(await patterns.list(RED, limit=-1)) == 1


@pytest.mark.parametrize("request_", [SHARED, RULE])
async def test_only_an_admin_may_change_what_is_shared(patterns: Patterns, request_: PatternCreate) -> None:
    """403, whether it exists or not."""
    name = (await patterns.create(ADMIN, request_)).pattern_id

    with pytest.raises(Forbidden, match="only an admin"):
        await patterns.create(RED, request_)
    for pattern_id in (name, "unknown"):
        with pytest.raises(Forbidden, match="only an admin"):
            await patterns.change(RED, request_.tier, pattern_id, PatternChange({"title": "mine"}))
        with pytest.raises(Forbidden, match="only an admin"):
            await patterns.delete(RED, request_.tier, pattern_id)
    assert await ids(patterns, ADMIN) == {name}


@pytest.mark.parametrize("name", ["unknown", "", "\0", "\ud800", "a/b", "x" * 10_000])
async def test_what_is_not_there_is_not_found(patterns: Patterns, name: str) -> None:
    """404 for anything that is no pattern, also where the tier is not its own."""
    shared = (await patterns.create(ADMIN, SHARED)).pattern_id

    for tier, pattern_id in (("e1", name), ("e2", name), ("e3", shared), ("e9", shared)):
        with pytest.raises(NotFound):
            await patterns.change(ADMIN, tier, pattern_id, PatternChange({"title": "x"}))
        with pytest.raises(NotFound):
            await patterns.delete(ADMIN, tier, pattern_id)


async def test_c25_another_organisations_pattern_is_not_found(patterns: Patterns) -> None:
    """The answer is the same as for one that never was."""
    name = (await patterns.create(RED, OWN)).pattern_id

    for principal, pattern_id in ((BLUE, name), (BLUE, "unknown")):
        with pytest.raises(NotFound, match="there is no e1 pattern"):
            await patterns.change(principal, "e1", pattern_id, PatternChange({"title": "mine"}))
        with pytest.raises(NotFound, match="there is no e1 pattern"):
            await patterns.delete(principal, "e1", pattern_id)
    assert (await patterns.list(RED))[0].version == 1


# -- changing --------------------------------------------------------------------------------------


async def test_fields_are_merged_and_null_removes_one(patterns: Patterns) -> None:
    """What is left out stays."""
    name = (await patterns.create(RED, OWN)).pattern_id

    changed = await patterns.change(RED, "e1", name, PatternChange({"title": "Stale", "recommended_action": None}))

    assert changed.fields == {"observation": "the cache is stale", "title": "Stale"}
    assert (changed.version, changed.status, changed.org_id) == (2, "live", "red")
    assert await patterns.list(RED) == [changed]


async def test_qualities_change_and_can_be_taken_back(patterns: Patterns) -> None:
    """Null takes a failure type or a threshold away, leaving it out does not."""
    name = (await patterns.create(ADMIN, SHARED)).pattern_id

    await patterns.change(ADMIN, "e2", name, PatternChange(gate_threshold=0.9, model_family="haiku"))
    changed = await patterns.change(ADMIN, "e2", name, PatternChange(failure_type=None))
    assert (changed.failure_type, changed.gate_threshold, changed.model_family) == (None, 0.9, "haiku")

    changed = await patterns.change(ADMIN, "e2", name, PatternChange(gate_threshold=None, status="retired"))
    assert (changed.gate_threshold, changed.status, changed.version) == (None, "retired", 4)


async def test_every_version_is_kept_with_who_made_it(patterns: Patterns, database: Database) -> None:
    """The history of a pattern is all there."""
    name = (await patterns.create(RED, OWN)).pattern_id
    await patterns.change(RED, "e1", name, PatternChange({"observation": "the cache is cold"}))
    await patterns.change(ADMIN, "e1", name, PatternChange(status="retired"))

    async with database.reading() as connection:
        rows = (await connection.execute(select(pattern_versions).order_by(pattern_versions.c.version))).all()

    assert [(row.version, row.changed_by, row.status) for row in rows] == [
        (1, "key-red", "live"),
        (2, "key-red", "live"),
        (3, "admin", "retired"),
    ]
    assert [load(row.fields)["observation"] for row in rows] == ["the cache is stale", *["the cache is cold"] * 2]


async def test_a_change_that_changes_nothing_is_no_new_version(patterns: Patterns, database: Database) -> None:
    """Sending the same again is harmless."""
    made = await patterns.create(RED, OWN)

    for change in (PatternChange(), PatternChange(OWN.fields), PatternChange({"unknown": None}, status="live")):
        assert await patterns.change(RED, "e1", made.pattern_id, change) == made
    assert await changed_items(database) == [made.pattern_id]


@pytest.mark.parametrize("key", STRUCTURAL)
async def test_structural_keys_are_refused(patterns: Patterns, key: str) -> None:
    """What a pattern is cannot be overwritten by what it says, nor removed; nothing else of the change is done."""
    name = (await patterns.create(RED, OWN)).pattern_id

    for value in ("x", None):
        with pytest.raises(Invalid, match=f"fields.{key}") as refused:
            await patterns.change(RED, "e1", name, PatternChange({key: value, "title": "x"}))
        assert refused.value.location == ("fields", key)
    with pytest.raises(Invalid, match=f"fields.{key}"):
        await patterns.create(RED, PatternCreate("e1", {**OWN.fields, key: "x"}))
    assert [pattern.fields for pattern in await patterns.list(RED)] == [OWN.fields]


async def test_structural_keys_that_say_what_is_so_are_ignored(patterns: Patterns) -> None:
    """A client that sends a pattern back as it was shown changes nothing, and the keys are no fields afterwards."""
    made = await patterns.create(RED, OWN)
    echoed = {**made.fields, "pattern_id": made.pattern_id, "tier": made.tier, "customer_id": made.org_id}

    assert await patterns.change(RED, "e1", made.pattern_id, PatternChange(echoed)) == made


async def test_a_change_has_to_leave_a_pattern_that_can_be_used(patterns: Patterns) -> None:
    """What could not be created cannot be made of it either."""
    name = (await patterns.create(RED, OWN)).pattern_id

    with pytest.raises(Invalid, match="expected one of observation"):
        await patterns.change(RED, "e1", name, PatternChange({"observation": None, "recommended_action": None}))
    with pytest.raises(Invalid, match=r"fields\.observation"):
        await patterns.change(RED, "e1", name, PatternChange({"observation": 7}))
    with pytest.raises(Invalid, match="at most 32,000"):
        await patterns.change(RED, "e1", name, PatternChange({"title": "x" * 40_000}))
    with pytest.raises(Invalid, match="fields of an e1 pattern"):
        await patterns.create(RED, PatternCreate("e1", {}))
    assert (await patterns.list(RED))[0].version == 1


async def test_a_deleted_pattern_is_gone_with_its_versions(patterns: Patterns, database: Database) -> None:
    """Not found again, not even the second time."""
    name = (await patterns.create(RED, OWN)).pattern_id

    await patterns.delete(RED, "e1", name)

    assert await patterns.list(RED) == []
    with pytest.raises(NotFound):
        await patterns.delete(RED, "e1", name)
    async with database.reading() as connection:
        assert (await connection.execute(select(pattern_versions))).all() == []
    assert await changed_items(database) == [name, name]


JSON = st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=10)


def test_any_fields_are_stored_or_refused() -> None:
    """No JSON breaks it: a pattern comes back with all its fields, or `Invalid` says what is wrong with them."""
    with asyncio.Runner() as runner:
        database = Database.at(None)
        runner.run(prepare(database))
        patterns = Patterns(database, Follower(database))

        @settings(max_examples=60)
        @given(st.dictionaries(st.text(max_size=20) | st.sampled_from(("title", "guidance")), JSON, max_size=5))
        def stored_or_refused(fields: dict[str, Any]) -> None:
            request = PatternCreate("e1", {"observation": "seen", **fields})
            with contextlib.suppress(Invalid):
                made = runner.run(patterns.create(LOCAL, request))
                assert made.fields.keys() == {"observation", *fields}

        stored_or_refused()
        runner.run(database.aclose())


# -- the starter library ---------------------------------------------------------------------------


def entry(name: str, text: str) -> LibraryPattern:
    """A pattern of a library."""
    qualities: dict[str, Any] = {
        "failure_type": "loop",
        "gate_threshold": None,
        "model_family": "",
        "status": "live",
    }
    fields = {"diagnosis": text}
    return LibraryPattern(name, "e2", fields, **qualities, digest=pattern_digest("e2", fields, **qualities))


def library(version: int = 1, **texts: str) -> Library:
    """A library with these patterns."""
    return Library(version, repr(texts), tuple(entry(name, text) for name, text in texts.items()))


async def texts(patterns: Patterns) -> dict[str, tuple[str, str, int]]:
    """What an admin sees of it: text, status and version."""
    return {
        pattern.pattern_id: (pattern.fields["diagnosis"], pattern.status, pattern.version)
        for pattern in await patterns.list(ADMIN)
    }


async def test_a_first_import_brings_everything_and_a_second_nothing(patterns: Patterns, database: Database) -> None:
    """Done at every start, so it writes only what is new."""
    assert (await patterns.import_library(library(a="one", b="two"))).changes_anything
    assert not (await patterns.import_library(library(a="one", b="two"))).changes_anything

    assert await texts(patterns) == {"a": ("one", "live", 1), "b": ("two", "live", 1)}
    assert await changed_items(database) == ["a", "b"]
    assert await ids(patterns, RED) == {"a", "b"}


async def test_an_upgrade_follows_the_files_and_leaves_edits_alone(patterns: Patterns, database: Database) -> None:
    """New text where nobody touched the old; what somebody edited, retired or deleted stays as they left it."""
    await patterns.import_library(library(plain="old", edited="old", retired="old", deleted="old", dropped="old"))
    await patterns.change(ADMIN, "e2", "edited", PatternChange({"diagnosis": "mine"}))
    await patterns.change(ADMIN, "e2", "retired", PatternChange(status="retired"))
    await patterns.delete(ADMIN, "e2", "deleted")
    before = len(await changed_items(database))

    new = library(plain="new", edited="new", retired="new", deleted="new", added="new")
    await patterns.import_library(new)

    expected = {
        "plain": ("new", "live", 2),
        "edited": ("mine", "live", 2),
        "retired": ("old", "retired", 2),
        "dropped": ("old", "retired", 2),
        "added": ("new", "live", 1),
    }
    assert await texts(patterns) == expected
    assert set((await changed_items(database))[before:]) == {"plain", "dropped", "added"}
    assert not (await patterns.import_library(new)).changes_anything
    assert await texts(patterns) == expected


async def test_an_edit_that_was_taken_back_is_no_edit(patterns: Patterns) -> None:
    """A pattern that is again as it was shipped is upgraded again."""
    await patterns.import_library(library(a="old"))
    await patterns.change(ADMIN, "e2", "a", PatternChange({"diagnosis": "mine"}))
    await patterns.change(ADMIN, "e2", "a", PatternChange({"diagnosis": "old"}))

    await patterns.import_library(library(a="new"))

    assert await texts(patterns) == {"a": ("new", "live", 4)}


async def test_an_older_library_takes_nothing_back(patterns: Patterns) -> None:
    """An older reasonblocks on the same data leaves what a newer one brought, and the newer finds nothing to do."""
    new = library(2, a="new", b="new")
    await patterns.import_library(library(1, a="old", c="old"))
    await patterns.import_library(new)
    after = await texts(patterns)
    assert after == {"a": ("new", "live", 2), "b": ("new", "live", 1), "c": ("old", "retired", 2)}

    assert not (await patterns.import_library(library(1, a="old", c="old"))).changes_anything

    assert await texts(patterns) == after
    assert not (await patterns.import_library(new)).changes_anything


async def test_a_newer_library_that_says_the_same_is_remembered(patterns: Patterns) -> None:
    """Its version counts, though there was nothing to write."""
    await patterns.import_library(library(1, a="one"))
    await patterns.import_library(library(3, a="one"))

    await patterns.import_library(library(2, a="two"))

    assert await texts(patterns) == {"a": ("one", "live", 1)}


async def test_what_ships_again_is_back_unless_somebody_retired_it(patterns: Patterns) -> None:
    """The library revives what the library retired; a person's word stays."""
    await patterns.import_library(library(1, dropped="old", retired="old"))
    await patterns.change(ADMIN, "e2", "retired", PatternChange(status="retired"))
    await patterns.import_library(library(2, other="new"))

    await patterns.import_library(library(3, dropped="old", retired="old", other="new"))

    expected = {"dropped": ("old", "live", 3), "retired": ("old", "retired", 2), "other": ("new", "live", 1)}
    assert await texts(patterns) == expected


async def test_an_organisation_has_only_so_many_patterns(patterns: Patterns, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more is refused with the number; other organisations and shared patterns are not concerned."""
    monkeypatch.setattr(editing, "MOST_PER_ORG", 2)
    first = await patterns.create(RED, OWN)
    await patterns.create(RED, OWN)
    with pytest.raises(Invalid, match="'red' has 2 e1 patterns already"):
        await patterns.create(RED, OWN)
    await patterns.create(BLUE, OWN)
    await patterns.create(ADMIN, SHARED)
    await patterns.delete(RED, "e1", first.pattern_id)
    await patterns.create(RED, OWN)


async def test_two_processes_that_start_at_once_import_it_once(place: Place) -> None:
    """The second finds it done."""
    databases = [await asyncio.to_thread(database_at, place) for _ in range(3)]
    for database in databases:
        await prepare(database)
    services = [Patterns(database, Follower(database)) for database in databases]

    await asyncio.gather(*(service.import_library(library(a="one", b="two")) for service in services))

    assert await texts(services[0]) == {"a": ("one", "live", 1), "b": ("two", "live", 1)}
    assert await changed_items(databases[0]) == ["a", "b"]
    for database in databases:
        await database.aclose()


async def test_what_is_stored_is_whats_shown(patterns: Patterns) -> None:
    """Create, change and list agree on every part of a pattern."""
    made = await patterns.create(ADMIN, SHARED)
    changed = await patterns.change(ADMIN, "e2", made.pattern_id, PatternChange({"title": "Round and round"}))
    (listed,) = await patterns.list(ADMIN)

    assert isinstance(listed, Pattern)
    assert listed == changed
    assert listed.created_at == made.created_at
    assert replace_times(changed) == replace_times(made) | {"version": 2, "fields": changed.fields}


def replace_times(pattern: Pattern) -> dict[str, Any]:
    """A pattern without the time it was last changed."""
    return {name: getattr(pattern, name) for name in pattern.__struct_fields__ if name != "updated_at"}


# -- ids of one's own --------------------------------------------------------------------------------


async def test_only_an_admin_chooses_an_id(patterns: Patterns) -> None:
    """So that what was exported comes back as it was, with where it came from; others get a new one."""
    request = PatternCreate(
        "e1", {"observation": "seen"}, pattern_id="mine", provenance="mined", source_trace_id="run-7", org_id="acme"
    )
    made = await patterns.create(ADMIN, request)
    assert (made.pattern_id, made.provenance, made.source_trace_id, made.org_id) == ("mine", "mined", "run-7", "acme")
    with pytest.raises(Conflict, match="'mine' already"):
        await patterns.create(ADMIN, request)
    other = await patterns.create(LOCAL, PatternCreate("e1", {"observation": "seen"}, pattern_id="yours"))
    assert other.pattern_id.startswith("pat_")


async def test_a_deleted_pattern_can_come_back_under_its_id(patterns: Patterns) -> None:
    """Of the starter library a stone marks the place; whoever imports it again has meant to."""
    shipped = await asyncio.to_thread(load_library)
    await patterns.import_library(shipped)
    gone = shipped.patterns[0]
    await patterns.delete(ADMIN, gone.tier, gone.pattern_id)
    request = PatternCreate(gone.tier, {"guidance": "Anew."}, pattern_id=gone.pattern_id)  # type: ignore[arg-type]
    assert (await patterns.create(ADMIN, request)).version == 1
    await patterns.import_library(shipped)
    (back,) = [one for one in await patterns.list(ADMIN, limit=1_000) if one.pattern_id == gone.pattern_id]
    assert back.fields == {"guidance": "Anew."}
