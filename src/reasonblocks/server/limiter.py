"""Token buckets: so many requests a second for ever, and a burst of so many at once."""

import ipaddress
import time
from collections.abc import Callable
from functools import lru_cache

MOST_BUCKETS = 100_000


class Bucket:
    """What one caller has left."""

    __slots__ = ("at", "tokens")

    def __init__(self, tokens: float, at: float) -> None:
        self.tokens = tokens
        self.at = at


class Limiter:
    """The buckets of all callers of one kind; a caller that is not known yet has a full one."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}

    def wait(self, caller: str) -> float:
        """The seconds until there will be a token; takes none."""
        bucket = self._buckets.get(caller)
        if bucket is None:
            return 0.0
        tokens = bucket.tokens + (self._clock() - bucket.at) * self._rate
        return max(0.0, (1.0 - min(self._burst, tokens)) / self._rate)

    def take(self, caller: str) -> float:
        """Take one token: 0, or the seconds until there will be one."""
        now = self._clock()
        bucket = self._buckets.get(caller)
        if bucket is None:
            if len(self._buckets) >= MOST_BUCKETS:
                self._sweep(now)
            bucket = self._buckets[caller] = Bucket(self._burst, now)
        else:
            bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * self._rate)
            bucket.at = now
        if bucket.tokens >= 1.0:
            bucket.tokens -= 1.0
            return 0.0
        return (1.0 - bucket.tokens) / self._rate

    def _sweep(self, now: float) -> None:
        """Forget the buckets that are full again, for a new one would be the same; at worst the older half."""
        full = self._burst / self._rate
        kept = {caller: bucket for caller, bucket in self._buckets.items() if now - bucket.at < full}
        if len(kept) >= MOST_BUCKETS:
            kept = dict(list(kept.items())[len(kept) // 2 :])
        self._buckets = kept


@lru_cache(4_096)
def neighbourhood(address: str) -> str:
    """What counts as one caller without a key: an address, or for IPv6 the network a single customer is given."""
    if ":" not in address:
        return address
    try:
        return str(ipaddress.ip_network(f"{address.partition('%')[0]}/64", strict=False))
    except ValueError:
        return address
