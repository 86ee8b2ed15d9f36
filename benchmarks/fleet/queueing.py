"""How long requests wait: they come by chance, and each takes as long as one that was measured."""

import heapq
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Waiting:
    """Seconds until a worker takes up a request, of those that were simulated."""

    busy: float
    """The share of the workers' time that was used."""
    median: float
    p99: float


def simulate(
    rate: float,
    mix: Mapping[str, float],
    service: Mapping[str, Sequence[float]],
    workers: int,
    *,
    requests: int,
    seed: int,
) -> Waiting:
    """Requests at so many a second, of these kinds in these proportions, for workers who take the oldest first."""
    chance = random.Random(seed)
    kinds, weights = list(mix), list(mix.values())
    free = [0.0] * workers
    now = used = 0.0
    waits = []
    for kind in chance.choices(kinds, weights, k=requests):
        now += chance.expovariate(rate)
        taken = chance.choice(service[kind])
        begins = max(now, heapq.heappop(free))
        heapq.heappush(free, begins + taken)
        waits.append(begins - now)
        used += taken
    settled = sorted(waits[requests // 10 :])  # at first nobody waits
    return Waiting(
        used / (max(free) * workers),
        settled[len(settled) // 2],
        settled[min(len(settled) - 1, int(len(settled) * 0.99))],
    )
