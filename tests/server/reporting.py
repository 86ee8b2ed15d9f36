"""Those who report to a server that may be killed at any moment, and what may be found there afterwards."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx

MOST_STEPS = 120
"""After so many steps a reporter begins another run."""
Event = dict[str, Any]


@dataclass
class RunModel:
    """A run, as one would explain it."""

    steps: dict[int, tuple[str, int]] = field(default_factory=dict)
    outcome: str | None = None


def told(events: Iterable[Event]) -> dict[str, RunModel]:
    """What events amount to: the first step of an index counts, and the last outcome."""
    runs: dict[str, RunModel] = {}
    for event in events:
        run = runs.setdefault(event["run_id"], RunModel())
        if event["type"] == "step":
            run.steps.setdefault(event["step_index"], (event["thought"], event["tokens"]))
        elif event["type"] == "run_finish":
            run.outcome = event["outcome"]
    return runs


class Reporter:
    """Reports one run after another, one request at a time, and keeps account of what was acknowledged."""

    def __init__(self, name: str, seed: int, *, single: bool) -> None:
        self.name = name
        self.single = single
        """Whether it sends every event by itself, or many at once."""
        self.acknowledged: list[Event] = []
        self.pending: list[Event] = []
        """What was sent and not answered: the server may have it or not, but not a part of it."""
        self.checked = 0
        """How many of those acknowledged were looked for after the last end."""
        self._chance = random.Random(seed)
        self._script = self._events()
        self.requests = 0

    def _events(self) -> Iterator[Event]:
        number = 0
        while True:
            run_id = f"{self.name}/{number}"
            number += 1
            yield {"type": "run_start", "run_id": run_id, "agent_name": self.name}
            for index in range(MOST_STEPS):
                tokens = self._chance.randrange(1_000)
                thought = f"Thought {index} of {run_id}, worth {tokens}."
                yield {"type": "step", "run_id": run_id, "step_index": index, "thought": thought, "tokens": tokens}
                if self._chance.random() < 0.02:  # it ends and goes on after all
                    yield {"type": "run_finish", "run_id": run_id, "outcome": f"ended at {index}"}
            yield {"type": "run_finish", "run_id": run_id, "outcome": "success"}

    def _next(self) -> list[Event]:
        """What is sent next; now and then what was acknowledged already, as clients do that missed an answer."""
        last = self.acknowledged[-3:]
        if last and self._chance.random() < 0.15:
            return [last[-1]] if self.single else last
        return [next(self._script) for _ in range(1 if self.single else self._chance.randint(1, 12))]

    def report(self, client: httpx.Client, stop: threading.Event) -> None:
        """Go on until the server is gone, or enough is done."""
        while not stop.is_set():
            self.pending = self._next()
            try:
                self.send(client)
            except httpx.TransportError:
                return

    def go_on(self, client: httpx.Client) -> None:
        """Send what is next, or once more what was not acknowledged."""
        self.pending = self.pending or self._next()
        self.send(client)

    def send(self, client: httpx.Client) -> None:
        """Send what is pending; once that returns it is acknowledged."""
        if self.single:
            (event,) = self.pending
            _send_one(client, event)
        else:
            answer = client.post("/v1/monitor/events", json={"events": self.pending})
            assert (answer.status_code, answer.json()) == (200, {"accepted": len(self.pending), "rejected": []})
        self.acknowledged += self.pending
        self.pending = []
        self.requests += 1


def _send_one(client: httpx.Client, event: Event) -> None:
    body = {name: value for name, value in event.items() if name != "type"}
    if event["type"] == "run_start":
        assert client.post("/v1/monitor/runs", json=body).status_code == 201
        return
    action = "steps" if event["type"] == "step" else "finish"
    answer = client.post(f"/v1/monitor/runs/{quote(body.pop('run_id'), safe='')}/{action}", json=body)
    assert answer.status_code == 200, answer.text


def found(client: httpx.Client, run_id: str) -> RunModel | None:
    """What the server has of a run; that it has nothing twice is checked on the way."""
    answer = client.get(f"/v1/monitor/runs/{quote(run_id, safe='')}")
    if answer.status_code == 404:
        return None
    run = answer.json()
    indices = [step["step_index"] for step in run["steps"]]
    assert indices == sorted(set(indices)), f"{run_id} has a step twice"
    assert run["step_count"] == len(indices)
    assert run["total_tokens"] == sum(step["tokens"] for step in run["steps"])
    assert run["status"] == ("running" if run["outcome"] is None else "finished")
    steps = {step["step_index"]: (step["thought"], step["tokens"]) for step in run["steps"]}
    return RunModel(steps, run["outcome"])


def check(client: httpx.Client, reporter: Reporter, run_ids: Iterable[str] | None = None) -> bool:
    """The server has exactly what was acknowledged, and what was pending as a whole or not at all; whether it has."""
    without = told(reporter.acknowledged)
    complete = told([*reporter.acknowledged, *reporter.pending])
    wanted = sorted(complete if run_ids is None else run_ids)
    held = {run_id: found(client, run_id) for run_id in wanted}
    if held == {run_id: complete[run_id] for run_id in wanted}:
        return True
    assert held == {run_id: without.get(run_id) for run_id in wanted}, f"{reporter.name} was told otherwise"
    return False
