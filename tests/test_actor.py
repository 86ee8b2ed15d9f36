"""Actors: what is posted is handled in order, a crash loses nothing, and one bad message stops nobody."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from reasonblocks.runtime.actor import COMPANY, Actor, Portion
from reasonblocks.runtime.contain import incidents
from reasonblocks.runtime.mailbox import Mailbox
from reasonblocks.runtime.supervisor import runtime
from reasonblocks.runtime.worker import Worker


@dataclass
class Message:
    """A number with a weight."""

    number: int
    weight: int = 1


class Counting(Actor[Message]):
    """Keeps what it was given; crashes over what it is told to."""

    name = "counting"

    def __init__(self, crash_over: dict[int, int]) -> None:
        super().__init__(Mailbox(1_000, 1_000_000, deque.popleft), most=16, most_bytes=1_000)
        self.crash_over = crash_over
        self.handled: list[int] = []
        self.aside: list[tuple[int, str]] = []

    async def handle(self, messages: deque[Message]) -> None:
        await asyncio.sleep(0)
        for message in messages:
            if self.crash_over.get(message.number, 0) > 0:
                self.crash_over[message.number] -= 1
                raise LookupError(f"over {message.number}")
        while messages:
            self.handled.append(messages.popleft().number)

    def set_aside(self, message: Message, error: Exception) -> None:
        self.aside.append((message.number, str(error)))

    def post(self, *numbers: int) -> None:
        for number in numbers:
            self.mailbox.post(Message(number))
        runtime.host(self)

    def forget(self) -> None:
        """Nothing survives a fork."""

    def flush(self, seconds: float) -> bool:
        return True

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + 15.0
        while len(self.handled) + len(self.aside) < count:
            assert time.monotonic() < deadline, (self.handled, self.aside)
            time.sleep(0.005)


@pytest.fixture(autouse=True)
def no_incidents_yet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test sees its own causes as new ones, and leaves no thread."""
    monkeypatch.setattr(incidents, "counts", {})
    yield
    runtime.release()


def test_c41_messages_are_handled_in_order() -> None:
    """Whatever is posted is handled once, in the order of posting."""
    actor = Counting({})
    actor.post(*range(100))
    actor.wait_for(100)
    runtime.dismiss(actor)
    assert actor.handled == list(range(100))
    assert incidents.counts == {}


def test_c41_a_crash_costs_no_message() -> None:
    """After a crash the actor is started again, with its mailbox and with what it had in hand."""
    actor = Counting({5: 1, 40: 2})
    actor.post(*range(100))
    actor.wait_for(100)
    runtime.dismiss(actor)
    assert actor.handled == list(range(100))
    assert actor.aside == []
    assert sum(incidents.counts.values()) == 3


def test_c41_a_message_that_always_crashes_is_set_aside() -> None:
    """The one message is found among its neighbours, which are all handled, in order."""
    actor = Counting({7: 1_000})
    actor.post(*range(30))
    actor.wait_for(30)
    runtime.dismiss(actor)
    assert actor.aside == [(7, "over 7")]
    assert actor.handled == [number for number in range(30) if number != 7]


def test_c41_what_a_dismissed_actor_had_in_hand_is_handled_by_its_next_start() -> None:
    """Nothing is lost between two lives of an actor."""
    actor = Counting({0: 1_000_000})
    actor.post(0, 1, 2)
    deadline = time.monotonic() + 5.0
    while not incidents.counts and time.monotonic() < deadline:
        time.sleep(0.005)
    runtime.dismiss(actor)
    actor.crash_over.clear()
    actor.post(3)
    actor.wait_for(4)
    runtime.dismiss(actor)
    assert sorted([*actor.handled, *(number for number, _ in actor.aside)]) == [0, 1, 2, 3]
    assert actor.handled[-3:] == [1, 2, 3]


class Sociable(Counting):
    """Waits for company, and notes how many came together."""

    def __init__(self, seconds: float) -> None:
        super().__init__({})
        self._most = COMPANY
        self._seconds = seconds
        self.portions: list[int] = []

    def linger_seconds(self) -> float:
        return self._seconds

    async def handle(self, messages: deque[Message]) -> None:
        self.portions.append(len(messages))
        await super().handle(messages)


def test_few_messages_wait_for_company_also_at_the_start() -> None:
    """Those that come soon after each other are handled together, after a start as after a pause."""
    actor = Sociable(1.0)
    for _ in range(2):
        for number in range(5):
            actor.post(number)
            time.sleep(0.005)
        actor.wait_for(5)
        actor.handled.clear()
    runtime.dismiss(actor)
    assert [portion for portion in actor.portions if portion] == [5, 5]


def test_many_messages_wait_for_nobody() -> None:
    """What is enough for several portions is handled at once, however long fewer would wait."""
    actor = Sociable(3_600.0)
    actor.post(*range(5 * COMPANY))
    actor.wait_for(5 * COMPANY)
    runtime.dismiss(actor)
    assert actor.handled == list(range(5 * COMPANY))


def test_a_portion_shrinks_to_one_and_grows_again() -> None:
    """After failures ever less is tried at once, after successes ever more."""
    portion = Portion(100)
    sizes = []
    for _ in range(5):
        portion.shrink(portion.size)
        sizes.append(portion.size)
    for _ in range(5):
        portion.grow()
        sizes.append(portion.size)
    assert sizes == [25, 6, 1, 1, 1, 4, 16, 64, 100, 100]


# -- mailboxes -----------------------------------------------------------------------------------------------


def test_a_mailbox_is_bounded_by_number_and_by_bytes() -> None:
    """The oldest give way as soon as either is exceeded; one message that is too large by itself stays."""
    mailbox: Mailbox[Message] = Mailbox(3, 100, deque.popleft)
    evicted = [mailbox.post(Message(number, 10)) for number in range(4)]
    assert [[message.number for message in some] for some in evicted] == [[], [], [], [0]]
    assert [message.number for message in mailbox.post(Message(4, 85))] == [1, 2]
    assert mailbox.bytes == 95
    assert [message.number for message in mailbox.post(Message(5, 500))] == [3, 4]
    assert (len(mailbox), mailbox.bytes) == (1, 500)


def test_a_mailbox_gives_so_many_bytes_at_most() -> None:
    """What is taken at once is bounded, but for one message that is larger."""
    mailbox: Mailbox[Message] = Mailbox(100, 10_000, deque.popleft)
    for number in range(10):
        mailbox.post(Message(number, 40))
    assert len(mailbox.take(100, 100)) == 3
    assert len(mailbox.take(2, 1_000)) == 2
    assert len(mailbox.take(100, 1_000)) == 5
    assert (len(mailbox), mailbox.bytes) == (0, 0)


async def test_a_mailbox_that_is_half_full_says_so_once() -> None:
    """The alarm is raised at half, and again only after something was taken."""
    mailbox: Mailbox[Message] = Mailbox(10, 10_000, deque.popleft)
    alarms: list[int] = []
    mailbox.attach(asyncio.get_running_loop(), asyncio.Event(), lambda: alarms.append(1))
    for number in range(9):
        mailbox.post(Message(number))
    await asyncio.sleep(0.01)
    assert len(alarms) == 1
    mailbox.take(1, 100)
    mailbox.post(Message(10))
    await asyncio.sleep(0.01)
    assert len(alarms) == 2


# -- workers ---------------------------------------------------------------------------------------------------


def test_a_worker_works_in_order_and_ends_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """One piece after another, errors to those who asked, no thread when there is nothing to do."""
    monkeypatch.setattr("reasonblocks.runtime.worker.IDLE_SECONDS", 0.05)
    worker, done = Worker("a worker"), []

    def work(number: int) -> int:
        done.append(number)
        return 10 // number

    futures = [worker.submit(lambda number=number: work(number)) for number in (5, 0, 2)]  # type: ignore[misc]
    assert futures[0].result(5) == 2
    with pytest.raises(ZeroDivisionError):
        futures[1].result(5)
    assert futures[2].result(5) == 5
    assert done == [5, 0, 2]
    deadline = time.monotonic() + 5.0
    while "a worker" in {thread.name for thread in threading.enumerate()}:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert worker.submit(lambda: "again").result(5) == "again"


async def test_a_worker_that_is_told_to_rest_is_gone() -> None:
    """After `rest()` there is no thread, and what was given before is done."""
    worker = Worker("a resting worker")
    future = worker.submit(lambda: time.sleep(0.05))
    await worker.rest()
    assert future.done()
    assert "a resting worker" not in {thread.name for thread in threading.enumerate()}
