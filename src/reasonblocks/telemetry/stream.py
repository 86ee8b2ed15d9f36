"""The live stream: an actor that carries events to the backend, in order for each run, and loses none quietly."""

import asyncio
import concurrent.futures
import contextlib
import itertools
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..api.backend import Destination, Event
from ..api.wire import BODY_ROOM, encode_event
from ..errors import Rejected, Unavailable
from ..limits import MAX_EVENTS
from ..runtime.contain import incidents
from ..runtime.mailbox import Mailbox
from ..runtime.supervisor import forget_after_fork, runtime

MAILBOX_LIMIT = 20_000
LANES = 16
"""Runs that are served at once where events go one by one."""
MOST_IN_LANES = 2_000
FIRST_RETRY, LONGEST_RETRY = 0.1, 2.0
LONGEST_RETRY_AFTER = 60.0
"""A server may ask for more patience than this, and be wrong."""
DRAIN_SECONDS = 5.0
PROBE_SECONDS = 0.5
"""How much of that a server gets that took nothing the last time."""


@dataclass(slots=True)
class Parcel:
    """An event on its way."""

    number: int
    event: Event
    encoded: bytes | None = None
    """For a batch; made once, for its size counts as well."""


@dataclass(slots=True)
class Counters:
    """What became of the events."""

    sent: int = 0
    retried: int = 0
    dropped: dict[str, int] = field(default_factory=dict)

    def drop(self, cause: str) -> None:
        """Count a loss by its cause."""
        self.dropped[cause] = self.dropped.get(cause, 0) + 1


class Pause:
    """The rest between attempts on a backend that fails: shared by all lanes, doubled while it lasts."""

    def __init__(self) -> None:
        self._until = 0.0
        self._asked_until = 0.0
        self._delay = FIRST_RETRY

    def extend(self, at_least: float | None) -> None:
        """An attempt failed; of those that failed together only the first one counts, and the longest that is asked."""
        now = time.monotonic()
        if now >= self._until:
            self._until = now + self._delay
            self._delay = min(self._delay * 2, LONGEST_RETRY)
        if at_least:
            self._asked_until = max(self._asked_until, now + min(at_least, LONGEST_RETRY_AFTER))

    def end(self) -> None:
        """An attempt succeeded."""
        self._until = self._asked_until = 0.0
        self._delay = FIRST_RETRY

    def shorten(self) -> None:
        """Somebody waits for the next attempt; what the server asked for still counts."""
        self._until = 0.0
        self._delay = FIRST_RETRY

    async def wait(self) -> None:
        """Rest, if it is time to."""
        while (remaining := max(self._until, self._asked_until) - time.monotonic()) > 0:  # noqa: ASYNC110  it may change
            await asyncio.sleep(min(remaining, FIRST_RETRY))


class TelemetryStream:
    """An actor: any thread posts, the runtime's loop delivers."""

    name = "telemetry"

    def __init__(self, backend: Destination) -> None:
        self._backend = backend
        self._mailbox: Mailbox[Parcel] = Mailbox(MAILBOX_LIMIT, _evict)
        self._numbers = itertools.count(1)  # `next` on it is atomic: posting takes no lock
        self._open: dict[int, None] = {}
        self._waiting: list[tuple[int, concurrent.futures.Future[None]]] = []
        self._lock = threading.RLock()
        self._gave_up_at: int | None = None
        self._lanes: dict[str, deque[Parcel]] = {}
        self._in_lanes = 0
        self._batch: list[Parcel] = []
        self._pause = Pause()
        self._retiring = False
        self.counters = Counters()
        forget_after_fork(self)

    # -- for the agents' threads ------------------------------------------------------------------

    def post(self, event: Event) -> None:
        """Take an event; never waits, may be called from a finaliser."""
        parcel = Parcel(next(self._numbers), event)
        self._open[parcel.number] = None
        evicted = self._mailbox.post(parcel)
        if evicted is not None:
            self._settle(evicted, "mailbox full")
        runtime.host(self)

    def drained(self) -> concurrent.futures.Future[None]:
        """A future that is done when everything posted so far is delivered or given up."""
        future: concurrent.futures.Future[None] = concurrent.futures.Future()
        with self._lock:
            self._waiting.append((next(self._numbers), future))
            self._release()
        if not future.done():
            self._pause.shorten()
            runtime.host(self)  # an earlier close may have dismissed it, with events left
            self._mailbox.wake()
        return future

    def flush(self, seconds: float = DRAIN_SECONDS) -> bool:
        """Block until everything posted so far is dealt with; whether it was in time."""
        future = self.drained()
        for patience in self._patience(seconds):
            with contextlib.suppress(concurrent.futures.TimeoutError):
                future.result(patience)
                return True
            if self._in_vain():
                break
        return self._give_up(future)

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
        return self._give_up(future)

    def _patience(self, seconds: float) -> tuple[float, ...]:
        """How long to wait, and look whether it is worth while; a server that was away before gets a moment."""
        return (min(seconds, PROBE_SECONDS), seconds - PROBE_SECONDS) if self._in_vain() else (seconds,)

    def _in_vain(self) -> bool:
        """Whether nothing has arrived since a flush was given up."""
        return self._gave_up_at == self.counters.sent

    def _give_up(self, future: concurrent.futures.Future[None]) -> bool:
        with self._lock:
            self._waiting = [waiting for waiting in self._waiting if waiting[1] is not future]
        self._gave_up_at = self.counters.sent
        return False

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
            self._mailbox.wake()
        else:
            self._backend.release()

    def forget(self) -> None:
        """In a forked child: the parent delivers what was posted before the fork."""
        self._lock = threading.RLock()
        self._mailbox.clear()
        self._open.clear()
        self._waiting.clear()
        self._lanes.clear()
        self._in_lanes = 0
        self._batch = []

    def stats(self) -> dict[str, Any]:
        """What became of the events so far."""
        with self._lock:
            counters = self.counters
            dropped = dict(counters.dropped)
            enqueued = counters.sent + sum(dropped.values()) + len(self._open)
            return {"enqueued": enqueued, "sent": counters.sent, "retried": counters.retried, "dropped": dropped}

    def _settle(self, parcel: Parcel, lost: str | None = None) -> None:
        with self._lock:
            if lost is None:
                self.counters.sent += 1
            else:
                self.counters.drop(lost)
            self._open.pop(parcel.number, None)
        if self._waiting:
            self._release()

    def _release(self) -> None:
        """Wake those who wait for what is now dealt with."""
        with self._lock:
            oldest = self._oldest()
            still = []
            for number, future in self._waiting:
                if oldest is None or oldest > number:
                    with contextlib.suppress(concurrent.futures.InvalidStateError):  # given up meanwhile
                        future.set_result(None)
                else:
                    still.append((number, future))
            self._waiting = still

    def _oldest(self) -> int | None:
        while True:
            try:
                return next(iter(self._open), None)
            except RuntimeError:  # another thread posted in between
                continue

    # -- on the runtime's loop --------------------------------------------------------------------

    async def run(self) -> None:
        """Deliver until cancelled or retired; what was under way then is taken up by the next start."""
        ready = asyncio.Event()
        self._mailbox.attach(asyncio.get_running_loop(), ready)
        try:
            async with asyncio.TaskGroup() as tasks:
                discovery = tasks.create_task(self._discover())
                await self._pump(tasks, ready)
                discovery.cancel()
            self._backend.release()  # only a stream that retires comes here
        finally:
            self._mailbox.detach()

    async def _pump(self, tasks: asyncio.TaskGroup, ready: asyncio.Event) -> None:
        """Move events from the mailbox to their run's lane, or into batches where the backend takes them."""
        slots = asyncio.Semaphore(LANES)
        moved = asyncio.Event()
        for run_id in self._lanes:
            tasks.create_task(self._serve(run_id, slots, moved))
        while True:
            await self._deliver_batch()
            if not len(self._mailbox):
                if self._retiring and not self._lanes:
                    return
                await ready.wait()
                await asyncio.sleep(0 if self._waiting else self._backend.linger_seconds)
                ready.clear()
                continue
            if self._backend.batches:
                while self._lanes:  # the lanes' events are older: a batch may not overtake them
                    await _next(moved)
                self._batch = self._mailbox.take(MAX_EVENTS)
                continue
            while self._in_lanes >= MOST_IN_LANES:
                await _next(moved)
            for parcel in self._mailbox.take(MAX_EVENTS):
                run_id = parcel.event["run_id"]
                self._in_lanes += 1
                lane = self._lanes.get(run_id)
                if lane is None:
                    self._lanes[run_id] = deque((parcel,))
                    tasks.create_task(self._serve(run_id, slots, moved))
                else:
                    lane.append(parcel)

    async def _serve(self, run_id: str, slots: asyncio.Semaphore, moved: asyncio.Event) -> None:
        """Deliver the events of one run, one after another."""
        lane = self._lanes[run_id]
        while lane:
            async with slots:
                await self._deliver(lane[0])
            lane.popleft()
            self._in_lanes -= 1
            moved.set()
        del self._lanes[run_id]
        moved.set()
        if self._retiring:
            self._mailbox.wake()

    async def _deliver(self, parcel: Parcel) -> None:
        while True:
            await self._pause.wait()
            try:
                await self._backend.send(parcel.event)
            except Rejected as refusal:
                incidents.note("telemetry", refusal)
                self._settle(parcel, f"refused with {refusal.status}")
                return
            except Unavailable as unavailable:
                self._failed(unavailable)
            else:
                self._pause.end()
                self._settle(parcel)
                return

    async def _deliver_batch(self) -> None:
        """Deliver the batch under way, in pieces the backend will take."""
        size = MAX_EVENTS
        while self._batch:
            await self._pause.wait()
            piece = self._piece(size)
            if not piece:
                continue
            try:
                refused = await self._backend.send_batch([parcel.encoded or b"" for parcel in piece])
            except Rejected as refusal:
                if not self._backend.batches:
                    await self._one_by_one()
                    return
                incidents.note("telemetry", refusal)
                if len(piece) > 1:
                    size = len(piece) // 2  # one bad or huge event must not take its neighbours with it
                    continue
                self._settle(piece[0], f"refused with {refusal.status}")
            except Unavailable as unavailable:
                self._failed(unavailable)
                continue
            else:
                self._pause.end()
                self._settle_batch(piece, refused)
            del self._batch[: len(piece)]

    async def _one_by_one(self) -> None:
        """The backend takes batches no longer: deliver this one by the single routes."""
        while self._batch:
            await self._deliver(self._batch[0])
            del self._batch[0]

    def _piece(self, most: int) -> list[Parcel]:
        """The head of the batch, within the number and the bytes that one request may carry."""
        taken: list[Parcel] = []
        room = BODY_ROOM
        while len(taken) < min(most, len(self._batch)):
            parcel = self._batch[len(taken)]
            try:
                if parcel.encoded is None:
                    parcel.encoded = encode_event(parcel.event)
            except Rejected as refusal:
                incidents.note("telemetry", refusal)
                self._settle(parcel, f"refused with {refusal.status}")
                del self._batch[len(taken)]
                continue
            room -= len(parcel.encoded) + 1
            if room < 0 and taken:
                break
            taken.append(parcel)
        return taken

    def _settle_batch(self, piece: Sequence[Parcel], refused: Sequence[tuple[int, str]]) -> None:
        reasons = dict(refused)
        for index, parcel in enumerate(piece):
            reason = reasons.get(index)
            if reason is not None:
                incidents.note("telemetry", Rejected(422, f"the server refused an event: {reason}"))
            self._settle(parcel, None if reason is None else "refused in a batch")

    def _failed(self, unavailable: Unavailable) -> None:
        incidents.note("telemetry", unavailable)
        self.counters.retried += 1
        self._pause.extend(unavailable.retry_after)

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
                delay = min(delay * 2, 30.0)
            else:
                return


async def _next(event: asyncio.Event) -> None:
    event.clear()
    await event.wait()


def _evict(parcels: deque[Parcel]) -> Parcel:
    """Make room: the oldest step near the head goes, rather than the start or the end of a run."""
    for position in range(min(64, len(parcels))):
        parcel = parcels[position]
        if parcel.event["type"] == "step":
            del parcels[position]
            return parcel
    return parcels.popleft()
