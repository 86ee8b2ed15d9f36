"""The index in a Qdrant cluster: whatever goes wrong, it ends up as the tables say, and nobody else notices."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import models
from sqlalchemy import delete, insert, select, update

from reasonblocks.engine.index.cluster import index as index_module
from reasonblocks.engine.index.cluster import leader as leader_module
from reasonblocks.engine.index.cluster import outbox as outbox_module
from reasonblocks.engine.index.follower import prune_changes, record_changes
from reasonblocks.engine.index.leadership import by_file
from reasonblocks.engine.index.shard import point_id
from reasonblocks.engine.index.thread import IndexFailure
from reasonblocks.engine.principal import LOCAL
from reasonblocks.engine.requests import PatternChange, PatternCreate
from reasonblocks.engine.store.schema import changes, facts, findings, vectors
from support.clustered import ADMIN, assert_right, e2, found, held, in_the_end, until
from support.contents import by_the_tables
from support.parts import PATIENCE, Parts, WordEmbeddings, opened
from support.qdrant import Fault, Rig, away, forgetful, half_done, record_of, silent

# -- following ---------------------------------------------------------------------------------------


async def test_it_holds_live_patterns_that_are_compared_and_findings(tmp_path: Path, rig: Rig) -> None:
    """E1 and e2 that are live, and findings, as they are after every change."""
    async with opened(tmp_path, make_index=rig.make()) as parts:
        kept = await parts.patterns.create(ADMIN, e2("going in circles", failure_type="loop"))
        await parts.patterns.create(LOCAL, PatternCreate("e1", {"observation": "the cache is stale"}))
        await parts.patterns.create(ADMIN, PatternCreate("e3", {"instruction": "read the error"}))
        await parts.patterns.create(ADMIN, e2("not yet approved", status="candidate"))
        deleted = await parts.patterns.create(ADMIN, e2("was never true"))
        await parts.settle()
        await parts.patterns.delete(ADMIN, "e2", deleted.pattern_id)
        await parts.patterns.change(ADMIN, "e2", kept.pattern_id, PatternChange({"diagnosis": "going round"}))

        await assert_right(rig, parts)
        async with parts.database.reading() as connection:
            rows = (await connection.execute(select(vectors.c.item_id))).all()
        assert len(rows) == 2, "the vectors of what is gone are gone as well"


async def test_a_start_goes_on_where_the_last_one_stopped(tmp_path: Path, rig: Rig) -> None:
    """The record in the tables says how far the cluster is; nothing is embedded or written that is there already."""
    async with opened(tmp_path, make_index=rig.make()) as parts:
        await parts.patterns.create(ADMIN, e2("before the end"))
        await parts.settle()
    async with opened(tmp_path, background=False) as parts:
        await parts.patterns.create(ADMIN, e2("while nobody looked"))
    words = WordEmbeddings()
    rig.calls.clear()

    async with opened(tmp_path, words, make_index=rig.make()) as parts:
        await assert_right(rig, parts)

    assert [text for text in words.embedded if "before" in text] == []
    assert rig.calls.count("upsert") == 1


async def test_a_text_that_cannot_be_embedded_does_not_stand_in_the_way(tmp_path: Path, rig: Rig) -> None:
    """The others are found, the state says what is missing, and it is made good once it can be; a restart knows it."""
    words = WordEmbeddings()
    words.refused.add("poison")
    async with opened(tmp_path, words, make_index=rig.make()) as parts:
        bad = await parts.patterns.create(ADMIN, e2("poison"))
        good = await parts.patterns.create(ADMIN, e2("a good text"))
        await parts.settle()
        assert "1 items cannot be found" in parts.index.state()
        assert "no vector for 'poison'" in parts.index.state()
        assert await found(parts, "a good text") == [good.pattern_id]

    async with opened(tmp_path, make_index=rig.make()) as parts:  # an embedder that takes it
        await until(lambda: parts.index.state() == "ok")
        await assert_right(rig, parts)
        assert await found(parts, "poison") == [bad.pattern_id]


async def test_an_embedder_that_is_away_delays_and_loses_nothing(tmp_path: Path, rig: Rig) -> None:
    """Where not even a harmless text can be embedded the outbox waits, and says why."""
    words = WordEmbeddings()
    async with opened(tmp_path, words, make_index=rig.make()) as parts:
        words.refused |= {"first", "second", outbox_module._HARMLESS.text}
        await parts.patterns.create(ADMIN, e2("first"))
        await parts.patterns.create(ADMIN, e2("second"))
        await until(lambda: "no vector for" in parts.index.state())
        assert record_of(parts.index).serving.owes == 0

        words.refused.clear()
        await assert_right(rig, parts)


# -- outages -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [away, silent, forgetful, half_done], ids=lambda fault: fault.__name__)
async def test_an_outage_delays_and_loses_nothing(tmp_path: Path, rig: Rig, fault: Fault) -> None:
    """Edits go through while the cluster fails, in whatever way; when it is back everything is brought to it."""
    async with opened(tmp_path, make_index=rig.make()) as parts:
        gone = await parts.patterns.create(ADMIN, e2("to be deleted"))
        kept = await parts.patterns.create(ADMIN, e2("to be changed"))
        await parts.settle()

        rig.fault = fault
        await parts.patterns.delete(ADMIN, "e2", gone.pattern_id)
        await parts.patterns.change(ADMIN, "e2", kept.pattern_id, PatternChange({"diagnosis": "changed"}))
        for number in range(5):
            await parts.patterns.create(ADMIN, e2(f"new {number}"))
        await until(lambda: "changes wait to be brought to the Qdrant cluster" in parts.index.state())

        rig.fault = None
        await assert_right(rig, parts)


@pytest.mark.parametrize("fault", [away, silent], ids=lambda fault: fault.__name__)
async def test_an_engine_starts_without_its_cluster(tmp_path: Path, rig: Rig, fault: Fault) -> None:
    """The start is not held up, lookups say why there is nothing, and the cluster is filled when it is there."""
    rig.fault = fault
    async with opened(tmp_path, make_index=rig.make(), settle=False) as parts:
        pattern = await parts.patterns.create(ADMIN, e2("going in circles"))
        await parts.follower.refresh()
        await until(lambda: parts.index.state() != "ok")
        with pytest.raises(IndexFailure, match="Qdrant"):
            await found(parts, "going in circles")

        rig.fault = None
        await assert_right(rig, parts)
        assert await found(parts, "going in circles") == [pattern.pattern_id]


async def test_an_outage_while_it_is_closed_and_opened_loses_nothing(tmp_path: Path, rig: Rig) -> None:
    """What one process could not bring, the next does."""
    async with opened(tmp_path, make_index=rig.make()) as parts:
        rig.fault = away
        await parts.patterns.create(ADMIN, e2("written during the outage"))
        await until(lambda: parts.index.state() != "ok")
    rig.fault = None

    async with opened(tmp_path, make_index=rig.make()) as parts:
        await assert_right(rig, parts)


async def test_a_lookup_keeps_its_deadline_and_the_loop_free(tmp_path: Path, rig: Rig) -> None:
    """A cluster that does not answer costs its time limit, then nothing: after three failures it is not even asked."""
    async with opened(tmp_path, make_index=rig.make(timeout=0.5)) as parts:
        pattern = await parts.patterns.create(ADMIN, e2("going in circles"))
        await parts.settle()
        await until(lambda: "query_batch_points" in rig.calls)  # the first search that nobody asked for
        rig.fault = silent
        for _ in range(3):
            began = time.monotonic()
            with pytest.raises(IndexFailure, match=r"did not answer a lookup within 0\.5 s"):
                await found(parts, "going in circles")
            assert 0.45 < time.monotonic() - began < 2.0

        began = time.monotonic()
        with pytest.raises(IndexFailure, match="asked again in a moment"):
            await found(parts, "quite another question with circles in it")
        assert time.monotonic() - began < 0.4
        assert "lookups bring nothing" in parts.index.state()

        rig.fault = None
        await until(lambda: parts.index.state() == "ok")  # by itself: nobody asks a server that is not ready
        assert await found(parts, "going in circles") == [pattern.pattern_id]


async def test_a_slow_answer_that_is_in_time_counts(tmp_path: Path, rig: Rig) -> None:
    """Slow is not away."""

    async def slow(_method: str, call: Callable[[], Awaitable[Any]]) -> Any:
        await asyncio.sleep(0.1)
        return await call()

    async with opened(tmp_path, make_index=rig.make()) as parts:
        rig.fault = slow
        pattern = await parts.patterns.create(ADMIN, e2("going in circles"))
        await assert_right(rig, parts)
        assert await found(parts, "going in circles") == [pattern.pattern_id]


async def test_a_caller_that_gives_up_says_nothing_about_the_cluster(tmp_path: Path, rig: Rig) -> None:
    """A step that is out of time does not open the breaker."""
    async with opened(tmp_path, make_index=rig.make(timeout=30.0)) as parts:
        await parts.patterns.create(ADMIN, e2("going in circles"))
        await parts.settle()
        await until(lambda: "query_batch_points" in rig.calls)  # the first search that nobody asked for
        rig.fault = silent
        for _ in range(5):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.02):
                    await found(parts, "going in circles")
        rig.fault = None
        assert parts.index.state() == "ok"


# -- what may have happened to the cluster -------------------------------------------------------------


async def three_patterns(parts: Parts) -> list[str]:
    """Something to lose."""
    texts = ("going in circles", "losing the thread", "claiming success")
    made = [await parts.patterns.create(ADMIN, e2(text)) for text in texts]
    await parts.settle()
    await until(lambda: record_of(parts.index).serving is not None)
    return [pattern.pattern_id for pattern in made]


async def test_an_emptied_cluster_is_filled_again_while_it_runs(tmp_path: Path, rig: Rig) -> None:
    """The collection is made again by whoever notices, and nothing is embedded for it."""
    words = WordEmbeddings()
    async with opened(tmp_path, words, make_index=rig.make()) as parts:
        names = await three_patterns(parts)
        words.embedded.clear()
        await rig.wipe()
        with pytest.raises(IndexFailure, match="failed at a lookup"):
            await found(parts, "going in circles")

        await until(lambda: not record_of(parts.index).serving.complete)
        await assert_right(rig, parts)
        assert names[0] in await found(parts, "going in circles")
        assert set(words.embedded) <= {"going in circles"}


async def test_an_emptied_cluster_is_filled_again_at_a_start(tmp_path: Path, rig: Rig) -> None:
    """As for a restore of everything but the cluster."""
    async with opened(tmp_path, make_index=rig.make()) as parts:
        await three_patterns(parts)
    await rig.wipe()

    async with opened(tmp_path, make_index=rig.make()) as parts:
        await assert_right(rig, parts)


async def test_a_collection_of_another_dimension_is_replaced(tmp_path: Path, rig: Rig) -> None:
    """One that cannot hold our vectors is none of ours, whatever it is called."""
    async with opened(tmp_path, make_index=rig.make()) as parts:
        await three_patterns(parts)
        name = record_of(parts.index).serving.name
    await rig.wipe()
    config = models.VectorParams(size=7, distance=models.Distance.COSINE)
    await rig.quietly(lambda client: client.create_collection(name, vectors_config=config))

    async with opened(tmp_path, make_index=rig.make(), settle=False) as parts:
        await until(lambda: (one := record_of(parts.index).serving) is not None and one.name != name)
        await assert_right(rig, parts)


async def test_what_is_missing_too_many_or_wrong_is_mended(
    tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items are counted at a start and from time to time; where the number is wrong each of them is compared."""
    async with opened(tmp_path, make_index=rig.make()) as parts:
        names = await three_patterns(parts)
        name = record_of(parts.index).serving.name
    lost, wrong = (str(point_id("pattern", one)) for one in names[:2])
    payload = {"kind": "pattern", "item": "nobody's", "scope": '["e2"]', "print": ""}
    stray = models.PointStruct(id=str(point_id("pattern", "nobody's")), vector=[1.0] * 1024, payload=payload)
    await rig.quietly(lambda client: client.delete(name, [lost]))
    await rig.quietly(lambda client: client.upsert(name, [stray]))
    await rig.quietly(lambda client: client.set_payload(name, {"scope": "elsewhere", "print": "old"}, [wrong]))

    monkeypatch.setattr(leader_module, "AUDIT_SECONDS", 0.0)  # the number is right: only a comparison shows it
    async with opened(tmp_path, make_index=rig.make()) as parts:
        expected = await by_the_tables(parts.database, parts.embedding.embedder.name)
        await in_the_end(lambda: held(rig, parts), expected)
    monkeypatch.undo()

    await rig.quietly(lambda client: client.delete(name, [lost]))
    async with opened(tmp_path, make_index=rig.make()) as parts:
        await in_the_end(lambda: held(rig, parts), expected)
        assert parts.index.state() == "ok", "a collection is not taken out of use for one item"


async def test_changes_that_were_pruned_meanwhile_are_made_up_for(tmp_path: Path, rig: Rig) -> None:
    """Whoever was away for too long looks at everything."""
    async with opened(tmp_path, make_index=rig.make()) as parts:
        names = await three_patterns(parts)
    async with opened(tmp_path, background=False) as parts:
        await parts.patterns.delete(ADMIN, "e2", names[0])
        for number in range(4):
            await parts.patterns.create(ADMIN, e2(f"new {number}"))
        await prune_changes(parts.database, keep=1)

    async with opened(tmp_path, make_index=rig.make()) as parts:
        await assert_right(rig, parts)


async def test_another_database_under_the_same_cluster_is_noticed(tmp_path: Path, rig: Rig) -> None:
    """A restored backup does not know the changes that the cluster was brought."""
    async with opened(tmp_path, make_index=rig.make()) as parts:
        await three_patterns(parts)
        await store(parts, "f1", "after the backup")
        await parts.settle()
    async with opened(tmp_path, background=False) as parts, parts.database.writing() as connection:
        await connection.execute(delete(findings))
        await connection.execute(update(changes).where(changes.c.item_id == "f1").values(item_id="f2"))

    async with opened(tmp_path, make_index=rig.make()) as parts:
        await assert_right(rig, parts)


async def store(parts: Parts, finding_id: str, content: str, org_id: str = "red") -> None:
    """A finding is written."""
    row = {"finding_id": finding_id, "org_id": org_id, "project_id": "default", "codebase_id": "code"}
    async with parts.database.writing() as connection:
        await connection.execute(insert(findings), {**row, "content": content, "created_at": 1.0, "updated_at": 1.0})
        await record_changes(connection, "finding", [finding_id])
    parts.follower.notify()


async def test_a_record_that_cannot_be_read_is_begun_anew(tmp_path: Path, rig: Rig) -> None:
    """As after a downgrade: everything in it can be made again."""
    async with opened(tmp_path, make_index=rig.make()) as parts:
        await three_patterns(parts)
    async with opened(tmp_path, background=False) as parts, parts.database.writing() as connection:
        await connection.execute(update(facts).where(facts.c.name == "qdrant").values(value='{"version": 99}'))

    async with opened(tmp_path, make_index=rig.make()) as parts:
        await assert_right(rig, parts)


# -- rebuild -----------------------------------------------------------------------------------------


async def test_a_rebuild_is_a_new_collection_and_the_old_one_goes(
    tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old one is searched until the new one is complete, and removed afterwards."""
    monkeypatch.setattr(leader_module, "RETIRE_SECONDS", 0.2)
    async with opened(tmp_path, make_index=rig.make()) as parts:
        names = await three_patterns(parts)
        before = record_of(parts.index).serving.name
        searched: list[str] = []

        async def watched(method: str, call: Callable[[], Awaitable[Any]]) -> Any:
            if method == "upsert":
                searched.extend(await found(parts, "going in circles"))
            return await call()

        rig.fault = watched
        async with asyncio.timeout(PATIENCE):
            assert await parts.index.rebuild() == 3
        rig.fault = None
        assert names[0] in searched
        assert record_of(parts.index).serving.name != before
        await in_the_end(rig.names, {record_of(parts.index).serving.name})
        await assert_right(rig, parts)


async def test_a_rebuild_without_a_cluster_says_so(tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asked is told, and it is made up for."""
    monkeypatch.setattr(index_module, "REBUILD_PATIENCE", 0.2)
    async with opened(tmp_path, make_index=rig.make()) as parts:
        await three_patterns(parts)
        before = record_of(parts.index).serving.name
        rig.fault = away
        with pytest.raises(IndexFailure, match="made up for as soon as that is over"):
            await parts.index.rebuild()
        rig.fault = None
        await until(lambda: record_of(parts.index).serving.name != before)
        await assert_right(rig, parts)


# -- several servers -----------------------------------------------------------------------------------


async def test_of_several_servers_one_brings_the_changes_and_all_find_them(tmp_path: Path, rig: Rig) -> None:
    """Each change is embedded and written once; if the one that does it stops, another goes on."""
    words = [WordEmbeddings(), WordEmbeddings()]
    make = rig.make(leadership=by_file(tmp_path))
    async with opened(tmp_path, words[1], make_index=make) as two:
        async with opened(tmp_path, words[0], make_index=make) as one:
            rig.calls.clear()
            first = await one.patterns.create(ADMIN, e2("written by the first"))
            await one.settle()
            await two.settle()
            assert await found(one, "written by the first") == [first.pattern_id]
            assert await found(two, "written by the first") == [first.pattern_id]
            assert rig.calls.count("upsert") == 1
        second = await two.patterns.create(ADMIN, e2("something else entirely"))
        await two.settle()
        assert await found(two, "something else entirely") == [second.pattern_id]
        await assert_right(rig, two)


async def test_two_that_both_think_they_lead_do_no_harm(tmp_path: Path, rig: Rig) -> None:
    """A lock that was lost without notice: the record is only written by whoever knows the last one."""
    make = rig.make()  # everybody is always granted
    async with opened(tmp_path, make_index=make) as one, opened(tmp_path, make_index=make) as two:
        for number in range(10):
            await (one, two)[number % 2].patterns.create(ADMIN, e2(f"number {number}"))
        await two.settle()
        await assert_right(rig, one)


async def test_only_one_process_holds_the_lock(tmp_path: Path) -> None:
    """It never waits, and who leaves lets the next one in."""
    leadership = by_file(tmp_path)
    async with leadership("index") as first, leadership("index") as second, leadership("other") as other:
        assert (first, second, other) == (True, False, True)
    async with leadership("index") as again:
        assert again
