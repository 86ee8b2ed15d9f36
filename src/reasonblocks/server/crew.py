"""Several workers behind one port: started, watched, replaced when one ends, and ended together.

The supervisor binds the port and hands the listening socket to every worker, so a connection goes to whichever worker
takes it first, and one that waits in the queue is not lost with a worker that dies. A worker is a process of its own
from the beginning, not a copy of this one: nothing here has to survive a fork. Its settings come through a pipe, keys
and all, which nobody else can read; the pipe stays open, and its end tells a worker that the supervisor is gone.
"""

import asyncio
import contextlib
import logging
import signal
import socket
import sys
import time

from ..engine.keys import Keys
from ..engine.store.database import Database
from ..engine.store.migrate import prepare
from ..errors import SettingsError
from .logs import note
from .run import hand_out_first_key, listening, logging_to, told_url, warn_of_short_keys
from .settings import ServerSettings
from .worker import READY, packed

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 30.0
"""Before a worker is replaced, longer each time that one does not live long."""
LONG_LIFE = 10.0
CLOSE_SECONDS = 15.0
"""What an engine gets to close, beyond the time that requests in flight have."""


def supervise(settings: ServerSettings) -> None:
    """Run workers until asked to stop by SIGTERM or SIGINT."""
    if sys.platform == "win32":
        raise SettingsError("workers is more than 1, and Windows cannot share a socket among processes; run one")
    with (
        logging_to(sys.stderr, settings.log_level),
        listening(settings.host, settings.port) as listener,
        asyncio.Runner() as runner,
    ):
        runner.run(_supervise(settings, listener))


async def _supervise(settings: ServerSettings, listener: socket.socket) -> None:
    await _make_ready(settings)
    warn_of_short_keys(settings)
    crew = Crew(settings, listener)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, crew.stop)
    try:
        await crew.run()
    finally:
        note(logging.INFO, "stopped")


async def _make_ready(settings: ServerSettings) -> None:
    """Have tables and a key before there are workers: what is wrong with the database is said once."""
    engine = settings.engine()
    database = await asyncio.to_thread(Database.at, engine.data_dir, engine.database_url, engine.pool)
    transactions = database.transactions()
    try:
        await prepare(database)
        await hand_out_first_key(Keys(database, transactions), settings)
    finally:
        await transactions.aclose()
        await database.aclose()


class Crew:
    """The workers of one server."""

    def __init__(self, settings: ServerSettings, listener: socket.socket) -> None:
        self._settings = settings
        self._listener = listener
        self._stopping = asyncio.Event()
        self._missing = set(range(1, settings.workers + 1))
        """Those that have not been ready yet."""
        self._failure: str | None = None

    def stop(self) -> None:
        """End all workers, each after what it has in flight."""
        self._stopping.set()

    async def run(self) -> None:
        """Keep the workers going until told to stop; a worker that cannot even start once ends them all."""
        async with asyncio.TaskGroup() as group:
            for number in sorted(self._missing):
                group.create_task(self._keep(number))
        if self._failure is not None:
            raise SettingsError(self._failure)

    async def _keep(self, number: int) -> None:
        pause = FIRST_PAUSE
        while not self._stopping.is_set():
            started = time.monotonic()
            code = await self._work(number)
            if self._stopping.is_set():
                return
            if number in self._missing:
                self._failure = f"worker {number} ended with code {code} before it was ready; what it said is above"
                self.stop()
                return
            note(logging.WARNING, "worker ended", worker=number, code=code, advice="another one takes its place")
            pause = FIRST_PAUSE if time.monotonic() - started > LONG_LIFE else min(pause * 2, LONGEST_PAUSE)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stopping.wait()

    async def _work(self, number: int) -> int:
        """Run a worker to its end; its exit code."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "reasonblocks.server.worker",
            str(self._listener.fileno()),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            pass_fds=(self._listener.fileno(),),
            start_new_session=True,  # Ctrl-C is for us, who then end it in order
        )
        assert process.stdin is not None
        ended = asyncio.ensure_future(process.wait())
        reading = asyncio.ensure_future(self._await_ready(number, process))
        stopped = asyncio.ensure_future(self._stopping.wait())
        try:
            with contextlib.suppress(ConnectionError):
                process.stdin.write(packed(self._settings))
                await process.stdin.drain()
            await asyncio.wait((ended, stopped), return_when=asyncio.FIRST_COMPLETED)
            return await self._ended(process, ended)
        finally:
            stopped.cancel()
            reading.cancel()
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def _await_ready(self, number: int, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        if await process.stdout.readline() != READY:
            return
        note(logging.INFO, "worker ready", worker=number, process=process.pid)
        if number in self._missing:
            self._missing.discard(number)
            if not self._missing:
                url = told_url(self._listener)
                note(logging.INFO, "listening", url=url, docs=f"{url}/docs", workers=self._settings.workers)

    async def _ended(self, process: asyncio.subprocess.Process, ended: "asyncio.Future[int]") -> int:
        """The exit code of a worker that has ended, or has to now."""
        if not ended.done():
            process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._settings.shutdown_seconds + CLOSE_SECONDS):
                    return await asyncio.shield(ended)
            process.kill()
        return await ended
