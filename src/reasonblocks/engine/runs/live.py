"""Steps as they are scored, for those who watch. On the engine's event loop only."""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any, Self

import msgspec

from ..principal import Principal

MOST_WAITING = 1_000
"""Events that a slow watcher may have waiting before the oldest give way."""


class StepScored(msgspec.Struct, kw_only=True, frozen=True):
    """A `step` of GET /monitor/stream."""

    run_id: str
    step_index: int
    org_id: str
    project_id: str
    total_score: float
    fired: list[str]


class Subscription:
    """What one watcher has yet to see; an async iterator that ends when it is closed."""

    def __init__(self, live: "Live", org_id: str | None, project_id: str | None, most_waiting: int) -> None:
        self._live = live
        self._org_id = org_id
        self._project_id = project_id
        self._waiting: deque[StepScored] = deque(maxlen=most_waiting)
        self._news = asyncio.Event()
        self._closed = False
        self._untold = 0
        self.lost = 0
        """Events that gave way, in all."""

    def offer(self, event: StepScored) -> None:
        """Take an event if it is this watcher's to see; never waits."""
        if self._org_id is not None and event.org_id != self._org_id:
            return
        if self._project_id is not None and event.project_id != self._project_id:
            return
        if len(self._waiting) == self._waiting.maxlen:
            self.lost += 1
            self._untold += 1
        self._waiting.append(event)
        self._news.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> dict[str, Any]:
        """The next event; `lost` says how many gave way before it, if any did."""
        while not self._waiting:
            if self._closed:
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        event: dict[str, Any] = msgspec.structs.asdict(self._waiting.popleft())
        if self._untold:
            event["lost"], self._untold = self._untold, 0
        return event

    def close(self) -> None:
        """No more events; what waits is still given out."""
        self._closed = True
        self._live.leave(self)
        self._news.set()

    async def aclose(self) -> None:
        """As `close`."""
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


class Live:
    """Hands every scored step to those who may see it."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._most_waiting = most_waiting
        self._subscriptions: set[Subscription] = set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._subscriptions)

    def subscribe(self, principal: Principal, org_id: str | None = None, project_id: str | None = None) -> Subscription:
        """Watch from now on; whoever stops watching closes the subscription."""
        org, project = principal.visible_org(org_id), principal.visible_project(project_id)
        subscription = Subscription(self, org, project, self._most_waiting)
        self._subscriptions.add(subscription)
        if self._closed:
            subscription.close()
        return subscription

    def publish(self, events: Iterable[StepScored]) -> None:
        """Tell all watchers; never waits."""
        if self._subscriptions:
            for event in events:
                for subscription in self._subscriptions:
                    subscription.offer(event)

    def leave(self, subscription: Subscription) -> None:
        """Somebody stopped watching."""
        self._subscriptions.discard(subscription)

    def close(self) -> None:
        """End every subscription, so that nobody waits for a server that is going down."""
        self._closed = True
        for subscription in list(self._subscriptions):
            subscription.close()
