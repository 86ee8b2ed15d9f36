"""Which runs belong to which half: one task is never in both."""

from collections.abc import Iterable
from hashlib import blake2b

from ..recordings import RecordedRun
from .case import Wording


def half_of(run: RecordedRun) -> Wording:
    """The half a run belongs to, by its task alone, so that all attempts at a task stay together."""
    digest = blake2b((run.task or run.run_id).encode(), digest_size=8).digest()
    return "held_out" if digest[-1] % 2 else "development"


def usable(runs: Iterable[RecordedRun], wording: Wording) -> list[RecordedRun]:
    """The successful runs of one half: in a failed one it cannot be said what else is wrong."""
    return [run for run in runs if run.outcome == "success" and run.steps and half_of(run) == wording]
