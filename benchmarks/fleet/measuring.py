"""What a step costs a server and its database, and what each kind of request costs by itself."""

import asyncio
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import asyncpg
import psutil
from fleet.agents import Steps, play_all
from fleet.relay import Relay
from serving.bare import EVALUATE, EVENTS, RETRIEVE
from serving.connection import Connection, request
from serving.database import cpu_of_all
from serving.processes import Server
from sqlalchemy import make_url

from reasonblocks import ReasonBlocks

TABLES = ("runs", "steps", "evaluations")
KINDS = {EVALUATE: "evaluate", RETRIEVE: "retrieve", EVENTS: "events"}
_WARM_UP = 10
_EMBEDDING = 0.008
"""A lookup that takes so much longer than the least was embedded."""


@dataclass
class Measured:
    """For one step, unless it says otherwise."""

    steps: int
    """How many were taken for it."""
    server_cpu: float
    """Seconds, of all processes of the server."""
    database_cpu: float
    stored: float
    """Bytes of tables and their indexes."""
    indexes: float
    """Bytes of those that are indexes."""
    wal: float
    """Bytes of the write-ahead log, full pages and all."""
    full_pages: float
    """Bytes of it that are full pages, at most."""
    commits: float
    up: float
    """Bytes to the server, with HTTP's own."""
    down: float
    requests: dict[str, float]
    """How many of each kind."""
    refused: int
    """Requests for which there was too much to do: with those, the figures are too small."""
    idle_server: float
    """Share of a core of a server that is asked nothing."""
    idle_database: float
    memory: float
    """Megabytes of a worker, resident."""
    lookups: list[bytes] = field(repr=False)
    """The requests that agents made for guidance."""
    service: dict[str, list[float]] = field(default_factory=dict)
    """Seconds of processor time of single requests, by kind."""

    def explained(self) -> float:
        """Of the server's time for a step, the share that the single requests come to."""
        return Station(self.requests, self.service).seconds / self.server_cpu

    def stations(self) -> dict[str, "Station"]:
        """Where requests wait in a worker: all of them for its event loop, lookups that are embedded for a thread.

        All take as much longer, or less long, as agents' steps took than the single requests.
        """
        stretch = 1 / self.explained()
        service = {kind: [each * stretch for each in taken] for kind, taken in self.service.items()}
        bare = min(service["retrieve"])  # of a lookup that is not embedded
        embedded = [taken - bare for taken in service["retrieve"] if taken > bare + _EMBEDDING]
        share = len(embedded) / len(service["retrieve"])
        found = {"loop": Station(self.requests, {**service, "retrieve": [bare]})}
        if embedded:
            found["embedder"] = Station({"embed": self.requests["retrieve"] * share}, {"embed": embedded})
        return found


@dataclass(frozen=True)
class Station:
    """One that does one thing after another."""

    mix: dict[str, float]
    """How many of each kind come for a step."""
    service: dict[str, list[float]]
    """How long they take."""

    @property
    def visits(self) -> float:
        """For a step."""
        return sum(self.mix.values())

    @property
    def seconds(self) -> float:
        """For a step."""
        return sum(count * statistics.mean(self.service[kind]) for kind, count in self.mix.items())


@dataclass(frozen=True)
class Books:
    """What the database says about itself."""

    sizes: dict[str, tuple[int, int]]
    """Bytes of each table with its indexes, and of those alone."""
    wal: int
    full_pages: int
    commits: int

    @classmethod
    def now(cls, url: str) -> "Books":
        """As it is."""
        return asyncio.run(cls._read(url))

    @classmethod
    async def _read(cls, url: str) -> "Books":
        connection = await asyncpg.connect(make_url(url).set(drivername="postgresql").render_as_string(False))
        try:
            await connection.execute("CHECKPOINT")
            await asyncio.sleep(1.5)  # until everybody has told what they counted
            sizes = {
                table: tuple(
                    await connection.fetchrow(f"SELECT pg_total_relation_size('{table}'), pg_indexes_size('{table}')")
                )
                for table in TABLES
            }
            log = await connection.fetchrow("SELECT wal_bytes::bigint, wal_fpi FROM pg_stat_wal")
            commits = await connection.fetchval(
                "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
            )
            return cls(sizes, int(log[0]), int(log[1]) * 8_192, int(commits))
        finally:
            await connection.close()


def measure_steps(
    server: Server,
    database_url: str,
    database: Sequence[psutil.Process],
    runs: Iterator[Steps],
    *,
    agents: int,
    rounds: int,
    pause: float,
) -> Measured:
    """Have agents run, and look at what that did to the server, the wire and the database."""
    with Relay(server.port, RETRIEVE) as relay:
        clients = [ReasonBlocks(server.key, base_url=f"http://127.0.0.1:{relay.port}") for _ in range(agents)]
        short = (steps[:_WARM_UP] for steps in runs)
        asyncio.run(play_all(short, clients, 1, pause))  # for caches and connections
        server.settled()
        idle_server, idle_database = _idle(server, database)
        before = Books.now(database_url)
        relay.kept.clear()
        up, down, refused, asked = relay.up, relay.down, relay.refused, relay.requests.copy()
        cpu, database_cpu, began = server.cpu(), cpu_of_all(database), time.perf_counter()
        steps = asyncio.run(play_all(runs, clients, rounds, pause))
        server.settled()
        took = time.perf_counter() - began
        cpu, database_cpu = server.cpu() - cpu, cpu_of_all(database) - database_cpu
        asked, up, down, refused = relay.requests - asked, relay.up - up, relay.down - down, relay.refused - refused
        after = Books.now(database_url)
    grown = [(after.sizes[table][0] - before.sizes[table][0]) / steps for table in TABLES]
    indexes = sum(after.sizes[table][1] - before.sizes[table][1] for table in TABLES) / steps
    return Measured(
        steps=steps,
        server_cpu=max(0.0, cpu - took * idle_server) / steps,
        database_cpu=max(0.0, database_cpu - took * idle_database) / steps,
        stored=sum(grown),
        indexes=indexes,
        wal=(after.wal - before.wal) / steps,
        full_pages=(after.full_pages - before.full_pages) / steps,
        commits=(after.commits - before.commits) / steps,
        up=up / steps,
        down=down / steps,
        requests={kind: asked[path] / steps for path, kind in KINDS.items()},
        refused=refused,
        idle_server=idle_server,
        idle_database=idle_database,
        memory=server.memory()[0],
        lookups=relay.kept,
    )


def _idle(server: Server, database: Sequence[psutil.Process], seconds: float = 5.0) -> tuple[float, float]:
    before, database_before, began = server.cpu(), cpu_of_all(database), time.perf_counter()
    time.sleep(seconds)
    took = time.perf_counter() - began
    return (server.cpu() - before) / took, (cpu_of_all(database) - database_before) / took


# -- one request at a time ---------------------------------------------------------------------------


def measure_requests(
    server: Server, runs: Iterator[Steps], lookups: Sequence[bytes], count: int
) -> dict[str, list[float]]:
    """The processor time of single requests of each kind, with all that they cause, on a server that is new to them."""
    taken: dict[str, list[float]] = {"evaluate": [], "retrieve": [], "events": []}
    with Connection(server.port) as connection:
        for number, steps in enumerate(runs):
            if len(taken["events"]) >= count:
                break
            asked = _story(f"one-{number}", steps, server.key)
            for kind, each in asked:
                taken[kind].append(_taken(server, connection, each))
        for each in random.Random(1).sample(lookups, min(count + _WARM_UP, len(lookups))):
            taken["retrieve"].append(_taken(server, connection, each))
    return {kind: each[_WARM_UP:] for kind, each in taken.items()}


def _story(run_id: str, steps: Steps, key: str) -> Iterator[tuple[str, bytes]]:
    """A run as a client tells it: each step is evaluated and then reported, so that it is not scored again."""
    start = {"type": "run_start", "run_id": run_id, "agent_name": "bench"}
    yield "events", request(EVENTS, {"events": [start]}, key)
    for index, step in enumerate(steps):
        asked = {"run_id": run_id, "offset": index, "steps": [step], "model": "player"}
        yield "evaluate", request(EVALUATE, asked, key)
        told = {name: value for name, value in step.items() if name != "observation_is_error"}
        told |= {"is_error": step["observation_is_error"], "tokens": 3_200, "step_index": index}
        yield "events", request(EVENTS, {"events": [{"type": "step", "run_id": run_id, **told}]}, key)


def _taken(server: Server, connection: Connection, asked: bytes) -> float:
    before = server.cpu()
    status, answer = connection.exchange(asked)
    if status != 200:
        raise SystemExit(f"a request was refused with {status}: {answer[:300].decode()}")
    time.sleep(0.01)  # what goes on after the answer belongs to it
    return server.cpu() - before
