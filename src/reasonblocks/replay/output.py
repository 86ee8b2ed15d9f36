"""Files that are either whole or not there."""

import contextlib
import gzip
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ..errors import SettingsError

STANDARD_OUTPUT = "-"


def refuse_overwriting(output: str, *inputs: Path) -> None:
    """Raise if the output is one of the inputs."""
    target = Path(output)
    for path in inputs:
        if output != STANDARD_OUTPUT and path.exists() and target.exists() and target.samefile(path):
            raise SettingsError(f"-o {output} would overwrite {path}, which is read; name another file")


@contextlib.contextmanager
def written(output: str) -> Iterator[IO[bytes]]:
    """A file to write to, gzipped if its name ends in .gz; it gets its name when all of it is there. `-` is stdout."""
    if output == STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(output).resolve()
    try:
        if target.exists() and not target.is_file():  # a pipe or a device has no half-written state to hide
            with target.open("wb") as device:
                yield device
            return
        with _in_place_of(target) as stream, _packed(stream, target) as packed:
            yield packed
    except OSError as error:
        raise SettingsError(f"-o {output} cannot be written: {error.strerror or error}; name another file") from error


@contextlib.contextmanager
def _in_place_of(target: Path) -> Iterator[IO[bytes]]:
    draft = target.with_name(f".{target.name}.{os.getpid()}.part")
    stream = draft.open("xb")
    try:
        with stream:
            yield stream
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _packed(stream: IO[bytes], target: Path) -> Iterator[IO[bytes]]:
    if target.suffix != ".gz":
        yield stream
        return
    # Without a time and a name in it, the same replay is the same file.
    with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as packed:
        yield packed  # type: ignore[misc]
