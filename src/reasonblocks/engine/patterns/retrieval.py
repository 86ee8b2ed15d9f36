"""Lookups: which patterns have to do with what an agent says. From any event loop, without the database."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ...types import Tier
from ..answers import Retrieval, Trace
from ..embedding.calibration import Calibration
from ..embedding.context import views
from ..errors import Invalid
from ..index.serving import Index, Serving
from ..index.shard import Hit, Vector
from ..principal import Principal
from ..requests import RetrieveRequest
from .catalogue import E2_SCOPE, Catalogue, LivePattern, e1_scope

DEFAULT_TOP_K = 5
GATES = {"e1": 0.8, "e2": 0.7}
"""The least similarity of each tier; a pattern may ask for more."""
_ROOM = 8
"""Hits that are asked for beyond those wanted, since a pattern's own gate may keep some of them back."""
_ROUNDING = 0.001
"""What a cosine may lose on its way to a similarity and back; near the gate the similarity decides."""


class Lookup(NamedTuple):
    """What is looked for, once it is clear who asks."""

    tier: Literal["e1", "e2"]
    org_id: str
    failure_type: str | None
    """Only e2 is narrowed by it; a pattern that is about nothing in particular does not match then."""

    @property
    def scope(self) -> str:
        """Where in the index to look."""
        return E2_SCOPE if self.tier == "e2" else e1_scope(self.org_id)

    def admits(self, pattern: LivePattern) -> bool:
        """Whether a pattern is one of those looked for; the index may lag behind what is known here."""
        if pattern.tier != self.tier:
            return False
        if self.tier == "e1":
            return pattern.org_id == self.org_id
        if self.failure_type is None:
            return not pattern.needs_failure_type
        return pattern.failure_type == self.failure_type


class Match(NamedTuple):
    """A pattern that passes its gate."""

    pattern: LivePattern
    similarity: float
    cosine: float


class Retriever:
    """Answers from the catalogue and from what the index serves."""

    def __init__(self, catalogue: Catalogue, index: Index) -> None:
        self._catalogue = catalogue
        self._index = index

    async def retrieve(self, principal: Principal, request: RetrieveRequest) -> Retrieval:
        """The patterns of one tier that pass its gate, the most similar first; of e3 all there are."""
        tier = asked_tier(request)
        top_k = request.top_k or DEFAULT_TOP_K
        if tier == "e3":
            return Retrieval([_trace(pattern, 0.0, None) for pattern in self._catalogue.e3()[:top_k]])
        lookup = Lookup(tier, principal.org(request.org_id), (request.failure_type or None) if tier == "e2" else None)
        if not self._may_match(lookup, request.context):
            return Retrieval([])
        serving = self._index.serving()
        vectors = await serving.embedding.embed_all(views(request.context))
        return Retrieval(await self._nearest(serving, lookup, vectors, top_k))

    def _may_match(self, lookup: Lookup, context: str) -> bool:
        """Whether anything could be found: embedding the context costs more than all the rest of a step."""
        view = self._catalogue.view
        if not context.strip():
            return False
        if lookup.tier == "e1":
            return lookup.org_id in view.e1_orgs
        if lookup.failure_type is not None:
            return lookup.failure_type in view.e2_failure_types
        return bool(view.e2_failure_types) and (view.screen is None or view.screen.passes(context))

    async def _nearest(self, serving: Serving, lookup: Lookup, vectors: Sequence[Vector], top_k: int) -> list[Trace]:
        """What is most similar to any of the vectors, which are views of one context."""
        best: dict[str, Match] = {}
        for matches in await self._matches(serving, lookup, vectors, top_k):
            for match in matches:
                known = best.get(match.pattern.pattern_id)
                if known is None or match.cosine > known.cosine:
                    best[match.pattern.pattern_id] = match
        ranked = sorted(best.values(), key=lambda match: -match.cosine)
        return [_trace(*match) for match in ranked[:top_k]]

    async def _matches(
        self, serving: Serving, lookup: Lookup, vectors: Sequence[Vector], top_k: int
    ) -> list[list[Match]]:
        """For each vector at least `top_k` that pass the gate, if there are so many; the nearest first."""
        least = serving.calibration.cosine_for(GATES[lookup.tier]) - _ROUNDING
        limit = top_k + _ROOM
        while True:
            found = await serving.search_all(
                vectors, lookup.scope, lookup.failure_type, limit=limit, least_cosine=least
            )
            passed = [self._passed(serving.calibration, lookup, hits) for hits in found]
            if all(len(some) >= top_k or len(hits) < limit for some, hits in zip(passed, found, strict=True)):
                return passed
            limit *= 4  # those that kept themselves back took the room of others

    def _passed(self, calibration: Calibration, lookup: Lookup, hits: list[Hit]) -> list[Match]:
        """Those that pass the gate."""
        passed = []
        for hit in hits:
            pattern = self._catalogue.get(hit.item_id)
            if pattern is None or not lookup.admits(pattern):
                continue
            similarity = round(calibration.similarity(hit.cosine), 4)
            if similarity >= max(GATES[lookup.tier], pattern.gate_threshold or 0.0):
                passed.append(Match(pattern, similarity, round(hit.cosine, 4)))
        return passed


def asked_tier(request: RetrieveRequest) -> Tier:
    """The tier a request means, by its newer or its older name."""
    tier = request.tier or request.level
    if tier is None:
        raise Invalid("tier is missing; expected e1, e2 or e3", location=("tier",))
    if request.level not in (None, tier):
        raise Invalid(
            f"tier is {tier!r} and level is {request.level!r}; they are two names of one thing, send one of them",
            location=("level",),
        )
    return tier


def _trace(pattern: LivePattern, similarity: float, cosine: float | None) -> Trace:
    return Trace(
        tier=pattern.tier,
        level=pattern.tier,
        pattern_id=pattern.pattern_id,
        similarity=similarity,
        failure_type=pattern.failure_type,
        fields=pattern.fields,
        model_family=pattern.model_family,
        source_trace_id=pattern.source_trace_id,
        cosine=cosine,
    )
