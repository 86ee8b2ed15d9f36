"""Lookups: which patterns have to do with what an agent says. From any event loop, without the database."""

from collections.abc import Sequence
from itertools import islice
from typing import Literal, NamedTuple

from ...limits import MAX_TITLE
from ...types import Tier
from ..answers import NearMiss, NearMissReason, NotCompared, Retrieval, Trace
from ..embedding.calibration import Calibration
from ..embedding.context import views
from ..errors import Invalid
from ..index.serving import Index, Serving
from ..index.shard import Hit, Vector
from ..principal import Principal
from ..requests import RetrieveRequest
from .catalogue import E2_SCOPE, Catalogue, LivePattern, e1_scope
from .fields import headline

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

    def concerns(self, pattern: LivePattern) -> bool:
        """Whether a pattern is among those that are compared; the index may lag behind what is known here."""
        if pattern.tier != self.tier:
            return False
        if self.tier == "e1":
            return pattern.org_id == self.org_id
        return self.failure_type is None or pattern.failure_type == self.failure_type

    def has_to_wait(self, pattern: LivePattern) -> bool:
        """Whether a pattern is silent until the monitors have named its failure, and they have not."""
        return self.tier == "e2" and self.failure_type is None and pattern.needs_failure_type

    def gate(self, pattern: LivePattern) -> float:
        """The least similarity at which a pattern is given."""
        return max(GATES[self.tier], pattern.gate_threshold or 0.0)

    def rejection(self, pattern: LivePattern, similarity: float) -> NearMissReason | None:
        """Why a pattern of some similarity is not given, if so."""
        if self.has_to_wait(pattern):
            return "failure_type"
        if similarity >= self.gate(pattern):
            return None
        return "gate" if similarity < GATES[self.tier] else "own_gate"


class Match(NamedTuple):
    """A pattern that was compared."""

    pattern: LivePattern
    similarity: float
    cosine: float
    rejection: NearMissReason | None
    """`None`: it passes its gate."""


class Retriever:
    """Answers from the catalogue and from what the index serves."""

    def __init__(self, catalogue: Catalogue, index: Index) -> None:
        self._catalogue = catalogue
        self._index = index

    async def retrieve(self, principal: Principal, request: RetrieveRequest) -> Retrieval:
        """The patterns of one tier that pass its gate, the most similar first; of e3 all there are."""
        tier = asked_tier(request)
        top_k = request.top_k or DEFAULT_TOP_K
        near = request.near_misses or 0
        if tier == "e3":
            return _rules(self._catalogue.e3(), top_k, near)
        lookup = Lookup(tier, principal.org(request.org_id), (request.failure_type or None) if tier == "e2" else None)
        not_compared = self._not_compared(lookup, request.context)
        if not_compared is not None:
            return Retrieval([], [], not_compared) if near else Retrieval([])
        serving = self._index.serving()
        vectors = await serving.embedding.embed_all(views(request.context))
        return _answer(lookup, await self._nearest(serving, lookup, vectors, top_k, near), top_k, near)

    def _not_compared(self, lookup: Lookup, context: str) -> NotCompared | None:
        """Why nothing could be found, if so: embedding the context costs more than all the rest of a step."""
        view = self._catalogue.view
        if not context.strip():
            return "no_context"
        if lookup.tier == "e1":
            return None if lookup.org_id in view.e1_orgs else "no_patterns"
        if lookup.failure_type is not None:
            return None if lookup.failure_type in view.e2_failure_types else "no_patterns"
        if not view.e2_failure_types:
            return "no_patterns"
        return None if view.screen is None or view.screen.passes(context) else "few_words"

    async def _nearest(
        self, serving: Serving, lookup: Lookup, vectors: Sequence[Vector], top_k: int, near: int
    ) -> list[Match]:
        """What is most similar to any of the vectors, which are views of one context; the nearest first."""
        best: dict[str, Match] = {}
        for matches in await self._matches(serving, lookup, vectors, top_k, near):
            for match in matches:
                known = best.get(match.pattern.pattern_id)
                if known is None or match.cosine > known.cosine:
                    best[match.pattern.pattern_id] = match
        return sorted(best.values(), key=lambda match: -match.cosine)

    async def _matches(
        self, serving: Serving, lookup: Lookup, vectors: Sequence[Vector], top_k: int, near: int
    ) -> list[list[Match]]:
        """For each vector at least `top_k` that pass the gate, if there are so many; the nearest first."""
        least = serving.calibration.cosine_for(GATES[lookup.tier]) - _ROUNDING
        limit = top_k + (near or _ROOM)  # each of them takes 20 µs to read, and the near ones take the room
        while True:
            found = await serving.search_all(
                vectors, lookup.scope, lookup.failure_type, limit=limit, least_cosine=None if near else least
            )
            compared = [self._compared(serving.calibration, lookup, hits) for hits in found]
            if all(
                _passed(matches) >= top_k or len(hits) < limit or hits[-1].cosine < least
                for matches, hits in zip(compared, found, strict=True)
            ):
                return compared
            limit *= 4  # those that kept themselves back took the room of others

    def _compared(self, calibration: Calibration, lookup: Lookup, hits: list[Hit]) -> list[Match]:
        """What was found, and whether it passes."""
        compared = []
        for hit in hits:
            pattern = self._catalogue.get(hit.item_id)
            if pattern is not None and lookup.concerns(pattern):
                similarity = round(calibration.similarity(hit.cosine), 4)
                rejection = lookup.rejection(pattern, similarity)
                compared.append(Match(pattern, similarity, round(hit.cosine, 4), rejection))
        return compared


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


def _passed(matches: list[Match]) -> int:
    return sum(1 for match in matches if match.rejection is None)


def _answer(lookup: Lookup, ranked: list[Match], top_k: int, near: int) -> Retrieval:
    """The nearest that pass and, if it was asked for, the nearest of those that are not given."""
    given = [match for match in ranked if match.rejection is None][:top_k]
    traces = [_trace(match.pattern, match.similarity, match.cosine) for match in given]
    if not near:
        return Retrieval(traces)
    for match, trace in zip(given, traces, strict=True):
        trace.gate = lookup.gate(match.pattern)
    chosen = {match.pattern.pattern_id for match in given}
    missed = (match for match in ranked if match.pattern.pattern_id not in chosen)
    return Retrieval(traces, [_near_miss(match, lookup.gate(match.pattern)) for match in islice(missed, near)], None)


def _rules(rules: Sequence[LivePattern], top_k: int, near: int) -> Retrieval:
    """Standing rules, which are compared with nothing."""
    traces = [_trace(rule, 0.0, None) for rule in rules[:top_k]]
    if not near:
        return Retrieval(traces)
    return Retrieval(traces, [_near_miss(Match(rule, 0.0, 0.0, None), None) for rule in rules[top_k:][:near]], None)


def _near_miss(match: Match, gate: float | None) -> NearMiss:
    pattern = match.pattern
    return NearMiss(
        tier=pattern.tier,
        pattern_id=pattern.pattern_id,
        title=headline(pattern.fields)[:MAX_TITLE],
        similarity=match.similarity,
        gate=gate,
        reason=match.rejection or "top_k",
        failure_type=pattern.failure_type,
    )


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
