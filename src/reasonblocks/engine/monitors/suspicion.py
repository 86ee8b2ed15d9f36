"""What the signs of a run make each monitor suspect: learned, readable, and never enough to fire.

A finding is what a monitor can show; a suspicion is how much a run resembles those that failed. Its ceiling lies far
below the threshold at which a monitor fires, so it ranks runs and opens nothing. For each monitor it is a logistic
curve over the logarithms of its signs, moved so that it begins at 0, where there are none, and ends at the ceiling:

    chance(z) = 1 / (1 + exp(-z))        z = intercept + sum of weight * ln(1 + sign)
    suspicion = ceiling * (chance(z) - chance(intercept)) / (1 - chance(intercept))

The numbers are in `calibration.json`, which `benchmarks/monitors/fit.py` writes, with its provenance and figures.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from math import exp, log1p

import msgspec

from .signs import NAMES

FILE = "calibration.json"


class MonitorCalibration(msgspec.Struct, frozen=True):
    """How one monitor reads the signs."""

    intercept: float
    weights: dict[str, float]
    """By sign."""

    def suspicion(self, signs: float) -> float:
        """The share of the ceiling for a weighted sum of signs."""
        least = _chance(self.intercept)
        return (_chance(self.intercept + signs) - least) / (1.0 - least)


class Calibration(msgspec.Struct, frozen=True):
    """The part of the file that is computed with; the rest of it is for people."""

    ceiling: float
    monitors: dict[str, MonitorCalibration]

    def suspicions(self, signs: Mapping[str, float]) -> dict[str, float]:
        """The suspicion of each monitor that has one."""
        logs = {name: log1p(value) for name, value in signs.items()}
        return {
            name: self.ceiling * one.suspicion(sum([weight * logs[sign] for sign, weight in one.weights.items()]))
            for name, one in self.monitors.items()
        }


@cache
def shipped_calibration() -> Calibration:
    """The calibration that comes with the package."""
    calibration = msgspec.json.decode((files(__package__) / FILE).read_bytes(), type=Calibration)
    unknown = {sign for monitor in calibration.monitors.values() for sign in monitor.weights} - set(NAMES)
    if unknown:
        raise ValueError(f"{FILE} has weights for {sorted(unknown)}; the signs are {list(NAMES)}")
    return calibration


def _chance(odds: float) -> float:
    return 1.0 / (1.0 + exp(-odds))
