"""A thread with an event loop of its own, for calls that any other loop may await.

Qdrant's client belongs to one loop, while lookups come from many. It also takes milliseconds of processor time for an
answer, and in its local mode blocks for all of the search: none of the loops that agents run on should pay for that.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Coroutine
from typing import Any, TypeVar

from ....runtime.supervisor import forget_after_fork
from ..thread import IndexFailure

Result = TypeVar("Result")
THREAD_NAME = "reasonblocks-qdrant"
CLOSE_SECONDS = 5.0


class LoopThread:
    """A daemon thread that starts with the first call. After a fork the child has none."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False
        forget_after_fork(self)

    async def run(self, work: Callable[[], Coroutine[Any, Any, Result]], seconds: float) -> Result:
        """Have something done on the loop of the thread; `TimeoutError`, and an end to it, where it takes too long."""
        loop = self._running()
        async with asyncio.timeout(seconds):
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), loop))

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise IndexFailure("the vector index is not open: its engine was closed, or was opened before a fork")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run_for_ever, args=(self._loop,), name=THREAD_NAME, daemon=True)
                self._thread.start()
            return self._loop

    async def aclose(self) -> None:
        """End the thread; what is under way is cancelled."""
        with self._lock:
            self._closed = True
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            await asyncio.to_thread(thread.join, CLOSE_SECONDS)

    def forget(self) -> None:
        """After a fork, in the child: the thread is the parent's."""
        self._lock = threading.Lock()
        self._loop = self._thread = None
        self._closed = True


def _run_for_ever(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
        loop.run_until_complete(_cancelled(asyncio.all_tasks(loop)))
    finally:
        loop.close()


async def _cancelled(tasks: Collection["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
