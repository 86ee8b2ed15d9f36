#!/usr/bin/env python3
"""What rb-api costs over the parts it is made of, in one run on one machine.

    python benchmarks/server.py                  10,000 patterns, about two minutes
    python benchmarks/server.py --quick          a first impression
    python benchmarks/server.py --check          ends with code 1 if a bar is missed

The real server and a bare Litestar application run as processes of their own and are asked in turns, over one kept
connection each, by the same client; other parts beneath are called once after each request, so that they find the
caches as they are in a server. Times and ratios are medians over the rounds. The bars are for processor time of the
server, which other work on the machine disturbs least; what a client waits stands beside it.

evaluate    one new step a call, runs of 50 steps, against a bare route that decodes the same body and gives the same
            answer, and the monitors without anything around. The second line is the way alone: a server whose monitors
            are switched off, against the route. The third one has no bar: what monitors take is the most of it.
retrieve    e2 with a failure type and e1, each lookup finds three patterns, against the bare route and a bare query of
            qdrant-edge with the same points and filter for every vector that is looked up: one thought has one, of
            three the newest is looked up by itself as well. The server remembers the vectors of the contexts: what the
            embedder takes is told apart.
ingest      a batch of 500 steps of ten runs, against the bare route that decodes all of it and a bare INSERT of the
            same rows in one transaction. Scoring follows in the background, and is told apart and together.
memory      of the server while it is idle, and once it has embedded.
"""

import argparse
import asyncio
import signal
import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from serving import parts, report
from serving.bare import EVENTS, Answers
from serving.connection import request
from serving.costs import Asked, Costs, Line, Pair, bodies
from serving.filling import fill, plan
from serving.ingesting import BATCH, Ingest
from serving.material import Material
from serving.parts import Lookups
from serving.processes import Server, bare, ours, unwatched
from serving.raw import BareIndex, BareMonitors

from reasonblocks.engine.answers import Evaluation, EventsReceipt, Retrieval
from reasonblocks.engine.embedding.adapter import resolve_embedder
from reasonblocks.engine.embedding.base import Embedder
from reasonblocks.engine.embedding.context import views

CONTEXTS = 8
"""Different contexts that are looked up in turn."""
IDLE_BAR = 350.0
LOOKUPS_BEFORE_MEMORY = 100


@dataclass
class Bench:
    """One run of the benchmark."""

    patterns: int
    rounds: int
    log_level: str
    folder: Path
    material: Material = field(default_factory=Material)
    embedder: Embedder = field(default_factory=resolve_embedder)
    lines: list[Line] = field(default_factory=list)
    verdicts: list[tuple[bool, str]] = field(default_factory=list)

    def run(self) -> bool:
        """Measure everything and print it; whether all bars are held."""
        print(report.machine())
        lookups = [self._lookups("one thought", 1), self._lookups("three thoughts", 3)]
        near = [vectors[0] for each in lookups for vectors in each.contexts.values()]
        planned = plan(self.patterns, np.array(near))
        data_dir = self.folder / "data"
        asyncio.run(fill(data_dir, planned, self.material, self.embedder))
        print(f"\n{len(planned):,} patterns stored, half e1 of one org, half e2; {self.rounds} rounds")
        key = self._first_start(data_dir)
        index = BareIndex(self.folder / "index", planned, self.embedder.dimension)
        with ExitStack() as stack:
            stack.callback(index.close)
            server = stack.enter_context(ours(data_dir, key, self.log_level))
            self._memory(server)
            answers = self.folder / "answers.json"
            answers.write_bytes(msgspec.json.encode(self._answers(server, next(iter(lookups[0].contexts)))))
            other = stack.enter_context(bare(answers, key))
            self._compare(other, server, stack.enter_context(unwatched(key)), index, lookups)
            resident, _ = server.memory()
            print(f"server after all of it: {resident:.0f} MB resident")
        return self._conclude()

    def _lookups(self, kind: str, thoughts: int) -> Lookups:
        texts = [self.material.context(thoughts) for _ in range(CONTEXTS)]
        contexts = {text: list(self.embedder.embed(views(text))) for text in texts}
        return Lookups(kind, contexts, self.embedder.name)

    def _first_start(self, data_dir: Path) -> str:
        """The start that makes the index; the key it prints."""
        with ours(data_dir, log_level=self.log_level) as server:
            server.rest()
            self._tell_memory("first start, which makes the index", server)
            return server.key

    def _memory(self, server: Server) -> None:
        server.rest()
        idle = self._tell_memory("idle after a start", server)
        self.verdicts.append(report.verdict(f"idle with {self.patterns:,} patterns", idle, IDLE_BAR, " MB"))
        contexts = [self.material.context(3) for _ in range(LOOKUPS_BEFORE_MEMORY)]
        requests = [parts.retrieve_request("e2", context, server.key) for context in contexts]
        list(bodies(map(server.connection.exchange, requests)))
        server.rest()
        self._tell_memory(f"after {LOOKUPS_BEFORE_MEMORY} lookups, the embedder loaded", server)
        print(f"  {server.idle_share:.2%} of a core while idle")

    def _tell_memory(self, when: str, server: Server) -> float:
        resident, proportional = server.memory()
        print(f"memory {when}: {resident:.0f} MB resident, {proportional:.0f} MB proportional")
        return resident

    def _answers(self, server: Server, context: str) -> Answers:
        """What the server answers, for the bare routes to answer as well."""
        exchange = server.connection.exchange
        retrieved = exchange(parts.retrieve_request("e2", context, server.key))
        evaluated = [exchange(each) for each in parts.evaluate_requests(self.material, server.key)]
        received = exchange(request(EVENTS, {"events": []}, server.key))
        retrieval, evaluation, receipt = bodies([retrieved, evaluated[-1], received])
        return Answers(
            msgspec.json.decode(evaluation, type=Evaluation),
            msgspec.json.decode(retrieval, type=Retrieval),
            EventsReceipt(BATCH, msgspec.json.decode(receipt, type=EventsReceipt).rejected),
        )

    def _compare(self, other: Server, server: Server, way: Server, index: BareIndex, lookups: list[Lookups]) -> None:
        monitors = BareMonitors()
        self._embedding()
        clients: dict[str, Pair] = {}
        # A round that does not count: caches fill, and whatever is made at first use is made.
        parts.evaluate(Pair.of(other, server), Asked(way), monitors, self.material, 1)
        monitors.costs.taken.clear()
        clients["evaluate"] = pair = Pair.of(other, server)
        self.lines += parts.evaluate(pair, Asked(way), monitors, self.material, self.rounds)
        for tier in ("e2", "e1"):
            for each in lookups:
                clients["retrieve"] = pair = Pair.of(other, server)
                self.lines += parts.retrieve(tier, pair, index, each, self.rounds)
        clients["ingest"] = pair = Pair.of(other, server)
        ingest = Ingest(pair, self.material, self.folder)
        self.lines += ingest.measure(max(3, self.rounds // 3))
        own = {part: statistics.median(pair.ours.client + pair.bare.client) for part, pair in clients.items()}
        shown = ", ".join(f"{part} {seconds * 1e6:,.0f} µs" for part, seconds in own.items())
        print(f"the client's own processor time a request, part of every wall time: {shown}")
        print(f"monitors in process: {monitors.costs.median().cpu * 1e6:.0f} µs of CPU a step")
        scoring = ingest.scoring.median()
        print(f"scoring after a batch: {scoring.cpu / BATCH * 1e6:.0f} µs of CPU a step, over {scoring.wall:.2f} s\n")

    def _embedding(self) -> None:
        for thoughts, kind in ((1, "one thought"), (3, "three thoughts, looked up by two vectors")):
            costs = Costs()
            for _ in range(10):
                with costs.here(1):
                    self.embedder.embed(views(self.material.context(thoughts)))
            cost = costs.median()
            print(f"embedder, counted apart: {cost.cpu * 1e3:.0f} ms of CPU ({cost.wall * 1e3:.0f} ms) for {kind}")

    def _conclude(self) -> bool:
        print(report.table(self.lines))
        print("times in µs: of one request, of one batch for ingest\n")
        self.verdicts += [report.verdict(line.part, line.cpu_ratio, line.bar) for line in self.lines if line.bar]
        for _, line in self.verdicts:
            print(line)
        print(report.load())
        return all(held for held, _ in self.verdicts)


def main() -> int:
    """Run it; 1 if a bar is missed and that was asked for."""
    summary, _, explanation = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=explanation, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--patterns", type=int, default=10_000)
    parser.add_argument(
        "--rounds", type=int, default=0, help="of bare, ours, ours, bare  [default: 30; 6 with --quick]"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--check", action="store_true", help="end with code 1 if a bar is missed")
    parser.add_argument("--log-level", default="warning", help="of the server; `info` logs every request")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    rounds = arguments.rounds or (6 if arguments.quick else 30)
    with tempfile.TemporaryDirectory(prefix="reasonblocks-bench-") as folder:
        try:
            held = Bench(arguments.patterns, rounds, arguments.log_level, Path(folder)).run()
        except KeyboardInterrupt:
            sys.exit("ended by the user")
    return int(arguments.check and not held)


if __name__ == "__main__":
    sys.exit(main())
