"""Who does what only one process on a database may do at a time."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from ..store.news import News

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

Leadership = Callable[[str], AbstractAsyncContextManager[bool]]
"""Entered with the name of a task: whether it is ours until we leave. Never waits; a process that dies has left."""


@asynccontextmanager
async def always(_name: str) -> AsyncIterator[bool]:
    """Where nobody else can be."""
    yield True


def by_file(directory: Path | None) -> Leadership:
    """Of the processes that share a data directory, the one that holds the lock on a file in it."""
    if directory is None or fcntl is None:
        return always

    @asynccontextmanager
    async def leadership(name: str) -> AsyncIterator[bool]:
        locking = asyncio.ensure_future(asyncio.to_thread(_locked, directory / f"{name}.lock"))
        try:
            lock = await asyncio.shield(locking)
        except asyncio.CancelledError:
            locking.add_done_callback(_let_go)  # nobody else would
            raise
        try:
            yield lock is not None
        finally:
            if lock is not None:
                os.close(lock)  # which lets go of it

    return leadership


def by_news(news: News) -> Leadership:
    """Of the processes on one database server, the one that has the chore; it keeps it until it ends."""

    @asynccontextmanager
    async def leadership(name: str) -> AsyncIterator[bool]:
        yield await news.leads(name)

    return leadership


def _let_go(locking: "asyncio.Future[int | None]") -> None:
    if not locking.cancelled() and locking.exception() is None and (lock := locking.result()) is not None:
        os.close(lock)


def _locked(path: Path) -> int | None:
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with contextlib.suppress(OSError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock
    os.close(lock)
    return None
