"""The rest between attempts on a backend that fails."""

import asyncio
import time

FIRST_RETRY, LONGEST_RETRY = 0.1, 2.0
LONGEST_RETRY_AFTER = 4.0
"""A server may ask for more patience than this. But it may be back sooner than it thought, and one small
request every few seconds is no burden."""


class Pause:
    """Shared by all who deliver, doubled while the failing lasts."""

    def __init__(self) -> None:
        self._until = 0.0
        self._asked_until = 0.0
        self._delay = FIRST_RETRY
        self.failing_since: float | None = None
        """When the first attempt began of those that have failed since the last success."""

    def extend(self, began: float, at_least: float | None) -> None:
        """An attempt failed; of those that failed together only the first one counts, and the longest that is asked."""
        now = time.monotonic()
        if self.failing_since is None:
            self.failing_since = began
        if now >= self._until:
            self._until = now + self._delay
            self._delay = min(self._delay * 2, LONGEST_RETRY)
        if at_least:
            self._asked_until = max(self._asked_until, now + min(at_least, LONGEST_RETRY_AFTER))

    def end(self) -> None:
        """An attempt succeeded."""
        self._until = self._asked_until = 0.0
        self._delay = FIRST_RETRY
        self.failing_since = None

    def shorten(self) -> None:
        """Somebody waits for the next attempt; what the server asked for still counts."""
        self._until = 0.0
        self._delay = FIRST_RETRY

    def remaining(self) -> float:
        """Seconds until the next attempt may be made."""
        return max(self._until, self._asked_until) - time.monotonic()

    async def wait(self) -> None:
        """Rest, if it is time to."""
        while (remaining := self.remaining()) > 0:  # noqa: ASYNC110  it may change
            await asyncio.sleep(min(remaining, FIRST_RETRY))
