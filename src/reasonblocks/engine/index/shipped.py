"""Vectors that come with the package, so that a first start embeds nothing.

One file for each model in `reasonblocks/patterns/vectors/`. A vector belongs to a text, not to a pattern: it is found
by the digest of what it was made from, and of no use to a text that was edited.
"""

import base64
import functools
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

import msgspec

from .shard import Vector
from .sources import pack, unpack


class ShippedVectors(msgspec.Struct):
    """The file of one model."""

    model: str
    dimension: int
    vectors: dict[str, str]
    """By the digest of the text: the vector as the tables keep it, in base64."""


@functools.cache
def shipped_vectors(model: str, dimension: int) -> Mapping[str, Vector]:
    """The vectors that come with the package for a model, by the digest of the text; reads a file the first time."""
    file = shipped_file(model)
    if not file.is_file():
        return {}
    shipped = msgspec.json.decode(file.read_bytes(), type=ShippedVectors)
    if (shipped.model, shipped.dimension) != (model, dimension):
        return {}
    return {text_digest: unpack(base64.b64decode(packed)) for text_digest, packed in shipped.vectors.items()}


def shipped_file(model: str) -> Any:
    """Where the vectors of a model are, or would be."""
    return resources.files("reasonblocks") / "patterns" / "vectors" / f"{re.sub(r'[^A-Za-z0-9.-]+', '_', model)}.json"


def encoded(model: str, dimension: int, vectors: Mapping[str, Vector]) -> bytes:
    """The file of a model, one vector a line."""
    packed = {key: base64.b64encode(pack(vector)).decode() for key, vector in sorted(vectors.items())}
    return msgspec.json.format(msgspec.json.encode(ShippedVectors(model, dimension, packed)), indent=1) + b"\n"
