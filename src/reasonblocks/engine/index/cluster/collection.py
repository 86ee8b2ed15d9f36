"""What a collection looks like, what is in a point, and what a lookup asks. Pure; imports Qdrant's client.

- **One collection for each embedding model** (and dimension, and way of making texts), patterns and findings in it: two
  models cannot meet in a search, and a switch from one to the next is one step for all kinds. A collection for each
  organisation would cost a shard each.
- **`scope` is the tenant.** Every lookup names exactly one, so that is how points are laid out on disk, and there is no
  graph over all of them (`m=0`), only one within each scope (`payload_m`). Small scopes are compared point by point,
  exactly.
- **`failure_type`** narrows E2. `org` and `kind` are for whoever looks into the cluster, to count or to delete what is
  one organisation's; `kind` also serves comparing. Only what is live is in there, so there is no field for a status.
- **int8** in memory, whole vectors on disk. What is found by the short ones is scored again by the whole ones, twice as
  many as asked for, since similarities and gates need the true cosine.
- **One acknowledgement is enough** (`write_consistency_factor=1`): everything can be written again from the tables, and
  a node that is down must not hold up the others.
"""

import json
from collections.abc import Sequence
from typing import Any

from qdrant_client import models

from ...store.values import digest
from ..shard import Hit, Vector, point_id
from ..sources import Item
from .settings import QdrantOptions

KIND, ITEM, SCOPE, ORG, FAILURE_TYPE, PRINT = "kind", "item", "scope", "org", "failure_type", "print"
INDEXED: dict[str, models.KeywordIndexParams] = {
    SCOPE: models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
    FAILURE_TYPE: models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    ORG: models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
    KIND: models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD),
}
LINKS = 16
"""Of each point to its neighbours within a scope; Qdrant's own default for a whole graph."""
OVERSAMPLING = 2.0
_RESCORED = models.SearchParams(quantization=models.QuantizationSearchParams(rescore=True, oversampling=OVERSAMPLING))


def layout(dimension: int, options: QdrantOptions) -> dict[str, Any]:
    """What `create_collection` is told."""
    quantized = options.quantization == "int8"
    return {
        "vectors_config": models.VectorParams(size=dimension, distance=models.Distance.COSINE, on_disk=quantized),
        "hnsw_config": models.HnswConfigDiff(m=0, payload_m=LINKS),
        "quantization_config": _int8() if quantized else None,
        "replication_factor": options.replicas,
        "write_consistency_factor": 1,
        "shard_number": options.shards,
        "on_disk_payload": True,
    }


def _int8() -> models.ScalarQuantization:
    scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
    return models.ScalarQuantization(scalar=scalar)


def fits(info: models.CollectionInfo, dimension: int) -> bool:
    """Whether a collection can hold vectors of a dimension, compared by their cosine."""
    vectors = info.config.params.vectors
    return (
        isinstance(vectors, models.VectorParams)
        and vectors.size == dimension
        and vectors.distance == models.Distance.COSINE
    )


def stored(kind: str, item: Item, vector: Vector) -> models.PointStruct:
    """An item as the cluster keeps it."""
    payload = {KIND: kind, ITEM: item.item_id, SCOPE: item.scope, PRINT: fingerprint(kind, item)}
    scope: list[str] = json.loads(item.scope)
    if len(scope) > 1:
        payload[ORG] = scope[1]
    if item.failure_type is not None:
        payload[FAILURE_TYPE] = item.failure_type
    return models.PointStruct(id=str(point_id(kind, item.item_id)), vector=vector.tolist(), payload=payload)


def fingerprint(kind: str, item: Item) -> str:
    """By which it is seen whether what the cluster holds of an item is what the tables say."""
    return digest(json.dumps([kind, item.item_id, item.scope, item.failure_type, item.digest]))


def ids(kind: str, item_ids: Sequence[str]) -> list[Any]:
    """The ids of some items' points."""
    return [str(point_id(kind, item_id)) for item_id in item_ids]


def query(
    vector: Vector, scope: str, failure_type: str | None, limit: int, least_cosine: float | None, *, rescored: bool
) -> models.QueryRequest:
    """The question for the nearest items of a scope; by the whole vectors where there are short ones as well."""
    must: list[models.Condition] = [_equals(SCOPE, scope)]
    if failure_type is not None:
        must.append(_equals(FAILURE_TYPE, failure_type))
    return models.QueryRequest(
        query=vector.tolist(),
        filter=models.Filter(must=must),
        params=_RESCORED if rescored else None,
        limit=limit,
        score_threshold=least_cosine,
        with_payload=[ITEM],
        with_vector=False,
    )


def hits(response: models.QueryResponse) -> list[Hit]:
    """What was found; a point of nobody's making, without an item, is none of ours."""
    return [
        Hit(point.payload[ITEM], point.score) for point in response.points if point.payload and ITEM in point.payload
    ]


def _equals(key: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def of_kind(kind: str) -> models.Filter:
    """The condition for points of a kind."""
    return models.Filter(must=[_equals(KIND, kind)])
