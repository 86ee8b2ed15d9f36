"""What became of every event, and who waits to hear of it."""

import concurrent.futures
import contextlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .parcel import Origin, Parcel


@dataclass(slots=True, eq=False)
class _Waiting:
    """Somebody who waits for everything up to a number."""

    number: int
    future: concurrent.futures.Future[None]
    safe: bool
    """Whether it is enough that the events are on disk."""
    mark: int | None = None
    """How many have to have left the disk, known once none of them is in memory any more."""


class Accounts:
    """Every event that was posted is open, on disk, sent, dropped or set aside: exactly one of these."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: dict[int, None] = {}
        """The numbers of those in memory."""
        self._waiting: list[_Waiting] = []
        self.sent = 0
        self.retried = 0
        self.replayed = 0
        self.spooled = 0
        self.on_disk = 0
        self.set_aside = 0
        self.dropped: dict[str, int] = {}

    def open(self, number: int) -> None:
        """An event was posted; takes no lock, a finaliser may have posted it."""
        self._open[number] = None

    @property
    def in_memory(self) -> int:
        """How many events are neither dealt with nor on disk."""
        return len(self._open)

    @property
    def awaited(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiting)

    def settle(self, parcel: Parcel, lost: str | None = None, *, set_aside: bool = False) -> None:
        """An event is dealt with: delivered, or lost by some cause, or set aside."""
        with self._lock:
            if parcel.done:
                return
            parcel.done = True
            self._leave(parcel)
            if parcel.origin is Origin.OURS:
                return
            if set_aside:
                self.set_aside += 1
            elif lost is not None:
                self.dropped[lost] = self.dropped.get(lost, 0) + 1
            else:
                self.sent += 1
                self.replayed += parcel.origin is not Origin.MEMORY
        if self._waiting:
            self._release()

    def delivered(self, parcels: Iterable[Parcel]) -> None:
        """Many at once are delivered: as `settle` for each, only sooner."""
        with self._lock:
            for parcel in parcels:
                if parcel.done:
                    continue
                parcel.done = True
                if parcel.origin is Origin.MEMORY:
                    self._open.pop(parcel.number, None)
                    self.sent += 1
                elif parcel.origin is not Origin.OURS:
                    self._leave(parcel)
                    self.sent += 1
                    self.replayed += 1
        if self._waiting:
            self._release()

    def _leave(self, parcel: Parcel) -> None:
        if parcel.origin is Origin.MEMORY:
            self._open.pop(parcel.number, None)
        elif parcel.origin is Origin.DISK:
            self.on_disk -= 1

    def stored(self, parcels: Iterable[Parcel]) -> None:
        """Events went from memory to disk."""
        with self._lock:
            for parcel in parcels:
                if not parcel.done and parcel.origin is Origin.MEMORY:
                    parcel.done = True
                    self._open.pop(parcel.number, None)
                    self.spooled += 1
                    self.on_disk += 1
        if self._waiting:
            self._release()

    def lost_on_disk(self, events: int, cause: str) -> None:
        """Events that were on disk, and ours, are lost."""
        if events:
            with self._lock:
                self.on_disk -= events
                self.dropped[cause] = self.dropped.get(cause, 0) + events
            self._release()

    def stats(self) -> dict[str, Any]:
        """All of it at one moment."""
        with self._lock:
            dropped = dict(self.dropped)
            waiting = len(self._open) + self.on_disk
            return {
                "enqueued": self.sent + sum(dropped.values()) + self.set_aside + waiting,
                "sent": self.sent,
                "waiting": waiting,
                "retried": self.retried,
                "spooled": {"now": self.on_disk, "ever": self.spooled},
                "replayed": self.replayed,
                "set_aside": self.set_aside,
                "dropped": dropped,
            }

    # -- waiting ------------------------------------------------------------------------------------

    def wait(self, number: int, *, safe: bool = False) -> concurrent.futures.Future[None]:
        """A future that is done when everything before a number is dealt with, or at least on disk."""
        future: concurrent.futures.Future[None] = concurrent.futures.Future()
        with self._lock:
            self._waiting.append(_Waiting(number, future, safe))
            self._release()
        return future

    def give_up(self, future: concurrent.futures.Future[None]) -> None:
        """Nobody waits for this any more."""
        with self._lock:
            self._waiting = [waiting for waiting in self._waiting if waiting.future is not future]

    def _release(self) -> None:
        """Wake those who wait for what is now dealt with."""
        with self._lock:
            oldest, gone = self._oldest(), self.spooled - self.on_disk
            for waiting in self._waiting:
                if waiting.mark is None and (oldest is None or oldest > waiting.number):
                    waiting.mark = 0 if waiting.safe else self.spooled
            over = [waiting for waiting in self._waiting if waiting.mark is not None and gone >= waiting.mark]
            if over:
                self._waiting = [waiting for waiting in self._waiting if waiting not in over]
        for waiting in over:
            with contextlib.suppress(concurrent.futures.InvalidStateError):  # given up meanwhile
                waiting.future.set_result(None)

    def _oldest(self) -> int | None:
        while True:
            try:
                return next(iter(self._open), None)
            except RuntimeError:  # another thread posted in between
                continue

    def forget(self) -> None:
        """In a forked child: what was on its way is the parent's."""
        self._lock = threading.RLock()
        self._open.clear()
        self._waiting.clear()
        self.spooled -= self.on_disk
        self.on_disk = 0
