"""Another embedding model for an index in process: what the one before has left answers until all is made anew."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from reasonblocks.engine.index.index import VectorIndex
from reasonblocks.engine.requests import PatternChange
from support.clustered import ADMIN, e2, found, until
from support.contents import by_the_tables, on_disk
from support.other_words import OLD, TEXTS, OtherWords
from support.parts import Parts, opened


def with_previous(data_dir: Path) -> Any:
    """An index that knows which embedder there was before."""
    return lambda *parts: VectorIndex(*parts, data_dir / "index", OLD)


async def filled(data_dir: Path) -> list[str]:
    """The ids of patterns that the first model has embedded."""
    async with opened(data_dir) as parts:
        names = [(await parts.patterns.create(ADMIN, e2(text))).pattern_id for text in TEXTS]
        await parts.settle()
    return names


async def assert_right(parts: Parts, data_dir: Path) -> None:
    """What is on disk once it is closed is what the new model has made."""
    await parts.settle()
    await until(lambda: parts.index._former is None)
    expected = await by_the_tables(parts.database, "OtherWords:other-words")
    assert len(expected) == len(TEXTS)
    await parts.index.aclose()
    assert await asyncio.to_thread(on_disk, data_dir) == expected


async def test_the_old_vectors_are_searched_until_the_new_ones_are_complete(tmp_path: Path) -> None:
    """Nothing is missed at any moment, and a query is only ever embedded by the model whose vectors are searched."""
    names = await filled(tmp_path)
    other = OtherWords()
    other.wait_for_permits()
    async with opened(tmp_path, other, make_index=with_previous(tmp_path), settle=False) as parts:
        for text, name in zip(TEXTS, names, strict=True):
            assert await found(parts, text) == [name]
        assert not set(other.embedded) & set(TEXTS)
        assert parts.index.state() == "ok"

        other.permits.release(100)
        while parts.index._former is not None:
            for text, name in zip(TEXTS, names, strict=True):
                assert await found(parts, text) == [name]
        for text, name in zip(TEXTS, names, strict=True):
            assert await found(parts, text) == [name]
        await assert_right(parts, tmp_path)


async def test_what_changes_during_a_switch_is_not_found_by_what_it_said_before(tmp_path: Path) -> None:
    """Changed and deleted patterns are left out of the old vectors; they are found by the new ones."""
    names = await filled(tmp_path)
    async with opened(tmp_path, background=False) as parts:
        await parts.patterns.change(ADMIN, "e2", names[0], PatternChange({"diagnosis": "saddle comet orchid"}))
    other = OtherWords()
    other.wait_for_permits()
    async with opened(tmp_path, other, make_index=with_previous(tmp_path), settle=False) as parts:
        await parts.patterns.change(ADMIN, "e2", names[1], PatternChange({"diagnosis": "marble falcon ginger"}))
        await parts.follower.refresh()
        assert await found(parts, TEXTS[0]) == []
        assert await found(parts, TEXTS[1]) == []
        assert await found(parts, TEXTS[2]) == [names[2]]
        other.permits.release(100)
        await until(lambda: parts.index._former is None)
        assert await found(parts, "saddle comet orchid") == [names[0]]
        assert await found(parts, "marble falcon ginger") == [names[1]]
        await assert_right(parts, tmp_path)


async def test_a_restart_in_the_middle_of_a_switch_still_has_the_old_vectors(tmp_path: Path) -> None:
    """Until the new ones are complete the files of the old ones stay as they are; nothing is embedded twice."""
    names = await filled(tmp_path)
    other = OtherWords()
    other.wait_for_permits()
    async with opened(tmp_path, other, make_index=with_previous(tmp_path), settle=False) as parts:
        assert await found(parts, TEXTS[0]) == [names[0]]
        await until(lambda: not parts.index._rebuild_wanted and not parts.index._rebuilding)
        other.permits.release(100)  # the texts at hand are embedded, but not brought into the index
    async with opened(tmp_path, other, make_index=with_previous(tmp_path), settle=False) as parts:
        assert await found(parts, TEXTS[0]) == [names[0]]
        await assert_right(parts, tmp_path)


async def test_without_the_old_embedder_the_new_index_is_searched_as_far_as_it_is(tmp_path: Path) -> None:
    """Two models never meet: rather nothing is found for a while."""
    names = await filled(tmp_path)
    other = OtherWords()
    other.wait_for_permits()
    async with opened(tmp_path, other, settle=False) as parts:
        assert await found(parts, TEXTS[0].upper()) == []
        assert parts.index.state() != "ok"
        other.permits.release(100)
        await parts.settle()
        assert await found(parts, TEXTS[0]) == [names[0]]
        await assert_right(parts, tmp_path)
