"""An actor: a task with a bounded mailbox, restarted when it crashes, that one bad message cannot stop."""

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Coroutine, Sequence
from contextvars import Context
from typing import Any, Generic

from .mailbox import Item, Mailbox

CRASHES_ALLOWED = 3
"""How often handling one message may crash before it is set aside."""
COMPANY = 100
"""So many messages wait for no more of them."""


class Portion:
    """How much to try at once: less after each failure, down to one; more again after each success."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.size = most

    def shrink(self, tried: int) -> None:
        """So many were tried and failed together: find the one that it is about."""
        self.size = max(1, tried // 4)

    def grow(self) -> None:
        """What was tried succeeded."""
        if self.size < self._most:
            self.size = min(self._most, self.size * 4)


class Actor(ABC, Generic[Item]):
    """Any thread posts to its mailbox; `handle` is given what has come, in order, on the runtime's loop.

    What a crash or a dismissal leaves unhandled is handled first by the next start. Where handling crashes
    the messages are tried in ever smaller portions, and the one that crashes three times by itself is set aside.
    """

    name: str

    def __init__(self, mailbox: Mailbox[Item], most: int, most_bytes: int) -> None:
        self.mailbox = mailbox
        self._most = most
        self._most_bytes = most_bytes
        self._under_way: deque[Item] = deque()
        self._portion = Portion(most)
        self._crashes = 0
        self._hurried: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        """The loop it runs on, and what ends its waiting for company."""

    @abstractmethod
    async def handle(self, messages: deque[Item]) -> None:
        """Deal with messages, and take each from the front once it is dealt with. Woken without any, look around."""

    @abstractmethod
    def set_aside(self, message: Item, error: Exception) -> None:
        """Handling this message has crashed too often."""

    def beside(self) -> Sequence[Coroutine[Any, Any, None]]:
        """What else runs as long as the actor does; a crash of it is a crash of the actor."""
        return ()

    def linger_seconds(self) -> float:
        """How long a few messages wait for company."""
        return 0.0

    def hurry(self) -> None:
        """From any thread: what has come shall not wait for company. Never waits, a finaliser may call it."""
        if self._hurried is not None:
            loop, hurried = self._hurried
            with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody lingers on it
                loop.call_soon_threadsafe(hurried.set, context=Context())

    def through(self) -> bool:
        """Whether the actor may leave, once nothing is left to handle."""
        return False

    def crowded(self) -> None:
        """On the loop: the mailbox is half full."""

    async def run(self) -> None:
        """Work until cancelled or through."""
        ready, loop = asyncio.Event(), asyncio.get_running_loop()
        self._hurried = loop, asyncio.Event()
        self.mailbox.attach(loop, ready, self.crowded)
        try:
            async with asyncio.TaskGroup() as tasks:
                beside = [tasks.create_task(work) for work in self.beside()]
                await self._work(ready)
                for task in beside:
                    task.cancel()
        finally:
            self.mailbox.detach()
            self._hurried = None

    async def _work(self, ready: asyncio.Event) -> None:
        while True:
            if not self._under_way:
                if not len(self.mailbox):
                    if self.through():
                        return
                    await ready.wait()
                await self._linger()
                ready.clear()
                self._under_way.extend(self.mailbox.take(self._most, self._most_bytes))
            await self._handle_portion()

    async def _linger(self) -> None:
        """Wait for company, unless somebody is in a hurry, or comes to be."""
        assert self._hurried is not None
        hurried = self._hurried[1]
        hurried.clear()  # whoever is in a hurry by now says so in `linger_seconds`
        seconds = self.linger_seconds()
        if seconds <= 0 or len(self.mailbox) >= COMPANY:
            await asyncio.sleep(0)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await hurried.wait()

    async def _handle_portion(self) -> None:
        if self._portion.size >= len(self._under_way):
            portion = self._under_way
        else:
            portion = deque(self._under_way.popleft() for _ in range(self._portion.size))
        tried = len(portion)
        try:
            await self.handle(portion)
        except Exception as error:
            self._crashed(portion, tried, error)
            raise
        else:
            self._portion.grow()
            self._crashes = 0
        finally:
            if portion is not self._under_way:
                self._under_way.extendleft(reversed(portion))

    def _crashed(self, portion: deque[Item], tried: int, error: Exception) -> None:
        """Find the message that it is about, and have done with it after its third time."""
        self._portion.shrink(tried)
        self._crashes = self._crashes + 1 if tried == 1 else 0
        if self._crashes >= CRASHES_ALLOWED and portion:
            self._crashes = 0
            self.set_aside(portion.popleft(), error)
