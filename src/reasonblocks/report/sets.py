"""A file of runs and the replay of it, brought together run by run."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ..recordings import RecordedRun, RecordingError, read_lines, read_runs
from ..replay.entries import ReplayedRun, ReplayedStep
from ..sanitize import neutralise

FAILURE = "failure"
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class EvaluatedRun:
    """What happened, and what the monitors said about it."""

    recorded: RecordedRun
    replayed: list[ReplayedStep]

    @property
    def failed(self) -> bool:
        """Whether it is known to have failed."""
        return self.recorded.outcome == FAILURE

    @property
    def task(self) -> str:
        """What it is grouped by: runs of one task are not independent of each other."""
        return self.recorded.task or self.recorded.run_id

    def peak(self, first: int | None = None) -> float:
        """The highest composite, of the whole run or of its `first` steps."""
        return max(step.composite for step in self.replayed[:first])

    def peak_step(self) -> int:
        """The first step with the highest composite."""
        peak = self.peak()
        return next(index for index, step in enumerate(self.replayed) if step.composite == peak)

    def highest(self, monitor: str) -> float:
        """The highest score of one monitor."""
        return max(step.scores.get(monitor, 0.0) for step in self.replayed)

    @property
    def injections(self) -> int:
        """How often the model would have been told something."""
        return sum(step.inject for step in self.replayed)


@dataclass(frozen=True, slots=True)
class EvaluatedSet:
    """Runs that belong together."""

    name: str
    runs: list[EvaluatedRun]

    @property
    def labelled(self) -> list[EvaluatedRun]:
        """Those of which it is known how they ended."""
        return [run for run in self.runs if run.recorded.outcome is not None]

    @property
    def monitors(self) -> list[str]:
        """Every monitor that gave a score, in the order in which they did."""
        return list(dict.fromkeys(name for run in self.runs for step in run.replayed for name in step.scores))


def read_set(runs_path: Path, replay_path: Path) -> EvaluatedSet:
    """A set from its two files, which must fit step for step."""
    recorded = list(read_runs(runs_path))
    if not recorded:
        raise RecordingError(f"{runs_path} has no runs in it; expected one JSON object per line")
    replayed = {run.run_id: run.steps for run in _read_replay(replay_path)}
    for run in recorded:
        found = len(replayed.get(run.run_id, ()))
        if found != len(run.steps):
            raise RecordingError(
                f"{replay_path} has {found} steps of run {run.run_id!r}, which has {len(run.steps)} in {runs_path}; "
                f"run `reasonblocks replay {runs_path} -o {replay_path}` again"
            )
    datasets = {run.dataset for run in recorded if run.dataset}
    name = datasets.pop() if len(datasets) == 1 else runs_path.name.partition(".")[0]
    return EvaluatedSet(
        " ".join(neutralise(name, LONGEST_NAME).split()), [EvaluatedRun(run, replayed[run.run_id]) for run in recorded]
    )


def _read_replay(path: Path) -> Iterator[ReplayedRun]:
    decoder = msgspec.json.Decoder(ReplayedRun)
    with closing(read_lines(path)) as lines:
        for number, line in lines:
            try:
                yield decoder.decode(line)
            except msgspec.DecodeError as error:
                raise RecordingError(
                    f"{path}, line {number}: {error}; expected what `reasonblocks replay` writes"
                ) from None
