#!/usr/bin/env python3
"""What more workers bring, and what PostgreSQL costs over SQLite, in one run on one machine.

    python benchmarks/workers.py                              a cluster of its own, from the system's packages
    python benchmarks/workers.py --database-url URL           an empty database of yours
    python benchmarks/workers.py --quick                      a first impression

The same work is given to one server on SQLite and to servers with 1, 2 and 4 workers on PostgreSQL, by so many clients
at once, each with a kept connection.

evaluate    one new step a call, runs of 50 steps; the database has nothing to do with it.
ingest      batches of 100 steps of ten runs, each answered once it is committed; the scoring that follows goes on
            beside it and takes the same processors.

Throughput is told as a ratio to one worker on PostgreSQL: it depends on the machine, on the clients, who run on it as
well, and on whatever else does. Processor time of a request, of all processes of the server and of the database,
depends on less. With as many workers as there are processors the clients and the database want some of them, too.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import psutil
from serving import report
from serving.bare import EVALUATE, EVENTS
from serving.connection import Connection, request
from serving.database import cpu_of, cpu_of_all, databases
from serving.material import Material
from serving.processes import Server, ours, shared

CLIENTS = 8
KEY = "benchmark-of-workers-key"
RUNS, BATCH = 10, 100
Work = Callable[[Connection, Material, str], Iterator[int]]
"""Asks for one thing after another; how many steps each was about."""


def ingest(connection: Connection, material: Material, key: str) -> Iterator[int]:
    """Batches of 100 steps, for runs of 50. The texts are made once: the clients' share of the processors is small."""
    told = material.step_events([str(place) for place in range(RUNS)])
    while True:
        run_ids = [material.run_id() for _ in range(RUNS)]
        events = [event | {"run_id": run_ids[int(event["run_id"])]} for event in told]
        _accepted(connection.exchange(request(EVENTS, {"events": material.run_starts(run_ids)}, key)))
        for start in range(0, len(events), BATCH):
            _accepted(connection.exchange(request(EVENTS, {"events": events[start : start + BATCH]}, key)))
            yield BATCH


def evaluate(connection: Connection, material: Material, key: str) -> Iterator[int]:
    """One new step a call."""
    steps = material.steps()
    while True:
        run_id = material.run_id()
        for offset, step in enumerate(steps):
            body = {"run_id": run_id, "offset": offset, "steps": [step], "model": "scripted"}
            _accepted(connection.exchange(request(EVALUATE, body, key)))
            yield 1


def _accepted(answer: tuple[int, bytes]) -> None:
    if answer[0] != 200:
        raise SystemExit(f"a request was refused with {answer[0]}: {answer[1][:300].decode()}")


@dataclass
class Result:
    """What a server did with some work."""

    setup: str
    steps_per_second: float
    server_cpu: float
    """Seconds for a thousand steps."""
    database_cpu: float
    busiest: float
    """The share of the work that the worker with most of it had."""


def measure(setup: str, server: Server, work: Work, seconds: float, database: Sequence[psutil.Process]) -> Result:
    """Have clients ask for some time, after a moment that does not count."""
    counted = [0] * CLIENTS
    failures: list[BaseException] = []
    going, stop = threading.Event(), threading.Event()

    def client(place: int) -> None:
        try:
            material = Material(crc32(f"{setup} {place}".encode()))  # first: a server waits for nobody for long
            with Connection(server.port) as connection:
                for steps in work(connection, material, server.key):
                    if going.is_set():
                        counted[place] += steps
                    if stop.is_set():
                        return
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=client, args=(place,)) for place in range(CLIENTS)]
    for thread in threads:
        thread.start()
    time.sleep(seconds / 4)
    workers, before, database_before, started = (
        _workers(server),
        _cpu_each(server),
        cpu_of_all(database),
        time.perf_counter(),
    )
    going.set()
    time.sleep(seconds)
    stop.set()
    took, steps = time.perf_counter() - started, sum(counted)
    used = [after - earlier for after, earlier in zip(map(cpu_of, workers), before, strict=True)]
    spent = cpu_of_all(database) - database_before
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    thousand = max(steps, 1) / 1_000
    return Result(setup, steps / took, sum(used) / thousand, spent / thousand, max(used) / max(sum(used), 1e-9))


def _workers(server: Server) -> list[psutil.Process]:
    itself = psutil.Process(server.process.pid)
    return itself.children() or [itself]


def _cpu_each(server: Server) -> list[float]:
    return [cpu_of(process) for process in _workers(server)]


def run(seconds: float, database_url: str | None) -> None:
    """Measure everything and print it."""
    print(report.machine())
    works: dict[str, Work] = {"evaluate": evaluate, "ingest": ingest}  # which leaves scoring behind it, so it is last
    results: dict[str, list[Result]] = {name: [] for name in works}
    with ExitStack() as stack:
        another, processes = stack.enter_context(databases(database_url))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reasonblocks-bench-")))
        with ours(folder) as server:
            for name, work in works.items():
                results[name].append(measure("SQLite, 1 worker", server, work, seconds, []))
        for workers in (1, 2, 4):
            with shared(another(), workers, KEY) as server:
                for name, work in works.items():
                    setup = f"PostgreSQL, {workers} worker{'s' * (workers > 1)}"
                    results[name].append(measure(setup, server, work, seconds, processes))
    for name, measured in results.items():
        _tell(name, measured)
    print(f"{CLIENTS} clients; the limit of all of it: {os.cpu_count()} processors for clients, servers and database")
    print(report.load())


def _tell(name: str, measured: Sequence[Result]) -> None:
    one = next(result for result in measured if result.setup == "PostgreSQL, 1 worker")
    print(f"\n{name:<24} steps/s  ratio  CPU s/1000 steps: server  database  busiest worker")
    for result in measured:
        ratio = result.steps_per_second / one.steps_per_second
        print(
            f"  {result.setup:<22} {result.steps_per_second:7,.0f}  {ratio:5.2f}"
            f"  {result.server_cpu:24.2f}  {result.database_cpu:8.2f}  {result.busiest:14.0%}"
        )


def main() -> int:
    """Run it."""
    summary, _, explanation = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=explanation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database-url", help="an empty PostgreSQL database that may be filled")
    parser.add_argument("--seconds", type=float, default=0.0, help="for each part  [default: 15; 4 with --quick]")
    parser.add_argument("--quick", action="store_true", help="shorter")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    run(arguments.seconds or (4.0 if arguments.quick else 15.0), arguments.database_url)
    return 0


if __name__ == "__main__":
    sys.exit(main())
