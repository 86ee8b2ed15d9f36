"""Who delivers: in batches where the backend takes them, else run by run; in order for each run in either case."""

import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice

from ..api.backend import Destination
from ..api.wire import BODY_ROOM
from ..errors import Rejected, Unavailable
from ..limits import MAX_EVENTS
from ..runtime.actor import CRASHES_ALLOWED, Portion
from ..runtime.contain import incidents
from .accounts import Accounts
from .lanes import Lanes
from .losses import Losses
from .odds import Odds
from .parcel import Origin, Parcel
from .pause import Pause

PATIENCE_WITHIN_A_RUN = 1.0
"""Seconds of failure before an event is tried ahead of another one of its own run. A server that comes back in between
gets the two in the wrong order, so this is for one that does not."""
MOST_LOOKED_AT = 100
SET_ASIDE = "set aside"

More = Callable[[deque[Parcel]], Awaitable[None]]
"""Adds to parcels what has come behind them."""


class Courier:
    """Delivers parcels and settles each of them in the accounts."""

    def __init__(self, backend: Destination, accounts: Accounts, losses: Losses) -> None:
        self._backend = backend
        self._accounts = accounts
        self._losses = losses
        self._portion = Portion(MAX_EVENTS)
        self._odds = Odds()
        self.pause = Pause()
        self.lanes = Lanes(self)

    def failing_for(self) -> float:
        """Seconds since deliveries began to fail; 0 while they succeed."""
        since = self.pause.failing_since
        return 0.0 if since is None else time.monotonic() - since

    async def deliver(self, parcels: deque[Parcel], more: More, patience: float | None = None) -> None:
        """Deliver all, taking each from the front; what is left after so many seconds of failure stays there.

        Where events go one by one this returns once they are in their lanes.
        """
        while parcels:
            if parcels[0].done:
                parcels.popleft()
                continue
            if not self._backend.batches:
                await self.lanes.admit(parcels)
            elif len(self.lanes):
                await self.lanes.change()  # what is in them is older: a batch may not overtake it
            else:
                await self._deliver_piece(parcels, more)
            failing = self.failing_for()
            if patience is not None and failing and failing + self.pause.remaining() >= patience:
                return  # before a rest that would take longer than that

    async def _deliver_piece(self, parcels: deque[Parcel], more: More) -> None:
        await self.pause.wait()
        piece = self._piece(parcels)
        if not piece:
            return
        began = time.monotonic()
        try:
            refused = await self._backend.send_batch([parcel.encoded or b"" for parcel in piece])
        except Rejected as refusal:
            if self._backend.batches:  # else an old server has taken over, and gets them one by one
                self._refused(piece, refusal)
        except Unavailable as unavailable:
            self.failed(unavailable, began)
            self._portion.shrink(len(piece))
            if len(piece) == 1 and self.suspicious(piece[0], unavailable) and await self._takes_another(parcels, more):
                self.strike(piece[0], unavailable)
        except Exception as error:
            self._portion.shrink(len(piece))
            if len(piece) > 1 or not self.crashed(piece[0], error):
                raise
        else:
            self._succeeded(piece, refused)

    def _piece(self, parcels: deque[Parcel]) -> list[Parcel]:
        """The first of these, within the number and the bytes that one request may carry."""
        piece: list[Parcel] = []
        room = BODY_ROOM
        most = self._portion.size
        for parcel in parcels:
            if parcel.done or (parcel.encoded is None and not self._ready(parcel)):
                continue
            if parcel.origin is Origin.OURS and not self._ready(parcel):
                continue
            room -= len(parcel.encoded or b"") + 1
            if piece and (room < 0 or len(piece) >= most):
                break
            piece.append(parcel)
        return piece

    def _ready(self, parcel: Parcel) -> bool:
        """Encode it, if that has not happened; an event that cannot be sent is dealt with here."""
        if parcel.origin is Origin.OURS and not self._backend.losses:
            self._accounts.settle(parcel)  # an older server has no word for it
            return False
        try:
            parcel.encode()
        except Rejected as refusal:
            self.refuse(parcel, refusal)
            return False
        return True

    def _succeeded(self, piece: Sequence[Parcel], refused: Sequence[tuple[int, str]]) -> None:
        self._odds.note(failed=False)
        self.pause.end()
        self._portion.grow()
        if not refused:
            self._accounts.delivered(piece)
            return
        reasons = dict(refused)
        for index, parcel in enumerate(piece):
            reason = reasons.get(index)
            if reason is not None:
                incidents.note("telemetry", Rejected(422, f"the server refused an event: {reason}"))
            self._accounts.settle(parcel, None if reason is None else "refused in a batch")

    def _refused(self, piece: Sequence[Parcel], refusal: Rejected) -> None:
        if len(piece) == 1:
            self.refuse(piece[0], refusal)
            return
        incidents.note("telemetry", refusal)
        self._portion.shrink(len(piece))  # one bad or huge event must not take its neighbours with it

    async def _takes_another(self, parcels: deque[Parcel], more: More) -> bool:
        """Whether the server takes some other event, which tells the one that it cannot take from an outage."""
        other = _other(parcels, within_run=self.may_overtake())
        if other is None:
            await more(parcels)
            other = _other(parcels, within_run=self.may_overtake())
        if other is None or not self._ready(other):
            return False
        began = time.monotonic()
        try:
            refused = await self._backend.send_batch([other.encoded or b""])
        except Rejected as refusal:
            self.refuse(other, refusal)
            return False
        except Unavailable as unavailable:
            self.failed(unavailable, began)
            return False
        self._succeeded([other], refused)
        return not refused

    # -- what lanes need as well ------------------------------------------------------------------------

    async def send(self, parcel: Parcel) -> None:
        """Deliver one event by its single route."""
        if parcel.origin is not Origin.OURS:
            await self._backend.send(parcel.content())
            if not parcel.failures:
                self._odds.note(failed=False)
        self.pause.end()
        self._accounts.settle(parcel)

    def failed(self, unavailable: Unavailable, began: float) -> None:
        """An attempt failed."""
        incidents.note("telemetry", unavailable)
        self._accounts.retried += 1
        self.pause.extend(began, unavailable.retry_after)

    def refuse(self, parcel: Parcel, refusal: Rejected) -> None:
        """The server, or we in its place, will never take this one."""
        incidents.note("telemetry", refusal)
        self._accounts.settle(parcel, f"refused with {refusal.status}")

    def suspicious(self, parcel: Parcel, unavailable: Unavailable) -> bool:
        """Whether the server has failed over this event alone before, so that it matters whether it takes another."""
        if not unavailable.failed:
            parcel.failures = parcel.strikes = 0
            return False
        if not parcel.failures:
            self._odds.note(failed=True)
        parcel.failures += 1
        return parcel.failures > 1

    def strike(self, parcel: Parcel, unavailable: Unavailable) -> None:
        """The server failed over this event again, though it takes others; set it aside if that cannot be chance."""
        parcel.strikes += 1
        if self._odds.rule_out(parcel.strikes):
            self.set_aside(parcel, unavailable)

    def may_overtake(self) -> bool:
        """Whether it has failed long enough to try an event ahead of another one of its own run."""
        return self.failing_for() >= PATIENCE_WITHIN_A_RUN

    def crashed(self, parcel: Parcel, error: Exception) -> bool:
        """Code of ours crashed over this event alone; whether it is set aside for it."""
        parcel.crashes += 1
        if parcel.crashes < CRASHES_ALLOWED:
            return False
        self.set_aside(parcel, error)
        return True

    def set_aside(self, parcel: Parcel, error: Exception) -> None:
        """Go on without an event that cannot be dealt with."""
        incidents.note("telemetry, an event set aside", error)
        self._accounts.settle(parcel, set_aside=True)
        if parcel.step:
            self._losses.add(parcel.run_id, 1, SET_ASIDE)


def _other(parcels: deque[Parcel], *, within_run: bool) -> Parcel | None:
    """An event behind the first one that may be delivered before it: not of a run that does not exist yet."""
    waiting = list(islice((parcel for parcel in parcels if not parcel.done), MOST_LOOKED_AT))
    if len(waiting) < 2:
        return None
    first = waiting[0]
    elsewhere = next((other for other in waiting[1:] if other.run_id != first.run_id), None)
    return elsewhere or (waiting[1] if first.step and within_run else None)
