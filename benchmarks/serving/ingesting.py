"""A batch of events, and the scoring that follows it."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from serving.bare import EVENTS
from serving.connection import request
from serving.costs import Asked, Cost, Costs, Line, Pair, bodies
from serving.material import RUNS_OF_A_BATCH, STEPS, Material
from serving.parts import BAR, observed
from serving.processes import Server
from serving.raw import BareInsert, BareMonitors

from reasonblocks.engine.answers import EventsReceipt
from reasonblocks.engine.monitors.suite import SuiteReading
from reasonblocks.engine.runs.decoding import NewStep, decode_events
from reasonblocks.engine.store.schema import evaluations, steps
from reasonblocks.engine.store.values import dump, now

PAUSE_SECONDS = 0.2
BATCH = RUNS_OF_A_BATCH * STEPS


class Ingest:
    """Batches of 500 steps of ten runs."""

    def __init__(self, pair: Pair, material: Material, folder: Path) -> None:
        self._pair = pair
        self._material = material
        self._monitors = BareMonitors()
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
        route, ours, inserted, scored, monitors, evaluated = (
            costs.by_round(rounds)
            for costs in (
                self._pair.bare.costs,
                self._pair.ours.costs,
                self._steps.costs,
                self.scoring,
                self._monitors.costs,
                self._evaluations.costs,
            )
        )
        raw, all_of_it = route.plus(inserted), ours.plus(scored)
        return [
            Line(f"ingest {BATCH} steps: route + INSERT", raw, ours, BAR),
            Line("  with the scoring afterwards", raw, all_of_it),
            Line("  with it, against route + INSERTs + monitors", raw.plus(evaluated).plus(monitors, BATCH), all_of_it),
        ]

    def _ask(self, asked: Asked) -> None:
        run_ids = [self._material.run_id() for _ in range(RUNS_OF_A_BATCH)]
        events = self._material.step_events(run_ids)
        batch = request(EVENTS, {"events": events}, asked.server.key)
        started = request(EVENTS, {"events": self._material.run_starts(run_ids)}, asked.server.key)
        list(bodies([asked.server.connection.exchange(started)]))
        asked.server.settled()  # whoever is asked after a pause is slower, so all have one
        answer = asked.ask([batch])[0]
        if asked is self._pair.ours:
            self._take_down_scoring(asked.server)
        else:
            self._insert(events, run_ids)
        if msgspec.json.decode(answer, type=EventsReceipt).accepted != len(events):
            raise SystemExit(f"a batch was not accepted: {answer[:500].decode()}")

    def _take_down_scoring(self, server: Server) -> None:
        before, started = server.cpu(), time.perf_counter()
        after, ended = server.settled()
        wall = max(0.0, ended - started)
        self.scoring.taken.append(Cost(max(0.0, after - before - wall * server.idle_share), wall))

    def _insert(self, events: Sequence[dict[str, Any]], run_ids: Sequence[str]) -> None:
        numbers = {run_id: self._next_run + place for place, run_id in enumerate(run_ids)}
        self._next_run += len(run_ids)
        moment = now()
        rows = [
            (numbers[each.run_id], each.step.step_index, moment, *each.values)
            for each in decode_events([msgspec.json.encode(event) for event in events])
            if isinstance(each, NewStep)
        ]
        time.sleep(PAUSE_SECONDS)
        self._steps.insert(rows)
        readings = self._monitors.read([observed(event) for event in events if event["run_id"] == run_ids[0]])
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
