"""The statistics of a report. Pure: numbers in, numbers out.

Each of them takes weights, one row per bootstrap sample: how often each run was drawn. A single row of ones is the
statistic itself, so a figure and its interval cannot come from two different formulas.
"""

from collections.abc import Callable, Sequence
from math import comb

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]
Statistic = Callable[[Numbers], Numbers]
"""From the weights of many samples (one row each) to one number for each; NaN where there is none."""

SAMPLES = 1_000
SEED = 20_240_229
FALSE_ALARMS = 0.10
"""The share of healthy runs that may be flagged when it is asked how many failing ones are caught."""
_LOW, _HIGH = 2.5, 97.5


def auroc(scores: Numbers, failed: Flags, weights: Numbers) -> Numbers:
    """How likely a failed run scores higher than a successful one, ties counting half."""
    _, place = np.unique(scores, return_inverse=True)
    groups = int(place.max()) + 1 if len(place) else 0
    positives, negatives = _by_group(weights * failed, place, groups), _by_group(weights * ~failed, place, groups)
    below = np.cumsum(negatives, axis=1) - negatives
    wins = (positives * (below + negatives / 2)).sum(axis=1)
    return _ratio(wins, positives.sum(axis=1) * negatives.sum(axis=1))


def caught(scores: Numbers, failed: Flags, weights: Numbers, false_alarms: float = FALSE_ALARMS) -> Numbers:
    """The share of failed runs above the threshold that at most this share of the successful ones exceed."""
    order = np.argsort(-scores[~failed], kind="stable")
    healthy, drawn = scores[~failed][order], weights[:, ~failed][:, order]
    if not len(healthy):
        return np.full(len(weights), np.nan)
    allowed = np.floor(false_alarms * drawn.sum(axis=1) + 1e-9)
    beyond = np.cumsum(drawn, axis=1) > allowed[:, None]
    threshold = np.where(beyond.any(axis=1), healthy[np.argmax(beyond, axis=1)], np.nan)
    above = scores[failed][None, :] > threshold[:, None]
    share = _ratio((weights[:, failed] * above).sum(axis=1), weights[:, failed].sum(axis=1))
    return np.where(np.isnan(threshold), np.nan, share)


def mean(values: Numbers, weights: Numbers, per: Numbers | None = None) -> Numbers:
    """The weighted mean of some values, or what there is of them `per` something else."""
    of = np.ones_like(values) if per is None else per
    return _ratio(weights @ values, weights @ of)


def once(statistic: Statistic, runs: int) -> float | None:
    """The statistic of the runs as they are."""
    value = float(statistic(np.ones((1, runs)))[0])
    return None if np.isnan(value) else value


def draws(groups: Sequence[str], samples: int = SAMPLES, seed: int = SEED) -> Numbers:
    """Weights for a bootstrap by group: runs of one task stand or fall together."""
    names, place = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    count = len(names)
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=samples)
    return np.asarray(drawn, dtype=np.float64)[:, place]


def interval(samples: Numbers) -> tuple[float, float] | None:
    """Where 95% of the samples lie; `None` where hardly any of them has a value."""
    known = samples[~np.isnan(samples)]
    if len(known) < max(2, len(samples) // 2):
        return None
    low, high = np.percentile(known, [_LOW, _HIGH], method="nearest")  # a ratio may be infinite
    return float(low), float(high)


def mean_of_sets(samples: Sequence[Numbers]) -> Numbers:
    """The mean over sets, sample by sample; a set without a value in a sample does not count there."""
    table = np.vstack(samples)
    known = ~np.isnan(table)
    return _ratio(np.where(known, table, 0.0).sum(axis=0), known.sum(axis=0).astype(np.float64))


def roc(scores: Numbers, failed: Flags) -> list[tuple[float, float]]:
    """The corners of the curve: the share of successful and of failed runs at or above each threshold, from none on."""
    healthy, ill = int((~failed).sum()), int(failed.sum())
    if not healthy or not ill:
        return []
    points = [(0.0, 0.0)]
    for threshold in np.unique(scores)[::-1]:
        above = scores >= threshold
        points.append((float((above & ~failed).sum()) / healthy, float((above & failed).sum()) / ill))
    return points


def chance_of_hit(steps: int, window: int, alarms: int) -> float:
    """How likely at least one of so many alarms falls into a window of a run, if they were placed at random."""
    return 1.0 - comb(steps - window, alarms) / comb(steps, alarms) if alarms else 0.0


def _by_group(weights: Numbers, place: NDArray[np.intp], groups: int) -> Numbers:
    """The weights of each distinct score, lowest first."""
    indicator = np.zeros((len(place), groups))
    indicator[np.arange(len(place)), place] = 1.0
    return weights @ indicator


def _ratio(numerator: Numbers, denominator: Numbers) -> Numbers:
    known = denominator > 0
    return np.where(known, numerator / np.where(known, denominator, 1.0), np.nan)
