"""Another embedding model: the old one's vectors are searched until the new one's are complete, and never both."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from reasonblocks.engine.embedding.minilm import NAME
from reasonblocks.engine.index.cluster import leader as leader_module
from reasonblocks.engine.index.cluster import outbox as outbox_module
from reasonblocks.engine.index.cluster.record import Target
from reasonblocks.engine.index.models import Models
from reasonblocks.engine.index.thread import IndexFailure
from reasonblocks.engine.requests import PatternChange
from reasonblocks.engine.store.schema import vectors
from support.clustered import ADMIN, assert_right, e2, found, until
from support.other_words import OLD, TEXTS, OtherWords
from support.parts import WordEmbeddings, opened
from support.qdrant import Rig, away, record_of


async def test_the_old_vectors_are_searched_until_the_new_ones_are_complete(
    tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lookup finds what it should at every moment of the switch, always by the model whose vectors are searched."""
    monkeypatch.setattr(leader_module, "RETIRE_SECONDS", 0.2)
    async with opened(tmp_path, make_index=rig.make()) as parts:
        names = [(await parts.patterns.create(ADMIN, e2(text))).pattern_id for text in TEXTS]
        await assert_right(rig, parts)
        old = record_of(parts.index).serving
    other = OtherWords()
    other.wait_for_permits()
    async with opened(tmp_path, other, make_index=rig.make(previous=OLD), settle=False) as parts:
        await until(lambda: record_of(parts.index).building is not None)
        await until(lambda: parts.index.state() == "ok")
        assert record_of(parts.index).serving.name == old.name
        assert record_of(parts.index).building.target.model == "OtherWords:other-words"
        for text, name in zip(TEXTS, names, strict=True):
            assert await found(parts, text) == [name]
        assert not set(other.embedded) & set(TEXTS), "queries go to the model whose vectors are searched"

        other.permits.release(100)
        rounds = 0
        while record_of(parts.index).serving.name == old.name:
            for text, name in zip(TEXTS, names, strict=True):
                assert await found(parts, text) == [name]
            rounds += 1
        for text, name in zip(TEXTS, names, strict=True):
            assert await found(parts, text) == [name]
        await assert_right(rig, parts)
        assert rounds
        await until(lambda: not record_of(parts.index).retired)
        assert await rig.names() == {record_of(parts.index).serving.name}


async def test_what_is_edited_during_a_switch_is_in_both(
    tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New and changed patterns are found at once, by the old model and then by the new one."""
    monkeypatch.setattr(outbox_module, "PAGE", 1)
    async with opened(tmp_path, make_index=rig.make()) as parts:
        names = [(await parts.patterns.create(ADMIN, e2(text))).pattern_id for text in TEXTS]
        await parts.settle()
    other = OtherWords()
    other.wait_for_permits()
    async with opened(tmp_path, other, make_index=rig.make(previous=OLD), settle=False) as parts:
        await until(lambda: record_of(parts.index).building is not None)
        new = await parts.patterns.create(ADMIN, e2("saddle comet orchid"))
        await parts.patterns.change(ADMIN, "e2", names[0], PatternChange({"diagnosis": "marble falcon ginger"}))
        await parts.patterns.delete(ADMIN, "e2", names[1])
        other.permits.release(1)  # between two texts there is time for what is new
        await parts.settle()
        assert record_of(parts.index).building is not None
        for _ in range(2):
            assert await found(parts, "saddle comet orchid") == [new.pattern_id]
            assert await found(parts, "marble falcon ginger") == [names[0]]
            assert await found(parts, TEXTS[1]) == []
            other.permits.release(100)
            await until(lambda: record_of(parts.index).building is None)
        await assert_right(rig, parts)


async def test_a_switch_that_is_interrupted_goes_on_where_it_was(
    tmp_path: Path, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart or an outage in the middle embeds nothing twice; back to the old model costs nothing at all."""
    monkeypatch.setattr(outbox_module, "PAGE", 1)
    first, other = WordEmbeddings(), OtherWords()
    other.wait_for_permits()
    other.permits.release(3)
    async with opened(tmp_path, first, make_index=rig.make()) as parts:
        for text in TEXTS:
            await parts.patterns.create(ADMIN, e2(text))
        await parts.settle()
    async with opened(tmp_path, other, make_index=rig.make(previous=OLD), settle=False) as parts:
        await until(lambda: len(set(other.embedded) & set(TEXTS)) == 3)
        rig.fault = away
        other.permits.release(100)
        await asyncio.sleep(0.1)
    rig.fault = None
    async with opened(tmp_path, other, make_index=rig.make(previous=OLD)) as parts:
        await until(lambda: record_of(parts.index).building is None)
        await assert_right(rig, parts)
        assert sorted(text for text in other.embedded if text in TEXTS) == sorted(TEXTS)
    back = WordEmbeddings()
    async with opened(tmp_path, back, make_index=rig.make(previous="test_switch_has_no:such_thing")) as parts:
        await until(lambda: (one := record_of(parts.index).serving) is not None and one.target.model.endswith(":words"))
        await assert_right(rig, parts)
        assert not set(back.embedded) & set(TEXTS)
        async with parts.database.reading() as connection:
            models = set(await connection.scalars(select(vectors.c.model)))
        assert models == {"WordEmbeddings:words", "OtherWords:other-words"}


async def test_where_the_old_embedder_cannot_be_had_the_new_collection_is_searched_as_far_as_it_is(
    tmp_path: Path, rig: Rig
) -> None:
    """No query is ever compared with vectors of another model: rather nothing is found for a while."""
    async with opened(tmp_path, make_index=rig.make()) as parts:
        names = [(await parts.patterns.create(ADMIN, e2(text))).pattern_id for text in TEXTS]
        await parts.settle()
        old = record_of(parts.index).serving.name
    searched: list[str] = []

    async def watched(method: str, call: Callable[[], Awaitable[Any]]) -> Any:
        searched.append(method)
        return await call()

    other = OtherWords()
    other.wait_for_permits()
    async with opened(tmp_path, other, make_index=rig.make(), settle=False) as parts:
        await until(lambda: (one := record_of(parts.index).building) is not None and one.made)
        rig.fault = watched
        assert await found(parts, TEXTS[0].upper()) == []
        assert "query_batch_points" in searched
        assert "is being filled" in parts.index.state()
        assert record_of(parts.index).serving.name == old, "for servers that have the embedder"
        other.permits.release(100)
        await until(lambda: record_of(parts.index).serving.name != old)
        assert await found(parts, TEXTS[0]) == [names[0]]


async def test_a_server_of_the_old_configuration_says_what_it_lacks(tmp_path: Path, rig: Rig) -> None:
    """In the middle of a roll-out: the server that started last decides, one that cannot follow says so."""
    async with opened(tmp_path, make_index=rig.make()) as old:
        name = (await old.patterns.create(ADMIN, e2(TEXTS[0]))).pattern_id
        await old.settle()
        async with opened(tmp_path, OtherWords(), make_index=rig.make(previous=OLD)) as new:
            assert await found(old, TEXTS[0]) == [name]
            await until(lambda: record_of(new.index).serving.target.model == "OtherWords:other-words")
            await until(lambda: "other-words" in old.index.state())
            assert "REASONBLOCKS_PREVIOUS_EMBEDDINGS" in old.index.state()
            with pytest.raises(IndexFailure, match="other-words"):
                await found(old, TEXTS[0])
            assert await found(new, TEXTS[0]) == [name]


async def test_a_model_is_known_by_its_name_and_nothing_else_of_the_database_is_called() -> None:
    """The default and LangChain's providers; a path to code that stands in the database is not followed."""
    from reasonblocks.engine.embedding.worker import shared_worker

    own = await asyncio.to_thread(shared_worker, WordEmbeddings())
    models = Models(own)
    assert await models.find(Target("WordEmbeddings:words", 1024, "")) is own
    default = await models.find(Target(NAME, 384, ""))
    assert default is not None
    assert default.embedder.name == NAME
    assert await models.find(Target("os:getcwd", 3, "")) is None
    assert "nothing says how 'os:getcwd' is made" in models.complaint(Target("os:getcwd", 3, ""))
    assert await models.find(Target("support.parts:WordEmbeddings", 1024, "")) is None
