#!/usr/bin/env python3
"""What a million steps cost in processors, storage and network, and which limit a fleet of agents meets first.

    python benchmarks/sizing.py                               a PostgreSQL of its own, from the system's packages
    python benchmarks/sizing.py --database-url URL            an empty database of yours
    python benchmarks/sizing.py --recordings FILE ...         agents that say what was recorded, not what is made up
    python benchmarks/sizing.py --quick                       a first impression

Measured: agents of LangChain with our middleware, each with a client of its own and a model that takes its time and
says what it is given, run on one rb-api server with PostgreSQL. All that they ask goes through a relay that counts it.
What the server and the database used meanwhile, less what they use anyway, is divided by the steps. Then requests of
each kind are made one by one, for how much they differ.

Computed: what fleets need, from that and from assumptions, each of which is an option. Simulated: how long a request
waits for a worker, if requests come by chance and take what single ones took.

The index is in the process of the server, so its searches count as the server's. A Qdrant cluster takes them off it.
"""

import argparse
import dataclasses
import statistics
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from fleet.agents import made_up, recorded
from fleet.measuring import Measured, measure_requests, measure_steps
from fleet.model import GB, Assumptions, limits, need
from fleet.queueing import simulate
from serving import report
from serving.database import databases
from serving.processes import shared

KEY = "benchmark-of-sizes-key"
FLEETS = (10, 1_000, 100_000)
SHARES = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
MILLION = 1_000_000
LONGEST_RUN = 50


def measured(arguments: argparse.Namespace) -> Measured:
    """Everything that is measured, in one run."""
    with ExitStack() as stack:
        another, processes = stack.enter_context(databases(arguments.database_url))
        url = another()
        files = [Path(name) for name in arguments.recordings]
        runs = recorded(files, LONGEST_RUN) if files else made_up(1, arguments.known)
        with shared(url, 1, KEY) as server:
            found = measure_steps(
                server,
                url,
                processes,
                runs,
                agents=arguments.agents,
                rounds=1 if arguments.quick else 2,
                pause=arguments.pause,
            )
        with shared(url, 1, KEY) as server:  # another, which remembers no text
            found.service = measure_requests(server, runs, found.lookups, 60 if arguments.quick else 400)
        return found


def tell_costs(found: Measured) -> None:
    """What a step costs, and a million of them."""
    million = MILLION / 3_600
    rows = [
        ("", "a step", "a million steps"),
        ("server, CPU", f"{found.server_cpu * 1e3:.2f} ms", f"{found.server_cpu * million:.2f} h"),
        ("database, CPU", f"{found.database_cpu * 1e3:.2f} ms", f"{found.database_cpu * million:.2f} h"),
        ("stored", f"{found.stored:,.0f} B", f"{found.stored * MILLION / GB:.2f} GB"),
        ("  of it indexes", f"{found.indexes:,.0f} B", f"{found.indexes * MILLION / GB:.2f} GB"),
        ("write-ahead log", f"{found.wal:,.0f} B", f"{found.wal * MILLION / GB:.2f} GB"),
        ("  of it full pages, at most", f"{found.full_pages:,.0f} B", f"{found.full_pages * MILLION / GB:.2f} GB"),
        ("to the server", f"{found.up:,.0f} B", f"{found.up * MILLION / GB:.2f} GB"),
        ("from the server", f"{found.down:,.0f} B", f"{found.down * MILLION / GB:.2f} GB"),
        ("transactions", f"{found.commits:.2f}", f"{found.commits * MILLION:,.0f}"),
    ]
    rows += [(f"requests: {kind}", f"{each:.2f}", f"{each * MILLION:,.0f}") for kind, each in found.requests.items()]
    print(f"\n{found.steps:,} steps\n{report.aligned(rows)}")
    if found.refused:
        print(
            f"{found.refused} requests were refused: too much for this machine, so less was done than should have been"
        )
    print(f"a worker: {found.memory:.0f} MB, and {found.idle_server:.1%} of a core while nothing is asked of it")
    print(f"the database: {found.idle_database:.1%} of a core for it")


def tell_requests(found: Measured) -> None:
    """How much single requests of a kind differ."""
    rows = [("CPU of one request, ms", "mean", "p50", "p90", "p99")]
    for kind, taken in found.service.items():
        ordered = sorted(taken)
        at = [ordered[int(len(ordered) * share)] for share in (0.5, 0.9, 0.99)]
        rows.append((kind, *(f"{each * 1e3:.2f}" for each in (statistics.mean(taken), *at))))
    print(f"\n{report.aligned(rows)}")
    print(f"these, as often as agents make them, come to {found.explained():.0%} of what a step cost the server")


def tell_fleets(found: Measured, assumed: Assumptions) -> None:
    """What fleets need, and what they meet."""
    needs = [need(found, agents, assumed) for agents in FLEETS]
    rows = [("agents at work", *(f"{each.agents:,}" for each in needs))]
    rows += [
        ("steps a second", *(f"{each.steps:,.0f}" for each in needs)),
        ("requests a second", *(f"{each.requests:,.0f}" for each in needs)),
        (f"workers, {assumed.busy:.0%} busy at most", *(f"{each.workers:,}" for each in needs)),
        ("cores of PostgreSQL", *(f"{each.database_cores:.2f}" for each in needs)),
        ("its log, MB/s", *(f"{each.log_mb:.2f}" for each in needs)),
        ("stored, GB a day", *(f"{each.gb_per_day:,.1f}" for each in needs)),
        ("to the servers, Mbit/s", *(f"{each.up_mbit:,.1f}" for each in needs)),
        ("from the servers, Mbit/s", *(f"{each.down_mbit:,.1f}" for each in needs)),
        ("connections to PostgreSQL", *(f"{each.connections:,}" for each in needs)),
    ]
    print(f"\n{report.aligned(rows)}")
    found_limits = sorted(limits(found, assumed), key=lambda limit: limit.agents)
    rows = [("limit", "agents at work", "then")]
    rows += [(limit.name, f"{limit.agents:,.0f}", limit.remedy) for limit in found_limits]
    print(f"\n{report.aligned(rows)}\n")
    worker = next(limit for limit in found_limits if limit.of_each)
    for each in needs:
        if each.agents < worker.agents:
            print(
                f"{each.agents:,} agents: {each.agents / worker.agents:.0%} of {worker.name}, which is the first limit"
            )
            continue
        shared_limits = [limit for limit in found_limits if not limit.of_each]
        passed = [limit.name for limit in shared_limits if limit.agents < each.agents]
        ahead = next((limit for limit in shared_limits if limit.agents >= each.agents), None)
        comes = f"the next limit is {ahead.name}, at {ahead.agents:,.0f}" if ahead else "no other limit is known"
        beyond = f" and {', '.join(passed)} are not enough" if passed else ""
        print(f"{each.agents:,} agents: {each.workers} workers{beyond}; {comes}")


def tell_waiting(found: Measured, assumed: Assumptions, requests: int) -> None:
    """How long requests wait for the loop of a worker, and lookups for its embedder, as there are more agents."""
    stations = found.stations()
    each = assumed.steps_per_minute / 60  # steps a second of an agent
    whole = 1 / (each * sum(station.seconds for station in stations.values()))  # agents that a processor is full of
    most = need(found, max(FLEETS), assumed).workers
    rows = [
        ("a worker's processor", "agents", *(f"{name} {what}" for name in stations for what in ("busy", "p99", "*")))
    ]
    for share in SHARES:
        agents = share * whole
        row = [f"{share:.0%}", f"{agents:,.0f}"]
        for station in stations.values():
            rate = agents * each * station.visits
            alone, together = (
                simulate(rate * crew, station.mix, station.service, crew, requests=requests, seed=1)
                for crew in (1, most)
            )
            busy = agents * each * station.seconds
            row += [f"{busy:.0%}", f"{alone.p99 * 1e3:.1f} ms", f"{together.p99 * 1e3:.1f} ms"]
        rows.append(tuple(row))
    print(f"\n{report.aligned(rows)}")
    print(f"p99: of the wait, if a connection stays with its worker; *: if any of {most} workers takes up a request")


def main() -> int:
    """Run it."""
    arguments, assumed = _arguments()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print(report.machine())
    found = measured(arguments)
    print(f"{arguments.agents} agents, {arguments.pause:g} s for each answer of the model, a client each")
    tell_costs(found)
    tell_requests(found)
    print("\nassumed: " + ", ".join(f"{name} {value:g}" for name, value in dataclasses.asdict(assumed).items()))
    tell_fleets(found, assumed)
    tell_waiting(found, assumed, 40_000 if arguments.quick else 200_000)
    print(f"\n{report.load()}")
    return 0


def _arguments(given: Sequence[str] | None = None) -> tuple[argparse.Namespace, Assumptions]:
    summary, _, explanation = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=explanation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--database-url", help="an empty PostgreSQL database that may be filled")
    parser.add_argument("--recordings", nargs="+", default=[], metavar="FILE", help="recorded runs to play")
    parser.add_argument("--known", type=float, default=0.1, help="share of runs in known words  [default: 0.1]")
    parser.add_argument("--agents", type=int, default=12, help="at once, for the measurement  [default: 12]")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds a model takes  [default: 1]")
    parser.add_argument("--quick", action="store_true", help="shorter")
    for field in dataclasses.fields(Assumptions):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(
            option, type=type(field.default), default=field.default, help="assumed  [default: %(default)g]"
        )
    arguments = parser.parse_args(given)
    return arguments, Assumptions(
        **{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Assumptions)}
    )


if __name__ == "__main__":
    sys.exit(main())
