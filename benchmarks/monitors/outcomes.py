#!/usr/bin/env python3
"""What the monitors are worth on recorded runs whose outcome is known, each calibrated on the tasks of others.

python benchmarks/monitors/outcomes.py FOLDER [--profile coding] [--prefix 8] [--as-shipped]

FOLDER holds one JSON Lines file of recorded runs per set. The runs are parted by task; each part is replayed with a
calibration that was fitted on the others, unless --as-shipped asks for the one in the package. The means are those over
the sets that have both outcomes, with an interval from drawing tasks again.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import fit

from reasonblocks.engine.monitors.profiles import BUILT_IN_PROFILES, DEFAULT_PROFILE
from reasonblocks.engine.monitors.registry import BUILT_IN
from reasonblocks.engine.monitors.suite import MonitorSuite
from reasonblocks.engine.monitors.suspicion import Calibration
from reasonblocks.recordings import RecordedRun, read_runs
from reasonblocks.replay.player import Player
from reasonblocks.report.figures import HEADLINE, Figure, Figures, figures_of, mean_figures
from reasonblocks.report.labels import label_rows, where
from reasonblocks.report.sets import EvaluatedRun, EvaluatedSet


def players(folder: Path, profile: str, *, as_shipped: bool) -> list[Player]:
    """A player for each part of the tasks."""
    if as_shipped:
        return [Player(profile)] * fit.FOLDS
    runs = fit.labelled(folder)
    calibrations: list[Calibration] = [known for known, _ in calibrated_parts(runs)]
    return [Player(profile, suite=MonitorSuite(BUILT_IN, calibration=calibration)) for calibration in calibrations]


def calibrated_parts(runs: list[fit.Run]) -> Iterator[tuple[Calibration, int]]:
    """For each part the calibration of all others."""
    for part in range(fit.FOLDS):
        yield fit.calibrated([run for run in runs if run.fold != part]), part


def evaluated_sets(folder: Path, by_part: list[Player]) -> Iterator[EvaluatedSet]:
    """Every file of the folder, replayed."""
    for path in sorted(folder.glob("*.jsonl*")):
        runs = list(read_runs(path))
        yield EvaluatedSet(path.name.partition(".")[0], [replayed(run, by_part) for run in runs])


def replayed(run: RecordedRun, by_part: list[Player]) -> EvaluatedRun:
    """A run, replayed by the player that has not seen its task."""
    return EvaluatedRun(run, by_part[fit.part(run)].replay(run).steps)


def table(sets: list[Figures]) -> Iterator[str]:
    """A line per set, and the mean."""
    yield f"{'set':18}{'failed':>7}{'succ.':>6}" + "".join(f"{name:>19}" for name in HEADLINE)
    for one in sets:
        cells = "".join(f"{shown(getattr(one, name)):>19}" for name in HEADLINE)
        yield f"{one.name:18}{one.failed:7}{one.successful:6}{cells}"
    means = mean_figures(sets)
    yield f"{'mean of the sets':31}" + "".join(f"{shown(means[name]):>19}" for name in HEADLINE)


def shown(figure: Figure) -> str:
    """A figure with its interval."""
    if figure.value is None:
        return "-"
    if figure.interval is None:
        return f"{figure.value:.3f}"
    low, high = figure.interval
    return f"{figure.value:.3f} ({low:.2f}-{high:.2f})"


def main() -> None:
    """Replay and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--profile", choices=list(BUILT_IN_PROFILES), default=DEFAULT_PROFILE)
    parser.add_argument("--prefix", type=int, default=fit.PREFIX)
    parser.add_argument("--as-shipped", action="store_true", help="use the calibration of the package")
    options = parser.parse_args()
    sets = list(evaluated_sets(options.folder, players(options.folder, options.profile, as_shipped=options.as_shipped)))
    both = [one for one in sets if fit.usable([run.failed for run in one.labelled])]
    print(*table([figures_of(one, options.prefix) for one in both]), sep="\n")
    for one in sets:
        for row in label_rows(one):
            print(f"{one.name}: {row.label} <- {row.monitor}: {row.auroc:.3f} ({row.positives} of {row.runs})")
        if (near := where(one)) is not None:
            ratio = "none by chance" if near.ratio is None else f"{near.ratio:.2f} times chance"
            print(f"{one.name}: alarms near the marked mistake: {near.hit:.3f}, {ratio}; {near.alarmed:.3f} alarmed")


if __name__ == "__main__":
    main()
