"""The engines of this process: opened on the runtime's own loop, shared by all clients of one data directory."""

import asyncio
import concurrent.futures
import contextlib
import importlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import Unavailable
from ..runtime.contain import describe
from ..runtime.supervisor import forget_after_fork, runtime

if TYPE_CHECKING:
    from ..engine.engine import Engine


TOLD_SECONDS = 1.0
"""Who is told why it cannot be opened mostly gives it up meanwhile; then nothing has to be logged, or tried again."""


class EngineHost:
    """An actor: opens an engine and keeps it until it is told to leave."""

    name = "engine"

    def __init__(self, data_dir: Path | None) -> None:
        self.data_dir = data_dir
        self.engine: Engine | None = None
        self.problem: str | None = None
        """Why the engine could not be opened, while that is so; the supervisor goes on trying."""
        self._opened: concurrent.futures.Future[Engine] = concurrent.futures.Future()
        self._leave: Callable[[], object] | None = None
        self._in_a_hurry = False
        self._waiting = 0
        """Those who block until it is open, and raise what keeps it from opening."""
        self._inherited: list[Engine] = []

    async def run(self) -> None:
        """Open the engine and keep it until told to leave; whatever ends this closes it."""
        await asyncio.to_thread(importlib.import_module, "reasonblocks.engine.engine")  # not on a loop: it takes long
        from ..engine.engine import Engine
        from ..engine.settings import EngineSettings

        if self._inherited and self.problem is not None:
            await self._told_to_leave()
            return
        try:
            engine = await Engine.open(EngineSettings.from_environment(self.data_dir))
        except Exception as error:
            self.problem = f"the embedded engine cannot be opened: {describe(error)}"
            # Those who wait now are told; the next attempt will have news of its own.
            failed, self._opened = self._opened, concurrent.futures.Future()
            failed.set_exception(error)
            if self._waiting:
                await asyncio.sleep(TOLD_SECONDS)
            raise
        try:
            self.problem = None
            self.engine = engine
            self._opened.set_result(engine)
            await self._told_to_leave()
        finally:
            self.engine = None
            self._opened = concurrent.futures.Future()
            await engine.aclose(in_a_hurry=self._in_a_hurry)

    async def _told_to_leave(self) -> None:
        loop, leaving = asyncio.get_running_loop(), asyncio.Event()
        self._leave = lambda: loop.call_soon_threadsafe(leaving.set)
        await leaving.wait()

    def retire(self) -> None:
        """Nobody uses the engine any more: close it. Never waits."""
        if self._leave is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed, and the engine with it
                self._leave()

    def start(self) -> None:
        """Begin to open the engine."""
        runtime.host(self)

    def wait(self, seconds: float) -> None:
        """Block until the engine is there, or raise what kept it from opening."""
        opened = self._opened
        self._waiting += 1
        try:
            runtime.host(self)
            opened.result(seconds)
        finally:
            self._waiting -= 1

    async def current(self) -> "Engine":
        """The engine, opened if need be."""
        if self.engine is not None:
            return self.engine
        if hosts.forking:
            raise Unavailable("the process is being forked")
        opened = self._opened
        runtime.host(self)
        if self.problem is not None:
            raise Unavailable(self.problem)
        try:
            return await asyncio.shield(asyncio.wrap_future(opened))
        except Exception as error:
            raise Unavailable(f"the embedded engine cannot be opened: {describe(error)}") from error

    def suspend(self) -> None:
        """Close the engine before a fork; parent and child open it again when they need it.

        A child must not inherit an open SQLite database: its locks are the parent's, but SQLite in the child would
        believe them its own. What is in memory has no locks, and the parent would lose it.
        """
        if self.data_dir is not None and runtime.is_hosting(self):
            self._in_a_hurry = True
            runtime.dismiss(self)
            self._in_a_hurry = False

    def forget(self) -> None:
        """In a forked child: open it anew; what the parent opened is neither used nor closed here."""
        if self.engine is not None:
            self._inherited.append(self.engine)
            if self.data_dir is not None:
                self.problem = (
                    "this process was forked by the engine's own thread, while the database was open; "
                    "create ReasonBlocks after the fork, or start the process with spawn"
                )
        self.engine = self._leave = None
        self._waiting = 0
        self._opened = concurrent.futures.Future()

    def flush(self, seconds: float) -> bool:
        """Nothing waits here: what was acknowledged is stored."""
        return True


class Hosts:
    """Who uses which engine: one for each data directory, however many clients it has."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a finaliser may come in between
        self._hosts: dict[Path, EngineHost] = {}
        self._users: dict[EngineHost, set[object]] = {}
        self.forking = False
        forget_after_fork(self)

    def join(self, data_dir: Path | None, user: object) -> EngineHost:
        """The host of a directory, from now on with this user; one in memory is its only user's own."""
        with self._lock:
            host = self._hosts.get(data_dir) if data_dir is not None else None
            if host is None:
                host = EngineHost(data_dir)
                if data_dir is not None:
                    self._hosts[data_dir] = host
            self._users.setdefault(host, set()).add(user)
            return host

    def leave(self, host: EngineHost, user: object) -> bool:
        """Somebody uses a host no more; whether that was the last one.

        Whoever comes after the last one gets a new host, and does not wait for the old one to close.
        """
        with self._lock:
            users = self._users.get(host)
            if users is None:
                return False
            users.discard(user)
            if users:
                return False
            del self._users[host]
            if host.data_dir is not None and self._hosts.get(host.data_dir) is host:
                del self._hosts[host.data_dir]
            return True

    def before_fork(self) -> None:
        """Close what must not be inherited; nothing opens it again until the fork is over."""
        self.forking = True
        with self._lock:
            open_hosts = list(self._hosts.values())
        for host in open_hosts:
            host.suspend()

    def after_fork(self) -> None:
        """In the parent: go on."""
        self.forking = False

    def forget(self) -> None:
        """In a forked child: whoever held the lock is not here."""
        self._lock = threading.RLock()
        self.forking = False


hosts = Hosts()
"""Those of this process."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=hosts.before_fork, after_in_parent=hosts.after_fork)
