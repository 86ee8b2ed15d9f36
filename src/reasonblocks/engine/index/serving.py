"""What lookups ask of a vector index, whichever it is: the one of this process or a cluster."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ..embedding.calibration import Calibration
from ..embedding.worker import EmbeddingWorker
from .shard import Hit, Vector


class SearchAll(Protocol):
    """Finds what is nearest to each of some vectors."""

    async def __call__(
        self,
        vectors: Sequence[Vector],
        scope: str,
        failure_type: str | None = None,
        *,
        limit: int,
        least_cosine: float | None = None,
    ) -> list[list[Hit]]:
        """For each vector the nearest items of a scope, the nearest first; from any event loop."""


@dataclass(frozen=True, slots=True)
class Serving:
    """Vectors that are searched now, and the model they were made by.

    A query is embedded by that model and compared with its vectors alone. Whoever looks something up takes this once
    and uses it to the end, so that two models never meet however the index changes meanwhile.
    """

    embedding: EmbeddingWorker
    calibration: Calibration
    search_all: SearchAll

    async def search(
        self,
        vector: Vector,
        scope: str,
        failure_type: str | None = None,
        *,
        limit: int,
        least_cosine: float | None = None,
    ) -> list[Hit]:
        """As `search_all`, for one vector."""
        found = await self.search_all((vector,), scope, failure_type, limit=limit, least_cosine=least_cosine)
        return found[0]


class Index(Protocol):
    """A vector index, derived from the tables."""

    async def open(self) -> None:
        """Take what there is; the follower was opened before this."""

    def start(self) -> None:
        """Follow the tables in the background from here on."""

    async def aclose(self) -> None:
        """Stop."""

    def serving(self) -> Serving:
        """What is searched now; `IndexFailure` with the reason where nothing can be. For any thread."""

    async def settled(self) -> None:
        """Wait until all that the follower told of can be found, but for what cannot be embedded."""

    async def rebuild(self) -> int:
        """Have the index made anew; how many items it has then."""

    def state(self) -> str:
        """`ok`, or what is missing."""
