"""A qdrant-edge shard: points with a vector, the scope they belong to, and the failure type they are about.

Everything here blocks and belongs on the index thread. Measured with vectors of 384 (2 noisy cores):

- 10,000 upserts take 0.35 s without the shard's write-ahead log and half as much disk as with it. We need none: what
  was not flushed is made again from the tables.
- Points are compared one by one. A graph (`optimize()`) takes 4 s to build for 10,000 points and is no faster under
  our filters: 0.4 ms with 5,000 points in scope, 0.04 ms with 200.
- A second search thread costs 50 µs per query and gains nothing.
- Two vectors in one batch take 1.7 times as long as one, two queries twice as long; asking for one field of the payload
  takes 25 µs more than asking for all of it.
- `Memory.Cold` maps the files instead of reading them in: 35 MB less after a start.
"""

import ctypes
import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import qdrant_edge as edge
from numpy.typing import NDArray

Vector = NDArray[np.float32]

_SCOPE, _FAILURE_TYPE, _SUBJECT, _ITEM = "scope", "failure_type", "subject", "item"
_NEVER_A_GRAPH = 2**31


@dataclass(frozen=True, slots=True)
class Point:
    """What the shard keeps of one item."""

    kind: str
    item_id: str
    scope: str
    failure_type: str | None
    vector: Vector


@dataclass(frozen=True, slots=True)
class Hit:
    """An item that was found."""

    item_id: str
    cosine: float


class Shard:
    """One directory with points in it, opened by one process."""

    def __init__(self, shard: edge.EdgeShard) -> None:
        self._shard = shard

    @classmethod
    def create(cls, path: Path, dimension: int) -> "Shard":
        """A new, empty shard in a directory that is not there yet."""
        shard = edge.EdgeShard.create(str(path), _configuration(dimension))
        for field in (_SCOPE, _SUBJECT):
            shard.update(edge.UpdateOperation.create_field_index(field, edge.PayloadSchemaType.Keyword))
        return cls(shard)

    @classmethod
    def load(cls, path: Path, dimension: int) -> "Shard":
        """A shard as it was flushed; whoever loads it has checked its files, for a torn one may end the process."""
        return cls(edge.EdgeShard.load(str(path), _configuration(dimension)))

    def upsert(self, points: Sequence[Point]) -> None:
        """Put points in, or in the place of those with the same kind and id."""
        if points:
            self._shard.update(edge.UpdateOperation.upsert_points([_stored(point) for point in points]))

    def delete(self, kind: str, item_ids: Sequence[str]) -> None:
        """Take items out; those that are not there are no error."""
        if item_ids:
            self._shard.update(edge.UpdateOperation.delete_points([point_id(kind, item) for item in item_ids]))

    def search(
        self, vector: Vector, scope: str, failure_type: str | None, limit: int, least_cosine: float | None
    ) -> list[Hit]:
        """The nearest items of a scope, the nearest first; with a failure type only those that are about it."""
        return self.search_all((vector,), scope, failure_type, limit, least_cosine)[0]

    def search_all(
        self,
        vectors: Sequence[Vector],
        scope: str,
        failure_type: str | None,
        limit: int,
        least_cosine: float | None,
    ) -> list[list[Hit]]:
        """As `search`, for each of some vectors; the points are gone through once for all of them."""
        condition = _equals(_SCOPE, scope) if failure_type is None else _equals(_SUBJECT, _subject(scope, failure_type))
        matching = edge.Filter(must=[condition])
        queries = [
            edge.QueryRequest(
                limit=limit,
                query=edge.Query.Nearest(vector.tolist()),
                filter=matching,
                score_threshold=least_cosine,
                with_payload=True,
                with_vector=False,
            )
            for vector in vectors
        ]
        return [
            [Hit(point.payload[_ITEM], point.score) for point in found if point.payload]
            for found in self._shard.query_batch(edge.QueryBatchRequest(queries))
        ]

    def count(self) -> int:
        """How many points there are."""
        return self._shard.count(edge.CountRequest(exact=True))

    def flush(self) -> None:
        """Write everything to the files."""
        self._shard.flush()

    def close(self) -> None:
        """Let go of the files."""
        self._shard.close()

    def abandon(self) -> None:
        """After a fork, in the child: the files are the parent's, and the shard's destructor would write to them."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._shard))


@lru_cache(4_096)
def scope(*parts: str) -> str:
    """The scope that some names make: different names never make the same one."""
    return json.dumps(parts)


def _subject(within: str, failure_type: str) -> str:
    """A scope and a failure type in one: to look for one value takes 40 µs less than to look for two."""
    return scope(within, failure_type)


def point_id(kind: str, item_id: str) -> uuid.UUID:
    """The id of an item's point."""
    digest = hashlib.sha256(f"{kind}/{item_id}".encode("utf-8", "surrogatepass")).digest()
    return uuid.UUID(bytes=digest[:16])


def _configuration(dimension: int) -> edge.EdgeConfig:
    return edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine, memory=edge.Memory.Cold),
        payload_memory=edge.Memory.Cold,
        optimizers=edge.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=_NEVER_A_GRAPH),
        max_search_threads=1,
        wal_enabled=False,
    )


def _stored(point: Point) -> edge.Point:
    payload: edge.Payload = {_SCOPE: point.scope, _ITEM: point.item_id}
    if point.failure_type is not None:
        payload[_FAILURE_TYPE] = point.failure_type
        payload[_SUBJECT] = _subject(point.scope, point.failure_type)
    return edge.Point(point_id(point.kind, point.item_id), point.vector.tolist(), payload)


def _equals(field: str, value: str) -> edge.FieldCondition:
    return edge.FieldCondition(field, match=edge.MatchValue(value))
