"""What something costs, and how it is measured: in turns, so that a slow moment of the machine is everybody's."""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
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

    def times(self, count: float) -> "Cost":
        """That of so many."""
        return Cost(self.cpu * count, self.wall * count)


@dataclass
class Costs:
    """The same thing measured again and again."""

    taken: list[Cost] = field(default_factory=list)

    def median(self) -> Cost:
        """The middle one, of processor time and of waiting each for itself."""
        return Cost(
            statistics.median(cost.cpu for cost in self.taken), statistics.median(cost.wall for cost in self.taken)
        )

    def by_round(self, rounds: int) -> "Costs":
        """The mean of each round, where all have as many."""
        size = len(self.taken) // rounds
        return Costs([_mean(self.taken[start : start + size]) for start in range(0, size * rounds, size)])

    def plus(self, other: "Costs", count: float = 1) -> "Costs":
        """Round by round this, and so many of the other."""
        return Costs([one + another.times(count) for one, another in zip(self.taken, other.taken, strict=True)])

    @contextmanager
    def here(self, count: int) -> Iterator[None]:
        """Measure what this process does inside, for one of `count`."""
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        self.taken.append(Cost(time.process_time() - cpu, time.perf_counter() - wall).times(1 / count))


def _mean(costs: Sequence[Cost]) -> Cost:
    return Cost(statistics.mean(cost.cpu for cost in costs), statistics.mean(cost.wall for cost in costs))


@dataclass
class Asked:
    """A server that is asked the same as another."""

    server: Server
    costs: Costs = field(default_factory=Costs)
    client: list[float] = field(default_factory=list)
    """Processor time of our own for a request."""

    def ask(self, requests: Sequence[bytes], beside: "Beside | None" = None) -> list[bytes]:
        """Make requests one after another and take down what one of them costs; the answers."""
        exchange = self.server.connection.exchange
        walls: list[float] = []
        answers: list[tuple[int, bytes]] = []
        own = 0.0
        cpu = self.server.cpu()
        for place, request in enumerate(requests):
            started, before = time.perf_counter(), time.process_time()
            answers.append(exchange(request))
            walls.append(time.perf_counter() - started)
            own += time.process_time() - before
            if beside is not None:
                beside.do(place)
        self.costs.taken.append(Cost((self.server.cpu() - cpu) / len(requests), statistics.median(walls)))
        self.client.append(own / len(requests))
        if beside is not None:
            beside.conclude()
        return list(bodies(answers))


@dataclass
class Beside:
    """A part beneath, called once after each request: as in a server, something else has just been done."""

    call: Callable[[int], object]
    """Of the place among the requests."""
    costs: Costs
    """Of one call."""
    _now: Costs = field(default_factory=Costs)

    def do(self, place: int) -> None:
        """Call it."""
        with self._now.here(1):
            self.call(place)

    def conclude(self) -> None:
        """Take down what one call cost, as for the requests: all of the processor time, and the usual wait."""
        cpu = statistics.mean(cost.cpu for cost in self._now.taken)
        self.costs.taken.append(Cost(cpu, self._now.median().wall))


@dataclass
class Pair:
    """The bare routes and ours, asked in turns."""

    bare: Asked
    ours: Asked

    @classmethod
    def of(cls, bare: Server, ours: Server) -> "Pair":
        """Nothing asked yet."""
        return cls(Asked(bare), Asked(ours))

    def turns(self) -> tuple[Asked, ...]:
        """The order of one round: what follows on what is the same for both."""
        return (self.bare, self.ours, self.ours, self.bare)


@dataclass(frozen=True)
class Line:
    """One comparison, round by round."""

    part: str
    raw: Costs
    ours: Costs
    bar: float | None = None
    """How many times the raw parts ours may cost; none where it is only told."""

    @property
    def cpu_ratio(self) -> float:
        """The median of the rounds' ratios, by processor time."""
        return statistics.median(ours.cpu / raw.cpu for raw, ours in zip(self.raw.taken, self.ours.taken, strict=True))

    @property
    def wall_ratio(self) -> float:
        """The same by the time a client waits."""
        return statistics.median(
            ours.wall / raw.wall for raw, ours in zip(self.raw.taken, self.ours.taken, strict=True)
        )


def bodies(answers: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """What was answered, where all went well; nothing else is worth measuring."""
    for status, body in answers:
        if status != 200:
            raise SystemExit(f"a server answered {status}: {body[:500].decode(errors='replace')}")
        yield body
