"""Which vector index the settings ask for."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..embedding.worker import EmbeddingWorker
from ..store.database import Database
from ..store.news import News
from .cluster.settings import require_client
from .follower import Follower
from .index import VectorIndex
from .leadership import by_file, by_news
from .serving import Index
from .sources import Source

if TYPE_CHECKING:
    from ..settings import EngineSettings

DIRECTORY = "index"
MakeIndex = Callable[[Database, Follower, EmbeddingWorker, Sequence[Source], News], Index]


def index_for(settings: "EngineSettings") -> MakeIndex:
    """What makes the index of an engine. Not for an event loop: Qdrant's client is large and imported here."""
    if settings.qdrant_url is not None:
        return _in_cluster(settings.qdrant_url, settings)
    directory = None if settings.data_dir is None else settings.data_dir / DIRECTORY

    def make(
        database: Database, follower: Follower, embedding: EmbeddingWorker, sources: Sequence[Source], _news: News
    ) -> VectorIndex:
        return VectorIndex(database, follower, embedding, sources, directory, settings.previous_embeddings)

    return make


def _in_cluster(url: str, settings: "EngineSettings") -> MakeIndex:
    require_client()
    from .cluster.client import Cluster
    from .cluster.index import ClusterIndex

    def make(
        database: Database, follower: Follower, embedding: EmbeddingWorker, sources: Sequence[Source], news: News
    ) -> ClusterIndex:
        return ClusterIndex(
            database,
            follower,
            embedding,
            sources,
            Cluster(url, settings.qdrant),
            prefix=settings.qdrant.prefix,
            leadership=by_news(news) if news.heard else by_file(settings.data_dir),
            previous_embeddings=settings.previous_embeddings,
        )

    return make
