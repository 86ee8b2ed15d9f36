"""The process runtime: one background thread with one event loop, and the actors that live on it.

It starts on first use and stops when its last actor has left. Sync callers always run on this loop,
never on one they may themselves be blocking. A forked child starts anew: threads do not survive a fork.
"""

import asyncio
import atexit
import concurrent.futures
import concurrent.futures.thread  # whose own end is registered when it is loaded: ours has to come before it
import contextlib
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Protocol, TypeVar

from .contain import incidents

logger = logging.getLogger("reasonblocks")

Result = TypeVar("Result")
THREAD_NAME = "reasonblocks-runtime"
EXIT_SECONDS = 5.0
_LONGEST_RESTART_DELAY = 5.0


class Resident(Protocol):
    """Long-lived background work: an actor, or whatever else keeps itself busy."""

    name: str

    async def run(self) -> None:
        """Work until told to stop; what it raises makes the supervisor start it again."""

    def forget(self) -> None:
        """Drop what a forked child inherited."""

    def flush(self, seconds: float) -> bool:
        """Block until everything posted so far is dealt with; whether it was."""


class Runtime:
    """The thread, its loop and the actors on it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tasks: dict[Resident, asyncio.Task[None] | None] = {}

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop of the runtime, started if need be."""
        with self._lock:
            if self._loop is None:
                self._start()
            assert self._loop is not None
            return self._loop

    @property
    def running(self) -> bool:
        """Whether the thread is there."""
        return self._loop is not None

    def _start(self) -> None:
        loop = Context().run(asyncio.new_event_loop)  # a loop keeps the context it was made in

        def serve() -> None:
            asyncio.set_event_loop(loop)
            try:
                loop.run_forever()
            finally:
                loop.run_until_complete(loop.shutdown_asyncgens())
                loop.run_until_complete(loop.shutdown_default_executor())
                loop.close()

        self._thread = threading.Thread(target=serve, name=THREAD_NAME, daemon=True)
        self._thread.start()
        self._loop = loop  # what is submitted before it runs waits in its queue

    def submit(self, work: Coroutine[Any, Any, Result]) -> concurrent.futures.Future[Result]:
        """Run a coroutine on the runtime's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def call_later(self, seconds: float, callback: Callable[..., object], *arguments: object) -> None:
        """Call back on the runtime's loop; never waits. Not with the caller's context: a timer would keep it alive."""
        loop, nothing = self.loop, Context()
        with contextlib.suppress(RuntimeError):  # the loop is closing, and with it whoever would be called
            loop.call_soon_threadsafe(
                lambda: loop.call_later(seconds, callback, *arguments, context=nothing), context=nothing
            )

    def owns_current_thread(self) -> bool:
        """Whether the caller is on the runtime's own thread, where waiting for it would deadlock."""
        return threading.current_thread() is self._thread

    def host(self, actor: Resident) -> None:
        """Start an actor, if it does not run already, and restart it whenever it crashes.

        This never waits for the loop: a finaliser may call it, on the loop's own thread too.
        """
        if actor in self._tasks:
            return
        with self._lock:
            if actor in self._tasks:
                return
            loop = self.loop
            self._tasks[actor] = None
            # An empty context: that of the first hook would live, with its agent's state, as long as the actor.
            loop.call_soon_threadsafe(self._place, loop, actor, context=Context())

    def is_hosting(self, actor: Resident) -> bool:
        """Whether an actor runs here, or is about to."""
        return actor in self._tasks

    def _place(self, loop: asyncio.AbstractEventLoop, actor: Resident) -> None:
        if actor in self._tasks:
            task = loop.create_task(_supervise(actor), name=f"reasonblocks-{actor.name}")
            self._tasks[actor] = task
            task.add_done_callback(lambda done: self._left(actor, done))

    def _left(self, actor: Resident, task: asyncio.Task[None]) -> None:
        """An actor is through by itself."""
        if self._tasks.get(actor) is task:
            del self._tasks[actor]

    def dismiss(self, actor: Resident) -> None:
        """Stop an actor; the last one to leave takes the thread with it."""
        if actor not in self._tasks or self._loop is None:
            return
        if self.owns_current_thread():
            task = self._tasks.pop(actor, None)
            if task is not None:
                task.cancel()
            return
        with contextlib.suppress(concurrent.futures.TimeoutError, concurrent.futures.CancelledError):
            self.submit(self._remove(actor)).result(EXIT_SECONDS)
        self.release()

    async def adismiss(self, actor: Resident) -> None:
        """As `dismiss`, without blocking the caller's event loop."""
        if actor not in self._tasks or self._loop is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(EXIT_SECONDS):
                await asyncio.wrap_future(self.submit(self._remove(actor)))
        stopping = self._retire_thread()
        if stopping is not None:
            loop, thread = stopping
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_cancel_all(), loop))
            loop.call_soon_threadsafe(loop.stop)
            while thread.is_alive():  # noqa: ASYNC110  a thread's end sets no event
                await asyncio.sleep(0.001)

    async def _remove(self, actor: Resident) -> None:
        """On the loop: placing has happened by now, so there is a task to cancel."""
        task = self._tasks.pop(actor, None)
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    def release(self) -> None:
        """Stop the thread unless an actor still needs it."""
        stopping = self._retire_thread()
        if stopping is not None:
            _stop(*stopping)

    def _retire_thread(self) -> tuple[asyncio.AbstractEventLoop, threading.Thread] | None:
        """Part with the thread, if nobody needs it; whoever comes next starts another."""
        with self._lock:
            loop, thread = self._loop, self._thread
            if self._tasks or loop is None or thread is None or self.owns_current_thread():
                return None
            self._loop = self._thread = None
            return loop, thread

    def exit(self) -> None:
        """At interpreter exit: drain every actor within one deadline, then stop."""
        deadline = time.monotonic() + EXIT_SECONDS
        for actor in list(self._tasks):
            actor.flush(max(0.0, deadline - time.monotonic()))
        for actor in list(self._tasks):
            self.dismiss(actor)
        self.release()

    def forget(self) -> None:
        """After a fork, in the child: no thread, no loop, no inherited work."""
        actors = list(self._tasks)
        self.__init__()  # type: ignore[misc]  # every field anew, the lock included: it may have been held
        for actor in actors:
            actor.forget()


async def _supervise(actor: Resident) -> None:
    """Keep one actor alive; its mailbox is its own and survives the restart."""
    delay = 0.05
    while True:
        began = time.monotonic()
        try:
            await actor.run()
            return
        except Exception as error:
            incidents.note(f"actor {actor.name}", error)
        if time.monotonic() - began > _LONGEST_RESTART_DELAY:
            delay = 0.05
        await asyncio.sleep(delay)
        delay = min(delay * 2, _LONGEST_RESTART_DELAY)


def _stop(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """End a loop with its tasks, and its thread."""
    with contextlib.suppress(concurrent.futures.TimeoutError):
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result(EXIT_SECONDS)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(EXIT_SECONDS)


async def _cancel_all() -> None:
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


runtime = Runtime()
"""The runtime of this process."""

_forgetful: weakref.WeakSet[Any] = weakref.WeakSet()


def forget_after_fork(holder: Any) -> None:
    """Have `holder.forget()` called in a forked child."""
    _forgetful.add(holder)


def _in_child() -> None:
    runtime.forget()
    for holder in list(_forgetful):
        holder.forget()


# Twice. Before Python ends its thread pools, for the engine's last writes need them; and once more for what
# threads of the program did after that, while the interpreter waited for them.
getattr(threading, "_register_atexit", atexit.register)(runtime.exit)
atexit.register(runtime.exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
