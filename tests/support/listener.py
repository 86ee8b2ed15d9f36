"""The thread, the event loop and the port of one stand-in."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future

from support.connection import House

HOST = "127.0.0.1"
THREAD_NAME = "standin"
PATIENCE_SECONDS = 5.0


class Listener:
    """Accepts connections on a thread of its own, and can go down and come back on the same port."""

    def __init__(self, house: House) -> None:
        self.port = 0
        self._house = house
        self._listening: socket.socket | None = None
        self._reservation: socket.socket | None = None
        self._pending: set[asyncio.Task[object]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether it was started and not stopped."""
        return self._thread is not None

    def start(self) -> None:
        """Listen on a free port of this machine."""
        if self._thread is not None:
            raise RuntimeError("the stand-in is running already")
        first = self._reserve_port()
        started: Future[None] = Future()
        thread = threading.Thread(target=self._run, args=(first, started), name=THREAD_NAME, daemon=True)
        self._thread = thread
        thread.start()
        started.result(PATIENCE_SECONDS)

    def stop(self) -> None:
        """Drop every connection and end the thread; stopping twice is fine."""
        thread, loop, stopping = self._thread, self._loop, self._stopping
        if thread is None or loop is None or stopping is None:
            return
        loop.call_soon_threadsafe(stopping.set)
        thread.join(PATIENCE_SECONDS)
        if thread.is_alive():
            raise RuntimeError("the stand-in did not stop: is one of the test's callables blocking it?")
        self._thread = self._loop = self._stopping = None

    def call(self, function: Callable[[], None]) -> None:
        """Run a function on the event loop, and wait for it unless it is called from there."""
        if self._loop is None:
            raise RuntimeError("the stand-in is not running")
        if threading.current_thread() is self._thread:
            function()
            return
        done: Future[None] = Future()
        self._loop.call_soon_threadsafe(_run_into, done, function)
        done.result(PATIENCE_SECONDS)

    # -- on the event loop -------------------------------------------------------------------------

    def listen(self, bound: socket.socket | None = None) -> None:
        """Accept connections, if it does not already."""
        if self._listening is None:
            self._listening = bound or _bound_socket(self.port)
            self._listening.listen(1024)
            self._house.listening = True
            asyncio.get_running_loop().add_reader(self._listening, self._accept)

    def go_down(self) -> None:
        """Refuse connections and break those that are open."""
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
            self._listening = None
        self._house.listening = False
        self.drop()

    def drop(self) -> None:
        """Break every open connection."""
        for connection in list(self._house.connections):
            connection.reset()

    def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while self._listening is not None:
            try:
                accepted, _ = self._listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            accepted.setblocking(False)
            task = loop.create_task(self._connect(accepted))
            self._pending.add(task)
            task.add_done_callback(self._pending.discard)

    async def _connect(self, accepted: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        await loop.connect_accepted_socket(self._house.open, accepted)

    # -- on the thread -----------------------------------------------------------------------------

    def _run(self, first: socket.socket, started: Future[None]) -> None:
        # A selector loop whatever the policy says, since it accepts by hand.
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._serve(first, started))

    async def _serve(self, first: socket.socket, started: Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self.listen(first)
        started.set_result(None)
        await self._stopping.wait()
        self.go_down()
        if self._reservation is not None:
            self._reservation.close()
            self._reservation = None
        while self._pending or self._house.connections:  # noqa: ASYNC110  there is nothing else to wait for
            await asyncio.sleep(0)

    def _reserve_port(self) -> socket.socket:
        first = _bound_socket(0)
        self.port = first.getsockname()[1]
        # A second socket that never listens keeps the port ours while the first is closed.
        with contextlib.suppress(OSError):
            self._reservation = _bound_socket(self.port)
        return first


def _run_into(done: Future[None], function: Callable[[], None]) -> None:
    try:
        function()
    except BaseException as error:
        done.set_exception(error)
    else:
        done.set_result(None)


def _bound_socket(port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((HOST, port))
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock
