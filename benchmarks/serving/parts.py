"""The three parts that are measured against what is beneath them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from serving.bare import EVALUATE, EVENTS, RETRIEVE
from serving.connection import request
from serving.costs import Asked, Cost, Costs, bodies
from serving.filling import ASKED_FAILURE
from serving.material import RUNS_OF_A_BATCH, STEPS, Material
from serving.processes import Server
from serving.raw import BareIndex, BareInsert, BareMonitors

from reasonblocks.engine.answers import EventsReceipt
from reasonblocks.engine.embedding.calibration import calibration_for
from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.suite import SuiteReading
from reasonblocks.engine.patterns.retrieval import GATES
from reasonblocks.engine.runs.decoding import NewStep, decode_events
from reasonblocks.engine.store.schema import evaluations, steps
from reasonblocks.engine.store.values import dump, now

RUNS_OF_A_BLOCK = 4
"""Runs that are evaluated before it is the other's turn."""
LOOKUPS_OF_A_BLOCK = 200


@dataclass(frozen=True)
class Line:
    """One comparison."""

    part: str
    raw: Cost
    ours: Cost
    bar: float | None = None
    """How many times the raw parts ours may cost; none where it is only told."""

    @property
    def ratio(self) -> float:
        """By processor time, which other work on the machine disturbs least."""
        return self.ours.cpu / self.raw.cpu


@dataclass
class Pair:
    """The bare routes and ours, asked in turns: bare, ours, ours, bare."""

    bare: Asked
    ours: Asked

    @classmethod
    def of(cls, bare: Server, ours: Server) -> "Pair":
        """Nothing asked yet."""
        return cls(Asked(bare), Asked(ours))

    def turns(self) -> tuple[Asked, ...]:
        """The order of one round."""
        return (self.bare, self.ours, self.ours, self.bare)


# -- evaluate ----------------------------------------------------------------------------------------


def evaluate_requests(material: Material, key: str) -> list[bytes]:
    """A run that is evaluated after each of its steps, each time with what is new."""
    run_id, taken = material.run_id(), material.steps()
    return [
        request(EVALUATE, {"steps": [step], "run_id": run_id, "offset": index, "model": "scripted-model-1"}, key)
        for index, step in enumerate(taken)
    ]


def evaluate(pair: Pair, monitors: BareMonitors, material: Material, rounds: int) -> list[Line]:
    """Incremental evaluation of runs of 50 steps."""
    injected = 0
    for _ in range(rounds):
        for asked in pair.turns():
            requests = [each for _ in range(RUNS_OF_A_BLOCK) for each in evaluate_requests(material, asked.server.key)]
            answers = asked.ask(requests)
            if asked is pair.ours:
                injected += sum(b'"inject":true' in answer for answer in answers)
            monitors.read([observed(step) for step in material.steps()])
    if injected:
        print(f"  note: {injected} evaluations asked the embedder for a pattern; the figures hold that as well")
    route, ours = pair.bare.costs.median(), pair.ours.costs.median()
    return [
        Line("evaluate: route alone", route, ours, 1.5),
        Line("evaluate: route + monitors", route + monitors.costs.median(), ours),
    ]


def observed(step: dict[str, Any]) -> ObservedStep:
    """A step as the monitors take it."""
    failed = step.get("observation_is_error", step.get("is_error"))
    return ObservedStep.of(step["thought"], step["action"], step["action_input"], step["observation"], failed)


# -- retrieve ----------------------------------------------------------------------------------------


def retrieve_request(tier: str, context: str, key: str) -> bytes:
    """A lookup."""
    body = {"context": context, "tier": tier, "top_k": 5, "model": "scripted-model-1"}
    return request(RETRIEVE, body | ({"failure_type": ASKED_FAILURE} if tier == "e2" else {}), key)


def retrieve(
    tier: str,
    pair: Pair,
    index: BareIndex,
    contexts: dict[str, NDArray[np.float32]],
    model: str,
    rounds: int,
) -> Line:
    """Lookups with contexts whose vectors the server remembers; each finds the three patterns that are near it."""
    least = calibration_for(model).cosine_for(GATES[tier])
    failure_type = ASKED_FAILURE if tier == "e2" else None
    vectors = [*contexts.values()] * (LOOKUPS_OF_A_BLOCK // len(contexts))
    for _ in range(rounds):
        for asked in pair.turns():
            requests = [retrieve_request(tier, context, asked.server.key) for context in contexts]
            for answer in asked.ask(requests * (LOOKUPS_OF_A_BLOCK // len(contexts))):
                if answer.count(b'"pattern_id"') != 3:
                    raise SystemExit(f"expected three patterns for each lookup, got {answer[:500].decode()}")
            index.query(tier, failure_type, vectors, least)
    filtered = "with failure_type" if tier == "e2" else "of one org"
    raw = pair.bare.costs.median() + index.costs[tier].median()
    return Line(f"retrieve {tier} {filtered}", raw, pair.ours.costs.median(), 1.5)


# -- ingest ------------------------------------------------------------------------------------------


class Ingest:
    """Batches of 500 steps of ten runs."""

    def __init__(self, pair: Pair, monitors: BareMonitors, material: Material, folder: Path) -> None:
        self._pair = pair
        self._material = material
        self._monitors = monitors
        self._steps = BareInsert(folder / "steps.db", steps)
        self._evaluations = BareInsert(folder / "evaluations.db", evaluations)
        self.scoring = Costs()
        """What the server does of itself after a batch."""
        self._next_run = 1

    def measure(self, rounds: int) -> list[Line]:
        """The answer to a batch, and that with the scoring that follows it."""
        for _ in range(rounds):
            for asked in self._pair.turns():
                self._ask(asked)
        self._steps.close()
        self._evaluations.close()
        route, ours = self._pair.bare.costs.median(), self._pair.ours.costs.median()
        inserted, scored = self._steps.costs.median(), self.scoring.median()
        reading = self._monitors.costs.median()
        count = RUNS_OF_A_BATCH * STEPS
        beneath = Cost(reading.cpu * count, reading.wall * count) + self._evaluations.costs.median()
        return [
            Line("ingest 500 steps: route + INSERT", route + inserted, ours, 1.5),
            Line("  and the scoring afterwards", route + inserted, ours + scored),
            Line("  against route + INSERTs + monitors", route + inserted + beneath, ours + scored),
        ]

    def _ask(self, asked: Asked) -> None:
        run_ids = [self._material.run_id() for _ in range(RUNS_OF_A_BATCH)]
        events = self._material.step_events(run_ids)
        if asked is self._pair.ours:
            started = request(EVENTS, {"events": self._material.run_starts(run_ids)}, asked.server.key)
            list(bodies([asked.server.connection.exchange(started)]))
            asked.server.settled()
        answer = asked.ask([request(EVENTS, {"events": events}, asked.server.key)])[0]
        if msgspec.json.decode(answer, type=EventsReceipt).accepted != len(events):
            raise SystemExit(f"a batch was not accepted: {answer[:500].decode()}")
        if asked is self._pair.ours:
            self._take_down_scoring(asked.server)
        else:
            self._insert(events, run_ids)

    def _take_down_scoring(self, server: Server) -> None:
        before, started = server.cpu(), time.perf_counter()
        after, ended = server.settled()
        wall = max(0.0, ended - started)
        self.scoring.taken.append(Cost(max(0.0, after - before - wall * server.idle_share), wall))

    def _insert(self, events: Sequence[dict[str, Any]], run_ids: Sequence[str]) -> None:
        numbers = {run_id: self._next_run + place for place, run_id in enumerate(run_ids)}
        self._next_run += len(run_ids)
        moment = now()
        entries = decode_events([msgspec.json.encode(event) for event in events])
        self._steps.insert(
            [
                (numbers[each.run_id], each.step.step_index, moment, *each.values)
                for each in entries
                if isinstance(each, NewStep)
            ]
        )
        of_run = [observed(event) for event in events if event["run_id"] == run_ids[0]]
        readings = self._monitors.read(of_run)
        self._evaluations.insert(
            [
                _evaluation(number, index, reading, moment)
                for number in numbers.values()
                for index, reading in enumerate(readings)
            ]
        )


def _evaluation(run: int, index: int, reading: SuiteReading, moment: float) -> tuple[Any, ...]:
    evidence = list(reading.evidence.values())
    return (run, index, dump(reading.scores), 0.0, dump(reading.fired), None, dump(evidence), moment)
