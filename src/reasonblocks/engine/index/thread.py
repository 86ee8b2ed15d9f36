"""One thread that makes calls one after another, for any event loop that awaits them."""

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from ...runtime.contain import describe
from ...runtime.supervisor import forget_after_fork
from ..errors import EngineError

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
THREAD_NAME = "reasonblocks-index"
CLOSE_SECONDS = 10.0

_Call = tuple["asyncio.Future[Any]", asyncio.AbstractEventLoop, Callable[[], Any]]


class IndexFailure(EngineError):
    """The index could not do what it was asked; it can always be rebuilt from the tables."""


class IndexThread:
    """A daemon thread that starts with the first call. After a fork the child starts one of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        forget_after_fork(self)

    async def run(
        self, call: Callable[Parameters, Result], *arguments: Parameters.args, **named: Parameters.kwargs
    ) -> Result:
        """Have a call made and await what comes of it; one that is cancelled before its turn is not made."""
        # Straight to the loop: by way of `concurrent.futures` a lookup would cost 30 µs more, a tenth of it all.
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()
        with self._lock:
            self._calls.put((future, loop, lambda: call(*arguments, **named)))
            if self._thread is None:
                self._thread = threading.Thread(target=_serve, args=(self._calls,), name=THREAD_NAME, daemon=True)
                self._thread.start()
        return await future

    async def aclose(self) -> None:
        """End the thread once everything asked for so far is done; a later call starts another."""
        with self._lock:
            thread, self._thread = self._thread, None
            calls, self._calls = self._calls, queue.SimpleQueue()
        calls.put(None)
        if thread is not None:
            await asyncio.to_thread(thread.join, CLOSE_SECONDS)

    def forget(self) -> None:
        """After a fork, in the child: no thread, and nothing that waits for one."""
        self._lock = threading.Lock()  # it may have been held
        self._calls = queue.SimpleQueue()
        self._thread = None


def _serve(calls: "queue.SimpleQueue[_Call | None]") -> None:
    while (item := calls.get()) is not None:
        future, loop, call = item
        if not future.cancelled():
            result, error = _made(call)
            with contextlib.suppress(RuntimeError):  # the loop is closed, and with it whoever waited
                loop.call_soon_threadsafe(_deliver, future, result, error)
        del item, future, loop, call  # what a call held is not kept until the next one comes
        result = error = None


def _made(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return call(), None
    except Exception as error:
        return None, error
    except BaseException as panic:
        # The shard is written in Rust, whose panics are no `Exception`: one would end every task that awaits it.
        return None, IndexFailure(f"the vector index broke off: {describe(panic)}")


def _deliver(future: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    """On the loop: hand over what came of a call, unless nobody waits for it any more."""
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
