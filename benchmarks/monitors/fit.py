#!/usr/bin/env python3
"""Fit what the monitors suspect from recorded runs whose outcome is known, and say what that is worth on others.

python benchmarks/monitors/fit.py FOLDER            FOLDER holds one JSON Lines file of recorded runs per set
python benchmarks/monitors/fit.py FOLDER --write    writes the calibration that the package ships

Each monitor has a few signs of its own. Their weights are fitted by a logistic regression on failure; what differs
between sets is left to an intercept per set, so that only differences among runs of one set are learned. Weights cannot
be negative and are drawn towards a common prior, for six sets of runs are few. Two ways to be wrong are measured: on
tasks that were not used for fitting, and on a whole set that was not.
"""

import argparse
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from reasonblocks.engine.monitors import suspicion
from reasonblocks.engine.monitors.features import ObservedStep, read_step
from reasonblocks.engine.monitors.profiles import DEFAULT_WEIGHTS
from reasonblocks.engine.monitors.signs import Signs
from reasonblocks.engine.monitors.suspicion import Calibration, MonitorCalibration
from reasonblocks.recordings import RecordedRun, read_runs

SIGNS = {
    "claim_contradiction": ("numbers", "capitals", "hedges", "unsupported"),
    "semantic_loop": ("steps", "same_target", "unfinished"),
    "verification_skip": ("failures", "failing"),
    "cyclic_compression": ("announcements", "restated", "stretch"),
    "late_sprawl": ("searches", "read", "new_words"),
    "silent_topic_drift": ("unfollowed",),
}
"""Which signs each monitor goes by."""
CEILING = 0.3
STEEPNESS, SHIFT = 2.0, 1.0
"""How a run's log odds of failure, compared with the average run, become a share of the ceiling."""
PRIOR, PRIOR_STRENGTH = 0.15, 0.5
"""Of a weight per standard deviation, and how many runs it is worth per run there is."""
FOLDS = 5
PREFIX = 8
DIGITS = 3
FEWEST_OF_EACH = 10
"""Runs that failed, and runs that did not, without which a set says too little."""

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Run:
    """One run with its signs, after the first steps and at its end."""

    dataset: str
    fold: int
    failed: bool
    length: int
    early: dict[str, float]
    late: dict[str, float]


def measured(run: RecordedRun, file: Path) -> Run:
    """The signs of a recorded run; one that does not say which set it is of is of the set of its file."""
    signs = Signs(run.task or "")
    early: dict[str, float] = {}
    for index, step in enumerate(run.steps):
        observed = ObservedStep.of(
            step.thought, step.action, step.action_input, step.observation, step.observation_is_error
        )
        signs.observe(read_step(index, observed))
        if index < PREFIX:
            early = dict(signs.values())
    dataset = run.dataset or file.name.partition(".")[0]
    return Run(dataset, part(run), run.outcome == "failure", len(run.steps), early, dict(signs.values()))


def part(run: RecordedRun) -> int:
    """Which part of the tasks a run belongs to."""
    return crc32((run.task or run.run_id).encode("utf-8", "replace")) % FOLDS


def labelled(folder: Path) -> list[Run]:
    """The runs of all sets that have both outcomes."""
    sets = [
        [measured(run, path) for run in read_runs(path) if run.outcome and run.steps]
        for path in sorted(folder.glob("*.jsonl*"))
    ]
    return [run for runs in sets if usable([run.failed for run in runs]) for run in runs]


def usable(failed: list[bool]) -> bool:
    """Whether there are enough runs of each outcome."""
    return min(sum(failed), len(failed) - sum(failed)) >= FEWEST_OF_EACH


def logs(runs: list[Run], names: tuple[str, ...], *, early: bool = False) -> Numbers:
    """Signs as the calibration reads them, a row per run."""
    return np.array([[math.log1p((run.early if early else run.late)[name]) for name in names] for run in runs])


def fitted(runs: list[Run], names: tuple[str, ...]) -> MonitorCalibration:
    """A monitor's calibration from these runs: every set counts the same, whatever its size."""
    signs, failed = logs(runs, names), np.array([run.failed for run in runs], float)
    sets = np.array([run.dataset for run in runs])
    centred, offset, share = np.empty_like(signs), np.empty(len(runs)), np.empty(len(runs))
    for name in set(sets):
        here = sets == name
        rate = min(0.95, max(0.05, float(failed[here].mean())))
        centred[here] = signs[here] - signs[here].mean(axis=0)
        offset[here] = math.log(rate / (1 - rate))
        share[here] = len(runs) / len(set(sets)) / here.sum()
    deviation = centred.std(axis=0) + 1e-9
    weights = STEEPNESS * descended(centred / deviation, failed, offset, share) / deviation
    intercept = -float(signs.mean(axis=0) @ weights) - SHIFT
    rounded = {name: round(float(weight), DIGITS) for name, weight in zip(names, weights, strict=True)}
    return MonitorCalibration(round(intercept, DIGITS), rounded)


def descended(signs: Numbers, failed: Numbers, offset: Numbers, share: Numbers) -> Numbers:
    """The weights with the least loss; the problem is convex, and a thousand small steps are plenty for it."""
    weights = np.full(signs.shape[1], PRIOR)
    pace = 1.0 / (len(failed) * (0.25 * signs.shape[1] + PRIOR_STRENGTH))
    for _ in range(1_000):
        chance = 1.0 / (1.0 + np.exp(-(offset + signs @ weights)))
        slope = signs.T @ (share * (chance - failed)) + PRIOR_STRENGTH * len(failed) * (weights - PRIOR)
        weights = np.maximum(0.0, weights - pace * slope)
    return weights


def calibrated(runs: list[Run]) -> Calibration:
    """All monitors' calibrations from these runs."""
    return Calibration(CEILING, {monitor: fitted(runs, names) for monitor, names in SIGNS.items()})


def composites(runs: list[Run], calibration: Calibration, *, early: bool = False) -> Numbers:
    """The weighted sum of the suspicions of each run; signs only grow, so its last value is its highest."""
    scores = [calibration.suspicions(run.early if early else run.late) for run in runs]
    return np.array([sum(DEFAULT_WEIGHTS[name] * score for name, score in one.items()) for one in scores])


def auroc(scores: Numbers, positive: Flags) -> float:
    """How often a positive scores higher than a negative."""
    higher = scores[positive][:, None] - scores[~positive][None, :]
    return float(((higher > 0) + 0.5 * (higher == 0)).mean())


def caught(scores: Numbers, positive: Flags, share: float = 0.1) -> float:
    """The share of positives above all but the highest `share` of the negatives."""
    negatives = np.sort(scores[~positive])[::-1]
    return float((scores[positive] > negatives[int(share * len(negatives))]).mean())


def folds(runs: list[Run], *, by_set: bool) -> Iterator[tuple[list[Run], list[Run]]]:
    """Runs to fit on and runs to look at."""
    keys = [run.dataset if by_set else run.fold for run in runs]
    for key in sorted(set(keys), key=str):
        yield (
            [run for run, other in zip(runs, keys, strict=True) if other != key],
            [run for run, other in zip(runs, keys, strict=True) if other == key],
        )


def figures(runs: list[Run], *, by_set: bool) -> dict[str, Any]:
    """What calibrations are worth on runs they were not fitted on, per set and on the mean."""
    seen: list[Run] = []
    whole, early = [], []
    for known, unknown in folds(runs, by_set=by_set):
        calibration = calibrated(known)
        seen += unknown
        whole.append(composites(unknown, calibration))
        early.append(composites(unknown, calibration, early=True))
    return by_dataset(seen, np.concatenate(whole), np.concatenate(early))


def by_dataset(runs: list[Run], whole: Numbers, early: Numbers) -> dict[str, Any]:
    """The three figures per set, and their means."""
    failed, long = np.array([run.failed for run in runs]), np.array([run.length > PREFIX for run in runs])
    table: dict[str, dict[str, float]] = {}
    for name in sorted({run.dataset for run in runs}):
        here = np.array([run.dataset == name for run in runs])
        table[name] = {
            "auroc": auroc(whole[here], failed[here]),
            f"auroc_first_{PREFIX}": auroc(early[here & long], failed[here & long]),
            "caught_at_10_percent": caught(whole[here], failed[here]),
        }
    keys = next(iter(table.values()))
    table["mean"] = {key: float(np.mean([row[key] for row in table.values()])) for key in keys}
    return {name: {key: round(value, DIGITS) for key, value in row.items()} for name, row in table.items()}


def document(runs: list[Run], measured_figures: Mapping[str, Any]) -> dict[str, Any]:
    """The file: the numbers, and where they come from."""
    calibration = calibrated(runs)
    sets = {
        name: {
            "failed": sum(run.failed for run in runs if run.dataset == name),
            "succeeded": sum(not run.failed for run in runs if run.dataset == name),
        }
        for name in sorted({run.dataset for run in runs})
    }
    return {
        "about": "What each monitor suspects of a run; the formula is in suspicion.py beside this file.",
        "fitted_by": "benchmarks/monitors/fit.py",
        "fitted_on": {"date": date.today().isoformat(), "runs": sets},
        "ceiling": calibration.ceiling,
        "monitors": {
            name: {"intercept": one.intercept, "weights": one.weights} for name, one in calibration.monitors.items()
        },
        "figures": measured_figures,
    }


def main() -> None:
    """Fit, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="recorded runs, a file per set")
    parser.add_argument("--write", action="store_true", help="write the calibration that the package ships")
    options = parser.parse_args()
    runs = labelled(options.folder)
    if not runs:
        parser.error(
            f"{options.folder} has no *.jsonl or *.jsonl.gz with {FEWEST_OF_EACH} or more runs of each outcome"
        )
    written = document(
        runs,
        {
            "tasks_not_used": figures(runs, by_set=False),
            "set_not_used": figures(runs, by_set=True),
        },
    )
    text = json.dumps(written, indent=2) + "\n"
    print(text, end="")
    if options.write:
        (Path(suspicion.__file__).parent / suspicion.FILE).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
