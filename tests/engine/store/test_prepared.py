"""Statements for many rows at once: each row is there once, and what is new is counted."""

from __future__ import annotations

import pytest

from engine.store.opened import opened
from reasonblocks.engine.store.prepared import InsertNew, UpdateEach
from reasonblocks.engine.store.schema import organisations
from support.cluster import Place

INSERT = InsertNew(organisations, ("org_id", "created_at"))
UPDATE = UpdateEach(organisations, ("created_at",), key="org_id")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 31, 32, 33, 95, 500])
async def test_any_number_of_rows_is_inserted(place: Place, count: int) -> None:
    """All of them, each with its own values, and how many were new is told; then each is changed for itself."""
    rows = [(f"org {number}", float(number)) for number in range(count)]
    async with opened(place) as store:
        old = rows[::3]
        assert await store.transactions.run(lambda connection: INSERT.run(connection, old)) == len(old)
        assert await store.transactions.run(lambda connection: INSERT.run(connection, rows)) == count - len(old)
        assert sorted(await store.query("SELECT org_id, created_at FROM organisations")) == sorted(rows)
        turned = [(-created_at, org) for org, created_at in rows]
        await store.transactions.run(lambda connection: UPDATE.run(connection, turned))
        changed = await store.query("SELECT created_at, org_id FROM organisations")
    assert sorted(changed) == sorted(turned)
