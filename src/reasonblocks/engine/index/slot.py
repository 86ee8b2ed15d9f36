"""Where a process keeps its index on disk, and how it knows after a start whether what lies there can be trusted.

A data directory has numbered slots. Each process locks the first free one, so that several on one directory never
share a file. A slot's marker says what its shard holds. It is taken away before the shard is changed, and written
when everything is flushed; it carries a checksum of every file. So a shard is either exactly what its marker says or
is not used: a process that was killed, a file that was cut off and a flipped bit all lead to a new shard.

Everything here blocks and belongs on the index thread.
"""

import contextlib
import os
import secrets
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from .shard import Shard

try:
    import fcntl
except ImportError:  # Windows: every process gets a directory of its own, which is gone with it
    fcntl = None  # type: ignore[assignment]

FORMAT = 2
"""What a marker and a shard look like; another number means that the slot is rebuilt."""
MOST_SLOTS = 256
_MARKER = "marker.json"
_SHARD_PREFIX = "shard-"
_BLOCK = 65_536
_ZEROS = bytes(_BLOCK)


class Marker(msgspec.Struct, frozen=True, kw_only=True):
    """What a shard holds, and which files that is."""

    format: int = FORMAT
    model: str
    dimension: int
    recipe: str
    """How texts are made from items; what was embedded by another recipe is not what would be embedded now."""
    number: int
    """The last change that was applied."""
    change: str
    """Which one that was: in a restored database it may be another."""
    points: int
    removed: int
    """Points that were taken out since the shard was made; their room is not used again."""
    shard: str
    files: dict[str, tuple[int, int]]
    """Size and checksum of each file."""


class Slot:
    """A directory that only this process uses, until it is closed."""

    def __init__(self, path: Path, lock: int | None) -> None:
        self.path = path
        self._lock = lock
        """The lock file; without one the directory is temporary."""

    @classmethod
    def take(cls, directory: Path | None) -> "Slot":
        """The first free slot of a directory, or a temporary one where there is no directory or it cannot be locked."""
        if directory is not None and fcntl is not None:
            with contextlib.suppress(OSError):  # a file system without locks, or one that is full
                return cls(*_first_free(directory))
        return cls(Path(tempfile.mkdtemp(prefix="reasonblocks-index-")), None)

    def marker(self) -> Marker | None:
        """What the shard here holds, if its files are what they were when the marker was written."""
        try:
            marker = msgspec.json.decode((self.path / _MARKER).read_bytes(), type=Marker)
            if marker.format == FORMAT and dict(_summed(self.path / marker.shard)) == marker.files:
                return marker
        except (OSError, ValueError, msgspec.MsgspecError):
            pass
        return None

    def open(self, marker: Marker) -> Shard:
        """The shard a marker stands for."""
        self._tidy(marker.shard)
        return Shard.load(self.path / marker.shard, marker.dimension)

    def create(self, dimension: int) -> tuple[str, Shard]:
        """A new shard beside what there is, and its name."""
        name = f"{_SHARD_PREFIX}{secrets.token_hex(4)}"
        return name, Shard.create(self.path / name, dimension)

    def taint(self) -> None:
        """Say that the shard is about to change: from here on it is not to be trusted."""
        (self.path / _MARKER).unlink(missing_ok=True)

    def vouch(self, marker: Marker) -> None:
        """Say that the shard, flushed, is what the marker says; the files are listed here."""
        shard = self.path / marker.shard
        _close_to_others(shard)
        marker = msgspec.structs.replace(marker, files=dict(_summed(shard)))
        new = self.path / f"{_MARKER}.new"
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.encode(marker))
        new.replace(self.path / _MARKER)
        self._tidy(marker.shard)

    def _tidy(self, keep: str) -> None:
        """Remove the shards that nobody will ask for again."""
        for path in self.path.glob(f"{_SHARD_PREFIX}*"):
            if path.name != keep:
                shutil.rmtree(path, ignore_errors=True)

    def clear(self) -> None:
        """Remove everything; what cannot be removed will not be believed either."""
        self.taint()
        self._tidy("")

    def close(self) -> None:
        """Let others have the slot; a temporary one is removed."""
        if self._lock is not None:
            _close_to_others(self.path)  # closing a shard writes some of its files anew
            fcntl.flock(self._lock, fcntl.LOCK_UN)
            os.close(self._lock)
            self._lock = None
        else:
            shutil.rmtree(self.path, ignore_errors=True)

    def forget(self) -> None:
        """After a fork, in the child: the slot is the parent's. Closing our copy leaves its lock alone."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _first_free(directory: Path) -> tuple[Path, int]:
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in range(MOST_SLOTS):
        lock = os.open(directory / f"{number}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path = directory / str(number)
            path.mkdir(mode=0o700, exist_ok=True)
            return path, lock
        except BlockingIOError:
            os.close(lock)
        except OSError:
            os.close(lock)
            raise
    raise OSError(f"all {MOST_SLOTS} slots of {str(directory)!r} are taken")


def _close_to_others(path: Path) -> None:
    """A shard makes its files with everyone's rights."""
    for directory, _, files in os.walk(path):
        os.chmod(directory, 0o700)
        for name in files:
            os.chmod(os.path.join(directory, name), 0o600)


def _summed(shard: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    for directory, _, files in os.walk(shard):
        for name in files:
            path = Path(directory, name)
            yield path.relative_to(shard).as_posix(), (path.stat().st_size, _checksum(path))


def _checksum(path: Path) -> int:
    """A checksum of what is not zero. The files are mostly holes, and whether a block of zeros is one can change."""
    checksum = 0
    with open(path, "rb", buffering=0) as file:
        for start, end in _filled(file.fileno()):
            file.seek(start)
            for position in range(start, end, _BLOCK):
                block = file.read(min(_BLOCK, end - position))
                if block != _ZEROS[: len(block)]:
                    checksum = zlib.crc32(block, zlib.crc32(position.to_bytes(8, "little"), checksum))
    return checksum


def _filled(file: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that are not holes, in whole blocks so that they are the same however they are reported."""
    size = os.fstat(file).st_size
    position = 0
    while position < size:
        if hasattr(os, "SEEK_DATA"):
            try:
                start = os.lseek(file, position, os.SEEK_DATA)
            except OSError:  # there is nothing but a hole from here on
                return
            end = os.lseek(file, start, os.SEEK_HOLE)
        else:
            start, end = position, size
        start -= start % _BLOCK
        end = min(size, -(-end // _BLOCK) * _BLOCK)
        yield start, end
        position = end
