"""One file of the spool: records are appended, read from the head on, and steps taken out when there is no room."""

import contextlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from .records import FRAME, HEADER, Kind, Record, found, framed, head_of, header

SUFFIX = ".events"
CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
OPEN = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)


class Portion(NamedTuple):
    """Records read together."""

    records: list[Record]
    ends: list[int]
    """Where each of them ends in the segment; the last one where reading goes on."""
    damaged: int
    """Stretches that could not be read."""


class Segment:
    """A file, and what is known of it. Only its owner touches it, on one thread."""

    def __init__(self, path: Path, head: int, size: int, steps: int, lasting: int) -> None:
        self.path = path
        self.head = head
        """Where the first record lies that is not delivered."""
        self.size = size
        """Where the last whole record ends."""
        self.steps = steps
        self.lasting = lasting
        """Events from the head on, of either kind."""

    @classmethod
    def create(cls, path: Path) -> "Segment":
        """A new and empty one."""
        descriptor = os.open(path, CREATE, 0o600)
        try:
            _write_all(descriptor, header())
        finally:
            os.close(descriptor)
        return cls(path, HEADER.size, HEADER.size, 0, 0)

    @classmethod
    def open(cls, path: Path) -> "Segment | None":
        """One that another process left: a torn end is not part of it. `None` if it is none of ours."""
        data = path.read_bytes()
        head = head_of(data)
        if head is None:
            return None
        boundaries, kinds = [HEADER.size], []
        for one in found(data, HEADER.size):
            boundaries.append(one.end)
            kinds.append(one.record.kind)
        # A position that is no boundary was torn itself: delivering twice does no harm, leaving out would.
        first = boundaries.index(head) if head in boundaries else 0
        steps = kinds[first:].count(Kind.STEP)
        lasting = kinds[first:].count(Kind.LASTING)
        return cls(path, boundaries[first], boundaries[-1], steps, lasting)

    @property
    def events(self) -> int:
        """How many events wait here."""
        return self.steps + self.lasting

    def append(self, descriptor: int, records: Sequence[Record]) -> None:
        """Write records at the end, all of them or none."""
        blob = b"".join(framed(record) for record in records)
        try:
            os.lseek(descriptor, self.size, os.SEEK_SET)
            _write_all(descriptor, blob)
        except OSError:
            os.ftruncate(descriptor, self.size)
            raise
        self.size += len(blob)
        for record in records:
            self.count(record.kind, 1)

    def count(self, kind: Kind, number: int) -> None:
        """So many more, or fewer, wait here."""
        if kind is Kind.STEP:
            self.steps += number
        elif kind is Kind.LASTING:
            self.lasting += number

    def read(self, most: int, most_bytes: int) -> Portion:
        """Records from the head on: at least one, if there is one."""
        with open(self.path, "rb") as file:
            file.seek(self.head)
            data = file.read(self.size - self.head)
        portion = Portion([], [], 0)
        room, damaged = most_bytes, 0
        for one in found(data, 0):
            room -= len(one.record.payload)
            if portion.records and (room < 0 or len(portion.records) >= most):
                return portion._replace(damaged=damaged)
            portion.records.append(one.record)
            portion.ends.append(self.head + one.end)
            damaged += one.damaged
        # What follows the last whole record is damage too, for the size ended with a whole one when it was written.
        if portion.ends and portion.ends[-1] < self.size:
            portion.ends[-1] = self.size
            damaged += 1
        return portion._replace(damaged=damaged)

    def advance(self, end: int) -> None:
        """Everything before this position is delivered."""
        self.head = end
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(self.path, OPEN)
            try:
                os.write(descriptor, header(end))
            finally:
                os.close(descriptor)

    def without_steps(self, keep_until: int, replace: Callable[[Sequence[Record]], Sequence[Record]]) -> int:
        """Write this segment anew: from `keep_until` on, `replace` gives what stands for its steps. How many went.

        What lies before is being delivered at this moment and stays as it is.
        """
        with open(self.path, "rb") as file:
            data = file.read(self.size)
        kept = [one.record for one in found(data, keep_until)]
        steps = [record for record in kept if record.kind is Kind.STEP]
        rest = [record for record in kept if record.kind is not Kind.STEP]
        blob = header() + data[self.head : keep_until] + b"".join(map(framed, (*rest, *replace(steps))))
        temporary = self.path.with_suffix(".new")
        temporary.unlink(missing_ok=True)
        descriptor = os.open(temporary, CREATE, 0o600)
        try:
            _write_all(descriptor, blob)
            os.fsync(descriptor)  # the old one goes, so the new one has to be there
        finally:
            os.close(descriptor)
        os.replace(temporary, self.path)
        self.head, self.size = HEADER.size, len(blob)
        self.steps -= len(steps)
        return len(steps)


def record_bytes(record: Record) -> int:
    """How much room a record takes."""
    return FRAME.size + len(record.payload)


def _write_all(descriptor: int, blob: bytes) -> None:
    rest = memoryview(blob)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
