"""What reasonblocks asks of whoever answers: a server by HTTP, or the engine in process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..types import ETrace, MonitorEvaluation, NearMiss, StepRecord, Tier

Event = dict[str, Any]
"""A `run_start`, `step`, `run_finish`, `run_interrupt` or `loss` with `type` and `run_id`, in the wire's fields."""


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What the monitors are asked about."""

    run_id: str
    steps: Sequence[StepRecord]
    model: str = ""
    task_profile: str = "coding"
    weights: Mapping[str, float] | None = None
    task: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """What patterns are looked for."""

    tier: Tier
    context: str
    top_k: int
    model: str = ""
    failure_type: str | None = None
    near_misses: int = 0
    """How many of those that are rejected to tell of."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What a lookup brought."""

    traces: list[ETrace]
    near_misses: tuple[NearMiss, ...] = ()
    told: bool = False
    """Whether what was rejected is told at all."""
    not_compared: str | None = None


class Destination(Protocol):
    """Where a stream delivers events: a backend, or a file."""

    @property
    def batches(self) -> bool:
        """Whether events may be sent many at a time."""

    @property
    def linger_seconds(self) -> float:
        """How long a few events wait for company."""

    @property
    def losses(self) -> bool:
        """Whether it wants to know which steps were lost on the way."""

    @property
    def destination(self) -> str | None:
        """What tells it from other places, for events that wait on disk; `None` where they need not."""

    async def discover(self) -> None:
        """Ask, once, what the destination offers beyond the old protocol."""

    async def send(self, event: Event) -> None:
        """Deliver one event; raises `Unavailable` (try again) or `Rejected` (do not)."""

    async def send_batch(self, events: Sequence[bytes]) -> list[tuple[int, str]]:
        """Deliver encoded events in order; what was refused comes back by its index, with the reason."""

    def release(self) -> None:
        """Nobody will ask any more; never waits, a finaliser may call it."""


class Backend(Destination, Protocol):
    """Lookups may raise `Unavailable`; they are bounded by the caller's deadline."""

    def refusal(self) -> str | None:
        """Why a lookup would fail right now, if that is known without asking."""

    async def evaluate(self, trajectory: Trajectory) -> MonitorEvaluation:
        """Ask the monitors about a trajectory."""

    async def retrieve(self, query: Query) -> Retrieved:
        """Look patterns up."""

    def forget_run(self, run_id: str) -> None:
        """A run is over: what is held for its next evaluation may go."""

    @property
    def interrupts(self) -> bool:
        """Whether it wants to know that a run waits for a person."""

    def stats(self) -> dict[str, Any]:
        """How this backend is doing, for `ReasonBlocks.stats()`."""

    def close(self) -> None:
        """Let go of what needs no event loop to be let go; the next use brings it back."""

    async def aclose(self) -> None:
        """As `close`, and of what this backend holds on the current event loop."""
