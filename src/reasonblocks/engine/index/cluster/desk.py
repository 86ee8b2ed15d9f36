"""The record as one server knows it, and the only place that writes it."""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from ...store.database import Database
from ..follower import Follower, record_changes
from .record import Overtaken, Record, Target, load, save

ATTEMPTS = 20
"""To have a word in the record while others write it."""


class Desk:
    """Reads and writes the record; lives on the engine's loop."""

    def __init__(self, database: Database, follower: Follower, target: Target) -> None:
        self._database = database
        self._follower = follower
        self._turn = asyncio.Lock()
        self._text = ""
        self._moved = asyncio.Event()
        self.target = target
        """What this server is configured for."""
        self.record = Record(target=target)
        self.changed: Callable[[], None] = lambda: None
        """Called whenever the record is another one."""

    async def claim(self) -> None:
        """Say that vectors are to be made as this server is configured: the one that starts last has the say."""
        for _ in range(ATTEMPTS):
            await self.refresh()
            if self._text and self.record.target == self.target:
                return
            with contextlib.suppress(Overtaken):
                await self.save(msgspec.structs.replace(self.record, target=self.target))
                return
        raise Overtaken(f"the record of the cluster was changed by others {ATTEMPTS} times in a row")

    async def refresh(self) -> None:
        """See what others have written."""
        async with self._turn:
            async with self._database.reading() as connection:
                found, text = await load(connection)
            if text != self._text:
                self._take(found or Record(target=self.target), text)

    async def save(self, record: Record, *, announce: bool = False) -> None:
        """Write what the record is now, unless another server has written meanwhile; the others may be told at once."""
        async with self._turn:
            async with self._database.writing() as connection:
                text = await save(connection, record, self._text)
                if announce:
                    await record_changes(connection, "index", ["switched"])
            self._take(record, text)
        if announce:
            self._follower.notify()

    def _take(self, record: Record, text: str) -> None:
        self.record, self._text = record, text
        self.changed()
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def moved(self, seconds: float) -> None:
        """Wait until the record is another one, but not for ever."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._moved.wait()
