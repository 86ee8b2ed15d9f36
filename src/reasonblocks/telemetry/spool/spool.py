"""The spool as the stream sees it: awaited, while the files are handled on a thread of their own."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec

from ...api.wire import encode
from ...errors import Rejected
from ...runtime.contain import incidents
from ...runtime.worker import Worker
from ..accounts import Accounts
from ..losses import Losses
from ..parcel import Origin, Parcel
from .policy import SpoolPolicy
from .queue import SYNC_SECONDS, Queue, oldest_orphan
from .reader import Reader
from .records import Kind, Record
from .segment import record_bytes

Result = TypeVar("Result")
FULL = "spool full"
DAMAGED = "damaged on disk"
THREAD_NAME = "reasonblocks-spool"
BROKEN_SECONDS = 5.0
"""How long a directory that failed is left alone."""


class _Named(msgspec.Struct):
    run_id: str


class Spool:
    """Events of ours that wait on disk, and those that dead processes left for the same destination."""

    def __init__(self, directory: Path, policy: SpoolPolicy, accounts: Accounts, losses: Losses) -> None:
        self.policy = policy
        self._directory = directory
        self._accounts = accounts
        self._losses = losses
        self._worker = Worker(THREAD_NAME)
        self._queue: Queue | None = None
        self._adopted: Queue | None = None
        self._unused_until = 0.0
        self._reader: Reader | None = None

    @property
    def empty(self) -> bool:
        """Whether nothing of ours is on disk: then, and only then, newer events may be delivered directly."""
        return self._queue is None

    @property
    def usable(self) -> bool:
        """Whether it may be tried: a directory that failed is left alone for a while."""
        return time.monotonic() >= self._unused_until

    async def append(self, parcels: Sequence[Parcel]) -> bool:
        """Write events behind all others of ours; whether it was possible. Those that were are `done`."""
        try:
            await self._do(lambda: self._append(parcels))
        except OSError as error:
            incidents.note("spool", error)
            self._unused_until = time.monotonic() + BROKEN_SECONDS
            return False
        return True

    def reader(self) -> Reader:
        """Of our own events; the same one until they are all delivered."""
        if self._reader is None:
            self._reader = Reader(self._do, self._read_own, self._delivered_own, Origin.DISK)
        return self._reader

    async def adopt(self) -> Reader | None:
        """A reader of the oldest events that a dead process left, which are ours alone until it is released."""
        try:
            found = await self._do(self._find_orphan)
        except OSError as error:
            incidents.note("spool", error)
            return None
        return Reader(self._do, self._read_adopted, self._delivered_adopted, Origin.ADOPTED) if found else None

    def release_adopted(self) -> None:
        """Leave what was adopted, and is not delivered, to whoever comes."""
        queue, self._adopted = self._adopted, None
        if queue is not None:
            self._worker.submit(queue.release)

    async def sync(self) -> None:
        """Have the disk keep what was written, a moment after the last time."""
        await asyncio.sleep(SYNC_SECONDS)
        await self._do(self._sync)

    async def rest(self) -> None:
        """Leave no thread behind; the next use brings it back."""
        await self._worker.rest()

    def forget(self) -> None:
        """In a forked child: the files are the parent's. Closing them here leaves its locks as they are."""
        for queue in (self._queue, self._adopted):
            if queue is not None:
                queue.release()
        self._queue = self._adopted = self._reader = None
        self._worker = Worker(THREAD_NAME)

    async def _do(self, work: Callable[[], Result]) -> Result:
        """Work with files. It is never left in the middle: whoever is cancelled waits for its end."""
        done = asyncio.wrap_future(self._worker.submit(work))
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            if not done.done():
                await asyncio.wait((done,))
            if not done.cancelled():
                done.exception()  # seen, so that nobody warns of it
            raise

    # -- on the thread --------------------------------------------------------------------------------

    def _append(self, parcels: Iterable[Parcel]) -> None:
        written, records = self._encoded(parcels)
        if not records:
            return
        if self._queue is None:
            self._queue = Queue.create(self._directory, self.policy)
        queue, more = self._queue, sum(map(record_bytes, records))
        if queue.full(more):
            self._accounts.lost_on_disk(queue.make_room(more, self._stand_ins), FULL)
            if queue.full(more):
                written, records = self._without_steps(written, records)
        queue.append(records)
        self._accounts.stored(written)

    def _encoded(self, parcels: Iterable[Parcel]) -> tuple[list[Parcel], list[Record]]:
        written: list[Parcel] = []
        records: list[Record] = []
        for parcel in parcels:
            if parcel.done:
                continue
            try:
                records.append(Record(_kind(parcel), parcel.encode()))
            except Rejected as refusal:
                incidents.note("telemetry", refusal)
                self._accounts.settle(parcel, f"refused with {refusal.status}")
                continue
            written.append(parcel)
        return written, records

    def _without_steps(self, parcels: Sequence[Parcel], records: Sequence[Record]) -> tuple[list[Parcel], list[Record]]:
        """Nothing older can give way any more: what never does is written all the same, the new steps are not."""
        steps = [record for record in records if record.kind is Kind.STEP]
        for parcel, record in zip(parcels, records, strict=True):
            if record.kind is Kind.STEP:
                self._accounts.settle(parcel, FULL)
        lasting = [parcel for parcel in parcels if not parcel.done]
        return lasting, [*(r for r in records if r.kind is not Kind.STEP), *self._stand_ins(steps)]

    def _stand_ins(self, steps: Sequence[Record]) -> Sequence[Record]:
        """For steps that have to go: a report for each of their runs."""
        lost: dict[str, int] = {}
        for record in steps:
            run_id = msgspec.json.decode(record.payload, type=_Named).run_id
            lost[run_id] = lost.get(run_id, 0) + 1
        return [Record(Kind.LOSS, encode(self._losses.report(run_id, number, FULL))) for run_id, number in lost.items()]

    def _read_own(self, most: int, most_bytes: int) -> list[Record] | None:
        queue = self._queue
        if queue is None:
            return None
        portion = queue.read(most, most_bytes)
        if portion is None:
            self._close_own(queue)
            return None
        return portion.records

    def _delivered_own(self, records: Sequence[Record]) -> None:
        queue = self._queue
        if queue is not None:
            queue.delivered(records)
            if queue.empty:
                self._close_own(queue)

    def _close_own(self, queue: Queue) -> None:
        self._accounts.lost_on_disk(queue.damaged, DAMAGED)
        queue.remove()
        self._queue = None

    def _find_orphan(self) -> bool:
        self._adopted = oldest_orphan(self._directory, self.policy, self._queue.directory if self._queue else None)
        return self._adopted is not None

    def _read_adopted(self, most: int, most_bytes: int) -> list[Record] | None:
        queue = self._adopted
        portion = queue.read(most, most_bytes) if queue is not None else None
        if portion is None:
            return None
        for _ in range(portion.damaged):
            incidents.note("spool", ValueError("a record that another process left is damaged"))
        return portion.records

    def _delivered_adopted(self, records: Sequence[Record]) -> None:
        queue = self._adopted
        if queue is not None:
            queue.delivered(records)
            if queue.empty:
                queue.remove()
                self._adopted = None

    def _sync(self) -> None:
        if self._queue is not None:
            self._queue.sync()


def _kind(parcel: Parcel) -> Kind:
    if parcel.origin is Origin.OURS:
        return Kind.LOSS
    return Kind.STEP if parcel.step else Kind.LASTING
