"""Bringing into the shard what the tables say; when that is to be done is decided elsewhere."""

import asyncio
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from ...runtime.contain import describe
from ..store.database import Database
from .backlog import Backlog
from .follower import change_at, continues
from .keeper import Keeper
from .making import VectorMaker
from .shard import Point
from .slot import Marker
from .sources import Item, Made, Source, drop_vectors, load_vectors, store_vectors, vectorised
from .thread import IndexThread

PAGE = 100
"""Items that are read and written at once: what comes between two pages waits for about 5 ms."""


class Filling:
    """The way from the tables to the shard. Lives on the engine's loop; what blocks is done on the index thread."""

    def __init__(
        self,
        database: Database,
        sources: Sequence[Source],
        maker: VectorMaker,
        keeper: Keeper,
        thread: IndexThread,
    ) -> None:
        self._database = database
        self._sources = {source.kind: source for source in sources}
        self._maker = maker
        self._keeper = keeper
        self._thread = thread
        self._turn = asyncio.Lock()  # between reading the tables and writing to the shard nobody else may do either
        self.backlog = Backlog()

    @property
    def kinds(self) -> Collection[str]:
        """The kinds of items there are."""
        return self._sources.keys()

    async def apply(self, kind: str, item_ids: Collection[str], due: float) -> None:
        """Items changed; those that need a new vector get it when they are due."""
        ordered = sorted(item_ids)
        for start in range(0, len(ordered), PAGE):
            await self._apply_page(kind, ordered[start : start + PAGE], due)

    async def _apply_page(self, kind: str, item_ids: Sequence[str], due: float) -> None:
        async with self._turn:
            async with self._database.reading() as connection:
                items = await self._sources[kind].named(connection, item_ids)
                points, bare = await self._as_points(connection, kind, items)
                gone = set(item_ids) - {item.item_id for item in items}
                orphaned = await self._load(connection, kind, sorted(gone))
            # What has no vector of its present text is not to be found by its old one.
            await self._thread.run(self._keeper.change, points, {kind: sorted(gone.union(bare))})
            self.backlog.done(kind, item_ids)
            self.backlog.add(kind, bare, due)
        if orphaned:
            async with self._database.writing() as connection:
                await drop_vectors(connection, kind, list(orphaned))

    async def rebuild(self) -> None:
        """Make the shard anew; what changes meanwhile goes into the old one and the new one."""
        async with self._turn:
            await self._thread.run(self._keeper.begin_rebuild)
            self.backlog.clear()
        for source in self._sources.values():
            after: str | None = ""
            while after is not None:
                after = await self._rebuild_page(source, after)
        async with self._turn:
            await self._thread.run(self._keeper.finish_rebuild)

    async def _rebuild_page(self, source: Source, after: str) -> str | None:
        async with self._turn:
            async with self._database.reading() as connection:
                items, following = await source.page(connection, after, PAGE)
                points, bare = await self._as_points(connection, source.kind, items)
            await self._thread.run(self._keeper.add, points)
            self.backlog.add(source.kind, bare, 0.0)
        return following

    async def make(self, kind: str, item_ids: Sequence[str]) -> None:
        """Make the vectors of some items, keep them in the tables and put them into the shard."""
        async with self._database.reading() as connection:
            items = await self._sources[kind].named(connection, item_ids)
            _, bare = await self._as_points(connection, kind, items)  # another process may have made some
        missing = [item for item in items if item.item_id in set(bare)]
        failed = await self._make(kind, missing) if missing else {}
        await self._apply_page(kind, [item_id for item_id in item_ids if item_id not in failed], 0.0)
        now = asyncio.get_running_loop().time()
        for item_id, complaint in failed.items():
            self.backlog.failed(kind, item_id, complaint, now)

    async def _make(self, kind: str, items: Sequence[Item]) -> Mapping[str, str]:
        """Make and keep vectors; what is wrong with those that could not be made."""
        try:
            made = await self._maker.make(items)
        except Exception as error:
            if len(items) == 1:
                return {items[0].item_id: describe(error)}
            # One text that cannot be embedded does not stand in the way of the others.
            return {key: text for item in items for key, text in (await self._make(kind, [item])).items()}
        async with self._database.writing() as connection:
            await store_vectors(connection, kind, self._maker.model, self._maker.dimension, made)
        return {}

    async def _as_points(
        self, connection: AsyncConnection, kind: str, items: Sequence[Item]
    ) -> tuple[list[Point], list[str]]:
        """The items as points, and the ids of those without a vector of their present text."""
        made = await self._load(connection, kind, [item.item_id for item in items])
        points, bare = [], []
        for item in items:
            found = made.get(item.item_id)
            if found is not None and found[0] == item.digest:
                points.append(Point(kind, item.item_id, item.scope, item.failure_type, found[1]))
            else:
                bare.append(item.item_id)
        return points, bare

    async def _load(self, connection: AsyncConnection, kind: str, item_ids: Sequence[str]) -> dict[str, Made]:
        return await load_vectors(connection, kind, item_ids, self._maker.model, self._maker.dimension)

    # -- what the files can be trusted with -----------------------------------------------------------

    async def continues(self, marker: Marker) -> bool:
        """Whether the changes that the tables still know lead from a marker to now."""
        async with self._database.reading() as connection:
            return await continues(connection, marker.number, marker.change)

    async def complete(self) -> bool:
        """Whether there are as many points as there should be."""
        expected = 0
        async with self._turn:
            async with self._database.reading() as connection:
                for kind, source in self._sources.items():
                    made = await vectorised(connection, source, self._maker.model, self._maker.dimension)
                    expected += len(made - self.backlog.of_kind(kind))
            return await self._thread.run(self._keeper.count) == expected

    async def vouch(self, number: int) -> bool:
        """Say of the files that they hold everything up to a change; whether a rebuild would make them much smaller."""
        async with self._turn:
            if not self.backlog:
                async with self._database.reading() as connection:
                    change = await change_at(connection, number)
                await self._thread.run(self._keeper.vouch, number, change)
            return await self._thread.run(self._keeper.is_wasteful)
