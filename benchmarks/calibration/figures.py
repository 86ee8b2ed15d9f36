"""The arithmetic of a calibration: the fit, and what it is worth."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]


def fitted_logistic(cosines: Numbers, right: Flags) -> tuple[float, float]:
    """Slope and offset of the logistic function that makes what was observed the most likely (Newton's method)."""
    design = np.column_stack([cosines, np.ones_like(cosines)])
    found = np.zeros(2)
    for _ in range(100):
        chance = 1.0 / (1.0 + np.exp(-design @ found))
        curvature = design.T @ (design * (chance * (1.0 - chance))[:, None])
        step = np.linalg.solve(curvature, design.T @ (right - chance))
        found = found + step
        if np.abs(step).max() < 1e-9:
            break
    return float(found[0]), float(found[1])


def auroc(right: Numbers, wrong: Numbers) -> float:
    """How often a right pair has the higher value of two, a wrong one being the other."""
    values = np.concatenate([right, wrong])
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]  # those that are equal share their places
    return float((ranks[: len(right)].sum() - len(right) * (len(right) + 1) / 2) / (len(right) * len(wrong)))


@dataclass(frozen=True)
class Passed:
    """What passes a gate."""

    right: int
    wrong: int
    of_right: int

    @property
    def precision(self) -> float:
        """The share of right ones among those that pass."""
        return self.right / (self.right + self.wrong) if self.right + self.wrong else float("nan")

    @property
    def recall(self) -> float:
        """The share of those that pass among the right ones."""
        return self.right / self.of_right if self.of_right else float("nan")

    def __str__(self) -> str:
        count = self.right + self.wrong
        return f"precision {self.precision:.3f} ({self.wrong} of {count} wrong), recall {self.recall:.3f}"


def passed(passes: Flags, right: Flags, compared: Flags) -> Passed:
    """Count over pairs; those that are not compared do not count."""
    return Passed(
        int((passes & right & compared).sum()), int((passes & ~right & compared).sum()), int((right & compared).sum())
    )


def interval(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share that was observed in so many cases."""
    z = 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))
