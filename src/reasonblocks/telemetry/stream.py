"""The live stream: an actor that carries events to the backend, in order for each run, and loses none quietly.

The queue has a head in memory, a middle on disk and a tail in memory, and mostly only the first of them:

    agents -> mailbox -> deliver                        while the backend takes what comes
              mailbox -> spool -> deliver               after a moment of failures, until the spool is empty again
"""

import asyncio
import concurrent.futures
import contextlib
import itertools
from collections import deque
from collections.abc import Coroutine, Sequence
from typing import Any

import anyio

from ..api.backend import Destination, Event
from ..errors import Rejected, Unavailable
from ..limits import MAX_EVENTS
from ..runtime.actor import Actor
from ..runtime.mailbox import Mailbox
from ..runtime.supervisor import forget_after_fork, runtime
from .accounts import Accounts
from .courier import Courier
from .losses import Losses
from .parcel import Origin, Parcel, weight_of
from .pause import FIRST_RETRY, LONGEST_RETRY
from .spool.reader import Reader
from .spool.spool import Spool
from .spooling import Spooling

MAILBOX_LIMIT = 20_000
MAILBOX_BYTES = 20_000_000
MOST_BYTES = 4_000_000
"""About what is taken from the mailbox at once."""
FULL = "mailbox full"
DRAIN_SECONDS = 5.0
PROBE_SECONDS = 0.5
"""How much of that a server gets that took nothing the last time."""
LONGEST_DISCOVERY = 30.0
"""Between two questions what a server offers that takes events but does not say."""
SPILL_SECONDS = 3.0
"""How long the disk gets for what could not be delivered."""


class TelemetryStream(Actor[Parcel]):
    """Any thread posts, the runtime's loop delivers."""

    name = "telemetry"

    def __init__(self, backend: Destination, spooling: Spooling | None = None) -> None:
        super().__init__(Mailbox(MAILBOX_LIMIT, MAILBOX_BYTES, _evict), MAX_EVENTS, MOST_BYTES)
        self._backend = backend
        self._numbers = itertools.count(1)  # `next` on it is atomic: posting takes no lock
        self._accounts = Accounts()
        self._losses = Losses()
        self._courier = Courier(backend, self._accounts, self._losses)
        self._spool = self._spool_of(spooling)
        self._stocked: asyncio.Event | None = None
        self._delivering: anyio.CancelScope | None = None
        self._spilling = False
        self._retiring = False
        self._gave_up_at: int | None = None
        forget_after_fork(self)

    def _spool_of(self, spooling: Spooling | None) -> Spool | None:
        directory = spooling.directory_for(self._backend.destination) if spooling is not None else None
        if spooling is None or directory is None:
            return None
        return Spool(directory, spooling.policy, self._accounts, self._losses)

    # -- for the agents' threads ------------------------------------------------------------------

    def post(self, event: Event) -> None:
        """Take an event; never waits, may be called from a finaliser."""
        parcel = Parcel(next(self._numbers), event, weight_of(event), event["type"] == "step")
        self._accounts.open(parcel.number)
        evicted = self.mailbox.post(parcel)
        if evicted:
            self._lose(evicted)
        runtime.host(self)

    def _lose(self, parcels: Sequence[Parcel]) -> None:
        for parcel in parcels:
            self._accounts.settle(parcel, FULL)
            if parcel.step:
                self._losses.add(parcel.run_id, 1, FULL)

    def stats(self) -> dict[str, Any]:
        """What became of the events so far."""
        return self._accounts.stats()

    def drained(self) -> concurrent.futures.Future[None]:
        """A future that is done when everything posted so far is delivered or given up."""
        future = self._accounts.wait(next(self._numbers))
        if not future.done():
            self._courier.pause.shorten()
            runtime.host(self)  # an earlier close may have dismissed it, with events left
            self.mailbox.wake()
            self.hurry()
        return future

    def flush(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Block until everything posted so far is dealt with; whether it was in time. The rest is on disk then."""
        future = self.drained()
        for patience in self._patience(seconds):
            with contextlib.suppress(concurrent.futures.TimeoutError):
                future.result(patience)
                return True
            if self._in_vain():
                break
        self._give_up(future)
        spilled = self._spill()
        with contextlib.suppress(concurrent.futures.TimeoutError):
            spilled.result(SPILL_SECONDS)
        self._end_spilling(spilled)
        return False

    async def aflush(self, seconds: float = DRAIN_SECONDS) -> bool:
        """As `flush`, without blocking the event loop."""
        future = self.drained()
        waiting = asyncio.wrap_future(future)
        for patience in self._patience(seconds):
            if (await asyncio.wait((waiting,), timeout=patience))[0]:
                return True
            if self._in_vain():
                break
        waiting.cancel()
        self._give_up(future)
        spilled = self._spill()
        await asyncio.wait((asyncio.wrap_future(spilled),), timeout=SPILL_SECONDS)
        self._end_spilling(spilled)
        return False

    def _patience(self, seconds: float) -> tuple[float, ...]:
        """How long to wait, and look whether it is worth while; a server that was away before gets a moment."""
        return (min(seconds, PROBE_SECONDS), seconds - PROBE_SECONDS) if self._in_vain() else (seconds,)

    def _in_vain(self) -> bool:
        """Whether nothing has arrived since a flush was given up."""
        return self._gave_up_at == self._accounts.sent

    def _give_up(self, future: concurrent.futures.Future[None]) -> None:
        self._accounts.give_up(future)
        self._gave_up_at = self._accounts.sent

    def _spill(self) -> concurrent.futures.Future[None]:
        """Have what is in memory written to disk, if there is one; the future is done when it is."""
        if self._spool is None or not self._spool.usable:
            done: concurrent.futures.Future[None] = concurrent.futures.Future()
            done.set_result(None)
            return done
        self._spilling = True
        with contextlib.suppress(RuntimeError):  # the loop is closing
            runtime.loop.call_soon_threadsafe(self._hurry)
        return self._accounts.wait(next(self._numbers), safe=True)

    def _end_spilling(self, spilled: concurrent.futures.Future[None]) -> None:
        self._accounts.give_up(spilled)
        self._spilling = False

    def close(self) -> None:
        """Leave the runtime; the next event brings the stream back."""
        runtime.dismiss(self)

    async def aclose(self) -> None:
        """As `close`, without blocking the event loop."""
        await runtime.adismiss(self)

    def retire(self) -> None:
        """Nobody will post any more: leave when everything is delivered. Never waits, a finaliser calls it."""
        self._retiring = True
        if runtime.is_hosting(self):
            self.mailbox.wake()
            self.hurry()
        else:
            self._backend.release()

    def forget(self) -> None:
        """In a forked child: the parent delivers what was posted before the fork, and its files are its own."""
        self.mailbox.clear()
        self._under_way.clear()
        self._courier.lanes.clear()
        self._losses.forget()
        self._accounts.forget()
        self._delivering = self._stocked = self._hurried = None
        self._spilling = False
        if self._spool is not None:
            self._spool.forget()

    # -- on the runtime's loop --------------------------------------------------------------------

    async def run(self) -> None:
        """Deliver until cancelled or retired; what was under way then is taken up by the next start."""
        self._stocked = asyncio.Event()
        self._stocked.set()
        self._courier.lanes.start()
        try:
            await super().run()
            self._backend.release()  # only a stream that retires comes here
        finally:
            await self._courier.lanes.stop()
            if self._spool is not None:
                await self._spool.rest()

    def beside(self) -> Sequence[Coroutine[Any, Any, None]]:
        """Learn what the backend offers; deliver what is on disk, ours and that of the dead."""
        work = [self._discover()]
        if self._spool is not None:
            work += [self._replay(self._spool), self._deliver_for_the_dead(self._spool), self._watch_lanes(self._spool)]
        return work

    def linger_seconds(self) -> float:
        """A few events wait for company, unless somebody waits for them."""
        return 0.0 if self._accounts.awaited or self._spilling or self._retiring else self._backend.linger_seconds

    def through(self) -> bool:
        """Whether nobody will post any more and everything is delivered."""
        return self._retiring and not len(self._courier.lanes) and (self._spool is None or self._spool.empty)

    def crowded(self) -> None:
        """The mailbox is half full: what is being delivered goes to disk, and the rest behind it."""
        self._hurry()

    def _hurry(self) -> None:
        if self._spool is not None and self._spool.usable and self._delivering is not None:
            self._delivering.cancel()
        self.mailbox.wake()
        self.hurry()

    async def handle(self, messages: deque[Parcel]) -> None:
        """Deliver what has come; on to the disk with it where that is not possible, or older events are there."""
        messages.extend(Parcel(0, loss, 0, origin=Origin.OURS) for loss in self._losses.unreported())
        spool = self._spool
        if spool is None:
            await self._courier.deliver(messages, self._top_up)
        else:
            await self._deliver_or_store(messages, spool)
        if self._losses.due:
            self.mailbox.wake()

    async def _deliver_or_store(self, messages: deque[Parcel], spool: Spool) -> None:
        if spool.empty and not self._spilling:
            patience = spool.policy.begin_after if spool.usable else None
            with anyio.CancelScope() as self._delivering:
                await self._courier.deliver(messages, self._top_up, patience)
            self._delivering = None
        if messages or self._stranded(spool):
            await self._store(messages, spool)

    def _stranded(self, spool: Spool) -> bool:
        """Whether events are in lanes that lead nowhere at the moment."""
        failing = self._courier.failing_for()
        return (
            spool.empty
            and len(self._courier.lanes) > 0
            and (self._spilling or (failing >= spool.policy.begin_after and spool.usable))
        )

    async def _store(self, messages: deque[Parcel], spool: Spool) -> None:
        """Put events on disk, those before them in the lanes first: after that, lanes hold only what is on disk."""
        if spool.empty:
            messages.extendleft(reversed(await self._courier.lanes.recall()))
        while not await spool.append(list(messages)):
            if spool.empty:
                return  # none of ours is on disk: they may be delivered from memory
            await asyncio.sleep(FIRST_RETRY)
        messages.clear()
        if self._stocked is not None:
            self._stocked.set()

    async def _top_up(self, parcels: deque[Parcel]) -> None:
        """Add what has come meanwhile, if nothing is in between."""
        if parcels is self._under_way:
            parcels.extend(self.mailbox.take(MAX_EVENTS, MOST_BYTES))

    def set_aside(self, message: Parcel, error: Exception) -> None:
        """Handling this event has crashed too often."""
        self._courier.set_aside(message, error)

    async def _replay(self, spool: Spool) -> None:
        """Deliver what is on disk; when it is empty, what comes next is delivered directly again."""
        assert self._stocked is not None
        while True:
            await self._stocked.wait()
            self._stocked.clear()
            await self._deliver_all(spool.reader())
            self.mailbox.wake()

    async def _deliver_for_the_dead(self, spool: Spool) -> None:
        """Deliver what processes left that are no more, the oldest first."""
        try:
            while True:
                while (reader := await spool.adopt()) is not None:
                    await self._deliver_all(reader)
                await asyncio.sleep(spool.policy.adopt_every)
        finally:
            spool.release_adopted()

    async def _deliver_all(self, reader: Reader) -> None:
        """Deliver what one queue on disk holds, to its end."""
        lanes = self._courier.lanes
        while (parcels := await reader.next()) is not None:
            portion = list(parcels)
            await self._courier.deliver(parcels, reader.more)
            while any(not parcel.done for parcel in portion):  # in their lanes
                await lanes.change()
                if lanes.at_a_loss:
                    lanes.at_a_loss = False
                    await reader.more(parcels)
                    portion += parcels
                    await self._courier.deliver(parcels, reader.more)

    async def _watch_lanes(self, spool: Spool) -> None:
        """Have events taken out of lanes that have led nowhere for a while, though nothing new comes."""
        while True:
            await self._courier.lanes.change()
            if self._stranded(spool):
                self.mailbox.wake()

    async def _discover(self) -> None:
        """Learn what the backend offers; the old protocol serves until then."""
        delay = FIRST_RETRY
        while True:
            try:
                await self._backend.discover()
            except Rejected:
                return
            except Unavailable:
                await asyncio.sleep(delay)
                # While nothing is delivered either it is an outage, and single events are a slow way to catch up.
                delay = min(delay * 2, LONGEST_RETRY if self._courier.failing_for() else LONGEST_DISCOVERY)
            else:
                return


def _evict(parcels: deque[Parcel]) -> Parcel:
    """Make room: the oldest step near the head goes, rather than the start or the end of a run."""
    for position in range(min(64, len(parcels))):
        parcel = parcels[position]
        if parcel.step:
            del parcels[position]
            return parcel
    return parcels.popleft()
