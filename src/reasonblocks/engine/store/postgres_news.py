"""One connection of a process that is kept for listening, telling and leading.

A chore is an advisory lock of this connection's session: it is free again the moment the process, its machine or the
connection is gone, without anybody having to do anything about it.
"""

import asyncio
import contextlib
from typing import Any
from zlib import crc32

from ...runtime.contain import describe, incidents
from .news import Heard, News
from .postgres import PostgresDatabase

CHORES = 7_245_102
"""The first half of the key of every chore's lock."""
LOOK_SECONDS = 10.0
"""How often the connection is tried while nothing is heard."""
ANSWER_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
"""Between attempts to connect."""


class PostgresNews(News):
    """LISTEN, NOTIFY and advisory locks on a connection of its own, which is made again whenever it is lost."""

    heard = True

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._listeners: dict[str, list[Heard]] = {}
        self._driver: Any = None
        """The driver's own connection; `None` while there is none."""
        self._led: set[str] = set()
        self._turn = asyncio.Lock()
        self._lost = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._trouble = "the connection that listens to other servers is not there yet"

    def listen(self, channel: str, heard: Heard) -> None:
        """Have others heard on a channel; before `open`."""
        self._listeners.setdefault(channel, []).append(heard)

    async def open(self) -> None:
        """Connect, and stay connected from here on."""
        connected = asyncio.Event()
        self._task = asyncio.create_task(self._keep(connected), name="reasonblocks-news")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_SECONDS):
                await connected.wait()

    async def tell(self, channel: str, text: str) -> None:
        """Tell all other processes; one that is not connected tells nobody."""
        await self._ask("SELECT pg_notify($1, $2)", channel, f"{self._database.process} {text}")

    async def leads(self, chore: str) -> bool:
        """Whether the chore is ours, which it stays as long as the connection does."""
        if chore not in self._led:
            driver = self._driver
            got = await self._ask("SELECT pg_try_advisory_lock($1, $2)", CHORES, crc32(chore.encode()) >> 1)
            if got and driver is self._driver:
                self._led.add(chore)
        return chore in self._led

    def state(self) -> str:
        """`ok`, or why others are not heard at the moment."""
        return self._trouble or "ok"

    async def aclose(self) -> None:
        """Let go of the connection."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait((task,))

    async def _ask(self, query: str, *values: Any) -> Any:
        async with self._turn:
            driver = self._driver
            if driver is None:
                return None
            try:
                return await driver.fetchval(query, *values, timeout=ANSWER_SECONDS)
            except Exception as error:  # whatever it is, the connection is of no more use
                incidents.note("telling other servers", error)
                self._lost.set()
                return None

    async def _keep(self, connected: asyncio.Event) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                async with self._connected():
                    connected.set()
                    pause = FIRST_PAUSE
                    await self._until_lost()
                self._trouble = "the connection that listens to other servers was lost"
            except Exception as error:
                incidents.note("listening to other servers", error)
                self._trouble = f"other servers are not heard at the moment: {describe(error)}"
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    @contextlib.asynccontextmanager
    async def _connected(self) -> Any:
        engine = self._database.for_one()
        try:
            async with engine.connect() as connection:
                await connection.execution_options(isolation_level="AUTOCOMMIT")
                driver = (await connection.get_raw_connection()).driver_connection
                assert driver is not None
                self._lost.clear()
                driver.add_termination_listener(lambda *_: self._lost.set())
                for channel in self._listeners:
                    await driver.add_listener(channel, self._hear)
                self._driver, self._trouble = driver, ""
                for channel in self._listeners:
                    self._pass_on(channel, "")  # nobody knows what was said while we were away
                try:
                    yield
                finally:
                    self._driver = None
                    self._led.clear()
                    driver.terminate()  # its listeners and its locks go with it
                    with contextlib.suppress(Exception):
                        await connection.invalidate()
        finally:
            await engine.dispose()

    async def _until_lost(self) -> None:
        while not self._lost.is_set():
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._lost.wait()
            except TimeoutError:
                await self._ask("SELECT 1")  # one that is dead without a word is lost then

    def _hear(self, _connection: object, _process: int, channel: str, said: str) -> None:
        who, _, text = said.partition(" ")
        if who != self._database.process:
            self._pass_on(channel, text)

    def _pass_on(self, channel: str, text: str) -> None:
        for heard in self._listeners[channel]:
            try:
                heard(text)
            except Exception as error:
                incidents.note("what another server told", error)
