"""What an embedder is, and what is wrong with one that cannot be used."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..errors import EngineError

Vectors = NDArray[np.float32]
"""One row for each text, each of length 1."""
Vector = NDArray[np.float32]
"""One of them."""


@runtime_checkable
class Embedder(Protocol):
    """Makes vectors. It may block for long, so only a worker thread calls it.

    It may have an `at_once`, how many texts it is handed together: whoever comes after them waits for as long.
    """

    @property
    def name(self) -> str:
        """The model, such that vectors of different models never have the same name."""

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector of length 1 for each text. Of a text that is too long the end is what counts."""


class EmbedderProblem(EngineError):
    """The embedder failed, or gave something that is no set of vectors; the message says which one and what to do."""


def normalised(vectors: NDArray[np.floating]) -> Vectors:
    """Each row at length 1."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / lengths, dtype=np.float32)
