"""The segments of one owner: a queue on disk. Everything here blocks, and happens on the spool's thread.

<spool>/<destination>/<owner>/owner.lock    held for as long as the owner lives
                              00000001.events ...
"""

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .lock import locked
from .policy import SpoolPolicy
from .records import HEADER, Record
from .segment import OPEN, SUFFIX, Portion, Segment, record_bytes

LOCK = "owner.lock"
LARGEST_SEGMENT = 2_000_000
SYNC_SECONDS = 1.0
"""How long the policy `batch` may leave what was written to the operating system."""

Replace = Callable[[Sequence[Record]], Sequence[Record]]
"""From steps that have to go to the records that stand for them."""


@dataclass(slots=True)
class Queue:
    """First in, first out, in files that only the holder of the lock touches."""

    directory: Path
    policy: SpoolPolicy
    lock: int
    """The descriptor that holds it."""
    segments: list[Segment] = field(default_factory=list)
    """Oldest first."""
    damaged: int = 0
    """Events that could not be read again."""
    _writing: int | None = None
    """The descriptor of the last segment, while it is being written."""
    _ends: list[int] = field(default_factory=list)
    """In the first segment: where each record ends that is being delivered."""
    _dirty: bool = False
    _synced_at: float = 0.0
    _others: int = 0
    """Bytes that other owners have for the same destination."""

    @classmethod
    def create(cls, parent: Path, policy: SpoolPolicy) -> "Queue":
        """A queue of our own."""
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            directory = parent / f"{time.time_ns():020d}-{os.getpid()}-{secrets.token_hex(4)}"
            directory.mkdir(mode=0o700)
            with contextlib.suppress(FileNotFoundError):  # taken for a dead one's, and removed, before it was locked
                lock = locked(directory / LOCK)
                if lock is not None:
                    return cls(directory, policy, lock)

    @classmethod
    def adopt(cls, directory: Path, policy: SpoolPolicy) -> "Queue | None":
        """What a dead process left; `None` if its owner lives, or nothing is left."""
        try:
            lock = locked(directory / LOCK)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if lock is None:
            return None
        queue = cls(directory, policy, lock)
        try:
            for path in directory.glob("*.new"):  # written anew when its owner died
                path.unlink()
            for path in sorted(directory.glob(f"*{SUFFIX}")):
                segment = Segment.open(path)
                if segment is None or segment.size == segment.head:
                    path.unlink()
                else:
                    queue.segments.append(segment)
            if queue.segments:
                return queue
            queue.remove()
        except OSError:
            queue.release()
            raise
        return None

    # -- what there is ------------------------------------------------------------------------------

    @property
    def empty(self) -> bool:
        """Whether nothing at all is left to be delivered."""
        return not self.segments

    @property
    def events(self) -> int:
        """How many events wait."""
        return sum(segment.events for segment in self.segments)

    @property
    def bytes(self) -> int:
        """How much room they take."""
        return sum(segment.size for segment in self.segments)

    # -- writing ------------------------------------------------------------------------------------

    def append(self, records: Sequence[Record]) -> None:
        """Write records behind all others; when this returns they survive the process."""
        start = 0
        while start < len(records):
            segment, descriptor = self._last()
            end, room = start, self._segment_bytes() - segment.size
            while end < len(records) and (end == start or room > 0):
                room -= record_bytes(records[end])
                end += 1
            segment.append(descriptor, records[start:end])
            self._dirty = True
            start = end
        if self.policy.fsync == "always" or time.monotonic() - self._synced_at > SYNC_SECONDS:
            self.sync()

    def _segment_bytes(self) -> int:
        return min(LARGEST_SEGMENT, self.policy.max_bytes // 8)

    def _last(self) -> tuple[Segment, int]:
        """The segment that is written to: another one when it is full."""
        if self._writing is not None and self.segments[-1].size < self._segment_bytes():
            return self.segments[-1], self._writing
        self._finish_writing()
        number = int(self.segments[-1].path.stem) + 1 if self.segments else time.time_ns()
        segment = Segment.create(self.directory / f"{number:020d}{SUFFIX}")
        self._writing = os.open(segment.path, OPEN)
        self.segments.append(segment)
        if self.policy.fsync != "never":
            _sync_directory(self.directory)
        self._others = _bytes_below(self.directory.parent, but=self.directory)
        return segment, self._writing

    def _finish_writing(self) -> None:
        if self._writing is not None:
            self.sync()
            os.close(self._writing)
            self._writing = None

    def sync(self) -> None:
        """Have the disk keep what was written, if the policy wants it."""
        if self._dirty and self._writing is not None and self.policy.fsync != "never":
            os.fsync(self._writing)
        self._dirty = False
        self._synced_at = time.monotonic()

    def full(self, more: int) -> bool:
        """Whether so many bytes more are too many."""
        return self.bytes + self._others + more > self.policy.max_bytes

    def make_room(self, more: int, replace: Replace) -> int:
        """Take steps out, the oldest first, until so many bytes more fit. How many went."""
        went = 0
        for number, segment in enumerate(list(self.segments)):
            if not self.full(more):
                break
            keep_until = self._ends[-1] if number == 0 and self._ends else segment.head
            if not segment.steps or keep_until >= segment.size:
                continue
            if segment is self.segments[-1]:
                self._finish_writing()
            before = segment.head
            went += segment.without_steps(keep_until, replace)
            if number == 0:
                self._ends = [end - before + HEADER.size for end in self._ends]
        return went

    # -- reading ------------------------------------------------------------------------------------

    def read(self, most: int, most_bytes: int) -> Portion | None:
        """The oldest records; they stay until they are said to be delivered."""
        while self.segments:
            try:
                portion = self.segments[0].read(most, most_bytes)
            except FileNotFoundError:  # somebody has tidied up
                self._drop_first()
                continue
            self._ends = portion.ends
            if portion.records:
                return portion
            self._drop_first()  # nothing but damage
        return None

    def delivered(self, records: Sequence[Record]) -> None:
        """These are dealt with: the first ones, or all, of what was read last."""
        if not records:
            return
        segment, end = self.segments[0], self._ends[len(records) - 1]
        self._ends = self._ends[len(records) :]
        for record in records:
            segment.count(record.kind, -1)
        if end < segment.size:
            segment.advance(end)
        else:
            self._drop_first()

    def _drop_first(self) -> None:
        """The oldest segment is through; what was in it and could not be read is damage."""
        segment = self.segments.pop(0)
        self._ends = []
        self.damaged += max(0, segment.events)
        if not self.segments and self._writing is not None:
            os.close(self._writing)
            self._writing, self._dirty = None, False
        segment.path.unlink(missing_ok=True)

    # -- the end ------------------------------------------------------------------------------------

    def release(self) -> None:
        """Let go; what is left is whoever's that comes."""
        if self._writing is not None:
            os.close(self._writing)
            self._writing = None
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1

    def remove(self) -> None:
        """Nothing is left: leave no trace."""
        with contextlib.suppress(OSError):
            (self.directory / LOCK).unlink()
        self.release()
        with contextlib.suppress(OSError):  # not empty: something of others is in it
            self.directory.rmdir()


def oldest_orphan(parent: Path, policy: SpoolPolicy, ours: Path | None) -> Queue | None:
    """The oldest queue whose owner is dead, locked for us."""
    try:
        names = sorted(os.listdir(parent))
    except (FileNotFoundError, NotADirectoryError):
        return None
    for name in names:
        if ours is None or name != ours.name:
            queue = Queue.adopt(parent / name, policy)
            if queue is not None:
                return queue
    return None


def _bytes_below(parent: Path, *, but: Path) -> int:
    total = 0
    with contextlib.suppress(OSError):
        for owner in os.scandir(parent):
            if owner.name != but.name and owner.is_dir(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    total += sum(file.stat().st_size for file in os.scandir(owner.path))
    return total


def _sync_directory(directory: Path) -> None:
    with contextlib.suppress(OSError):  # not everywhere can a directory be opened
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
