"""Events posted straight to a stream, many and quickly, and what became of them."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import Any

from reasonblocks import ReasonBlocks
from reasonblocks.api.backend import Event

PATIENCE = 15.0


def run_events(run_id: str, steps: int, size: int = 20, outcome: str = "success") -> list[Event]:
    """Everything a run of so many steps sends."""
    middle = [
        {"type": "step", "run_id": run_id, "step_index": index, "thought": f"{run_id}/{index} " + "x" * size}
        for index in range(steps)
    ]
    return [
        {"type": "run_start", "run_id": run_id},
        *middle,
        {"type": "run_finish", "run_id": run_id, "outcome": outcome},
    ]


def interleaved(runs: dict[str, list[Event]]) -> Iterator[Event]:
    """The events of runs that go on at the same time."""
    for together in itertools.zip_longest(*runs.values()):
        yield from (event for event in together if event is not None)


def timeline(steps: int, outcome: str = "success") -> list[str]:
    """What a server has of such a run."""
    return ["run_start", *(f"step {index}" for index in range(steps)), f"run_finish {outcome}"]


def balanced(stats: dict[str, Any]) -> bool:
    """Whether every event is accounted for exactly once."""
    known: int = stats["sent"] + sum(stats["dropped"].values()) + stats["set_aside"] + stats["waiting"]
    return stats["enqueued"] == known


def until(rb: ReasonBlocks, true: Callable[[dict[str, Any]], object], seconds: float = PATIENCE) -> dict[str, Any]:
    """The stats of a client once they are so; they balance at every look."""
    deadline = time.monotonic() + seconds
    while True:
        stats = rb.stats()
        assert balanced(stats), stats
        if true(stats):
            return stats
        assert time.monotonic() < deadline, f"not so within {seconds} s: {stats}"
        time.sleep(0.01)
