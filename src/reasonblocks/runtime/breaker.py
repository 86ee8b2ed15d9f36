"""The circuit breaker of a backend: a pure state machine over time stamps."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """When the breaker opens, and how long it stays open."""

    threshold: int = 3
    """Operations that failed in a row, each after its retries, before it opens."""
    cool_down: float = 1.0
    """Seconds until the first probe; doubled after each probe that fails."""
    longest_cool_down: float = 30.0


class Breaker:
    """Says whether an operation may be tried; while open, one probe at a time after a cool-down."""

    def __init__(self, policy: BreakerPolicy | None = None) -> None:
        self.policy = policy or BreakerPolicy()
        self._failures = 0
        self._open_until: float | None = None
        self._cool_down = self.policy.cool_down
        self._probing = False

    @property
    def is_open(self) -> bool:
        """Whether operations are refused, but for a probe."""
        return self._open_until is not None

    def refusal(self, now: float) -> str | None:
        """Why an operation may not be tried now, or `None` if it may."""
        if self._open_until is None:
            return None
        if now < self._open_until or self._probing:
            return f"breaker open after {self._failures} failures in a row"
        return None

    def begin(self) -> None:
        """An operation that was not refused starts."""
        if self._open_until is not None:
            self._probing = True

    def succeeded(self) -> None:
        """The operation got its answer."""
        self._failures = 0
        self._open_until = None
        self._cool_down = self.policy.cool_down
        self._probing = False

    def failed(self, now: float) -> None:
        """The operation failed after its retries, or ran out of time."""
        self._failures += 1
        if self._open_until is not None and not self._probing:
            return  # it began before the breaker opened and tells nothing new
        if self._probing:
            self._cool_down = min(self._cool_down * 2, self.policy.longest_cool_down)
        if self._probing or self._failures >= self.policy.threshold:
            self._open_until = now + self._cool_down
        self._probing = False

    def abandoned(self) -> None:
        """The operation was cancelled by its caller, which says nothing about the backend."""
        self._probing = False
