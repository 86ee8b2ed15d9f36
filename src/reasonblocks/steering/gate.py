"""Gates and guardrails: what may be asked for, and what may be said."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..types import FSMState, MonitorEvaluation

E1_COMPOSITE_THRESHOLD = 0.15
E1_LOOK_BACK = 2
MONITOR_CAP = 5
COOL_DOWN = {FSMState.SLOW: 2, FSMState.SKIP: 2, FSMState.FAST: 5}
NORMAL_COOL_DOWN = 3
OBSERVE_ONLY = "observe only: would have injected"
NO_SIGNAL = "no monitor signal"
NO_ANSWER = "monitors unavailable, none fired before"
NO_MONITORS = "no monitors configured"
FIRST_CALL = "first call"
"""In the place of a decision: there is nothing to look up by yet."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A decision with its reason."""

    allowed: bool
    reason: str


def e1_gate(
    *,
    configured: bool,
    current: MonitorEvaluation | None,
    previous: Sequence[MonitorEvaluation | None],
    threshold: float,
) -> Gate:
    """Whether E1 may be asked: only where the monitors gave a reason, now or on either of two steps before."""
    if not configured:
        return Gate(True, NO_MONITORS)
    if current is not None and current.fired:
        return Gate(True, "fired now")
    if current is not None and current.composite > threshold:
        return Gate(True, f"composite above {threshold}")
    if any(evaluation is not None and evaluation.fired for evaluation in previous[-E1_LOOK_BACK:]):
        return Gate(True, "fired on a previous step")
    return Gate(False, NO_SIGNAL if current is not None else NO_ANSWER)


@dataclass(frozen=True, slots=True)
class MonitorGuard:
    """What the monitors have had said in this run so far."""

    count: int = 0
    last_step: int | None = None
    last_text: str | None = None

    def refusal(self, step: int, state: FSMState, text: str) -> str | None:
        """Why this text may not be said now, or `None` if it may."""
        if self.count >= MONITOR_CAP:
            return f"monitor cap of {MONITOR_CAP} per run reached"
        if text == self.last_text:
            return "monitor text repeats the last one"
        cool_down = COOL_DOWN.get(state, NORMAL_COOL_DOWN)
        if self.last_step is not None and step - self.last_step < cool_down:
            return f"monitor cool-down: {step - self.last_step} of {cool_down} steps in {state.value}"
        return None

    def spend(self, step: int, text: str) -> "MonitorGuard":
        """The guard after `text` was said."""
        return MonitorGuard(self.count + 1, step, text)
