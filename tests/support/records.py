"""What the stand-in saw and holds, readable from any thread."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import Any

from support.answers import JSON


@dataclass(slots=True)
class Request:
    """One request as it arrived."""

    method: str
    path: str
    """As sent, with its prefix and percent-encoding."""
    route: str
    """The path in the contract, as in `/monitor/runs/{run_id}/steps`; for an unknown one the path sent."""
    body: JSON
    """The JSON object that was sent, empty if it was none."""
    headers: dict[str, str]
    """By lower-case name."""
    at: float
    """`time.monotonic()` of its arrival."""
    run_id: str | None = None
    """The decoded run id of the path."""
    size: int = 0
    """Bytes of the body."""
    status: int | None = None
    """What was answered; None while unanswered, and for good if the connection broke first."""


@dataclass(slots=True)
class Run:
    """What rb-api holds of one run."""

    run_id: str
    start: JSON | None = None
    starts: int = 0
    steps: dict[int, JSON] = field(default_factory=dict)
    """By index, the first one sent for each, in the order of arrival."""
    step_order: list[int] = field(default_factory=list)
    """Every index that arrived, repetitions included."""
    finishes: list[str] = field(default_factory=list)
    lost_steps: int = 0
    """The largest number that was reported."""
    timeline: list[str] = field(default_factory=list)
    """Everything that arrived, as in `["run_start", "step 0", "run_finish success"]`."""

    @property
    def outcome(self) -> str | None:
        """The last outcome sent."""
        return self.finishes[-1] if self.finishes else None

    def copy(self) -> Run:
        """Give a snapshot that no longer changes."""
        return replace(
            self,
            steps=dict(self.steps),
            step_order=list(self.step_order),
            finishes=list(self.finishes),
            timeline=list(self.timeline),
        )

    def apply(self, kind: str, body: JSON) -> None:
        """Take one event."""
        if kind == "run_start":
            self.start = body if self.start is None else self.start
            self.starts += 1
            self.timeline.append(kind)
        elif kind == "step":
            index = body["step_index"]
            self.steps.setdefault(index, body)
            self.step_order.append(index)
            self.timeline.append(f"step {index}")
        elif kind == "loss":
            self.lost_steps = max(self.lost_steps, body["steps"])
        else:
            self.finishes.append(body["outcome"])
            self.timeline.append(f"run_finish {body['outcome']}")

    def wire(self) -> JSON:
        """Give the run as the routes answer it."""
        return {
            "org_id": "default",
            "project_id": "default",
            **(self.start or {}),
            "run_id": self.run_id,
            "status": "finished" if self.finishes else "running",
            "outcome": self.outcome,
            "step_count": len(self.steps),
        }


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation that was answered by the monitors."""

    steps: list[JSON]
    """The whole trace, also when only its end was sent."""
    body: JSON
    answer: Any


class Book:
    """The records, guarded by one condition that is notified of every change."""

    def __init__(self) -> None:
        self.changed = threading.Condition(threading.RLock())
        self.requests: list[Request] = []
        self.runs: dict[str, Run] = {}
        self.traces: dict[str, list[JSON]] = {}
        """By run id, the steps held for incremental evaluation."""
        self.evaluations: list[Evaluation] = []
        self.violations: list[str] = []
        self.unknown_fields: set[tuple[str, str]] = set()

    def note(self, request: Request) -> None:
        """Keep a request."""
        with self.changed:
            self.requests.append(request)
            self.changed.notify_all()

    def answered(self, request: Request, status: int) -> None:
        """Keep the status a request was answered with."""
        with self.changed:
            request.status = status
            self.changed.notify_all()

    def violate(self, what: str, request: Request | None = None) -> None:
        """Keep one breach of the contract."""
        with self.changed:
            self.violations.append(f"{request.method} {request.path}: {what}" if request else what)
            self.changed.notify_all()

    def apply(self, kind: str, run_id: str, body: JSON) -> JSON:
        """Take one event and give the run as it is then."""
        with self.changed:
            run = self.runs.setdefault(run_id, Run(run_id))
            run.apply(kind, body)
            self.changed.notify_all()
            return run.wire()

    def forget(self) -> None:
        """Start over."""
        with self.changed:
            self.requests.clear()
            self.runs.clear()
            self.traces.clear()
            self.evaluations.clear()
            self.violations.clear()
            self.unknown_fields.clear()
            self.changed.notify_all()
