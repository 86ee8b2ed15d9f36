"""What people marked in runs, against what the monitors said: which failure, and where."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..recordings import RecordedRun
from .metrics import auroc, chance_of_hit, once
from .sets import EvaluatedRun, EvaluatedSet

SEEN_BY = {
    "step repetition": "semantic_loop",
    "resource abuse": "semantic_loop",
    "trajectory restart": "cyclic_compression",
    "context handling": "cyclic_compression",
    "no attempt to verify": "verification_skip",
    "premature": "verification_skip",
    "goal deviation": "silent_topic_drift",
    "derail": "silent_topic_drift",
    "contradiction": "claim_contradiction",
    "inconsisten": "claim_contradiction",
}
"""A part of what annotators call a failure, in small letters, and the monitor that should see it."""
FEWEST = 4
"""With fewer runs on either side a figure says nothing."""
WINDOW = 6
"""An alarm at the marked step, or at one of the five after it, is an alarm near it."""
FIXED_STEPS = range(1, 12)
"""Where somebody could always raise one alarm without looking at anything."""


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One annotated failure mode."""

    label: str
    monitor: str
    auroc: float | None
    positives: int
    runs: int


@dataclass(frozen=True, slots=True)
class Where:
    """How near alarms are to marked mistakes."""

    runs: int
    hit: float
    """The share of runs with an alarm near the mistake."""
    at_random: float
    """The share to be expected if the alarms of each run were placed at random in it."""
    fixed: float
    """The share that the best single step reaches if it is always alarmed at."""
    alarmed: float
    """The share of runs with any alarm."""

    @property
    def ratio(self) -> float | None:
        """How much better than chance."""
        return self.hit / self.at_random if self.at_random else None


def label_rows(evaluated: EvaluatedSet) -> list[LabelRow]:
    """Each failure mode that enough runs have and enough have not."""
    annotated = [(run, modes) for run in evaluated.runs if (modes := annotated_modes(run.recorded)) is not None]
    rows = []
    for label, monitor in SEEN_BY.items():
        marked = np.array([any(label in mode for mode in modes) for _, modes in annotated], dtype=bool)
        positives = int(marked.sum())
        if min(positives, len(marked) - positives) < FEWEST:
            continue
        peaks = np.array([run.highest(monitor) for run, _ in annotated], dtype=np.float64)
        value = once(partial(auroc, peaks, marked), len(marked))
        rows.append(LabelRow(label, monitor, value, positives, len(marked)))
    return rows


def where(evaluated: EvaluatedSet) -> Where | None:
    """How near the alarms are to the steps that somebody marked; `None` where nobody did."""
    located = [(run, step) for run in evaluated.runs if (step := mistake_step(run.recorded)) is not None]
    if not located:
        return None
    count = len(located)
    fixed = max(sum(mistake <= step < _end(run, mistake) for run, mistake in located) for step in FIXED_STEPS)
    return Where(
        runs=count,
        hit=sum(any(step.inject for step in run.replayed[mistake : _end(run, mistake)]) for run, mistake in located)
        / count,
        at_random=sum(
            chance_of_hit(len(run.replayed), max(0, _end(run, mistake) - mistake), run.injections)
            for run, mistake in located
        )
        / count,
        fixed=fixed / count,
        alarmed=sum(run.injections > 0 for run, _ in located) / count,
    )


def annotated_modes(run: RecordedRun) -> set[str] | None:
    """What annotators found in a run, in small letters; `None` if none has looked."""
    if not run.labels.get("annotated"):
        return None
    found = [*_items(run.labels.get("mast")), *_items(run.labels.get("failure_types"))]
    for name in ("errors", "failures"):
        found += [entry.get("category") for entry in _items(run.labels.get(name)) if isinstance(entry, dict)]
    return {str(mode).lower() for mode in found if mode}


def mistake_step(run: RecordedRun) -> int | None:
    """The step that somebody marked as the mistake."""
    step = run.labels.get("mistake_step")
    return step if isinstance(step, int) and not isinstance(step, bool) and step >= 0 else None


def _end(run: EvaluatedRun, mistake: int) -> int:
    return min(mistake + WINDOW, len(run.replayed))


def _items(value: object) -> Iterable[object]:
    return value if isinstance(value, list | tuple) else ()
