"""Findings about codebases, to be found by what they say."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ..store.schema import findings
from .follower import Follower
from .serving import Index
from .shard import scope
from .sources import Item

KIND = "finding"
CATCH_UP_SECONDS = 0.5
"""How long a search waits for what is still being embedded."""
_ROOM = 8
"""Hits that are asked for beyond those wanted, since some may be gone or not for the caller."""
Admit = Callable[[Sequence[str]], Awaitable[Collection[str]]]
"""Which of some findings the caller may see."""
_COLUMNS = (findings.c.finding_id, findings.c.org_id, findings.c.codebase_id, findings.c.content)


class FindingSource:
    """Every finding is in the index, under its organisation and codebase."""

    kind = KIND
    recipe = "the content as it is"

    async def page(self, connection: AsyncConnection, after: str, limit: int) -> tuple[list[Item], str | None]:
        """Findings in the order of their ids, and the id to go on after; `None` at the end."""
        query = select(*_COLUMNS).where(findings.c.finding_id > after).order_by(findings.c.finding_id).limit(limit)
        rows = (await connection.execute(query)).all()
        return _items(rows), rows[-1].finding_id if len(rows) == limit else None

    async def named(self, connection: AsyncConnection, item_ids: Sequence[str]) -> list[Item]:
        """Those of the named that are there."""
        return _items((await connection.execute(select(*_COLUMNS).where(findings.c.finding_id.in_(item_ids)))).all())

    def candidates(self) -> Select[Any]:
        """The ids of all findings."""
        return select(findings.c.finding_id)


class FindingIndex:
    """Looks findings up; on the engine's event loop."""

    def __init__(self, index: Index, follower: Follower) -> None:
        self._index = index
        self._follower = follower

    async def search(
        self,
        org_id: str,
        codebase_id: str,
        query: str,
        top_k: int,
        *,
        least: float = 0.0,
        admit: Admit | None = None,
    ) -> list[tuple[str, float]]:
        """The ids of the findings nearest to a query, each with its similarity, the most similar first.

        Those below `least` do not count, nor those that are not admitted; of the others there are `top_k` if so many
        exist.
        """
        if not query.strip():
            return []
        self._index.serving()  # where nothing can be searched there is nothing to wait for either
        await self._catch_up()
        serving = self._index.serving()
        vector = await serving.embedding.embed(query)
        limit = top_k + _ROOM
        while True:
            hits = await serving.search(vector, finding_scope(org_id, codebase_id), limit=limit)
            found = [(hit.item_id, round(serving.calibration.similarity(hit.cosine), 4)) for hit in hits]
            near = [(name, similarity) for name, similarity in found if similarity >= least]
            admitted = await admit([name for name, _ in near]) if admit else [name for name, _ in near]
            passed = [(name, similarity) for name, similarity in near if name in admitted]
            if len(passed) >= top_k or len(near) < limit:
                return passed[:top_k]
            limit *= 4  # those that the caller may not see took the room of others

    async def _catch_up(self) -> None:
        """Have in the index what was written just now: who stores a finding and asks at once expects it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CATCH_UP_SECONDS):
                await self._follower.refresh()
                await self._index.settled()


def finding_scope(org_id: str, codebase_id: str) -> str:
    """Where the findings of an organisation's codebase are."""
    return scope(KIND, org_id, codebase_id)


def _items(rows: Sequence[Any]) -> list[Item]:
    return [
        Item(row.finding_id, finding_scope(row.org_id, row.codebase_id), None, row.content)
        for row in rows
        if row.content.strip()
    ]
