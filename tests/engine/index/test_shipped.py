"""The vectors that come with the package: those of the starter library's texts, as our embedder makes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reasonblocks.engine.embedding.base import Vectors
from reasonblocks.engine.embedding.minilm import MiniLM
from reasonblocks.engine.index.shipped import shipped_vectors
from reasonblocks.engine.patterns.fields import embedding_text
from reasonblocks.engine.patterns.library import load_library
from reasonblocks.engine.store.values import digest
from support.parts import opened

AGAIN = "run `python benchmarks/starter_vectors.py`"


class Refusing(MiniLM):
    """Our embedder, but it embeds nothing."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Say what should not have been asked for."""
        raise AssertionError(f"embedded: {texts}")


def library_texts() -> list[str]:
    """What patterns of the starter library are compared by."""
    return [text for each in load_library().patterns if (text := embedding_text(each.tier, each.fields))]


def test_there_is_a_vector_for_every_text_of_the_library_and_for_no_other() -> None:
    """The file belongs to the library as it is now."""
    assert set(shipped_vectors(MiniLM.name, 384)) == set(map(digest, library_texts())), AGAIN


def test_the_vectors_are_those_of_our_embedder() -> None:
    """A few of them, embedded again, come out the same but for rounding; all have length 1."""
    shipped = shipped_vectors(MiniLM.name, 384)
    texts = library_texts()[::20]

    made = MiniLM().embed(texts)

    assert len(texts) >= 3
    for text, vector in zip(texts, made, strict=True):
        assert float(vector @ shipped[digest(text)]) > 0.999, AGAIN
    assert np.allclose([np.linalg.norm(vector) for vector in shipped.values()], 1.0, atol=1e-4)


def test_another_model_has_none() -> None:
    """A vector is of no use to a model that did not make it."""
    assert shipped_vectors("another-model", 384) == {}
    assert shipped_vectors(MiniLM.name, 383) == {}


async def test_a_first_start_embeds_nothing(tmp_path: Path) -> None:
    """The starter library is in the index without a single embedding."""
    async with opened(tmp_path, Refusing(), library=True) as parts:
        assert parts.index.state() == "ok"
        shipped = shipped_vectors(MiniLM.name, 384)
        query = next(iter(shipped.values()))
        hits = await parts.index.serving().search(query, '["e2"]', limit=100)

    assert len(hits) == len(shipped)
    assert hits[0].cosine > 0.999
