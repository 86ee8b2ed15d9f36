"""The statistics of a report, against a plain account of what they mean."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reasonblocks.report import metrics

RUNS = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.2, 0.25, 0.6]), st.booleans()), min_size=2, max_size=24)


def columns(runs: list[tuple[float, bool]]) -> tuple[metrics.Numbers, metrics.Flags]:
    return np.array([score for score, _ in runs]), np.array([failed for _, failed in runs], dtype=bool)


def plain_auroc(runs: list[tuple[float, bool]]) -> float | None:
    pairs = [(ill, healthy) for ill, bad in runs if bad for healthy, also in runs if not also]
    if not pairs:
        return None
    return sum(1.0 if ill > healthy else 0.5 if ill == healthy else 0.0 for ill, healthy in pairs) / len(pairs)


def plain_caught(runs: list[tuple[float, bool]], allowed_share: float) -> float | None:
    """The most that any threshold catches without flagging more than the allowed share of the healthy runs."""
    ill, healthy = [score for score, bad in runs if bad], [score for score, bad in runs if not bad]
    if not ill or not healthy:
        return None
    allowed = int(allowed_share * len(healthy))
    thresholds = [level for level in [*healthy, -1.0] if sum(score > level for score in healthy) <= allowed]
    return max(sum(score > level for score in ill) for level in thresholds if level >= 0) / len(ill)


@settings(max_examples=150)
@given(RUNS)
def test_auroc_counts_pairs(runs: list[tuple[float, bool]]) -> None:
    """Of a failed and a successful run each; a tie is half a win, and without either there is none."""
    scores, failed = columns(runs)
    found = metrics.once(lambda weights: metrics.auroc(scores, failed, weights), len(runs))
    assert found == (None if (expected := plain_auroc(runs)) is None else pytest.approx(expected))


@settings(max_examples=150)
@given(RUNS, st.sampled_from([0.0, 0.1, 0.25, 0.5]))
def test_caught_keeps_to_the_false_alarms(runs: list[tuple[float, bool]], share: float) -> None:
    """The lowest threshold that flags no more healthy runs than allowed."""
    scores, failed = columns(runs)
    found = metrics.once(lambda weights: metrics.caught(scores, failed, weights, share), len(runs))
    assert found == (None if (expected := plain_caught(runs, share)) is None else pytest.approx(expected))


@settings(max_examples=80)
@given(RUNS, st.data())
def test_a_weight_is_a_copy(runs: list[tuple[float, bool]], data: st.DataObject) -> None:
    """A run drawn twice counts as two runs, one drawn never not at all."""
    weights = data.draw(st.lists(st.integers(0, 3), min_size=len(runs), max_size=len(runs)))
    scores, failed = columns(runs)
    copies = [run for run, times in zip(runs, weights, strict=True) for _ in range(times)]
    assume(copies)
    row = np.array([weights], dtype=np.float64)
    for statistic, plain in (
        (metrics.auroc(scores, failed, row), plain_auroc(copies)),
        (metrics.caught(scores, failed, row), plain_caught(copies, 0.10)),
    ):
        assert statistic[0] == pytest.approx(np.nan if plain is None else plain, nan_ok=True)


@settings(max_examples=60)
@given(RUNS)
def test_the_area_under_the_curve_is_the_auroc(runs: list[tuple[float, bool]]) -> None:
    """Which goes from none to all, never down."""
    scores, failed = columns(runs)
    curve = metrics.roc(scores, failed)
    expected = plain_auroc(runs)
    if expected is None:
        assert curve == []
        return
    assert (curve[0], curve[-1]) == ((0.0, 0.0), (1.0, 1.0))
    assert curve == sorted(curve)
    area = sum((x2 - x1) * (y1 + y2) / 2 for (x1, y1), (x2, y2) in pairwise(curve))
    assert area == pytest.approx(expected)


def test_runs_of_one_task_are_drawn_together() -> None:
    """From a fixed seed, as many tasks as there are."""
    weights = metrics.draws(["a", "b", "a", "c"], samples=50)
    assert (weights[:, 0] == weights[:, 2]).all()
    assert (weights[:, [0, 1, 3]].sum(axis=1) == 3).all()
    assert len({tuple(row) for row in weights.tolist()}) > 5
    assert (metrics.draws(["a", "b", "a", "c"], samples=50) == weights).all()


def test_an_interval_holds_the_middle_of_the_samples() -> None:
    """Also where a ratio is infinite; where most samples have no value there is none."""
    assert metrics.interval(np.arange(1001, dtype=np.float64)) == (25.0, 975.0)
    assert metrics.interval(np.array([1.0] * 10 + [np.inf] * 10)) == (1.0, np.inf)
    assert metrics.interval(np.array([1.0] + [np.nan] * 9)) is None


def test_a_set_without_a_value_does_not_count_in_a_mean() -> None:
    """Sample by sample."""
    found = metrics.mean_of_sets([np.array([0.2, np.nan, np.nan]), np.array([0.4, 0.6, np.nan])])
    assert found[:2] == pytest.approx([0.3, 0.6])
    assert np.isnan(found[2])


@pytest.mark.parametrize(
    ("steps", "window", "alarms"), [(6, 2, 1), (7, 3, 2), (5, 5, 1), (5, 0, 2), (4, 1, 0), (4, 2, 4)]
)
def test_the_chance_of_a_hit_is_that_of_all_placements(steps: int, window: int, alarms: int) -> None:
    """Every way to place the alarms, counted."""
    placements = list(combinations(range(steps), alarms))
    hits = sum(any(place < window for place in placement) for placement in placements)
    assert metrics.chance_of_hit(steps, window, alarms) == pytest.approx(hits / len(placements))
