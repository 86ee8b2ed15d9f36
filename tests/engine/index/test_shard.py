"""The shard: what is put in is found, in its scope and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasonblocks.engine.index.shard import Point, Shard, Vector, point_id, scope

DIMENSION = 8
HERE, THERE = scope("e1", "here"), scope("e1", "there")


def vector(*values: float) -> Vector:
    """A vector with these first components."""
    return np.array([*values, *[0.0] * (DIMENSION - len(values))], np.float32)


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Shard]:
    """An empty shard."""
    shard = Shard.create(tmp_path / "shard", DIMENSION)
    yield shard
    shard.close()


def test_the_nearest_come_first_with_their_cosine(shard: Shard) -> None:
    """Hits are ordered by cosine, whatever the length of their vectors."""
    shard.upsert(
        [
            Point("pattern", "far", HERE, None, vector(0, 1)),
            Point("pattern", "near", HERE, None, vector(5, 0)),
            Point("pattern", "between", HERE, None, vector(1, 1)),
        ]
    )

    hits = shard.search(vector(1, 0), HERE, None, 10, None)

    assert [hit.item_id for hit in hits] == ["near", "between", "far"]
    assert [hit.cosine for hit in hits] == pytest.approx([1.0, 0.5**0.5, 0.0], abs=1e-6)


def test_a_search_stays_in_its_scope(shard: Shard) -> None:
    """Items of another scope are not found, however near."""
    shard.upsert([Point("pattern", "a", HERE, None, vector(1)), Point("pattern", "b", THERE, None, vector(1))])

    assert [hit.item_id for hit in shard.search(vector(1), THERE, None, 10, None)] == ["b"]
    assert shard.search(vector(1), scope("e1", "nowhere"), None, 10, None) == []


def test_a_failure_type_narrows_a_search(shard: Shard) -> None:
    """Only items about it are found; one that is about nothing is not."""
    shard.upsert(
        [
            Point("pattern", "loop", HERE, "loop", vector(1)),
            Point("pattern", "drift", HERE, "drift", vector(1)),
            Point("pattern", "none", HERE, None, vector(1)),
        ]
    )

    assert [hit.item_id for hit in shard.search(vector(1), HERE, "loop", 10, None)] == ["loop"]
    assert len(shard.search(vector(1), HERE, None, 10, None)) == 3


def test_limit_and_least_cosine_bound_the_hits(shard: Shard) -> None:
    """No more than the limit, none below the least cosine."""
    shard.upsert([Point("pattern", f"{angle}", HERE, None, vector(1, angle)) for angle in range(5)])

    assert len(shard.search(vector(1), HERE, None, 2, None)) == 2
    assert [hit.item_id for hit in shard.search(vector(1), HERE, None, 10, 0.7)] == ["0", "1"]


def test_an_upsert_replaces_and_a_delete_removes(shard: Shard) -> None:
    """One point for each kind and id; what is not there is deleted without complaint."""
    shard.upsert([Point("pattern", "a", HERE, "loop", vector(1)), Point("finding", "a", HERE, None, vector(1))])
    shard.upsert([Point("pattern", "a", THERE, None, vector(0, 1))])
    assert shard.count() == 2
    assert [hit.cosine for hit in shard.search(vector(0, 1), THERE, None, 10, None)] == [1.0]

    shard.delete("pattern", ["a", "unknown"])

    assert shard.count() == 1
    assert [hit.item_id for hit in shard.search(vector(1), HERE, None, 10, None)] == ["a"]


def test_what_was_flushed_is_there_after_loading(tmp_path: Path) -> None:
    """A shard that is closed and loaded again finds the same."""
    shard = Shard.create(tmp_path / "shard", DIMENSION)
    shard.upsert([Point("pattern", "a", HERE, "loop", vector(1))])
    shard.flush()
    shard.close()

    loaded = Shard.load(tmp_path / "shard", DIMENSION)

    assert [hit.item_id for hit in loaded.search(vector(1), HERE, "loop", 10, None)] == ["a"]
    loaded.close()


@given(st.lists(st.lists(st.text(), min_size=1, max_size=3), min_size=2, max_size=2, unique_by=tuple))
def test_different_names_make_different_scopes_and_ids(names: list[list[str]]) -> None:
    """No two sets of names share a scope: an organisation cannot be called so that it reaches into another one."""
    assert scope(*names[0]) != scope(*names[1])
    assert scope(*names[0]).isascii()
    assert point_id("pattern", scope(*names[0])) != point_id("pattern", scope(*names[1]))
