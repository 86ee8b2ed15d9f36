"""A recording stand-in for rb-api, on a thread and an event loop of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

import anyio

from support.answers import JSON, MONITORS, default_patterns, healthy, inject, pattern
from support.connection import House
from support.faults import EVERY_FAULT, WRONG_SHAPES, Fault, FaultPlan
from support.listener import HOST, Listener
from support.records import Book, Evaluation, Request, Run
from support.service import RETRIEVE, Evaluate, Patterns, Service, full_route

__all__ = [
    "EVERY_FAULT",
    "MONITORS",
    "WRONG_SHAPES",
    "Evaluation",
    "Fault",
    "Request",
    "Run",
    "Standin",
    "default_patterns",
    "healthy",
    "inject",
    "pattern",
]

POLL_SECONDS = 0.01

Result = TypeVar("Result")


class Standin:
    """An rb-api that records everything, answers as programmed, and misbehaves on demand."""

    def __init__(self, capabilities: Sequence[str] = (), *, key: str = "rb_test_standin", seed: int = 0) -> None:
        self._book = Book()
        self._service = Service(self._book, capabilities, key)
        self._faults = FaultPlan(seed)
        self._house = House(self._book, self._service, self._faults)
        self._listener = Listener(self._house)

    # -- life --------------------------------------------------------------------------------------

    def __enter__(self) -> Standin:
        return self.start()

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> Standin:
        """Listen on a free port of this machine, within milliseconds."""
        self._listener.start()
        return self

    def stop(self) -> None:
        """Drop every connection and end the thread; stopping twice is fine."""
        self._listener.stop()

    # -- address and settings ----------------------------------------------------------------------

    @property
    def port(self) -> int:
        """The port it listens on, the same after an outage."""
        return self._listener.port

    @property
    def url(self) -> str:
        """The base URL, without `/v1`."""
        return f"http://{HOST}:{self._listener.port}"

    @property
    def key(self) -> str:
        """The only key it accepts."""
        return self._service.key

    @key.setter
    def key(self, key: str) -> None:
        self._service.key = key

    @property
    def capabilities(self) -> tuple[str, ...]:
        """What `/health` lists and the routes support; none is an old server."""
        return self._service.capabilities

    @capabilities.setter
    def capabilities(self, capabilities: Sequence[str]) -> None:
        self._service.capabilities = tuple(capabilities)

    @property
    def evaluate(self) -> Evaluate:
        """Gives the monitors' answer for a trace and the body sent; called on the stand-in's thread."""
        return self._service.evaluate

    @evaluate.setter
    def evaluate(self, evaluate: Evaluate) -> None:
        self._service.evaluate = evaluate

    @property
    def patterns(self) -> Any:
        """The traces by tier; a tier's list, or the whole, may be a function of the request's body."""
        return self._service.patterns

    @patterns.setter
    def patterns(self, patterns: Patterns) -> None:
        self._service.patterns = patterns

    @property
    def near_misses(self) -> JSON:
        """What else an answer to `/traces/retrieve` has, for whoever asks for near misses."""
        return self._service.near_misses

    @near_misses.setter
    def near_misses(self, near_misses: JSON) -> None:
        self._service.near_misses = near_misses

    @property
    def difficulty(self) -> float:
        """What `/score` answers."""
        return self._service.difficulty

    @difficulty.setter
    def difficulty(self, difficulty: float) -> None:
        self._service.difficulty = difficulty

    # -- faults ------------------------------------------------------------------------------------

    def fault(self, route: str, *faults: Fault) -> None:
        """Set what goes wrong on a route (`*`: on all), tried in this order; replaces what was set."""
        if any(fault.refuse for fault in faults):
            if route != "*":
                raise ValueError("refusing connections concerns every route: use '*'")
            self.refuse()
            return
        with self._book.changed:
            self._faults.set(full_route(route), faults)

    def clear_faults(self) -> None:
        """Behave again, and listen again."""
        with self._book.changed:
            self._faults.clear()
        if self._listener.running:
            self.accept()

    def refuse(self) -> None:
        """Close the listener and every connection, as a server that went down."""
        self._listener.call(self._listener.go_down)

    def accept(self) -> None:
        """Listen again, on the same port."""
        self._listener.call(self._listener.listen)

    def drop_connections(self) -> None:
        """Reset every open connection, idle ones included, and keep listening."""
        self._listener.call(self._listener.drop)

    def forget_trace(self, run_id: str, keep: int = 0) -> None:
        """Lose the held steps of an incremental evaluation but for the first `keep`."""
        with self._book.changed:
            self._book.traces[run_id] = self._book.traces.get(run_id, [])[:keep]

    def forget(self) -> None:
        """Empty all records; settings and faults stay."""
        self._book.forget()

    # -- records -----------------------------------------------------------------------------------

    @property
    def requests(self) -> list[Request]:
        """Every request in the order of arrival, answered or not."""
        with self._book.changed:
            return list(self._book.requests)

    @property
    def runs(self) -> dict[str, Run]:
        """A snapshot of the runs by id."""
        with self._book.changed:
            return {run_id: run.copy() for run_id, run in self._book.runs.items()}

    @property
    def evaluations(self) -> list[Evaluation]:
        """Every evaluation that was answered, with its whole trace."""
        with self._book.changed:
            return list(self._book.evaluations)

    @property
    def violations(self) -> list[str]:
        """Every breach of the contract so far."""
        with self._book.changed:
            return list(self._book.violations)

    @property
    def unknown_fields(self) -> set[tuple[str, str]]:
        """Every (route, field) that was sent but is not in the contract."""
        with self._book.changed:
            return set(self._book.unknown_fields)

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        return len(self._house.connections)

    @property
    def connections_total(self) -> int:
        """How many connections were ever opened."""
        return self._house.connections_total

    @property
    def in_flight(self) -> int:
        """How many requests arrived and are neither answered nor given up by the client."""
        return len(self._house.in_flight)

    def received(self, route: str = "*") -> list[Request]:
        """Give the requests of one route."""
        wanted = full_route(route)
        return [request for request in self.requests if wanted in ("*", request.route)]

    def count(self, route: str = "*", status: int | None = None) -> int:
        """Count the requests of one route, optionally those answered with one status."""
        return sum(status in (None, request.status) for request in self.received(route))

    def bodies(self, route: str) -> list[JSON]:
        """Give the bodies sent to one route."""
        return [request.body for request in self.received(route)]

    def retrievals(self, tier: str | None = None) -> list[JSON]:
        """Give the bodies sent to `/traces/retrieve`, optionally of one tier."""
        sent = self.bodies(RETRIEVE)
        return [body for body in sent if tier in (None, body.get("tier", body.get("level")))]

    def wait_for(self, predicate: Callable[[], Result], timeout: float = 5.0) -> Result:
        """Wait until the predicate holds and give its value; a missing key or entry counts as not yet."""
        deadline = time.monotonic() + timeout
        while True:
            if result := _attempt(predicate):
                return result
            if time.monotonic() >= deadline:
                raise AssertionError(self._summary(timeout))
            with self._book.changed:
                self._book.changed.wait(POLL_SECONDS)

    async def await_for(self, predicate: Callable[[], Result], timeout: float = 5.0) -> Result:  # noqa: ASYNC109
        """Wait as `wait_for` does, without blocking the event loop."""
        deadline = time.monotonic() + timeout
        while True:
            if result := _attempt(predicate):
                return result
            if time.monotonic() >= deadline:
                raise AssertionError(self._summary(timeout))
            await anyio.sleep(POLL_SECONDS)

    def _summary(self, timeout: float) -> str:
        lines = [f"not so within {timeout} s; {self.in_flight} in flight, {self.open_connections} connections open"]
        lines += [f"  {request.method} {request.path} -> {request.status}" for request in self.requests[-20:]]
        lines += [f"  run {run.run_id}: {', '.join(run.timeline[-20:])}" for run in list(self.runs.values())[-20:]]
        lines += [f"  violation: {violation}" for violation in self.violations[-20:]]
        return "\n".join(lines)


def _attempt(predicate: Callable[[], Result]) -> Result | None:
    try:
        return predicate()
    except LookupError:
        return None
