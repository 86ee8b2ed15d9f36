"""Bringing to a collection what the tables say, a page at a time; each step can be done again without harm.

The table of changes is the outbox. A generation knows the last change that it has; what comes after it is delivered in
order, and only then the number moves on. An item is always brought as it is *now*, so to bring it twice, or late, is
no mistake.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec
from sqlalchemy import select

from ....runtime.contain import describe
from ...store.database import Database
from ...store.schema import changes
from ..follower import change_at, change_span, continues
from ..making import VectorMaker
from ..sources import Item, Made, Source, drop_vectors, load_vectors, store_vectors, vectorised
from .client import Cluster
from .collection import fingerprint
from .record import Generation, Sweep, filling

PAGE = 32
"""Items that are brought at once: what comes between two pages waits until all of one is embedded."""
CHANGES_AT_ONCE = 256
BATCH = 16
"""Texts that are embedded at once."""
MOST_OWED = 1_000
"""Texts that could not be embedded and are tried again; more than that are found when all are looked through."""
_HARMLESS = Item("", "", None, "Can anything be embedded?")
REBUILD = ("index", "rebuild")


class Outbox:
    """The way from the tables to the collections of a cluster; lives on the engine's loop."""

    def __init__(self, database: Database, sources: Sequence[Source], cluster: Cluster) -> None:
        self._database = database
        self._sources = {source.kind: source for source in sources}
        self._cluster = cluster
        self.complaint = ""
        """What the last text that could not be embedded led to."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of items there are."""
        return tuple(self._sources)

    async def now(self) -> tuple[int, str]:
        """The last change there is, and which one it is."""
        async with self._database.reading() as connection:
            number = (await change_span(connection))[1]
            return number, await change_at(connection, number)

    async def continued(self, generation: Generation) -> Generation:
        """A generation that the changes lead on from; one that they do not is to be compared with everything."""
        async with self._database.reading() as connection:
            if await continues(connection, generation.number, generation.change):
                return generation
            number = (await change_span(connection))[1]
            change = await change_at(connection, number)
        return filling(msgspec.structs.replace(generation, number=number, change=change), self.kinds)

    async def deliver(self, generation: Generation, maker: VectorMaker) -> tuple[Generation, int]:
        """Bring the next changes; the generation after it, and the last change that asks for a rebuild, else 0."""
        continued = await self.continued(generation)
        if continued is not generation:
            return continued, 0
        async with self._database.reading() as connection:
            rows = (
                await connection.execute(
                    select(changes.c.number, changes.c.kind, changes.c.item_id)
                    .where(changes.c.number > generation.number)
                    .order_by(changes.c.number)
                    .limit(CHANGES_AT_ONCE)
                )
            ).all()
        if not rows:
            return generation, 0
        for kind in self._sources:
            changed = {row.item_id: None for row in rows if row.kind == kind}
            generation = await self._bring_all(generation, maker, kind, list(changed))
        last = rows[-1]
        rebuild = max((row.number for row in rows if (row.kind, row.item_id) == REBUILD), default=0)
        moved = msgspec.structs.replace(generation, number=last.number, change=f"{last.kind}/{last.item_id}")
        return moved, rebuild

    async def _bring_all(
        self, generation: Generation, maker: VectorMaker, kind: str, item_ids: Sequence[str]
    ) -> Generation:
        for start in range(0, len(item_ids), PAGE):
            generation = await self._bring(generation, maker, kind, item_ids[start : start + PAGE])
        return generation

    async def _bring(
        self, generation: Generation, maker: VectorMaker, kind: str, item_ids: Sequence[str]
    ) -> Generation:
        """Have the collection hold some items as they are now; those that cannot be embedded are owed."""
        if not item_ids:
            return generation
        async with self._database.reading() as connection:
            items = await self._sources[kind].named(connection, item_ids)
            made = await load_vectors(connection, kind, list(item_ids), maker.model, maker.dimension)
        ready = [(item, made[item.item_id][1]) for item in items if _is_of(item, made)]
        bare = [item for item in items if not _is_of(item, made)]
        gone = sorted(set(item_ids) - {item.item_id for item in items})
        # What has no vector of its present text is not to be found by its old one.
        await self._cluster.remove(generation.name, kind, [*gone, *(item.item_id for item in bare)])
        fresh, failed = await self._make(maker, kind, bare)
        ready += [(item, fresh[item.item_id][1]) for item in bare if item.item_id in fresh]
        await self._cluster.upsert(generation.name, kind, ready)
        if made.keys() & {*gone, *failed}:
            async with self._database.writing() as connection:
                await drop_vectors(connection, kind, gone)
                await drop_vectors(connection, kind, failed, maker.model)
        return _owing(generation, kind, item_ids, failed)

    async def _make(
        self, maker: VectorMaker, kind: str, items: Sequence[Item]
    ) -> tuple[Mapping[str, Made], Sequence[str]]:
        """Make the vectors of some items and keep them in the tables; and which texts cannot be embedded."""
        made: dict[str, Made] = {}
        for start in range(0, len(items), BATCH):
            some = await self._made(maker, items[start : start + BATCH])
            if some:
                async with self._database.writing() as connection:
                    await store_vectors(connection, kind, maker.model, maker.dimension, some)
            made.update(some)
        return made, [item.item_id for item in items if item.item_id not in made]

    async def _made(self, maker: VectorMaker, items: Sequence[Item]) -> dict[str, Made]:
        """Vectors of some items: one text that cannot be embedded does not stand in the way of the others."""
        try:
            return await maker.make(items)
        except Exception as error:
            self.complaint = describe(error)
        await maker.make([_HARMLESS])  # raises if it is not the texts: then everything waits until it can be embedded
        made: dict[str, Made] = {}
        for item in items:
            try:
                made.update(await maker.make([item]))
            except Exception as error:
                self.complaint = describe(error)
        return made

    async def retry(self, generation: Generation, maker: VectorMaker) -> Generation:
        """Bring some of what is owed; what cannot be brought goes to the end."""
        for kind, item_ids in generation.owed.items():
            generation = await self._bring(generation, maker, kind, item_ids[:BATCH])
        return generation

    # -- comparing ---------------------------------------------------------------------------------------

    async def sweep(self, generation: Generation, maker: VectorMaker) -> Generation:
        """Compare the next page of the tables, and then of the collection, and mend what is not as it should be.

        An empty collection is filled by it.
        """
        sweep = generation.sweep
        assert sweep is not None
        kind = sweep.kinds[0]
        if sweep.backwards:
            return await self._sweep_backwards(generation, maker, sweep, kind)
        async with self._database.reading() as connection:
            items, following = await self._sources[kind].page(connection, sweep.after, PAGE)
        held = (
            await self._cluster.fingerprints(generation.name, kind, [item.item_id for item in items]) if items else {}
        )
        wrong = [item.item_id for item in items if held.get(item.item_id) != fingerprint(kind, item)]
        generation = await self._bring(generation, maker, kind, wrong)
        on = Sweep(sweep.kinds, following) if following is not None else Sweep(sweep.kinds, backwards=True)
        return msgspec.structs.replace(generation, sweep=on)

    async def _sweep_backwards(self, generation: Generation, maker: VectorMaker, sweep: Sweep, kind: str) -> Generation:
        """What is in the collection and not in the tables goes."""
        item_ids, following = await self._cluster.page(generation.name, kind, sweep.point, PAGE)
        async with self._database.reading() as connection:
            known = {item.item_id for item in await self._sources[kind].named(connection, item_ids)}
        generation = await self._bring(generation, maker, kind, [one for one in item_ids if one not in known])
        if following is not None:
            return msgspec.structs.replace(generation, sweep=Sweep(sweep.kinds, backwards=True, point=following))
        if len(sweep.kinds) > 1:
            return msgspec.structs.replace(generation, sweep=Sweep(sweep.kinds[1:]))
        return msgspec.structs.replace(generation, sweep=None, complete=True)

    async def drifted(self, generation: Generation) -> tuple[int, int] | None:
        """How many items a collection holds that has all changes, and how many it should, if that is not the same."""
        expected = 0
        target = generation.target
        async with self._database.reading() as connection:
            for source in self._sources.values():
                expected += len(await vectorised(connection, source, target.model, target.dimension))
        found = await self._cluster.count(generation.name)
        return (found, expected) if found != expected else None


def _is_of(item: Item, made: Mapping[str, Made]) -> bool:
    """Whether a vector is there that was made from the present text of an item."""
    return item.item_id in made and made[item.item_id][0] == item.digest


def _owing(generation: Generation, kind: str, brought: Collection[str], failed: Sequence[str]) -> Generation:
    """The generation after some items were brought, but for those that failed."""
    before = generation.owed.get(kind, ())
    if not failed and not before:
        return generation
    rest = [item_id for item_id in before if item_id not in set(brought)]
    owed = {**generation.owed, kind: (*rest, *failed)[:MOST_OWED]}
    return msgspec.structs.replace(generation, owed={kind: item_ids for kind, item_ids in owed.items() if item_ids})
