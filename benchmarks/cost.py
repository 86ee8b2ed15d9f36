"""What the middleware costs an agent: time and processor time of a step, memory and threads, with it and without.

    python benchmarks/cost.py [--rounds 3] [--quick] [--load 1..4] [--peer PYTHON]

The same agents with a model that follows a script run without the middleware, with the engine in their process, and
against an rb-api on this machine, each in a process of its own, in turns; figures are medians. Four loads: one agent
whose model answers at once, so that nothing but the agent and we take time; a batch of agents like that; a batch
whose model thinks, as models do; and a large one whose models all answer at the same moments, which is the worst that
can be done to one event loop. `--peer` names the interpreter of an environment with another client of the same API
(the published `reasonblocks` 0.2.5, say), which is then measured against the same server.

A server is another process: its own processor time is in benchmarks/server.py, not here.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from serving.processes import Server, ours

LOAD = Path(__file__).parent / "costing" / "load.py"
Figures = dict[str, float]


class Load(NamedTuple):
    """What agents do at once."""

    title: str
    agents: int
    steps: int
    think_seconds: float
    spread: float = 0.0
    """By which share of it the thinking differs from step to step; 0 has all agents ask at the same moments."""


def loads(quick: bool) -> list[Load]:
    """Those that are measured."""
    some = 10 if quick else 50
    return [
        Load("one agent, 40 steps, the model answers at once", 1, 40, 0.0),
        Load(f"{some} agents at once, 10 steps each, the model answers at once", some, 10, 0.0),
        Load(f"{some} agents at once, 10 steps each, the model thinks for 1 to 3 s", some, 10, 2.0, 0.5),
        Load(f"{2 * some} agents in lockstep, 10 steps each, the model thinks for 1 s", 2 * some, 10, 1.0),
    ]


def main() -> None:
    """Measure, and print a table for each load."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=3, help="the default is %(default)s")
    parser.add_argument("--quick", action="store_true", help="smaller batches, one round")
    parser.add_argument("--load", type=int, choices=range(1, 5), help="only this one")
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter with another client of the same API")
    options = parser.parse_args()
    ways = {"without": sys.executable, "embedded": sys.executable, "server": sys.executable}
    if options.peer:
        ways["peer"] = options.peer
    with tempfile.TemporaryDirectory() as directory, ours(Path(directory)) as server:
        chosen = loads(options.quick)
        for load in chosen if options.load is None else chosen[options.load - 1 : options.load]:
            show(load, measured(load, ways, server, 1 if options.quick else options.rounds))


def measured(load: Load, ways: dict[str, str], server: Server, rounds: int) -> dict[str, Figures]:
    """Medians by way; every other round goes through them backwards, so that drift hits all alike."""
    taken: dict[str, list[Figures]] = {way: [] for way in ways}
    for place in range(rounds):
        for way in ways if place % 2 == 0 else reversed(ways):
            taken[way].append(_run(ways[way], way, load, server))
    return {way: {name: median(one[name] for one in some) for name in some[0]} for way, some in taken.items()}


def _run(python: str, way: str, load: Load, server: Server) -> Figures:
    words = [python, str(LOAD), way, *map(str, load[1:])]
    if way in ("server", "peer"):
        words.append(f"http://127.0.0.1:{server.port}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REASONBLOCKS_")}
    with tempfile.TemporaryDirectory() as home:
        told = {"COST_KEY": server.key, "XDG_DATA_HOME": home}
        done = subprocess.run(words, capture_output=True, text=True, env=environment | told)
    if done.returncode:
        sys.exit(f"{way}: {done.stderr[-2_000:]}")
    figures: Any = json.loads(done.stdout.splitlines()[-1])
    return figures


def show(load: Load, found: dict[str, Figures]) -> None:
    """One load as a table; `+` is what a way adds to the agent without us."""
    base = found["without"]
    print(f"\n{load.title}")
    print("| | time of a step | | its processor time | | event loop held up | memory | threads |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for way, one in found.items():
        print(
            f"| {way} | {one['clock_ms']:.1f} ms | {_more(one['clock_ms'], base['clock_ms'])} "
            f"| {one['processor_ms']:.1f} ms | {_more(one['processor_ms'], base['processor_ms'])} "
            f"| {one['held_up_ms']:.0f} ms | {one['memory_mb']:.0f} MB | {one['threads']:.0f} |",
            flush=True,
        )


def _more(value: float, base: float) -> str:
    return "" if value is base else f"{value - base:+.1f} ms, {value / base:.2f}x"


if __name__ == "__main__":
    main()
