"""A case: a recorded run in which one thing was planted, and where; or one in which nothing is wrong."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from ..recordings import RecordedRun

Kind = Literal["planted", "twin", "control"]
Wording = Literal["development", "held_out"]

MONITOR_OF: Mapping[str, str] = {
    "loop_exact": "semantic_loop",
    "loop_reworded": "semantic_loop",
    "loop_alternating": "semantic_loop",
    "loop_failing": "semantic_loop",
    "unverified_skipped": "verification_skip",
    "unverified_failed": "verification_skip",
    "contradiction_silent": "claim_contradiction",
    "churn_resummary": "cyclic_compression",
    "sprawl_tangents": "late_sprawl",
    "drift_stretch": "silent_topic_drift",
}
"""By planted mode, the monitor that should see it."""
PLANTED_MODES = tuple(MONITOR_OF)
CONTROL_MODES = (
    "bulk_work",
    "paging",
    "polling",
    "retry_after_fix",
    "reread_after_edit",
    "acknowledged_change",
    "steady_debugging",
)
TWIN = "twin"
MODES = (TWIN, *PLANTED_MODES, *CONTROL_MODES)


class Case(msgspec.Struct, frozen=True):
    """One run to be watched, and what should be seen in it."""

    kind: Kind
    mode: str
    monitor: str | None
    """Which monitor should fire; `None` where nothing is wrong."""
    run: RecordedRun
    start: int
    """The first planted step."""
    stop: int
    """The step after the last planted one; equal to `start` in a twin."""
    twin: RecordedRun
    """The run as it was recorded."""
    variant: str = ""
    """Which form of the mode it is, for those who read misses."""
    groundwork: int | None = None
    """A step before `start` that was given a sentence which the planted stretch goes back to."""
