"""A database server to measure servers on: one of our own, from the system's packages, or a database that is named."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil


@contextmanager
def databases(given: str | None) -> Iterator[tuple[Callable[[], str], list[psutil.Process]]]:
    """Where each server finds a database, and the processes of the database server if they are ours to see."""
    if given is not None:
        yield (lambda: given), []
        return
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    from support.cluster import Cluster, missing

    if (reason := missing()) is not None:
        raise SystemExit(f"{reason}; install it, or name a database with --database-url")
    cluster = Cluster.of_session(os.getpid())
    cluster.ensure(durable=True)
    numbers = iter(range(1_000))

    def another() -> str:
        name = f"bench_{next(numbers)}"
        cluster.create(name)
        return cluster.url(name)

    try:
        yield another, [psutil.Process(cluster.process_id)]
    finally:
        cluster.remove()


def cpu_of(process: psutil.Process) -> float:
    """Seconds of processor time so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def cpu_of_all(processes: Sequence[psutil.Process]) -> float:
    """Of a database server: the processes that it has by now, and those that have ended."""
    total = 0.0
    for process in processes:
        for each in (process, *process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):  # it has ended since: its time is with the others that have
                total += cpu_of(each)
        total += float(process.cpu_times().children_user + process.cpu_times().children_system)
    return total
