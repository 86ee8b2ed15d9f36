"""What an index holds, and what it should hold by the tables: for comparing the two."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import qdrant_edge as edge
from sqlalchemy import select

from reasonblocks.engine.index.findings import finding_scope
from reasonblocks.engine.index.slot import Slot
from reasonblocks.engine.index.sources import unpack
from reasonblocks.engine.patterns.catalogue import E2_SCOPE, e1_scope
from reasonblocks.engine.patterns.fields import embedding_text
from reasonblocks.engine.store.database import Database
from reasonblocks.engine.store.schema import findings, patterns, vectors
from reasonblocks.engine.store.values import digest, load

Contents = dict[str, tuple[str, str | None, tuple[float, ...]]]
"""Scope, failure type and direction of each item."""


def on_disk(data_dir: Path) -> Contents | None:
    """What the first free slot holds, if it is vouched for."""
    slot = Slot.take(data_dir / "index")
    try:
        marker = slot.marker()
        if marker is None:
            return None
        shard = slot.open(marker)
        records, _ = shard._shard.scroll(edge.ScrollRequest(limit=10_000, with_payload=True, with_vector=True))
        held = {
            record.payload["item"]: (
                record.payload["scope"],
                record.payload.get("failure_type"),
                direction(np.asarray(record.vector, np.float32)),
            )
            for record in records
            if record.payload
        }
        assert len(held) == len(records) == marker.points
        shard.close()
        return held
    finally:
        slot.close()


async def by_the_tables(database: Database, model: str) -> Contents:
    """What an index has to hold, worked out without any of the code that fills it."""
    expected: Contents = {}
    async with database.reading() as connection:
        rows = await connection.execute(select(vectors).where(vectors.c.model == model))
        made = {(row.kind, row.item_id): row for row in rows}
        for row in await connection.execute(select(patterns)):
            text = embedding_text(row.tier, load(row.fields))
            if row.status == "live" and not row.deleted and row.tier != "e3" and text:
                scope = E2_SCOPE if row.tier == "e2" else e1_scope(row.org_id)
                expected[row.pattern_id] = (scope, row.failure_type, _made(made["pattern", row.pattern_id], text))
        for row in await connection.execute(select(findings)):
            scope = finding_scope(row.org_id, row.codebase_id)
            expected[row.finding_id] = (scope, None, _made(made["finding", row.finding_id], row.content))
    return expected


def _made(row: Any, text: str) -> tuple[float, ...]:
    assert row.digest == digest(text)
    assert row.dimension * 4 == len(row.vector)
    return direction(unpack(row.vector))


def direction(vector: Any) -> tuple[float, ...]:
    """A vector at length 1, as far as it has to be the same everywhere."""
    length = np.linalg.norm(vector)
    return tuple(np.round(vector / (length or 1.0), 4).tolist())
