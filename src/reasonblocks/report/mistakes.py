"""The runs that the monitors were most wrong about, with what they had to show for it."""

from dataclasses import dataclass

from ..engine.answers import Evidence
from .labels import annotated_modes, mistake_step
from .sets import EvaluatedRun, EvaluatedSet

MOST = 10


@dataclass(frozen=True, slots=True)
class Mistake:
    """One run that was judged wrongly."""

    run: EvaluatedRun
    step: int
    """Where the composite was highest."""
    evidence: list[Evidence]
    """What was shown there, the highest score first."""

    @property
    def scores(self) -> dict[str, float]:
        """Of each monitor at that step, the highest first."""
        return _ranked(self.run.replayed[self.step].scores)

    @property
    def known(self) -> list[str]:
        """What is known about the failure from elsewhere."""
        return _known(self.run)


def false_alarms(evaluated: EvaluatedSet, most: int = MOST) -> list[Mistake]:
    """The successful runs with the highest composite."""
    runs = [run for run in evaluated.labelled if not run.failed and run.peak() > 0]
    return [_mistake(run) for run in sorted(runs, key=lambda run: (-run.peak(), run.recorded.run_id))[:most]]


def misses(evaluated: EvaluatedSet, most: int = MOST) -> list[Mistake]:
    """The failed runs that were most quiet; of equally quiet ones the longest, which gave most to be seen."""
    runs = [run for run in evaluated.labelled if run.failed]
    quietest = sorted(runs, key=lambda run: (run.peak(), -len(run.replayed), run.recorded.run_id))
    return [_mistake(run) for run in quietest[:most]]


def _mistake(run: EvaluatedRun) -> Mistake:
    step = run.peak_step()
    entry = run.replayed[step]
    order = list(_ranked(entry.scores))
    return Mistake(run, step, sorted(entry.evidence, key=lambda one: order.index(one.monitor)))


def _known(run: EvaluatedRun) -> list[str]:
    labels = run.recorded.labels
    found = [f"annotated: {', '.join(sorted(modes))}"] if (modes := annotated_modes(run.recorded)) else []
    if (step := mistake_step(run.recorded)) is not None:
        found.append(f"mistake marked at step {step}")
    for name in ("mistake_reason", "root_category", "failure_mode", "exit_status", "termination"):
        if labels.get(name):
            found.append(f"{name.replace('_', ' ')}: {labels[name]}")
    return found


def _ranked(scores: dict[str, float]) -> dict[str, float]:
    return dict(sorted(scores.items(), key=lambda item: -item[1]))
