"""A data directory that holds many patterns with their vectors, so that nothing has to be embedded."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from serving.material import FAILURE_TYPES, Material
from sqlalchemy import insert

from reasonblocks.engine.embedding.base import Embedder, normalised
from reasonblocks.engine.index.follower import record_changes
from reasonblocks.engine.index.sources import store_vectors
from reasonblocks.engine.patterns.catalogue import KIND
from reasonblocks.engine.patterns.fields import embedding_text, pattern_digest
from reasonblocks.engine.principal import DEFAULT_ORG
from reasonblocks.engine.store.database import Database
from reasonblocks.engine.store.migrate import prepare
from reasonblocks.engine.store.schema import patterns
from reasonblocks.engine.store.tenants import ensure
from reasonblocks.engine.store.values import digest, dump, now

Vector = NDArray[np.float32]
NEAR, FAR = (0.8, 0.77, 0.75), 0.4
"""The cosines of the patterns that a context finds in each tier, and of those that only another context finds."""
ASKED_FAILURE = FAILURE_TYPES[1]
"""What those e2 patterns are about."""
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Planned:
    """A pattern that is to be stored."""

    pattern_id: str
    tier: str
    failure_type: str | None
    vector: Vector


def plan(count: int, contexts: NDArray[np.float32]) -> list[Planned]:
    """So many patterns, half e1 and half e2, in random directions but for those that are near a context."""
    generator = np.random.default_rng(1)
    near = [(place, cosine) for place in range(len(contexts)) for cosine in NEAR]
    planned = []
    for tier, share in (("e1", count // 2), ("e2", count - count // 2)):
        vectors = normalised(generator.standard_normal((share, contexts.shape[1])))
        for place, vector in enumerate(vectors):
            is_near = place < len(near)
            about = ASKED_FAILURE if is_near else FAILURE_TYPES[place % len(FAILURE_TYPES)]
            planned.append(
                Planned(
                    f"{tier}-bench-{place:06d}",
                    tier,
                    about if tier == "e2" else None,
                    _turned(vector, contexts, *near[place]) if is_near else vector,
                )
            )
    return planned


def _turned(vector: Vector, contexts: NDArray[np.float32], place: int, cosine: float) -> Vector:
    """A vector with this cosine to one of the contexts, and far from the others."""
    wanted = np.full(len(contexts), FAR)
    wanted[place] = cosine
    along = np.linalg.solve(contexts @ contexts.T, wanted) @ contexts
    aside = vector - np.linalg.lstsq(contexts.T, vector, rcond=None)[0] @ contexts
    rest = math.sqrt(max(0.0, 1.0 - float(along @ along))) / np.linalg.norm(aside)
    turned: Vector = (along + rest * aside).astype(np.float32)
    return turned / np.linalg.norm(turned)


async def fill(data_dir: Path, planned: Sequence[Planned], material: Material, embedder: Embedder) -> None:
    """Store the patterns, live, with their vectors as the embedder would have made them."""
    database = Database.at(data_dir)
    try:
        await prepare(database)
        for start in range(0, len(planned), _AT_ONCE):
            await _store(database, planned[start : start + _AT_ONCE], material, embedder)
    finally:
        await database.aclose()


async def _store(database: Database, planned: Sequence[Planned], material: Material, embedder: Embedder) -> None:
    said = [material.pattern(pattern.tier) for pattern in planned]
    rows = [_row(pattern, fields) for pattern, fields in zip(planned, said, strict=True)]
    made = {
        pattern.pattern_id: (digest(embedding_text(pattern.tier, fields)), pattern.vector)
        for pattern, fields in zip(planned, said, strict=True)
    }
    async with database.writing() as connection:
        await connection.run_sync(ensure, [(DEFAULT_ORG, None)], now())
        await connection.execute(insert(patterns), rows)
        await store_vectors(connection, KIND, embedder.name, embedder.dimension, made)
        await record_changes(connection, KIND, list(made))


def _row(pattern: Planned, fields: dict[str, Any]) -> dict[str, Any]:
    qualities: dict[str, Any] = {
        "failure_type": pattern.failure_type,
        "gate_threshold": None,
        "model_family": "",
        "status": "live",
    }
    return {
        "pattern_id": pattern.pattern_id,
        "tier": pattern.tier,
        "org_id": DEFAULT_ORG if pattern.tier == "e1" else None,
        "fields": dump(fields),
        "provenance": "mined",
        "version": 1,
        "digest": pattern_digest(pattern.tier, fields, **qualities),
        "deleted": False,
        "created_at": now(),
        "updated_at": now(),
        **qualities,
    }
