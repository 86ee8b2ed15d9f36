"""What something costs, and how it is measured: in turns, so that a slow moment of the machine is everybody's."""

import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from serving.processes import Server


@dataclass(frozen=True)
class Cost:
    """Seconds of processor time and of waiting, for one request or whatever else is counted."""

    cpu: float
    wall: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.cpu + other.cpu, self.wall + other.wall)

    def over(self, count: int) -> "Cost":
        """The share of one among so many."""
        return Cost(self.cpu / count, self.wall / count)


@dataclass
class Costs:
    """The same thing measured again and again."""

    taken: list[Cost] = field(default_factory=list)

    def median(self) -> Cost:
        """The middle one, of processor time and of waiting each for itself."""
        return Cost(
            statistics.median(cost.cpu for cost in self.taken), statistics.median(cost.wall for cost in self.taken)
        )

    def spread(self) -> float:
        """How far the middle half of the processor times reaches, as a share of the median."""
        if len(self.taken) < 2:
            return 0.0
        low, middle, high = statistics.quantiles((cost.cpu for cost in self.taken), n=4)
        return (high - low) / middle

    @contextmanager
    def here(self, count: int) -> Iterator[None]:
        """Measure what this process does inside, for one of `count`."""
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        self.taken.append(Cost(time.process_time() - cpu, time.perf_counter() - wall).over(count))


@dataclass
class Asked:
    """A server that is asked the same as another."""

    server: Server
    costs: Costs = field(default_factory=Costs)
    client: list[float] = field(default_factory=list)
    """Processor time of our own for a request."""

    def ask(self, requests: Sequence[bytes]) -> list[bytes]:
        """Make requests one after another and take down what one of them costs; the answers."""
        exchange = self.server.connection.exchange
        walls: list[float] = []
        answers: list[tuple[int, bytes]] = []
        own, cpu = time.process_time(), self.server.cpu()
        for request in requests:
            started = time.perf_counter()
            answers.append(exchange(request))
            walls.append(time.perf_counter() - started)
        self.costs.taken.append(Cost((self.server.cpu() - cpu) / len(requests), statistics.median(walls)))
        self.client.append((time.process_time() - own) / len(requests))
        return list(bodies(answers))


def bodies(answers: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """What was answered, where all went well; nothing else is worth measuring."""
    for status, body in answers:
        if status != 200:
            raise SystemExit(f"a server answered {status}: {body[:500].decode(errors='replace')}")
        yield body


def microseconds(seconds: float) -> str:
    """A time as the tables show it."""
    return f"{seconds * 1e6:,.0f}"
