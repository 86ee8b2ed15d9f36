"""Recorded runs: what an agent did, one run per line of a JSON Lines file, plain or gzipped."""

import gzip
import json
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any

import msgspec

from .errors import ReasonBlocksError

OUTCOMES = ("success", "failure")


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
    """`success`, `failure`, or `None` where nobody knows."""
    reward: float | None = None
    labels: dict[str, Any] = {}


class _StepLine(msgspec.Struct, gc=False):
    """A step as it may be written: tools are called with objects, and answer with them."""

    thought: Any = None
    action: str | None = None
    action_input: Any = None
    observation: Any = None
    observation_is_error: bool | None = None


class _RunLine(msgspec.Struct):
    """A run as it may be written."""

    run_id: str
    steps: list[_StepLine]
    dataset: str | None = None
    task: str | None = None
    model: str | None = None
    outcome: Any = None
    reward: float | None = None
    labels: dict[str, Any] | None = None


_DECODER = msgspec.json.Decoder(_RunLine)


def read_runs(path: Path) -> Iterator[RecordedRun]:
    """The runs of a file, one by one; a line that is none is named in the error, and so is a run that comes twice."""
    lines_by_id: dict[str, int] = {}
    with closing(read_lines(path)) as lines:
        for number, line in lines:
            run = decode_run(line, path, number)
            refuse_twins(run.run_id, lines_by_id, path, number)
            yield run


def read_lines(path: Path) -> Generator[tuple[int, bytes]]:
    """The lines of a file that are not blank, with their numbers; the file is open until they are read, or closed."""
    try:
        with _opened(path) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line
    except FileNotFoundError:
        raise RecordingError(f"{path}: there is no such file; name a file of recorded runs") from None
    except IsADirectoryError:
        raise RecordingError(f"{path} is a directory; name a file of recorded runs in it") from None
    except (OSError, EOFError, zlib.error) as error:
        raise RecordingError(f"{path} cannot be read: {error}") from None


def decode_run(line: bytes, path: Path, number: int) -> RecordedRun:
    """The run on a line."""
    try:
        found = _decoded(line)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise RecordingError(
            f"{path}, line {number}: {error}; expected one run as a JSON object with run_id and steps"
        ) from None
    if found.outcome is not None and found.outcome not in OUTCOMES:
        raise RecordingError(
            f"{path}, line {number}: outcome of run {found.run_id!r} is {found.outcome!r:.80}; "
            "expected 'success', 'failure' or null"
        )
    if not found.steps:
        raise RecordingError(
            f"{path}, line {number}: run {found.run_id!r} has no steps; expected at least one, leave such a run out"
        )
    return RecordedRun(
        run_id=found.run_id,
        steps=[_step(step) for step in found.steps],
        dataset=found.dataset or "",
        task=found.task,
        model=found.model,
        outcome=found.outcome,
        reward=found.reward,
        labels=found.labels or {},
    )


def refuse_twins(run_id: str, lines_by_id: dict[str, int], path: Path, number: int) -> None:
    """Raise if another line has the same run: what is said about the one could not be told from the other."""
    first = lines_by_id.setdefault(run_id, number)
    if first != number:
        raise RecordingError(
            f"{path}, line {number}: run_id {run_id!r} is that of line {first} as well; expected one line for each run"
        )


def _opened(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _decoded(line: bytes) -> _RunLine:
    try:
        return _DECODER.decode(line)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:
        # Python writes NaN and halves of surrogate pairs, which are no JSON; what it wrote, it reads.
        text = line.decode("utf-8")
        value = json.loads(text)
        return msgspec.convert(_whole_characters(value) if "\\u" in text else value, _RunLine)


def _whole_characters(value: Any) -> Any:
    """The value without halves of surrogate pairs, which cannot be written again."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_whole_characters(item) for item in value]
    if isinstance(value, dict):
        return {_whole_characters(name): _whole_characters(item) for name, item in value.items()}
    return value


def _step(line: _StepLine) -> RecordedStep:
    return RecordedStep(
        _text(line.thought), line.action, _text(line.action_input), _text(line.observation), line.observation_is_error
    )


def _text(value: Any) -> str | None:
    """A text as it is, anything else as compact JSON."""
    return value if value is None or isinstance(value, str) else msgspec.json.encode(value).decode()
