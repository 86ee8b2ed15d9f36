"""Delivery to servers that take one event at a time: a lane for each run, so that one that hangs holds up no other."""

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING

from ..errors import Rejected, Unavailable
from ..runtime.contain import incidents
from .parcel import Origin, Parcel

if TYPE_CHECKING:
    from .courier import Courier

AT_ONCE = 16
"""Runs that are served at once."""
MOST = 2_000
MOST_BYTES = 8_000_000


class Lanes:
    """Events in memory, each behind those of its own run."""

    def __init__(self, courier: "Courier") -> None:
        self._courier = courier
        self._lanes: dict[str, deque[Parcel]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._count = 0
        self._bytes = 0
        self._arrivals = 0
        self.at_a_loss = False
        """Whether an event fails, and there is no other one to try in its place."""
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._moved = asyncio.Event()

    def __len__(self) -> int:
        return self._count

    async def admit(self, parcels: deque[Parcel]) -> None:
        """Move parcels to their lanes, as soon as there is room."""
        while parcels and (not self._count or (self._count < MOST and self._bytes < MOST_BYTES)):
            parcel = parcels.popleft()
            if not parcel.done:
                self._add(parcel)
        if parcels:
            await self.change()

    def _add(self, parcel: Parcel) -> None:
        run_id = parcel.run_id
        lane = self._lanes.get(run_id)
        if lane is None:
            lane = self._lanes[run_id] = deque()
            self._start(run_id)
        lane.append(parcel)
        self._count += 1
        self._bytes += parcel.weight

    def _start(self, run_id: str) -> None:
        self._tasks[run_id] = asyncio.get_running_loop().create_task(self._serve(run_id))

    async def _serve(self, run_id: str) -> None:
        """Deliver the events of one run, one after another."""
        lane = self._lanes[run_id]
        while lane:
            async with self._slots:
                await self._deliver(lane)
            parcel = lane.popleft()
            self._count -= 1
            self._bytes -= parcel.weight
            self._moved.set()
        del self._lanes[run_id], self._tasks[run_id]
        self._moved.set()

    async def _deliver(self, lane: deque[Parcel]) -> None:
        """Deliver the first one of a lane, however long that takes."""
        courier, parcel = self._courier, lane[0]
        arrivals = self._arrivals
        while not parcel.done:
            await courier.pause.wait()
            began = time.monotonic()
            try:
                await courier.send(parcel)
                self._arrivals += 1
            except Rejected as refusal:
                courier.refuse(parcel, refusal)
            except Unavailable as unavailable:
                courier.failed(unavailable, began)
                if courier.suspicious(parcel, unavailable):
                    taken = self._arrivals > arrivals or await self._takes_another(lane)
                    arrivals = self._arrivals
                    self.at_a_loss = not taken
                    if taken:
                        courier.strike(parcel, unavailable)
                self._moved.set()
            except Exception as error:
                incidents.note("telemetry", error)
                if not courier.crashed(parcel, error):
                    courier.pause.extend(began, None)

    async def _takes_another(self, lane: deque[Parcel]) -> bool:
        """Whether the server takes the event behind one that it cannot take; a run has to have begun for that."""
        if len(lane) < 2 or not lane[0].step or not self._courier.may_overtake():
            return False
        began = time.monotonic()
        try:
            await self._courier.send(lane[1])
        except Rejected as refusal:
            self._courier.refuse(lane[1], refusal)
            return False
        except Unavailable as unavailable:
            self._courier.failed(unavailable, began)
            return False
        return True

    async def change(self) -> None:
        """Wait until something has arrived, failed or left."""
        self._moved.clear()
        await self._moved.wait()

    # -- stopping -------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Deliver nothing more for now; what is in the lanes stays there."""
        tasks, self._tasks = list(self._tasks.values()), {}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def start(self) -> None:
        """Go on with what is in the lanes, on the running loop."""
        self._slots, self._moved = asyncio.Semaphore(AT_ONCE), asyncio.Event()
        for run_id in self._lanes:
            self._start(run_id)

    async def recall(self) -> list[Parcel]:
        """Take out, in their order, the events that are nowhere but here."""
        await self.stop()
        kept = [parcel for lane in self._lanes.values() for parcel in lane if parcel.origin is not Origin.MEMORY]
        taken = [parcel for lane in self._lanes.values() for parcel in lane if parcel.origin is Origin.MEMORY]
        self.clear()
        for parcel in kept:
            self._add(parcel)
        return sorted((parcel for parcel in taken if not parcel.done), key=lambda parcel: parcel.number)

    def clear(self) -> None:
        """Forget everything."""
        self._lanes.clear()
        self._tasks.clear()
        self._count = self._bytes = 0
