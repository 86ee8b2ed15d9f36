"""The vector index: it says what the tables say, whatever happened to its files."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, insert, select, update

from reasonblocks.engine.index import index as index_module
from reasonblocks.engine.index import keeper
from reasonblocks.engine.index.follower import prune_changes, record_changes
from reasonblocks.engine.index.thread import IndexFailure
from reasonblocks.engine.principal import LOCAL, Principal
from reasonblocks.engine.requests import PatternChange, PatternCreate
from reasonblocks.engine.store.schema import changes, findings, vectors
from support.contents import by_the_tables, on_disk
from support.parts import PATIENCE, Parts, WordEmbeddings, opened, slots

ADMIN = Principal("admin")


def e2(text: str, **settings: Any) -> PatternCreate:
    """An e2 pattern about this situation."""
    return PatternCreate("e2", {"diagnosis": text, "intervention": "stop"}, **settings)


async def finding(parts: Parts, finding_id: str, content: str, org_id: str = "default") -> None:
    """A finding is written by whoever writes findings."""
    row = {"finding_id": finding_id, "org_id": org_id, "project_id": "default", "codebase_id": "code"}
    async with parts.database.writing() as connection:
        await connection.execute(insert(findings), {**row, "content": content, "created_at": 1.0, "updated_at": 1.0})
        await record_changes(connection, "finding", [finding_id])
    parts.follower.notify()


async def assert_right(parts: Parts, data_dir: Path) -> None:
    """What is on disk once it is closed is what the tables say."""
    await parts.settle()
    expected = await by_the_tables(parts.database, parts.embedding.embedder.name)
    assert parts.index.state() == "ok"
    await parts.index.aclose()
    assert await asyncio.to_thread(on_disk, data_dir) == expected
    assert expected


# -- following -------------------------------------------------------------------------------------


async def test_it_holds_live_patterns_that_are_compared_and_findings(tmp_path: Path) -> None:
    """E1 and e2 that are live, and findings; no e3, no candidates, nothing retired or deleted."""
    async with opened(tmp_path) as parts:
        kept = await parts.patterns.create(ADMIN, e2("going in circles", failure_type="loop"))
        await parts.patterns.create(LOCAL, PatternCreate("e1", {"observation": "the cache is stale"}))
        await parts.patterns.create(ADMIN, PatternCreate("e3", {"instruction": "read the error"}))
        await parts.patterns.create(ADMIN, e2("not yet approved", status="candidate"))
        retired = await parts.patterns.create(ADMIN, e2("was once true"))
        deleted = await parts.patterns.create(ADMIN, e2("was never true"))
        await finding(parts, "f1", "the tests need a database")
        await parts.settle()
        await parts.patterns.change(ADMIN, "e2", retired.pattern_id, PatternChange(status="retired"))
        await parts.patterns.delete(ADMIN, "e2", deleted.pattern_id)
        await parts.patterns.change(ADMIN, "e2", kept.pattern_id, PatternChange({"diagnosis": "going round"}))

        await assert_right(parts, tmp_path)

        async with parts.database.reading() as connection:
            rows = (await connection.execute(select(vectors.c.item_id))).all()
        assert len(rows) == 3, "the vectors of what is gone are gone as well"


async def test_a_change_that_leaves_the_text_alone_embeds_nothing(tmp_path: Path) -> None:
    """Another failure type or threshold does not cost an embedding."""
    words = WordEmbeddings()
    async with opened(tmp_path, words) as parts:
        pattern = await parts.patterns.create(ADMIN, e2("going in circles"))
        await parts.settle()
        words.embedded.clear()

        await parts.patterns.change(ADMIN, "e2", pattern.pattern_id, PatternChange(failure_type="loop"))
        await assert_right(parts, tmp_path)

        assert words.embedded == []


async def test_a_text_that_cannot_be_embedded_does_not_stand_in_the_way(tmp_path: Path) -> None:
    """The others are found, the state says what is missing, and it is made good once it can be."""
    words = WordEmbeddings()
    words.refused.add("poison")
    async with opened(tmp_path, words) as parts:
        bad = await parts.patterns.create(ADMIN, e2("poison"))
        await parts.patterns.create(ADMIN, e2("a good text"))
        await parts.settle()
        assert "1 items cannot be found" in parts.index.state()
        assert "no vector for 'poison'" in parts.index.state()
        assert len(await by_name(parts, "a good text")) == 1

        await parts.patterns.change(ADMIN, "e2", bad.pattern_id, PatternChange({"diagnosis": "antidote"}))
        await assert_right(parts, tmp_path)


async def by_name(parts: Parts, text: str) -> list[str]:
    """What a search for a text finds above all gates."""
    vector = await parts.embedding.embed(text)
    hits = await parts.index.serving().search(vector, '["e2"]', limit=10, least_cosine=0.9)
    return [hit.item_id for hit in hits]


async def test_a_pattern_is_not_found_by_what_it_said_before(tmp_path: Path) -> None:
    """While the new text waits for its vector, the old one is not used."""
    words = WordEmbeddings()
    async with opened(tmp_path, words) as parts:
        pattern = await parts.patterns.create(ADMIN, e2("the old text"))
        await parts.settle()
        words.refused.add("quite another")
        await parts.patterns.change(ADMIN, "e2", pattern.pattern_id, PatternChange({"diagnosis": "quite another"}))
        await parts.settle()

        assert await by_name(parts, "the old text") == []


# -- starting again --------------------------------------------------------------------------------


async def test_a_start_takes_what_is_there_and_embeds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that are vouched for are used as they are: not even rebuilt."""
    async with opened(tmp_path) as parts:
        await parts.patterns.create(ADMIN, e2("going in circles"))
        await finding(parts, "f1", "the tests need a database")
        await parts.settle()
    monkeypatch.setattr(keeper.Keeper, "begin_rebuild", None)
    words = WordEmbeddings()

    async with opened(tmp_path, words) as parts:
        await assert_right(parts, tmp_path)
        assert len(words.embedded) <= 1, "at most to see how many dimensions there are"


async def test_a_start_catches_up_with_what_happened_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the changes since are applied."""
    async with opened(tmp_path) as parts:
        gone = await parts.patterns.create(ADMIN, e2("to be deleted"))
        kept = await parts.patterns.create(ADMIN, e2("to be changed"))
        await parts.settle()
    monkeypatch.setattr(keeper.Keeper, "begin_rebuild", None)
    async with opened(tmp_path, background=False) as parts:
        await parts.patterns.delete(ADMIN, "e2", gone.pattern_id)
        await parts.patterns.change(ADMIN, "e2", kept.pattern_id, PatternChange({"diagnosis": "changed"}))
        await parts.patterns.create(ADMIN, e2("new"))

    async with opened(tmp_path) as parts:
        await assert_right(parts, tmp_path)


def lose_everything(data_dir: Path) -> None:
    shutil.rmtree(data_dir / "index")


def lose_the_marker(data_dir: Path) -> None:
    (slots(data_dir)[0] / "marker.json").unlink()


def damage(data_dir: Path, name: str, change: Callable[[Path], None]) -> None:
    """Change every file of a shard that has this name."""
    victims = list(slots(data_dir)[0].rglob(name))
    assert victims
    for victim in victims:
        change(victim)


def cut_the_vectors(data_dir: Path) -> None:
    damage(data_dir, "chunk_0.mmap", lambda path: os.truncate(path, 100))


def overwrite_the_ids(data_dir: Path) -> None:
    damage(
        data_dir, "mutable_id_tracker.mappings", lambda path: path.write_bytes(b"\xff" * path.stat().st_size) and None
    )


def forge_the_count(data_dir: Path) -> None:
    damage(
        data_dir,
        "marker.json",
        lambda path: path.write_text(path.read_text().replace('"points":3', '"points":4')) and None,
    )


def forge_the_format(data_dir: Path) -> None:
    damage(
        data_dir,
        "marker.json",
        lambda path: path.write_text(path.read_text().replace('"format":1', '"format":0')) and None,
    )


@pytest.mark.parametrize(
    "accident",
    [lose_everything, lose_the_marker, cut_the_vectors, overwrite_the_ids, forge_the_count, forge_the_format],
)
async def test_a_lost_or_torn_index_is_rebuilt_from_the_tables(
    tmp_path: Path, accident: Callable[[Path], None]
) -> None:
    """Whatever happened to the files, the next start has the index right, and embeds nothing for it."""
    async with opened(tmp_path) as parts:
        for text in ("going in circles", "losing the thread", "claiming success"):
            await parts.patterns.create(ADMIN, e2(text))
        await parts.settle()
    await asyncio.to_thread(accident, tmp_path)
    words = WordEmbeddings()

    async with opened(tmp_path, words) as parts:
        await assert_right(parts, tmp_path)
        assert len(words.embedded) <= 1


async def test_another_database_under_the_same_index_is_noticed(tmp_path: Path) -> None:
    """A restored backup does not know the changes that the index was made from."""
    async with opened(tmp_path) as parts:
        await parts.patterns.create(ADMIN, e2("before the backup"))
        await parts.settle()
        await finding(parts, "f1", "after the backup")
        await parts.settle()
    async with opened(tmp_path, background=False) as parts, parts.database.writing() as connection:
        await connection.execute(delete(findings))
        await connection.execute(update(changes).where(changes.c.item_id == "f1").values(item_id="f2"))

    async with opened(tmp_path) as parts:
        await assert_right(parts, tmp_path)


async def test_changes_that_were_pruned_meanwhile_lead_to_a_rebuild(tmp_path: Path) -> None:
    """An index that was closed for too long cannot know what it missed."""
    async with opened(tmp_path) as parts:
        await parts.patterns.create(ADMIN, e2("old"))
        await parts.settle()
    async with opened(tmp_path, background=False) as parts:
        for number in range(4):
            await parts.patterns.create(ADMIN, e2(f"new {number}"))
        await prune_changes(parts.database, keep=1)

    async with opened(tmp_path) as parts:
        await assert_right(parts, tmp_path)


async def test_another_model_gets_an_index_of_its_own_and_the_first_keeps_its_vectors(tmp_path: Path) -> None:
    """Model name and dimension are with every vector; going back costs no embedding."""
    async with opened(tmp_path) as parts:
        await parts.patterns.create(ADMIN, e2("going in circles"))
        await parts.settle()
        first = parts.embedding.embedder.name
    other = WordEmbeddings()
    other.model = "other-words"
    async with opened(tmp_path, other) as parts:
        assert parts.embedding.embedder.name != first
        await assert_right(parts, tmp_path)
        async with parts.database.reading() as connection:
            rows = (await connection.execute(select(vectors.c.model, vectors.c.dimension))).all()
        assert {model for model, _ in rows} == {first, parts.embedding.embedder.name}
        assert {dimension for _, dimension in rows} == {parts.embedding.embedder.dimension}
    words = WordEmbeddings()

    async with opened(tmp_path, words) as parts:
        await assert_right(parts, tmp_path)
        assert len(words.embedded) <= 1


# -- life ------------------------------------------------------------------------------------------


async def test_rebuild_has_every_index_on_the_database_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked of one process, done by all: also by those that are not running."""
    rebuilt: list[keeper.Keeper] = []
    finish = keeper.Keeper.finish_rebuild

    def noted(self: keeper.Keeper) -> None:
        rebuilt.append(self)
        finish(self)

    monkeypatch.setattr(keeper.Keeper, "finish_rebuild", noted)
    async with opened(tmp_path) as one, opened(tmp_path) as two:
        await one.patterns.create(ADMIN, e2("going in circles"))
        await one.settle()
        await two.settle()
        rebuilt.clear()

        assert await one.index.rebuild() == 1
        await two.settle()
        assert rebuilt == [one.index._keeper, two.index._keeper]
        assert await by_name(two, "going in circles")

    async with opened(tmp_path, background=False) as parts, parts.database.writing() as connection:
        await record_changes(connection, "index", ["rebuild"])
    rebuilt.clear()
    async with opened(tmp_path) as parts:
        assert rebuilt == [parts.index._keeper]


async def test_the_old_shard_answers_while_the_new_one_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebuild of a running index is not noticed by those who ask, and what changes meanwhile is not lost."""
    async with opened(tmp_path) as parts:
        await parts.patterns.create(ADMIN, e2("going in circles"))
        await parts.settle()
        reached, go_on = asyncio.Event(), asyncio.Event()
        rebuild_page = parts.index._filling._rebuild_page

        async def slowly(*arguments: Any) -> Any:
            following = await rebuild_page(*arguments)
            reached.set()
            await go_on.wait()
            return following

        monkeypatch.setattr(parts.index._filling, "_rebuild_page", slowly)
        rebuilding = asyncio.create_task(parts.index.rebuild())
        async with asyncio.timeout(PATIENCE):
            await reached.wait()
        assert "being rebuilt" in parts.index.state()
        assert await by_name(parts, "going in circles")
        await parts.patterns.create(ADMIN, e2("came in between"))
        await parts.follower.refresh()
        go_on.set()

        assert await rebuilding == 2
        await assert_right(parts, tmp_path)


async def test_room_that_is_wasted_is_won_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Deleted points leave holes in the files; when they outnumber the rest, the shard is made anew."""
    monkeypatch.setattr(keeper, "LEAST_WASTE", 2)
    monkeypatch.setattr(index_module, "QUIET_SECONDS", 0.05)
    async with opened(tmp_path) as parts:
        kept = await parts.patterns.create(ADMIN, e2("kept"))
        first = await asyncio.to_thread(shard_names, tmp_path)
        for number in range(4):
            pattern = await parts.patterns.create(ADMIN, e2(f"number {number}"))
            await parts.settle()
            await parts.patterns.delete(ADMIN, "e2", pattern.pattern_id)
            await parts.settle()
        async with asyncio.timeout(PATIENCE):
            while first & await asyncio.to_thread(shard_names, tmp_path):  # noqa: ASYNC110  files set no event
                await asyncio.sleep(0.01)
        await parts.settle()
        assert await by_name(parts, "kept") == [kept.pattern_id]
        await assert_right(parts, tmp_path)


def shard_names(data_dir: Path) -> set[str]:
    """The shards in the first slot."""
    return {path.name for path in slots(data_dir)[0].glob("shard-*")}


async def test_without_a_data_directory_nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In memory means in a temporary directory that is gone at the end."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    async with opened(None) as parts:
        await parts.patterns.create(ADMIN, e2("going in circles"))
        await parts.settle()
        assert await by_name(parts, "going in circles")
        assert len(os.listdir(tmp_path)) == 1

    assert os.listdir(tmp_path) == []


async def test_a_closed_index_says_so(tmp_path: Path, no_threads_left: None) -> None:
    """Nobody gets an empty answer from an index that is not there, and no thread stays."""
    async with opened(tmp_path) as parts:
        vector = await parts.embedding.embed("anything")
        assert parts.index.state() == "ok"

    assert "not open" in parts.index.state()
    with pytest.raises(IndexFailure, match="not open"):
        await parts.index.search_all([vector], '["e2"]', limit=1)
    with pytest.raises(IndexFailure, match="not open"):
        parts.index.serving()


async def test_the_files_are_vouched_for_after_a_quiet_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is killed later has not lost its index."""
    monkeypatch.setattr(index_module, "QUIET_SECONDS", 0.05)
    async with opened(tmp_path) as parts:
        await parts.patterns.create(ADMIN, e2("going in circles"))
        await parts.settle()
        marker = slots(tmp_path)[0] / "marker.json"
        async with asyncio.timeout(PATIENCE):
            while not await asyncio.to_thread(marker.exists):  # noqa: ASYNC110  files set no event
                await asyncio.sleep(0.01)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
async def test_a_forked_child_leaves_the_files_to_its_parent(tmp_path: Path) -> None:
    """The child's copy is closed; the parent goes on, and its lock holds."""
    async with opened(tmp_path) as parts:
        await parts.patterns.create(ADMIN, e2("before the fork"))
        await parts.settle()

        child = os.fork()
        if child == 0:
            os._exit(0 if "not open" in parts.index.state() else 1)
        status = await asyncio.to_thread(os.waitpid, child, 0)
        assert os.waitstatus_to_exitcode(status[1]) == 0

        async with opened(tmp_path):
            assert len(slots(tmp_path)) == 2, "the first slot is still taken"
        await parts.patterns.create(ADMIN, e2("after the fork"))
        await assert_right(parts, tmp_path)
