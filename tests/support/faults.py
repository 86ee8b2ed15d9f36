"""Everything that can go wrong between a client and rb-api, as data."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from support.records import Request

UNSET: Final[Any] = object()
"""Marks `Fault.answer` as not given, since None is an answer worth testing."""

DRIP_SECONDS = 0.05
HUGE_BYTES = 20_000_000


@dataclass(frozen=True)
class Fault:
    """One way in which the stand-in misbehaves; combine it with `latency`, `times`, `rate` and `when`."""

    _: KW_ONLY
    latency: float = 0.0
    """Seconds to wait before anything else happens."""
    status: int | None = None
    """Answer with this status and a `detail`."""
    retry_after: float | str | None = None
    """The `Retry-After` header that goes with `status`."""
    black_hole: bool = False
    """Read the request and never answer."""
    reset: bool = False
    """Reset the connection (RST) instead of answering."""
    hang_up: bool = False
    """Close the connection (FIN) instead of answering."""
    refuse: bool = False
    """Close the listener and every connection; only for the route `*`, until the faults are cleared."""
    garbage: bool = False
    """Status 200 with a body that is not JSON."""
    answer: Any = UNSET
    """Status 200 with this JSON value, whatever its shape."""
    truncated: bool = False
    """The right answer, cut in the middle of its announced length."""
    drip: float = 0.0
    """The right answer, its body one byte per this many seconds."""
    huge: int = 0
    """The right answer, padded with an unknown field to this many bytes."""
    redirect: str | None = None
    """Status 307 to this location."""
    applied: bool = False
    """The request takes effect first, so that only its answer is late, wrong or lost."""
    times: int | None = None
    """Strike this many times, then never again."""
    rate: float = 1.0
    """Strike this share of the requests, chosen by the stand-in's seed."""
    when: Callable[[Request], bool] | None = None
    """Strike only the requests this accepts."""


NO_FAULT = Fault()

EVERY_FAULT: dict[str, Fault] = {
    "slow": Fault(latency=30.0),
    "unavailable": Fault(status=503),
    "rate_limited": Fault(status=429, retry_after=1),
    "server_error": Fault(status=500),
    "unauthorized": Fault(status=401),
    "not_found": Fault(status=404),
    "black_hole": Fault(black_hole=True),
    "reset": Fault(reset=True),
    "hang_up": Fault(hang_up=True),
    "refuse": Fault(refuse=True),
    "garbage": Fault(garbage=True),
    "null": Fault(answer=None),
    "list": Fault(answer=[]),
    "truncated": Fault(truncated=True),
    "drip": Fault(drip=DRIP_SECONDS),
    "huge": Fault(huge=HUGE_BYTES),
    "redirect": Fault(redirect="/elsewhere"),
}
"""One of each by name, to parametrise a test with."""

WRONG_SHAPES: tuple[Any, ...] = (
    None,
    [],
    {},
    "text",
    17,
    True,
    {"traces": None},
    {"traces": {}},
    {"traces": [None, 3, "x"]},
    {"traces": [{"tier": 5, "fields": "no", "similarity": "high"}]},
    {"traces": [{"tier": "e9", "pattern_id": None, "fields": None}]},
    {"inject": "yes", "intervention_text": 5, "fired": "semantic_loop", "scores": [], "composite": "0.5"},
    {"inject": True, "intervention_text": None, "fired": None, "scores": None, "composite": None},
    {"inject": True, "intervention_text": "x", "fired": [1], "scores": {"a": "b"}, "composite": math.nan},
    {"accepted": "all", "rejected": None},
    {"difficulty": None},
    {"capabilities": "events"},
    {"detail": "unexpected"},
)
"""Answers that are JSON (or nearly) but not what the protocol promises."""


class FaultPlan:
    """Which fault strikes the next request of a route."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._by_route: dict[str, list[tuple[Fault, list[int]]]] = {}

    def set(self, route: str, faults: Iterable[Fault]) -> None:
        """Replace the faults of one route; they are tried in the order given."""
        self._by_route[route] = [(fault, [0]) for fault in faults]

    def clear(self) -> None:
        """Behave again."""
        self._by_route.clear()

    def strike(self, request: Request) -> Fault:
        """Give the fault of this request: its route's own first, then one meant for all routes."""
        for route in (request.route, "*"):
            for fault, used in self._by_route.get(route, ()):
                if self._strikes(fault, used[0], request):
                    used[0] += 1
                    return fault
        return NO_FAULT

    def _strikes(self, fault: Fault, used: int, request: Request) -> bool:
        if fault.times is not None and used >= fault.times:
            return False
        if fault.when is not None and not fault.when(request):
            return False
        return fault.rate >= 1.0 or self._random.random() < fault.rate
