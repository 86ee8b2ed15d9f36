"""Making vectors: from the package where it has them, else by the embedder."""

import asyncio
from collections.abc import Sequence

import numpy as np

from ..embedding.worker import EmbeddingWorker
from .shard import Vector
from .shipped import shipped_vectors
from .sources import Item, Made
from .thread import IndexFailure


class VectorMaker:
    """Vectors by one model."""

    def __init__(self, embedding: EmbeddingWorker) -> None:
        self._embedding = embedding
        self.model = embedding.embedder.name
        self.dimension = embedding.embedder.dimension

    async def make(self, items: Sequence[Item]) -> dict[str, Made]:
        """The vectors of some items, by their ids; nobody waits for them."""
        shipped = await asyncio.to_thread(shipped_vectors, self.model, self.dimension)
        missing = [item.text for item in items if item.digest not in shipped]
        embedded = iter(await self._embed(missing) if missing else ())
        return {
            item.item_id: (item.digest, shipped[item.digest] if item.digest in shipped else next(embedded))
            for item in items
        }

    async def _embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        vectors = np.asarray(await asyncio.wrap_future(self._embedding.submit(texts)), np.float32)
        if vectors.shape != (len(texts), self.dimension):
            raise IndexFailure(
                f"{self.model!r} gave vectors of shape {vectors.shape} for {len(texts)} texts; "
                f"expected {(len(texts), self.dimension)}"
            )
        if not np.isfinite(vectors).all():
            raise IndexFailure(f"{self.model!r} gave a vector with numbers that are not finite")
        return list(vectors)
