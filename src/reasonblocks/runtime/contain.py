"""The one place that swallows errors, and never without a record."""

import logging
import threading
from types import TracebackType
from typing import Self

from ..secret import mask

logger = logging.getLogger("reasonblocks")


class Incidents:
    """Counts of everything that was swallowed, by cause; each cause is logged once."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.counts: dict[str, int] = {}

    def note(self, where: str, error: BaseException) -> str:
        """Record one swallowed error and return the sentence that describes it."""
        sentence = f"{where}: {describe(error)}"
        cause = f"{where}: {type(error).__name__} {getattr(error, 'status', '')}".rstrip()
        with self._lock:
            seen = self.counts.get(cause, 0)
            self.counts[cause] = seen + 1
        if not seen:
            logger.warning(
                "reasonblocks: %s (the agent goes on without it; further ones of this cause are counted, not logged)",
                sentence,
                exc_info=error if logger.isEnabledFor(logging.DEBUG) else None,
            )
        return sentence


incidents = Incidents()
"""Those of this process."""


def describe(error: BaseException) -> str:
    """An error in one line without secrets; a group of one is the one."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    text = mask(str(error)).strip().replace("\n", " ")
    name = type(error).__name__
    return f"{name}: {text[:300]}" if text else name


class contain:
    """Keep an error of ours away from the agent: `with contain("scoring", errors): ...`.

    Only `Exception` is contained; cancellation and interpreter exits pass.
    """

    __slots__ = ("_errors", "_where")

    def __init__(self, where: str, errors: list[str] | None = None) -> None:
        self._where = where
        self._errors = errors

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if error is None or not isinstance(error, Exception):
            return False
        sentence = incidents.note(self._where, error)
        if self._errors is not None:
            self._errors.append(sentence)
        return True
