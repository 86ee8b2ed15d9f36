"""What is in the index, and the vectors the tables have for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from sqlalchemy import Select, delete, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ..store.schema import vectors
from ..store.values import digest
from .shard import Vector

Made = tuple[str, Vector]
"""A vector with the digest of the text it was made from."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that can be found by what it says."""

    item_id: str
    scope: str
    failure_type: str | None
    text: str

    @property
    def digest(self) -> str:
        """What a vector of it has to be made from."""
        return digest(self.text)


class Source(Protocol):
    """A table with such items."""

    kind: str
    recipe: str
    """Identifies how the texts are made: another one means that they have to be looked at again."""

    async def page(self, connection: AsyncConnection, after: str, limit: int) -> tuple[list[Item], str | None]:
        """Items in the order of their ids, and the id to go on after; `None` at the end."""

    async def named(self, connection: AsyncConnection, item_ids: Sequence[str]) -> list[Item]:
        """Those of the named that belong in the index."""

    def candidates(self) -> Select[Any]:
        """The ids of all that belong in the index, and maybe of some that say nothing and so have no vector."""


async def load_vectors(
    connection: AsyncConnection, kind: str, item_ids: Sequence[str], model: str, dimension: int
) -> dict[str, Made]:
    """The vectors that some items have by a model."""
    rows = await connection.execute(
        select(vectors.c.item_id, vectors.c.digest, vectors.c.vector).where(
            vectors.c.kind == kind,
            vectors.c.item_id.in_(item_ids),
            vectors.c.model == model,
            vectors.c.dimension == dimension,
        )
    )
    size = len(pack(np.zeros(dimension, np.float32)))
    return {item_id: (text_digest, unpack(packed)) for item_id, text_digest, packed in rows if len(packed) == size}


async def vectorised(connection: AsyncConnection, source: Source, model: str, dimension: int) -> set[str]:
    """The ids of the items of a source that have a vector by a model."""
    rows = await connection.scalars(
        select(vectors.c.item_id).where(
            vectors.c.kind == source.kind,
            vectors.c.model == model,
            vectors.c.dimension == dimension,
            vectors.c.item_id.in_(source.candidates()),
        )
    )
    return set(rows)


async def store_vectors(
    connection: AsyncConnection, kind: str, model: str, dimension: int, made: dict[str, Made]
) -> None:
    """Keep the vectors of some items in the place of those they had by the same model."""
    mine = (vectors.c.kind == kind, vectors.c.model == model)
    await connection.execute(delete(vectors).where(*mine, vectors.c.item_id.in_(list(made))))
    await connection.execute(
        insert(vectors),
        [
            {
                "kind": kind,
                "item_id": item_id,
                "model": model,
                "dimension": dimension,
                "digest": text_digest,
                "vector": pack(vector),
            }
            for item_id, (text_digest, vector) in made.items()
        ],
    )


async def drop_vectors(
    connection: AsyncConnection, kind: str, item_ids: Sequence[str], model: str | None = None
) -> None:
    """Forget the vectors of some items by a model; of items that are gone, whatever model made them."""
    mine = (vectors.c.model == model,) if model is not None else ()
    await connection.execute(delete(vectors).where(vectors.c.kind == kind, vectors.c.item_id.in_(item_ids), *mine))


def pack(vector: Vector) -> bytes:
    """A vector as the tables keep it."""
    return vector.astype("<f4").tobytes()


def unpack(packed: bytes) -> Vector:
    """A vector of the tables."""
    return np.frombuffer(packed, "<f4").astype(np.float32, copy=False)
