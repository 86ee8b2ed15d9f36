"""What is known about the cluster, in the tables: which collections there are, which is searched, how far each is.

It is one fact in one row, so a switch from a collection to another is one write. Whoever writes says what it was
before: a server that was overtaken by another notices, and stops.
"""

import re
import secrets
from collections.abc import Iterator

import msgspec
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from ...store.schema import facts
from ..thread import IndexFailure

FACT = "qdrant"
_SLUG = re.compile(r"[^A-Za-z0-9]+")


class Overtaken(IndexFailure):
    """Another server has changed the record meanwhile."""


class Target(msgspec.Struct, frozen=True):
    """How vectors are to be made."""

    model: str
    dimension: int
    texts: str
    """Identifies how texts are made from items."""


class Sweep(msgspec.Struct, frozen=True):
    """How far the comparison of a collection with the tables has come."""

    kinds: tuple[str, ...]
    """Those that are still to be gone through, the present one first."""
    after: str = ""
    """The last item of the tables that was looked at."""
    backwards: bool = False
    """Whether the tables are done, and the collection is gone through for what is not in them."""
    point: str | None = None
    """Where to go on in the collection."""


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """One collection."""

    name: str
    target: Target
    born: int
    """The last change there was when it was begun."""
    number: int
    """The last change that it has."""
    change: str = ""
    """Which one that was: in a restored database it may be another."""
    made: bool = False
    """Whether the collection has been made in the cluster."""
    complete: bool = False
    """Whether it has been filled."""
    sweep: Sweep | None = None
    """While it is filled, or compared with the tables and mended."""
    owed: dict[str, tuple[str, ...]] = {}
    """Items by kind that could not be embedded yet."""

    @property
    def owes(self) -> int:
        """How many those are."""
        return sum(map(len, self.owed.values()))


class Retired(msgspec.Struct, frozen=True):
    """A collection that is to be removed, once nobody can be searching it any more."""

    name: str
    since: float


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known."""

    target: Target
    """Of the server that started last."""
    serving: Generation | None = None
    """What is searched."""
    building: Generation | None = None
    """What will be searched once it is complete; until then only where there is nothing else."""
    retired: tuple[Retired, ...] = ()

    def generations(self) -> Iterator[Generation]:
        """Those that are kept up to date, the one that is searched first."""
        yield from (generation for generation in (self.serving, self.building) if generation is not None)

    def replacing(self, generation: Generation) -> "Record":
        """The same with a generation as it is now."""
        role = "serving" if self.serving is not None and self.serving.name == generation.name else "building"
        return msgspec.structs.replace(self, **{role: generation})

    def retiring(self, generation: Generation | None, now: float) -> "Record":
        """The same, and a generation that nobody needs any more."""
        if generation is None:
            return self
        return msgspec.structs.replace(self, retired=(*self.retired, Retired(generation.name, now)))


def begun(target: Target, kinds: tuple[str, ...], number: int, change: str, prefix: str) -> Generation:
    """A new, empty generation; its name is no other's, also where several databases share a cluster."""
    model = _SLUG.sub("-", target.model).strip("-")[:48]
    name = f"{prefix}-{model}-{target.dimension}-{secrets.token_hex(4)}"
    return Generation(name=name, target=target, born=number, number=number, change=change, sweep=Sweep(kinds))


def filling(generation: Generation, kinds: tuple[str, ...]) -> Generation:
    """A generation of which nobody knows what it holds: all of it is compared with the tables."""
    return msgspec.structs.replace(generation, complete=False, sweep=Sweep(kinds))


def aimed(record: Record, fresh: Generation, now: float) -> Record:
    """The record with a generation for its target in it: the one there is, or a fresh one that is to be filled."""
    serving, building = record.serving, record.building
    if serving is not None and serving.target == record.target:
        if building is None or building.target == record.target:
            return record  # a building of the same target is a rebuild that somebody asked for
        return msgspec.structs.replace(record, building=None).retiring(building, now)
    if building is not None and building.target == record.target:
        return record
    return rebuilding(record, fresh, now)


def rebuilding(record: Record, fresh: Generation, now: float) -> Record:
    """The record with a fresh generation that is to be filled, in the place of any other that is."""
    return msgspec.structs.replace(record, building=fresh).retiring(record.building, now)


def switched(record: Record, now: float) -> Record:
    """What was built is searched from now on."""
    new = msgspec.structs.replace(record, serving=record.building, building=None)
    return new.retiring(record.serving, now)


def without(record: Record, generation: Generation, now: float) -> Record:
    """The record without a generation whose collection is of no use."""
    role = "serving" if record.serving is generation else "building"
    return msgspec.structs.replace(record, **{role: None}).retiring(generation, now)


async def load(connection: AsyncConnection) -> tuple[Record | None, str]:
    """The record, and the text that it was read from; none and nothing if there is none that can be read."""
    text = (await connection.execute(select(facts.c.value).where(facts.c.name == FACT))).scalar()
    if text is None:
        return None, ""
    try:
        return msgspec.json.decode(text, type=Record), text
    except msgspec.MsgspecError:  # of another version; everything in it can be made again
        return None, text


async def save(connection: AsyncConnection, record: Record, before: str) -> str:
    """Write the record in the place of the one it was made from; the text that was written."""
    text = msgspec.json.encode(record).decode()
    if before:
        mine = update(facts).where(facts.c.name == FACT, facts.c.value == before).values(value=text)
        overtaken = (await connection.execute(mine)).rowcount != 1
    else:
        try:
            await connection.execute(insert(facts), {"name": FACT, "value": text})
            overtaken = False
        except IntegrityError:
            overtaken = True
    if overtaken:
        raise Overtaken("another server has taken over the index of the cluster meanwhile")
    return text
