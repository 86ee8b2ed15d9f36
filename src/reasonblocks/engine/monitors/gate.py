"""When something is said, and by whom: one strong monitor, or several weak ones together.

A monitor whose weight is 0 is switched off: its score is shown and opens nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .base import FLOOR
from .profiles import Weights
from .suite import SuiteReading

COMPOSITE_THRESHOLD = 0.25
FEWEST_TOGETHER = 2
CLEAR_LEAD = 1.25
"""So many times what the second one contributes makes a leader."""

Path = Literal["strong", "composite"]


@dataclass(frozen=True, slots=True)
class Opening:
    """An open gate."""

    path: Path
    leader: str
    """The monitor that counts most."""
    failure_type: str
    monitors: tuple[str, ...]
    """Those that opened it, the leader first."""
    template_fits: bool
    """Whether our own text can say what is wrong; otherwise a pattern may."""


def decide(reading: SuiteReading, weights: Weights, failure_types: Mapping[str, str]) -> Opening | None:
    """Whether the gate opens, and for whom; `None` if nothing is to be said."""
    low = max(reading.scores.values(), default=0.0) < FLOOR
    fired = [] if low and not reading.thresholds else reading.fired
    if low and not fired:
        return None
    scores = {name: score for name, score in reading.scores.items() if weights.get(name, 0.0) > 0.0}
    strong = _ranked({name: score for name, score in scores.items() if name in fired}, weights)
    if strong:
        leader = strong[0]
        return Opening("strong", leader, failure_types[leader], tuple(strong), _has_quotes(reading, leader))
    weak = {name: score * weights[name] for name, score in scores.items() if score >= FLOOR}
    if len(weak) < FEWEST_TOGETHER or reading.composite(weights) < COMPOSITE_THRESHOLD:
        return None
    together = _ranked(weak, weights)
    leader, second = together[:2]
    fits = weak[leader] >= CLEAR_LEAD * weak[second] and _has_quotes(reading, leader)
    return Opening("composite", leader, failure_types[leader], tuple(together), fits)


def _ranked(values: Mapping[str, float], weights: Weights) -> list[str]:
    """Highest first; of equal ones the heavier, then the one that comes first in the suite."""
    return sorted(values, key=lambda name: (-values[name], -weights[name]))


def _has_quotes(reading: SuiteReading, monitor: str) -> bool:
    evidence = reading.evidence.get(monitor)
    return evidence is not None and any(evidence.quotes)
