"""The lookups of a stored step: who was asked by what, what came back, and what was rejected.

A step's metadata is what a client sent, perhaps through a redaction: what has not the shape of ours is passed over.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from ...engine.answers import StoredStepAnswer
from ...steering.gate import OBSERVE_ONLY
from .shapes import Candidate, LookupMade
from .wording import not_compared_because, query_of, rejected_because

COMPARED = ("e1", "e2")
"""The tiers that are found by what they say; e3 is given whole."""
E1 = "E1Injection"
ONCE = (E1, "E2Injection", "E3Injection")
"""What is given once in a run."""


class _Stored(msgspec.Struct):
    source: str
    tier: str | None = None
    pattern_id: str = ""
    similarity: float | None = None
    gate: float | None = None
    withheld: str | None = None


class _Missed(msgspec.Struct):
    pattern_id: str = ""
    title: str | None = None
    similarity: float | None = None
    gate: float | None = None
    reason: str = ""
    failure_type: str | None = None


class _Account(msgspec.Struct):
    source: str
    tier: str
    thoughts: int = 0
    failure_type: str | None = None
    not_compared: str | None = None
    told: bool = True
    near_misses: list[Any] = []


Shape = TypeVar("Shape", bound=msgspec.Struct)


def candidates(step: StoredStepAnswer, details: dict[str, Any]) -> list[Candidate]:
    """What came back for a call, given or not."""
    observed = OBSERVE_ONLY in str(details.get("skipped_reason") or "")
    return [
        Candidate(
            source=one.source,
            tier=one.tier,
            pattern_id=one.pattern_id,
            title=None,
            similarity=one.similarity if one.tier in COMPARED else None,
            gate=one.gate,
            given=given,
            verdict=f"not given: {one.withheld}" if one.withheld else _fate(given=given, observed=observed),
        )
        for one in _shaped(details.get("candidates"), _Stored)
        for given in [one.withheld is None and one.source in step.injection_sources]
    ]


def _fate(*, given: bool, observed: bool) -> str:
    if not given:
        return "not given"
    return "would have been given" if observed else "given"


def lookups(details: dict[str, Any]) -> list[LookupMade] | None:
    """How each lookup went; `None` where that is not recorded."""
    if not isinstance(details.get("lookups"), list):
        return None
    return [_made(account) for account in _shaped(details["lookups"], _Account)]


def _made(account: _Account) -> LookupMade:
    return LookupMade(
        source=account.source,
        tier=account.tier,
        query=query_of(account.tier, account.thoughts, account.failure_type),
        failure_type=account.failure_type,
        not_compared=account.not_compared
        and not_compared_because(account.not_compared, account.tier, account.failure_type),
        told=account.told,
        rejected=[_rejected(account, missed) for missed in _shaped(account.near_misses, _Missed)],
    )


def _rejected(account: _Account, missed: _Missed) -> Candidate:
    return Candidate(
        source=account.source,
        tier=account.tier,
        pattern_id=missed.pattern_id,
        title=missed.title,
        similarity=missed.similarity if account.tier in COMPARED else None,
        gate=missed.gate,
        given=False,
        verdict=rejected_because(missed.reason, missed.gate, missed.failure_type),
    )


def given_before(before: Sequence[StoredStepAnswer]) -> dict[str, int]:
    """What is given once in a run, and was: at which step."""
    given: dict[str, int] = {}
    for step in before:
        for source in step.injection_sources:
            if source in ONCE:
                given.setdefault(source, step.step_index)
    return given


def _shaped(values: Any, shape: type[Shape]) -> Iterator[Shape]:
    for value in values if isinstance(values, list) else ():
        try:
            yield msgspec.convert(value, shape)
        except msgspec.ValidationError:
            continue
