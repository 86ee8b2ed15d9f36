"""What waits on disk as parcels: a portion at a time, which stays on disk until all of it is dealt with."""

from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ...limits import MAX_EVENTS
from ..parcel import Origin, Parcel
from .records import Kind, Record

MOST_BYTES = 3_000_000

Do = Callable[[Callable[[], Any]], Awaitable[Any]]
Read = Callable[[int, int], list[Record] | None]
Delivered = Callable[[Sequence[Record]], None]


class Reader:
    """Reads one queue; a portion that was not delivered when its reader was stopped is taken up again."""

    def __init__(self, do: Do, read: Read, delivered: Delivered, origin: Origin) -> None:
        self._do = do
        self._read = read
        self._delivered = delivered
        self._origin = origin
        self._records: list[Record] = []
        self._portion: list[Parcel] = []

    async def next(self) -> deque[Parcel] | None:
        """The oldest events that are not dealt with, or `None` if there are none."""
        await self._do(self._refresh)
        return deque(parcel for parcel in self._portion if not parcel.done) or None

    async def more(self, parcels: deque[Parcel]) -> None:
        """Add to a portion under way what was written behind it meanwhile."""
        known = len(self._portion)
        await self._do(self._extend)
        parcels.extend(self._portion[known:])

    # -- on the spool's thread: done in one piece, whatever becomes of those who asked for it -----------

    def _refresh(self) -> None:
        """Tell the disk what need not be kept, the first ones that are dealt with; read on if that is all."""
        through = 0
        while through < len(self._portion) and self._portion[through].done:
            through += 1
        self._delivered(self._records[:through])
        del self._records[:through], self._portion[:through]
        if not self._portion:
            self._records = self._read(MAX_EVENTS, MOST_BYTES) or []
            self._portion = [self._parcel(record) for record in self._records]

    def _extend(self) -> None:
        if len(self._portion) < MAX_EVENTS:
            records = self._read(MAX_EVENTS, MOST_BYTES) or []
            self._portion += [self._parcel(record) for record in records[len(self._records) :]]
            self._records = records

    def _parcel(self, record: Record) -> Parcel:
        origin = Origin.OURS if record.kind is Kind.LOSS else self._origin
        return Parcel(0, None, len(record.payload), record.kind is Kind.STEP, record.payload, origin)
