"""The embedders of this process, by the model that vectors were made with."""

import asyncio
import time
from typing import Protocol

from ...runtime.contain import describe
from ..embedding.adapter import DEFAULT, names_provider
from ..embedding.minilm import NAME as MINILM
from ..embedding.worker import EmbeddingWorker, shared_worker

AGAIN_SECONDS = 60.0
"""Between attempts to get at an embedder that cannot be had."""


class Stamped(Protocol):
    """What says by which model its vectors were made."""

    @property
    def model(self) -> str:
        """The name of the model."""

    @property
    def dimension(self) -> int:
        """How many numbers its vectors have."""


class Models:
    """The configured embedder, and during a switch the one that was configured before.

    The one before is known by the name of its model: the default's, and `provider:model`, say how it is made. Nothing
    else that is in the database is imported or called; an embedder of one's own has to be named in the settings
    (`previous_embeddings`).
    """

    def __init__(self, own: EmbeddingWorker, previous: str | None = None) -> None:
        self._previous = previous
        self._workers = {(own.embedder.name, own.embedder.dimension): own}
        self._complaints: dict[tuple[str, int], tuple[str, float]] = {}

    def get(self, made: Stamped) -> EmbeddingWorker | None:
        """What embeds as some vectors were made, if it is there."""
        return self._workers.get((made.model, made.dimension))

    def complaint(self, made: Stamped) -> str:
        """Why it is not there."""
        return self._complaints.get((made.model, made.dimension), ("it is being loaded", 0.0))[0]

    async def find(self, made: Stamped) -> EmbeddingWorker | None:
        """As `get`, and if need be it is looked for; that may take a while."""
        key = (made.model, made.dimension)
        if key not in self._workers and time.monotonic() >= self._complaints.get(key, ("", 0.0))[1]:
            try:
                self._workers[key] = await asyncio.to_thread(self._embedder, made)
            except Exception as error:
                self._complaints[key] = (describe(error), time.monotonic() + AGAIN_SECONDS)
        return self._workers.get(key)

    def _embedder(self, made: Stamped) -> EmbeddingWorker:
        worker = shared_worker(self._previous or _setting(made.model))
        name, dimension = worker.embedder.name, worker.embedder.dimension
        if (name, dimension) != (made.model, made.dimension):
            raise LookupError(f"previous_embeddings leads to {name!r} ({dimension} numbers)")
        return worker


def _setting(model: str) -> str:
    if model == MINILM:
        return DEFAULT
    if names_provider(model):
        return model
    raise LookupError(f"nothing says how {model!r} is made; name it in REASONBLOCKS_PREVIOUS_EMBEDDINGS")
