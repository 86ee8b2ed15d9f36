"""A bounded mailbox that any thread, and any finaliser, may post to."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Mailbox(Generic[Item]):
    """First in, first out, from any thread into one event loop.

    Posting takes no lock: garbage collection may run a finaliser that posts at any moment, also while
    the same thread is posting already. `deque` operations are atomic, and that is all this relies on.
    """

    def __init__(self, limit: int, evict: Callable[[deque[Item]], Item]) -> None:
        self._items: deque[Item] = deque()
        self._limit = limit
        self._evict = evict
        self._wake: Callable[[], object] | None = None

    def __len__(self) -> int:
        return len(self._items)

    def post(self, item: Item) -> Item | None:
        """Add an item; what had to give way for it, if anything, is returned."""
        self._items.append(item)
        evicted = self._evict(self._items) if len(self._items) > self._limit else None
        self.wake()
        return evicted

    def wake(self) -> None:
        """Have the reader look around, whether there is anything new or not."""
        wake = self._wake
        if wake is not None:
            wake()

    def attach(self, loop: asyncio.AbstractEventLoop, ready: asyncio.Event) -> None:
        """Let posts set `ready` on the loop that reads this mailbox."""

        def wake() -> None:
            if not ready.is_set():
                try:
                    loop.call_soon_threadsafe(ready.set, context=Context())
                except RuntimeError:
                    self._wake = None  # the loop is closed; the next reader attaches itself

        self._wake = wake

    def detach(self) -> None:
        """Nobody reads for now; posts are kept."""
        self._wake = None

    def take(self, most: int) -> list[Item]:
        """Up to `most` items, oldest first."""
        taken: list[Item] = []
        while len(taken) < most:
            try:
                taken.append(self._items.popleft())
            except IndexError:
                break
        return taken

    def clear(self) -> None:
        """Forget everything, as a forked child must: the parent delivers it."""
        self._items.clear()
