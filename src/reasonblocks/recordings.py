"""Recorded runs: what an agent did, one run per line of a JSON Lines file, plain or gzipped."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from .errors import ReasonBlocksError


class RecordingError(ReasonBlocksError):
    """A file of recorded runs that cannot be read."""


class RecordedStep(msgspec.Struct):
    """One step: what was said and done, and what came back."""

    thought: str | None = None
    action: str | None = None
    action_input: str | None = None
    observation: str | None = None
    observation_is_error: bool | None = None


class RecordedRun(msgspec.Struct):
    """One run, with what is known about how it went."""

    run_id: str
    steps: list[RecordedStep]
    dataset: str = ""
    task: str | None = None
    model: str | None = None
    outcome: str | None = None
    reward: float | None = None
    labels: dict[str, Any] = {}


def read_runs(path: Path) -> Iterator[RecordedRun]:
    """The runs of a file, one by one; a line that is none is named in the error."""
    decoder = msgspec.json.Decoder(RecordedRun)
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                yield decoder.decode(line)
            except msgspec.DecodeError as error:
                raise RecordingError(f"{path}, line {number}: {error}; expected one run as JSON on each line") from None
