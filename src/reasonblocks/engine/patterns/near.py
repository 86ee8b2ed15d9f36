"""What a lookup would find among the patterns of now, and what it would reject: for people who ask why.

Every pattern is compared, without the index; so nothing has to be opened but the database and the embedder.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...limits import MAX_TITLE
from ..answers import NearMissReason
from ..embedding.calibration import calibration_for
from ..embedding.context import views
from ..embedding.worker import EmbeddingWorker
from ..index.making import VectorMaker
from ..index.shard import Vector
from ..index.sources import Item, Made, load_vectors
from ..store.database import Database
from .catalogue import KIND, Catalogue, LivePattern, View
from .fields import embedding_text, headline
from .retrieval import Lookup

PAGE = 500
Rejection = NearMissReason | Literal["other_failure", "few_words"]


@dataclass(frozen=True, slots=True)
class Near:
    """A pattern and what becomes of it."""

    pattern_id: str
    tier: str
    title: str
    similarity: float
    gate: float
    failure_type: str | None
    rejection: Rejection | None
    """Why it is rejected; `None`: it passes."""


async def near(
    database: Database, embedding: EmbeddingWorker, lookup: Lookup, context: str, limit: int = 5
) -> list[Near]:
    """The most similar patterns of a tier, those that pass and those that do not."""
    catalogue = Catalogue(database)
    await catalogue.load()
    compared = [(pattern, text) for pattern, text in _texts(catalogue.view, lookup)]
    if not compared or not context.strip():
        return []
    items = [Item(pattern.pattern_id, "", pattern.failure_type, text) for pattern, text in compared]
    made = await _vectors(database, embedding, items)
    asked = _normal(await embedding.embed_all(views(context)))
    cosines = (_normal([made[item.item_id][1] for item in items]) @ asked.T).max(axis=1)
    calibration = calibration_for(embedding.embedder.name)
    screened = _screened(catalogue.view, lookup, context)
    found = [
        Near(
            pattern.pattern_id,
            pattern.tier,
            headline(pattern.fields)[:MAX_TITLE],
            similarity,
            lookup.gate(pattern),
            pattern.failure_type,
            _rejection(lookup, pattern, similarity, screened),
        )
        for (pattern, _), cosine in zip(compared, cosines, strict=True)
        for similarity in [round(calibration.similarity(float(cosine)), 4)]
    ]
    return sorted(found, key=lambda one: (-one.similarity, one.pattern_id))[:limit]


def _texts(view: View, lookup: Lookup) -> Iterator[tuple[LivePattern, str]]:
    """The patterns that are compared at all, with the text they are compared by."""
    for pattern in view.patterns.values():
        own = pattern.tier == "e2" or pattern.org_id == lookup.org_id
        if pattern.tier == lookup.tier and own and (text := embedding_text(pattern.tier, pattern.fields)):
            yield pattern, text


async def _vectors(database: Database, embedding: EmbeddingWorker, items: Sequence[Item]) -> dict[str, Made]:
    """The vectors of items as the tables have them; what they lack is made here and not kept."""
    name, dimension = embedding.embedder.name, embedding.embedder.dimension
    made: dict[str, Made] = {}
    async with database.reading() as connection:
        for start in range(0, len(items), PAGE):
            ids = [item.item_id for item in items[start : start + PAGE]]
            made |= await load_vectors(connection, KIND, ids, name, dimension)
    missing = [item for item in items if item.item_id not in made or made[item.item_id][0] != item.digest]
    return made | await VectorMaker(embedding).make(missing) if missing else made


def _normal(vectors: Sequence[Vector]) -> NDArray[np.float32]:
    matrix = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.where(lengths == 0, 1, lengths)).astype(np.float32)


def _screened(view: View, lookup: Lookup, context: str) -> bool:
    """Whether the words of the context alone keep it from being looked up."""
    if lookup.tier == "e1" or lookup.failure_type is not None or view.screen is None:
        return False
    return not view.screen.passes(context)


def _rejection(lookup: Lookup, pattern: LivePattern, similarity: float, screened: bool) -> Rejection | None:
    if not lookup.concerns(pattern):
        return "other_failure"
    return lookup.rejection(pattern, similarity) or ("few_words" if screened else None)
