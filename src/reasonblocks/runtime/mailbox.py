"""A mailbox, bounded by number and by bytes, that any thread and any finaliser may post to."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Generic, Protocol, TypeVar


class Weighty(Protocol):
    """What a mailbox holds."""

    weight: int
    """About how many bytes of memory it takes."""


Item = TypeVar("Item", bound=Weighty)


class Mailbox(Generic[Item]):
    """First in, first out, from any thread into one event loop.

    Posting takes no lock: garbage collection may run a finaliser that posts at any moment, also while
    the same thread is posting already. `deque` operations are atomic, and that is all this relies on. The
    sum of the weights may go astray by what two threads add in the same instant; it is put right
    whenever the mailbox is found empty.
    """

    def __init__(self, limit: int, most_bytes: int, evict: Callable[[deque[Item]], Item]) -> None:
        self._items: deque[Item] = deque()
        self._limit = limit
        self._most_bytes = most_bytes
        self._half, self._half_bytes = limit / 2, most_bytes / 2
        self._bytes = 0
        self._evict = evict
        self._wake: Callable[[], object] | None = None
        self._alarm: Callable[[], object] | None = None
        self._alarmed = False

    def __len__(self) -> int:
        return len(self._items)

    @property
    def bytes(self) -> int:
        """About how much memory the items take."""
        return self._bytes

    def post(self, item: Item) -> Sequence[Item]:
        """Add an item; what had to give way for it, if anything, is returned."""
        items = self._items
        self._bytes += item.weight
        items.append(item)
        crowded = len(items) > self._half or self._bytes > self._half_bytes
        evicted: Sequence[Item] = self._crowded() if crowded else ()
        wake = self._wake
        if wake is not None:
            wake()
        return evicted

    def _crowded(self) -> Sequence[Item]:
        """More than half full: the reader is told, and at the limit the oldest give way."""
        if not self._alarmed and self._alarm is not None:
            self._alarmed = True
            self._alarm()
        evicted: list[Item] = []
        while len(self._items) > self._limit or (self._bytes > self._most_bytes and len(self._items) > 1):
            try:
                item = self._evict(self._items)
            except IndexError:  # the reader was quicker
                break
            self._bytes -= item.weight
            evicted.append(item)
        return evicted

    def wake(self) -> None:
        """Have the reader look around, whether there is anything new or not."""
        wake = self._wake
        if wake is not None:
            wake()

    def attach(
        self, loop: asyncio.AbstractEventLoop, ready: asyncio.Event, crowded: Callable[[], object] | None = None
    ) -> None:
        """Let posts set `ready` on the loop that reads this mailbox, and call `crowded` there when it is half full."""

        def wake() -> None:
            if not ready.is_set():
                try:
                    loop.call_soon_threadsafe(ready.set, context=Context())
                except RuntimeError:
                    self._wake = None  # the loop is closed; the next reader attaches itself

        def alarm() -> None:
            if crowded is not None:
                try:
                    loop.call_soon_threadsafe(crowded, context=Context())
                except RuntimeError:
                    self._alarm = None

        self._wake, self._alarm, self._alarmed = wake, alarm, False

    def detach(self) -> None:
        """Nobody reads for now; posts are kept."""
        self._wake = self._alarm = None

    def take(self, most: int, most_bytes: int) -> list[Item]:
        """Up to `most` items and about so many bytes of them, oldest first."""
        taken: list[Item] = []
        room = most_bytes
        while len(taken) < most and room > 0:
            try:
                item = self._items.popleft()
            except IndexError:
                self._bytes = 0
                break
            room -= item.weight
            self._bytes -= item.weight
            taken.append(item)
        self._alarmed = False
        return taken

    def clear(self) -> None:
        """Forget everything, as a forked child must: the parent delivers it."""
        self._items.clear()
        self._bytes = 0
