"""What the signs of a run make each monitor suspect: learned, readable, and never enough to fire.

A finding is what a monitor can show; a suspicion is how much a run resembles those that failed. Its ceiling lies far
below the threshold at which a monitor fires, so it ranks runs and opens nothing. For each monitor it is a logistic
curve over the logarithms of its signs, moved so that it begins at 0, where there are none, and ends at the ceiling:

    chance(z) = 1 / (1 + exp(-z))        z = intercept + sum of weight * ln(1 + sign)
    suspicion = ceiling * (chance(z) - chance(intercept)) / (1 - chance(intercept))

The numbers are in `calibration.json`, which `benchmarks/monitors/fit.py` writes, with its provenance and figures.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from math import exp, log1p
from operator import itemgetter, mul

import msgspec

from .signs import NAMES

FILE = "calibration.json"


class MonitorCalibration(msgspec.Struct, frozen=True):
    """How one monitor reads the signs."""

    intercept: float
    weights: dict[str, float]
    """By sign."""


class Calibration(msgspec.Struct, frozen=True):
    """The part of the file that is computed with; the rest of it is for people."""

    ceiling: float
    monitors: dict[str, MonitorCalibration]

    def suspicions(self, signs: Mapping[str, float]) -> dict[str, float]:
        """The suspicion of each monitor that has one."""
        return Suspicions(self).of(signs)


class Suspicions:
    """A calibration with all that does not depend on a run computed, for it is asked after every step."""

    __slots__ = ("_ceiling", "_monitors", "_signs")

    def __init__(self, calibration: Calibration) -> None:
        self._ceiling = calibration.ceiling
        self._signs = sorted({sign for one in calibration.monitors.values() for sign in one.weights})
        self._monitors = [
            (
                name,
                list(one.weights.values()),
                _picks([self._signs.index(sign) for sign in one.weights]),
                one.intercept,
                _chance(one.intercept),
                1.0 - _chance(one.intercept),
            )
            for name, one in calibration.monitors.items()
        ]
        """Name, weights, what picks the signs they are for, intercept, the least chance, and what is left above it."""

    def of(self, signs: Mapping[str, float]) -> dict[str, float]:
        """The suspicion of each monitor that has one."""
        logs = list(map(log1p, map(signs.__getitem__, self._signs)))
        suspicions = {}
        for name, weights, picks, intercept, least, rest in self._monitors:
            odds = intercept + sum(map(mul, weights, picks(logs)))
            suspicions[name] = self._ceiling * ((1.0 / (1.0 + exp(-odds)) - least) / rest)
        return suspicions


@cache
def shipped_calibration() -> Calibration:
    """The calibration that comes with the package."""
    calibration = msgspec.json.decode((files(__package__) / FILE).read_bytes(), type=Calibration)
    unknown = {sign for monitor in calibration.monitors.values() for sign in monitor.weights} - set(NAMES)
    if unknown:
        raise ValueError(f"{FILE} has weights for {sorted(unknown)}; the signs are {list(NAMES)}")
    return calibration


def _picks(places: Sequence[int]) -> Callable[[Sequence[float]], Sequence[float]]:
    """What takes the items at these places out of a list, as fast as it can be done."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda items: [items[place] for place in places]


def _chance(odds: float) -> float:
    return 1.0 / (1.0 + exp(-odds))
