"""From what a step costs to what a fleet needs, and which limit it meets first: arithmetic, with what is assumed."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet.measuring import Measured

MB, GB = 1e6, 1e9
DAY = 86_400.0


@dataclass(frozen=True)
class Assumptions:
    """What nobody can measure here; each is an option of `sizing.py`."""

    steps_per_minute: float = 6.0
    """Of an agent that is at work: a call of a model and its tools take ten seconds."""
    busy: float = 0.6
    """How much of a processor is planned with."""
    database_cores: int = 16
    """Of the one machine that writes."""
    log_mb: float = 200.0
    """Megabytes a second that its disk can take of the write-ahead log."""
    disk_gb: float = 2_000.0
    keep_days: float = 30.0
    network_mbit: float = 10_000.0
    """Of what is in front of the servers."""
    max_connections: int = 500
    """Of PostgreSQL."""
    pool: int = 11
    """Connections of a worker: POOL_SIZE + POOL_OVERFLOW + 1."""
    streams: int = 4_000
    """Connections of clients that a worker takes: MAX_CONNECTIONS."""
    key_rate: float = 2_000.0
    """Requests a second of one key at one worker: RATE."""


@dataclass(frozen=True)
class Limit:
    """What ends first as a fleet grows."""

    name: str
    agents: float
    """With so many at work it is reached."""
    remedy: str
    of_each: bool = False
    """Whether it is one worker's, and more of them have more."""


@dataclass(frozen=True)
class Need:
    """What a fleet needs."""

    agents: int
    steps: float
    """A second."""
    requests: float
    """A second."""
    workers: int
    database_cores: float
    log_mb: float
    """A second."""
    gb_per_day: float
    up_mbit: float
    down_mbit: float
    connections: int


def need(measured: "Measured", agents: int, assumed: Assumptions) -> Need:
    """For so many agents at work at once."""
    steps = agents * assumed.steps_per_minute / 60
    workers = max(1, math.ceil(steps * measured.server_cpu / assumed.busy), math.ceil(agents / assumed.streams))
    return Need(
        agents=agents,
        steps=steps,
        requests=steps * sum(measured.requests.values()),
        workers=workers,
        database_cores=steps * measured.database_cpu + workers * measured.idle_database,
        log_mb=steps * measured.wal / MB,
        gb_per_day=steps * measured.stored * DAY / GB,
        up_mbit=steps * measured.up * 8 / MB,
        down_mbit=steps * measured.down * 8 / MB,
        connections=workers * assumed.pool,
    )


def limits(measured: "Measured", assumed: Assumptions) -> Iterator[Limit]:
    """Everything that ends somewhere, by the number of agents at which it does."""
    each = assumed.steps_per_minute / 60  # steps a second of an agent
    per_worker = assumed.busy / (each * measured.server_cpu)
    asked = each * sum(measured.requests.values())
    yield Limit("one worker's processor", per_worker, "more workers, on any machine", of_each=True)
    yield Limit(
        "requests of one key at one worker", assumed.key_rate / asked, "RATE, another key, more workers", of_each=True
    )
    yield Limit("connections of agents to one worker", assumed.streams, "MAX_CONNECTIONS, more workers", of_each=True)
    yield Limit(
        f"{assumed.max_connections} connections to PostgreSQL",
        assumed.max_connections / assumed.pool * per_worker,
        "a smaller POOL_OVERFLOW, a pooler in session mode",
    )
    yield Limit(
        f"{assumed.database_cores} cores of PostgreSQL",
        assumed.database_cores * assumed.busy / (each * measured.database_cpu),
        "a larger machine, then organisations on databases of their own",
    )
    yield Limit(f"{assumed.log_mb:g} MB/s of its log", assumed.log_mb * MB / (each * measured.wal), "a faster disk")
    yield Limit(
        f"{assumed.disk_gb:g} GB for {assumed.keep_days:g} days",
        assumed.disk_gb * GB / (each * measured.stored * DAY * assumed.keep_days),
        "a larger disk, a smaller KEEP_DAYS",
    )
    yield Limit(
        f"{assumed.network_mbit:g} Mbit/s in front",
        assumed.network_mbit * MB / (each * max(measured.up, measured.down) * 8),
        "more balancers",
    )
