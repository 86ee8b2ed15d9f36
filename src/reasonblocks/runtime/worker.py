"""A thread for what blocks: one piece of work after another, gone when there is none."""

import asyncio
import concurrent.futures
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")
IDLE_SECONDS = 0.5
"""How long the thread waits for more work before it ends."""


class Worker:
    """Does what it is given in the order it was given, off every event loop. It starts and ends by itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.RLock()
        self._work: queue.SimpleQueue[tuple[concurrent.futures.Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._idle_seconds = IDLE_SECONDS

    def submit(self, work: Callable[[], Result]) -> concurrent.futures.Future[Result]:
        """Have something done; the future has its result."""
        future: concurrent.futures.Future[Result] = concurrent.futures.Future()
        with self._lock:
            self._work.put((future, work))
            if self._thread is None:
                self._start()
        return future

    async def rest(self) -> None:
        """Have the thread end now, once it has done what it was given."""
        thread = self._thread
        if thread is not None:
            self.submit(self._leave)
            while thread.is_alive():  # noqa: ASYNC110  a thread's end sets no event
                await asyncio.sleep(0.001)

    def _leave(self) -> None:
        self._idle_seconds = 0.0

    def _start(self) -> None:
        self._idle_seconds = IDLE_SECONDS
        self._thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                future, work = self._work.get(timeout=self._idle_seconds)
            except queue.Empty:
                with self._lock:
                    if not self._work.empty():
                        continue
                    self._thread = None
                    return
            with contextlib.suppress(concurrent.futures.InvalidStateError):  # nobody wants to know any more
                try:
                    result = work()
                except BaseException as error:
                    future.set_exception(error)
                else:
                    future.set_result(result)
            del future, work
