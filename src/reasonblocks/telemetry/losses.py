"""What was lost of which run, until the server has been told."""

import threading
from collections import OrderedDict

from ..api.backend import Event

MOST_RUNS = 10_000


class Losses:
    """Steps that are known to be lost, by run.

    A report names all that were lost of a run so far, so that one which arrives twice changes nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._totals: OrderedDict[str, int] = OrderedDict()
        self._unreported: OrderedDict[str, str] = OrderedDict()
        """By run the cause that was seen last."""
        self._ripe: OrderedDict[str, str] = OrderedDict()
        """The same, for the next report. What was lost this instant may be of a run whose start is still waiting."""

    def add(self, run_id: str, steps: int, cause: str) -> None:
        """So many steps of a run are lost, and its server is to know."""
        with self._lock:
            self._count(run_id, steps)
            self._unreported[run_id] = cause

    def report(self, run_id: str, steps: int, cause: str) -> Event:
        """As `add`, with the report for somebody else to deliver."""
        with self._lock:
            return _loss(run_id, self._count(run_id, steps), cause)

    @property
    def due(self) -> bool:
        """Whether there is anything to report, if not at once."""
        return bool(self._ripe or self._unreported)

    def unreported(self) -> list[Event]:
        """The reports that are due; from now on they are the caller's."""
        if not self.due:
            return []
        with self._lock:
            due, self._ripe, self._unreported = self._ripe, self._unreported, OrderedDict()
            return [_loss(run_id, self._totals.get(run_id, 1), cause) for run_id, cause in due.items()]

    def _count(self, run_id: str, steps: int) -> int:
        total = self._totals[run_id] = self._totals.get(run_id, 0) + steps
        self._totals.move_to_end(run_id)
        if len(self._totals) > MOST_RUNS:
            forgotten, _ = self._totals.popitem(last=False)
            self._unreported.pop(forgotten, None)
        return total

    def forget(self) -> None:
        """In a forked child: the parent reports its own."""
        self.__init__()  # type: ignore[misc]  # the lock included: it may have been held


def _loss(run_id: str, steps: int, cause: str) -> Event:
    return {"type": "loss", "run_id": run_id, "steps": steps, "cause": cause}
