"""The engine's lookups put together from their real parts, and an embedder that is quick and predictable."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings

from reasonblocks.engine.embedding.worker import EmbeddingWorker, shared_worker
from reasonblocks.engine.index.findings import FindingIndex, FindingSource
from reasonblocks.engine.index.follower import Follower
from reasonblocks.engine.index.index import VectorIndex
from reasonblocks.engine.index.opening import MakeIndex
from reasonblocks.engine.patterns.catalogue import Catalogue, PatternSource
from reasonblocks.engine.patterns.editing import Patterns
from reasonblocks.engine.patterns.library import load_library
from reasonblocks.engine.patterns.retrieval import Retriever
from reasonblocks.engine.store.database import Database
from reasonblocks.engine.store.migrate import prepare

DIMENSION = 1024
PATIENCE = 20.0
"""Seconds after which a test gives up waiting; none of them is about time."""


class WordEmbeddings(Embeddings):
    """A user's own embedder: texts are near each other that share words. Can be told to refuse texts."""

    def __init__(self) -> None:
        self.model = "words"
        self.embedded: list[str] = []
        self.refused: set[str] = set()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One component for each word, up to a few that share one."""
        for text in texts:
            if text in self.refused:
                raise ValueError(f"no vector for {text!r}")
        self.embedded += texts
        return [_vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """As a document."""
        return self.embed_documents([text])[0]


def _vector(text: str) -> list[float]:
    vector = [0.0] * DIMENSION
    for word in text.lower().split():
        vector[int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % DIMENSION] += 1.0
    return vector


@dataclass
class Parts:
    """What an engine is made of, as far as lookups go."""

    database: Database
    follower: Follower
    embedding: EmbeddingWorker
    catalogue: Catalogue
    index: Any
    patterns: Patterns
    retriever: Retriever
    findings: FindingIndex

    async def settle(self) -> None:
        """Have everything that is written known to lookups."""
        async with asyncio.timeout(PATIENCE):
            await self.follower.refresh()
            await self.index.settled()


@asynccontextmanager
async def opened(
    data_dir: Path | None,
    embeddings: Any = None,
    *,
    library: bool = False,
    background: bool = True,
    settle: bool = True,
    make_index: MakeIndex | None = None,
) -> AsyncIterator[Parts]:
    """The parts on a data directory, closed at the end; with the starter library if that is asked for.

    Where nothing else is said, with an index of their own.
    """
    database = await asyncio.to_thread(Database.at, data_dir)
    await prepare(database)
    follower = Follower(database)
    await follower.open()
    patterns = Patterns(database, follower)
    if library:
        await patterns.import_library(await asyncio.to_thread(load_library))
    embedding = await asyncio.to_thread(shared_worker, embeddings or WordEmbeddings())
    catalogue = Catalogue(database)
    await catalogue.load()
    follower.listen("pattern", catalogue.apply)
    sources = (PatternSource(), FindingSource())
    index: Any = (
        make_index(database, follower, embedding, sources)
        if make_index is not None
        else VectorIndex(database, follower, embedding, sources, data_dir and data_dir / "index")
    )
    await index.open()
    retriever = Retriever(catalogue, index)
    parts = Parts(database, follower, embedding, catalogue, index, patterns, retriever, FindingIndex(index, follower))
    try:
        if background:
            follower.start()
            index.start()
            if settle:
                await parts.settle()
        yield parts
    finally:
        await follower.aclose()
        await index.aclose()
        await embedding.aclose()
        await database.aclose()


def slots(data_dir: Path) -> Sequence[Path]:
    """The index directories of a data directory."""
    return sorted(path for path in (data_dir / "index").iterdir() if path.is_dir())
