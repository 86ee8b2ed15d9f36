"""The difficulty states of a run, as a pure function of its scores.

INIT    -> NORMAL  on the first score
NORMAL  -> FAST    the last `fast_window` scores are all below `fast_threshold`
NORMAL  -> SLOW    the last `slow_window` scores are all above `slow_threshold`
FAST    -> NORMAL  a score above `fast_threshold + hysteresis_margin`
SLOW    -> NORMAL  a score below `slow_threshold - hysteresis_margin`
SLOW    -> SKIP    the last `skip_window` scores are all above `skip_threshold`
SKIP    -> NORMAL  a score below `slow_threshold - hysteresis_margin`
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any, Self

from .errors import SettingsError
from .types import FSMState


@dataclass(frozen=True, slots=True, kw_only=True)
class DifficultyFSM:
    """The rules by which scores move a run between its states; immutable, so that runs can share it."""

    fast_threshold: float = 0.2
    """Scores below it are easy."""
    slow_threshold: float = 0.6
    """Scores above it are hard."""
    skip_threshold: float = 0.85
    """Scores above it are extreme."""
    hysteresis_margin: float = 0.1
    """How far back a score must come before a state is left again."""
    fast_window: int = 6
    """How many easy scores in a row lead to FAST."""
    slow_window: int = 5
    """How many hard scores in a row lead to SLOW."""
    skip_window: int = 35
    """How many extreme scores in a row lead from SLOW to SKIP."""

    def __post_init__(self) -> None:
        for name in ("fast_threshold", "slow_threshold", "skip_threshold", "hysteresis_margin"):
            _check_share(name, getattr(self, name))
        for name in ("fast_window", "slow_window", "skip_window"):
            _check_window(name, getattr(self, name))
        self._check_order()

    def _check_order(self) -> None:
        if self.fast_threshold >= self.slow_threshold:
            raise SettingsError(
                f"fast_threshold is {self.fast_threshold!r} and slow_threshold is {self.slow_threshold!r}; "
                "expected fast_threshold below slow_threshold: lower the first or raise the second"
            )
        if self.slow_threshold > self.skip_threshold:
            raise SettingsError(
                f"slow_threshold is {self.slow_threshold!r} and skip_threshold is {self.skip_threshold!r}; "
                "expected slow_threshold at or below skip_threshold: lower the first or raise the second"
            )

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any] | None) -> Self:
        """The rules that `fsm_thresholds=` describes; what it leaves out keeps its default."""
        if mapping is None:
            return cls()
        if not isinstance(mapping, Mapping):
            raise SettingsError(
                f"fsm_thresholds is a {type(mapping).__name__}; expected a mapping such as {{'slow_threshold': 0.7}}"
            )
        known = [field.name for field in fields(cls)]
        for name in mapping:
            if name not in known:
                raise SettingsError(
                    f"fsm_thresholds has {name!r}, which is not a setting; use one of {', '.join(known)}"
                )
        return cls(**mapping)

    @property
    def longest_window(self) -> int:
        """How many of the newest scores a run has to keep."""
        return max(self.fast_window, self.slow_window, self.skip_window)

    def transition(self, current: FSMState, score: float, history: Sequence[float]) -> FSMState:
        """The state after `score`, with which `history` ends; a score that is NaN changes nothing."""
        if math.isnan(score):
            return current
        match current:
            case FSMState.INIT:
                return FSMState.NORMAL
            case FSMState.NORMAL:
                return self._from_normal(history)
            case FSMState.FAST if score > self.fast_threshold + self.hysteresis_margin:
                return FSMState.NORMAL
            case FSMState.SLOW | FSMState.SKIP if score < self.slow_threshold - self.hysteresis_margin:
                return FSMState.NORMAL
            case FSMState.SLOW if _all_above(self.skip_threshold, history, self.skip_window):
                return FSMState.SKIP
        return current

    def _from_normal(self, history: Sequence[float]) -> FSMState:
        if _all_below(self.fast_threshold, history, self.fast_window):
            return FSMState.FAST
        if _all_above(self.slow_threshold, history, self.slow_window):
            return FSMState.SLOW
        return FSMState.NORMAL


# A comparison with NaN is false, so a window that holds one is not satisfied until it has moved on.


def _all_below(threshold: float, history: Sequence[float], window: int) -> bool:
    return len(history) >= window and all(score < threshold for score in islice(reversed(history), window))


def _all_above(threshold: float, history: Sequence[float], window: int) -> bool:
    return len(history) >= window and all(score > threshold for score in islice(reversed(history), window))


def _check_share(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise SettingsError(f"{name} is {value!r}; expected a number from 0 to 1, for example 0.5")


def _check_window(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingsError(f"{name} is {value!r}; expected a whole number of scores, 1 or more")
