"""What a step event says of its lookups, in plain values: `reasonblocks explain` reads it from the store."""

from typing import Any

from ..steering.compose import Composed
from ..steering.plan import Prepared, Queued, Withheld
from ..types import Lookup, NearMiss, PendingInjection

SILENT = "had nothing to say"


def candidates(prepared: Prepared, composed: Composed) -> list[dict[str, Any]]:
    """All guidance that came back for a call; what was not given says why."""
    return [
        _candidate(queued, pending, composed)
        for queued in (*prepared.queued, *prepared.withheld)
        for pending in queued.pending
    ]


def _candidate(queued: Queued, pending: PendingInjection, composed: Composed) -> dict[str, Any]:
    candidate = {
        "source": type(queued.injection).__name__,
        "tier": pending.tier,
        "pattern_id": pending.pattern_id,
        "similarity": pending.similarity,
    }
    if pending.gate is not None:
        candidate["gate"] = pending.gate
    if isinstance(queued, Withheld):
        candidate["withheld"] = queued.reason
    elif any(pending is silent for silent in composed.silent):
        candidate["withheld"] = SILENT
    return candidate


def account(lookup: Lookup) -> dict[str, Any]:
    """How one lookup went."""
    shown: dict[str, Any] = {"source": lookup.source, "tier": lookup.tier}
    if lookup.thoughts:
        shown["thoughts"] = lookup.thoughts
    if lookup.failure_type is not None:
        shown["failure_type"] = lookup.failure_type
    if lookup.not_compared is not None:
        shown["not_compared"] = lookup.not_compared
    if not lookup.told:
        shown["told"] = False
    if lookup.near_misses:
        shown["near_misses"] = [_near_miss(missed) for missed in lookup.near_misses]
    return shown


def _near_miss(missed: NearMiss) -> dict[str, Any]:
    shown: dict[str, Any] = {"pattern_id": missed.pattern_id, "similarity": missed.similarity, "reason": missed.reason}
    if missed.title:
        shown["title"] = missed.title
    if missed.gate is not None:
        shown["gate"] = missed.gate
    if missed.failure_type is not None:
        shown["failure_type"] = missed.failure_type
    return shown
