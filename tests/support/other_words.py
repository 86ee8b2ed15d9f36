"""Another embedding model, for switches from one to the other."""

from __future__ import annotations

import threading

from support.parts import PATIENCE, WordEmbeddings

TEXTS = [f"situation {number} {word}" for number, word in enumerate("pelican walnut tractor violin glacier".split())]
OLD = "support.parts:WordEmbeddings"
"""How the settings name the embedder that was there before."""


class OtherWords(WordEmbeddings):
    """Another model with as many numbers: its vectors have nothing to do with those of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.model = "other-words"
        self.permits = threading.Semaphore(1_000)
        """One for each of the texts."""

    def wait_for_permits(self) -> None:
        """None of the texts is embedded before somebody says so."""
        self.permits = threading.Semaphore(0)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """As the others, backwards."""
        for _ in set(texts) & set(TEXTS):
            self.permits.acquire(timeout=PATIENCE)
        return [vector[::-1] for vector in super().embed_documents(texts)]
