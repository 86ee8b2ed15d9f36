"""The numbers of one set, with where they lie if its tasks are drawn again."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..recordings import RecordedStep
from .metrics import Flags, Numbers, Statistic, auroc, caught, draws, interval, mean, mean_of_sets, once, roc
from .sets import EvaluatedRun, EvaluatedSet

TRIVIAL = ("number of steps", "share of errors", "most repeated call", "characters of thought")
Curve = list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Figure:
    """A number, and what it is in each bootstrap sample."""

    value: float | None
    samples: Numbers | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where 95% of the samples lie."""
        return None if self.samples is None or self.value is None else interval(self.samples)


NOTHING = Figure(None)


@dataclass(frozen=True, slots=True)
class MonitorRow:
    """How one monitor did."""

    name: str
    fires_failed: float | None
    fires_successful: float | None
    auroc: float | None
    peak_failed: float | None
    """The mean of its highest score."""
    peak_successful: float | None
    curve: Curve


@dataclass(frozen=True, slots=True)
class Figures:
    """What there is to say about a set."""

    name: str
    prefix: int
    runs: int
    steps: int
    failed: int
    successful: int
    auroc: Figure = NOTHING
    auroc_prefix: Figure = NOTHING
    longer: int = 0
    """Runs that are longer than the prefix."""
    caught: Figure = NOTHING
    alarms_failed: Figure = NOTHING
    alarms_successful: Figure = NOTHING
    alarm_ratio: Figure = NOTHING
    injections: Figure = NOTHING
    """Per 100 steps of successful runs."""
    trivial: tuple[str, float] | None = None
    """What the best of the plain features reaches, and which it is."""
    trivial_prefix: tuple[str, float] | None = None
    curve: Curve = field(default_factory=list)
    curve_prefix: Curve = field(default_factory=list)
    monitors: list[MonitorRow] = field(default_factory=list)


HEADLINE = ("auroc", "auroc_prefix", "caught", "alarms_failed", "alarms_successful", "alarm_ratio", "injections")
"""The fields of `Figures` that have an interval."""


def figures_of(evaluated: EvaluatedSet, prefix: int) -> Figures:
    """All figures of one set."""
    runs = evaluated.labelled
    failed = np.array([run.failed for run in runs], dtype=bool)
    longer = [run for run in runs if len(run.replayed) > prefix]
    longer_failed = np.array([run.failed for run in longer], dtype=bool)
    peaks = _column(runs, EvaluatedRun.peak)
    early = _column(longer, lambda run: run.peak(prefix))
    alarmed = _column(runs, lambda run: float(run.injections > 0))
    asked, steps = _column(runs, lambda run: 100.0 * run.injections), _column(runs, lambda run: len(run.replayed))
    measure = partial(_figure, [run.task for run in runs])
    ill = measure(lambda weights: mean(alarmed * failed, weights, 1.0 * failed))
    healthy = measure(lambda weights: mean(alarmed * ~failed, weights, 1.0 * ~failed))
    return Figures(
        name=evaluated.name,
        prefix=prefix,
        runs=len(evaluated.runs),
        steps=sum(len(run.replayed) for run in evaluated.runs),
        failed=int(failed.sum()),
        successful=int((~failed).sum()),
        auroc=measure(lambda weights: auroc(peaks, failed, weights)),
        auroc_prefix=_figure([run.task for run in longer], lambda weights: auroc(early, longer_failed, weights)),
        longer=len(longer),
        caught=measure(lambda weights: caught(peaks, failed, weights)),
        alarms_failed=ill,
        alarms_successful=healthy,
        alarm_ratio=_ratio(ill, healthy),
        injections=measure(lambda weights: mean(asked * ~failed, weights, steps * ~failed)),
        trivial=best_trivial(runs),
        trivial_prefix=best_trivial(longer, prefix),
        curve=roc(peaks, failed),
        curve_prefix=roc(early, longer_failed),
        monitors=[_monitor_row(name, runs, failed) for name in evaluated.monitors],
    )


def mean_figures(sets: Sequence[Figures]) -> dict[str, Figure]:
    """The mean of each headline figure over the sets that have it; each is drawn again by its own tasks."""
    found: dict[str, Figure] = {}
    for name in HEADLINE:
        known = [figure for one in sets if (figure := getattr(one, name)).value is not None]
        samples = [figure.samples for figure in known if figure.samples is not None]
        value = sum(figure.value for figure in known) / len(known) if known else None
        found[name] = Figure(value, mean_of_sets(samples) if samples else None)
    # The mean of ratios would hang on the sets with hardly any alarm; this is the ratio of the means.
    found["alarm_ratio"] = _ratio(found["alarms_failed"], found["alarms_successful"])
    return found


def best_trivial(runs: Sequence[EvaluatedRun], first: int | None = None) -> tuple[str, float] | None:
    """The plain feature of a run that tells failed from successful ones best, and its AUROC."""
    failed = np.array([run.failed for run in runs], dtype=bool)
    table = np.array([trivial_features(run.recorded.steps[:first]) for run in runs], dtype=np.float64)
    found = [
        (value, -place)
        for place in range(len(TRIVIAL) if len(runs) else 0)
        if (value := once(partial(auroc, table[:, place], failed), len(runs))) is not None
    ]
    if not found:
        return None
    value, place = max(found)
    return TRIVIAL[-place], value


def trivial_features(steps: Sequence[RecordedStep]) -> tuple[float, ...]:
    """What anybody could count, in the order of `TRIVIAL`."""
    calls = Counter((step.action, step.action_input) for step in steps if step.action)
    return (
        len(steps),
        sum(bool(step.observation_is_error) for step in steps) / len(steps),
        max(calls.values(), default=0),
        sum(len(step.thought or "") for step in steps),
    )


def _monitor_row(name: str, runs: Sequence[EvaluatedRun], failed: Flags) -> MonitorRow:
    peaks = _column(runs, lambda run: run.highest(name))
    fires = _column(runs, lambda run: float(any(name in step.fired for step in run.replayed)))

    def share(values: Numbers, of: Flags) -> float | None:
        return float(values[of].mean()) if of.any() else None

    return MonitorRow(
        name=name,
        fires_failed=share(fires, failed),
        fires_successful=share(fires, ~failed),
        auroc=once(partial(auroc, peaks, failed), len(runs)) if len(runs) else None,
        peak_failed=share(peaks, failed),
        peak_successful=share(peaks, ~failed),
        curve=roc(peaks, failed),
    )


def _figure(tasks: Sequence[str], statistic: Statistic) -> Figure:
    value = once(statistic, len(tasks)) if tasks else None
    return NOTHING if value is None else Figure(value, statistic(draws(tasks)))


def _ratio(above: Figure, below: Figure) -> Figure:
    """How many times as often; infinite where there is something above and nothing below."""
    if above.value is None or below.value is None or not (above.value or below.value):
        return NOTHING
    value = above.value / below.value if below.value else np.inf
    if above.samples is None or below.samples is None:
        return Figure(value)
    with np.errstate(divide="ignore", invalid="ignore"):
        return Figure(value, np.asarray(above.samples / below.samples, dtype=np.float64))


def _column(runs: Sequence[EvaluatedRun], of: Callable[[EvaluatedRun], float]) -> Numbers:
    return np.array([of(run) for run in runs], dtype=np.float64)
