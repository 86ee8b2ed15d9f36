"""What the index held when another model was chosen: it is searched until the new one is complete."""

from collections.abc import Callable, Collection, Sequence

from ..embedding.calibration import calibration_for
from ..embedding.worker import EmbeddingWorker
from .keeper import Keeper
from .serving import Serving
from .shard import Hit, Vector
from .thread import IndexThread

MOST_CHANGED = 1_000
"""Items that may change before it is better to do without."""


class Former:
    """A shard that nothing is brought to: what has changed since is not found in it."""

    def __init__(
        self, keeper: Keeper, thread: IndexThread, embedding: EmbeddingWorker, changed: Collection[str]
    ) -> None:
        self._keeper = keeper
        self._thread = thread
        self._changed = set(changed)
        self.serving = Serving(embedding, calibration_for(embedding.embedder.name), self._search_all)

    def note(self, item_ids: Collection[str] | None) -> bool:
        """Items have changed; whether this is still of use."""
        if item_ids is None:
            return False
        self._changed.update(item_ids)
        return len(self._changed) <= MOST_CHANGED

    async def _search_all(
        self,
        vectors: Sequence[Vector],
        scope: str,
        failure_type: str | None = None,
        *,
        limit: int,
        least_cosine: float | None = None,
    ) -> list[list[Hit]]:
        changed = self._changed
        search: Callable[..., list[list[Hit]]] = self._keeper.search_former
        found = await self._thread.run(search, vectors, scope, failure_type, limit + len(changed), least_cosine)
        return [[hit for hit in hits if hit.item_id not in changed][:limit] for hits in found]
