"""A lock on a file that goes with the process that holds it, however that ends."""

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
try:
    import msvcrt
except ImportError:  # everything else
    msvcrt = None  # type: ignore[assignment]

OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


def locked(path: Path) -> int | None:
    """A descriptor that holds the lock for as long as it is open, or `None` if somebody else has it.

    `OSError` where a file cannot be locked at all: then nobody can know whether its owner lives, and the
    spool is not used.
    """
    descriptor = os.open(path, OPEN, 0o600)
    try:
        if _try_lock(descriptor) and _is_still(path, descriptor):
            return descriptor
    except OSError:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _try_lock(descriptor: int) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            raise OSError("files cannot be locked on this platform")
    except (BlockingIOError, PermissionError):
        return False
    return True


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether nobody has removed the file between our opening and our locking it."""
    try:
        named, held = os.stat(path), os.fstat(descriptor)
    except FileNotFoundError:
        return False
    return (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)
