"""How many planted failures the monitors see, under which name, and how often they disturb healthy runs.

    python benchmarks/monitors/planted.py DATA_DIR [--wording held_out] [--modes a,b] [--runs N] [--misses N]

DATA_DIR has recorded runs, one set per file (*.jsonl or *.jsonl.gz). A planted failure is caught if its monitor fires
at a planted step or within three steps after it. It has the right name if no other monitor's score rose more over
what it had been before.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.gate import decide
from reasonblocks.engine.monitors.profiles import resolve_weights
from reasonblocks.engine.monitors.registry import load_monitors
from reasonblocks.engine.monitors.suite import MonitorSuite, SuiteReading
from reasonblocks.recordings import RecordedRun, RecordedStep, read_runs
from reasonblocks.testing import MODES, MONITOR_OF, Case, cases, half_of

GRACE = 3
"""So many steps after the planted ones still count."""
MOST_INJECTIONS = 5
SPACING = 3
_CLIP = 220


@dataclass
class Watched:
    """A case, and what was seen in it."""

    case: Case
    readings: list[SuiteReading]
    injected: list[int]
    """The steps at which something was said."""

    def in_stretch(self, at: int) -> bool:
        """Whether a step counts as belonging to what was planted."""
        return self.case.start <= at < self.case.stop + GRACE

    def highest(self, monitor: str, *, before: bool = False) -> float:
        """The monitor's highest score in the planted stretch, or before it."""
        start = self.case.start
        steps = range(start) if before else range(start, min(self.case.stop + GRACE, len(self.readings)))
        return max((self.readings[at].scores.get(monitor, 0.0) for at in steps), default=0.0)

    @property
    def caught(self) -> bool:
        """Whether the monitor that should fire does, where it should."""
        stop = self.case.stop + GRACE
        return any(self.case.monitor in reading.fired for reading in self.readings[self.case.start : stop])

    @property
    def risen_most(self) -> str | None:
        """The monitor whose score rose most; `None` if none did."""
        rises = {name: self.highest(name) - self.highest(name, before=True) for name in self.readings[0].scores}
        name = max(rises, key=lambda name: rises[name])
        return name if rises[name] > 0 else None

    @property
    def told(self) -> bool:
        """Whether something is said in the planted stretch."""
        return any(self.in_stretch(at) for at in self.injected)


class Watch:
    """The monitors and the gate as they are shipped."""

    def __init__(self) -> None:
        self.suite = MonitorSuite(load_monitors())
        self.weights = resolve_weights(self.suite.default_weights, "", "coding", None)

    def __call__(self, case: Case) -> Watched:
        """The monitors' readings of a case, step by step."""
        trajectory = self.suite.start(case.run.task or "")
        readings: list[SuiteReading] = []
        injected: list[int] = []
        for at, step in enumerate(case.run.steps):
            reading = trajectory.observe(_observed(step))
            readings.append(reading)
            free = len(injected) < MOST_INJECTIONS and (not injected or at - injected[-1] >= SPACING)
            if decide(reading, self.weights, self.suite.failure_types) is not None and free:
                injected.append(at)
        return Watched(case, readings, injected)


def _observed(step: RecordedStep) -> ObservedStep:
    return ObservedStep.of(step.thought, step.action, step.action_input, step.observation, step.observation_is_error)


def read_sets(directory: Path, wording: str, most: int | None) -> Iterator[list[RecordedRun]]:
    """The successful runs of each set, of one half, at most so many."""
    files = sorted([*directory.glob("*.jsonl"), *directory.glob("*.jsonl.gz")])
    if not files:
        sys.exit(f"{directory} has no recorded runs; expected files named *.jsonl or *.jsonl.gz in it")
    for file in files:
        runs = [run for run in read_runs(file) if run.outcome == "success" and half_of(run) == wording]
        if most is not None and len(runs) > most:
            step = len(runs) / most
            runs = [runs[int(place * step)] for place in range(most)]
        yield runs


def table(watched: Sequence[Watched]) -> dict[str, Any]:
    """The figures by monitor and mode, and those of healthy runs."""
    by_mode: dict[str, list[Watched]] = defaultdict(list)
    for one in watched:
        by_mode[one.case.mode].append(one)
    modes = {mode: _planted_row(rows) for mode, rows in by_mode.items() if mode in MONITOR_OF}
    healthy = {mode: _healthy_row(rows) for mode, rows in by_mode.items() if mode not in MONITOR_OF}
    monitors: dict[str, dict[str, float]] = {}
    for monitor in dict.fromkeys(MONITOR_OF.values()):
        rows = [one for one in watched if one.case.monitor == monitor]
        if rows:
            monitors[monitor] = _planted_row(rows)
    all_healthy = [one for one in watched if one.case.kind != "planted"]
    return {
        "monitors": monitors,
        "modes": modes,
        "healthy": healthy,
        "mean": {
            key: round(fmean(row[key] for row in monitors.values()), 3) if monitors else None
            for key in ("caught", "right_name", "told")
        },
        "healthy_disturbed": _share(bool(one.injected) for one in all_healthy),
    }


def _planted_row(rows: Sequence[Watched]) -> dict[str, float]:
    return {
        "n": len(rows),
        "caught": _share(one.caught for one in rows),
        "told": _share(one.told for one in rows),
        "right_name": _share(one.risen_most == one.case.monitor for one in rows),
    }


def _healthy_row(rows: Sequence[Watched]) -> dict[str, Any]:
    fired: dict[str, int] = defaultdict(int)
    for one in rows:
        for name in {name for reading in one.readings for name in reading.fired}:
            fired[name] += 1
    return {
        "n": len(rows),
        "disturbed": _share(bool(one.injected) for one in rows),
        "fired": {name: round(times / len(rows), 3) for name, times in sorted(fired.items())},
    }


def _share(flags: Iterable[bool]) -> float:
    values = [float(flag) for flag in flags]
    return round(fmean(values), 3) if values else 0.0


def show(figures: dict[str, Any]) -> None:
    """Print the figures for people."""
    print(f"{'monitor / mode':34}{'n':>6}{'caught':>9}{'injected':>10}{'right name':>12}")
    for monitor, row in figures["monitors"].items():
        print(_line(monitor, row))
        for mode, name in MONITOR_OF.items():
            if name == monitor and mode in figures["modes"]:
                print(_line(f"  {mode}", figures["modes"][mode]))
    mean = figures["mean"]
    if mean["caught"] is not None:
        print(f"{'mean of the monitors':40}{mean['caught']:9.3f}{mean['told']:10.3f}{mean['right_name']:12.3f}\n")
    print(f"{'healthy':34}{'n':>6}{'disturbed':>11}   fired, by monitor")
    for mode, row in figures["healthy"].items():
        by_monitor = "  ".join(f"{name} {share:.3f}" for name, share in row["fired"].items())
        print(f"{mode:34}{row['n']:6}{row['disturbed']:11.3f}   {by_monitor}")
    print(f"{'all healthy':40}{figures['healthy_disturbed']:11.3f}")


def _line(name: str, row: dict[str, float]) -> str:
    return f"{name:34}{row['n']:6}{row['caught']:9.3f}{row['told']:10.3f}{row['right_name']:12.3f}"


def show_misses(watched: Sequence[Watched], most: int) -> None:
    """Print the first planted failures that were missed, and the first false alarms."""
    missed = [one for one in watched if one.case.kind == "planted" and not one.caught]
    alarms = [one for one in watched if one.case.kind != "planted" and one.injected]
    for one in missed[:most]:
        case = one.case
        print(f"\nMISSED {case.mode} ({case.variant}) in {case.run.run_id}, steps {case.start}..{case.stop - 1}")
        print(f"  task: {_clipped(case.run.task)}")
        if case.groundwork is not None:
            _show_step(one, case.groundwork)
        for at in range(max(0, case.start - 1), min(case.stop + GRACE, len(case.run.steps))):
            _show_step(one, at)
    for one in alarms[:most]:
        case = one.case
        print(f"\nFALSE ALARM {case.mode} ({case.variant}) in {case.run.run_id}, planted {case.start}..{case.stop - 1}")
        for at in one.injected[:2]:
            for evidence in one.readings[at].evidence.values():
                print(f"  {evidence.monitor}: {_clipped(evidence.reason)} steps {evidence.steps}")
            for shown in range(max(0, at - 2), at + 1):
                _show_step(one, shown)


def _show_step(one: Watched, at: int) -> None:
    step = one.case.run.steps[at]
    mark = "*" if one.case.start <= at < one.case.stop else " "
    scores = " ".join(f"{name}={score:.2f}" for name, score in one.readings[at].scores.items() if score)
    print(f" {mark}{at} [{scores}] {_clipped(step.thought)}")
    print(f"      {step.action} {_clipped(step.action_input)}")
    print(f"      -> {'(error) ' if step.observation_is_error else ''}{_clipped(step.observation)}")


def _clipped(text: str | None) -> str:
    flat = " ".join((text or "").split())
    return flat if len(flat) <= _CLIP else f"{flat[:_CLIP]}…"


def main() -> None:
    """Run the cases and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a directory of recorded runs")
    parser.add_argument("--wording", choices=("development", "held_out"), default="development")
    parser.add_argument("--modes", help=f"some of {', '.join(MODES)}, separated by commas; all unless told")
    parser.add_argument("--runs", type=int, default=12, help="at most so many runs of each set; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--misses", type=int, default=0, help="print so many misses and false alarms")
    options = parser.parse_args()
    modes = options.modes.split(",") if options.modes else None
    watch = Watch()
    watched = [
        watch(case)
        for runs in read_sets(options.data, options.wording, options.runs or None)
        for case in cases(runs, seed=options.seed, wording=options.wording, modes=modes)
    ]
    figures = table(watched)
    if options.json:
        print(json.dumps(figures, indent=2))
    else:
        show(figures)
    if options.misses:
        show_misses(watched, options.misses)


if __name__ == "__main__":
    main()
