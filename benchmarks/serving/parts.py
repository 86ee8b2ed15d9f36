"""The three parts that are measured against what is beneath them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from serving.bare import EVALUATE, RETRIEVE
from serving.connection import request
from serving.costs import Asked, Beside, Costs, Line, Pair
from serving.filling import ASKED_FAILURE, NEAR
from serving.material import Material
from serving.raw import BareIndex, BareMonitors

from reasonblocks.engine.embedding.calibration import calibration_for
from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.patterns.retrieval import GATES

BAR = 1.5
LOOKUPS_OF_A_BLOCK = 48
TOP_K = 5


# -- evaluate ----------------------------------------------------------------------------------------


def evaluate_requests(material: Material, key: str) -> list[bytes]:
    """A run that is evaluated after each of its steps, each time with what is new."""
    run_id, taken = material.run_id(), material.steps()
    return [
        request(EVALUATE, {"steps": [step], "run_id": run_id, "offset": index, "model": "scripted-model-1"}, key)
        for index, step in enumerate(taken)
    ]


def evaluate(pair: Pair, way: Asked, monitors: BareMonitors, material: Material, rounds: int) -> list[Line]:
    """Incremental evaluation of runs of 50 steps, a run before it is the other's turn.

    `way` is our server with no monitor at the end of the way.
    """
    injected = 0
    for _ in range(rounds):
        for asked in (way, *pair.turns(), way):
            beside = monitors.beside([observed(step) for step in material.steps()])
            answers = asked.ask(evaluate_requests(material, asked.server.key), beside)
            injected += sum(b'"inject":true' in answer for answer in answers)
    if injected:
        print(f"  note: {injected} evaluations asked the embedder for a pattern; the figures hold that as well")
    route, ours = pair.bare.costs.by_round(rounds), pair.ours.costs.by_round(rounds)
    return [
        Line("evaluate: route + monitors", route.plus(monitors.costs.by_round(rounds)), ours, BAR),
        Line("evaluate, monitors off: route", route, way.costs.by_round(rounds), BAR),
        Line("  evaluate against the route alone", route, ours),
    ]


def observed(step: dict[str, Any]) -> ObservedStep:
    """A step as the monitors take it."""
    failed = step.get("observation_is_error", step.get("is_error"))
    return ObservedStep.of(step["thought"], step["action"], step["action_input"], step["observation"], failed)


# -- retrieve ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lookups:
    """Contexts of one kind, and the vectors that each is looked up by, of which all have as many."""

    kind: str
    contexts: dict[str, list[NDArray[np.float32]]]
    embedder: str

    @property
    def queries(self) -> int:
        """How many vectors a context has."""
        (count,) = set(map(len, self.contexts.values()))
        return count


def retrieve_request(tier: str, context: str, key: str) -> bytes:
    """A lookup."""
    body = {"context": context, "tier": tier, "top_k": TOP_K, "model": "scripted-model-1"}
    return request(RETRIEVE, body | ({"failure_type": ASKED_FAILURE} if tier == "e2" else {}), key)


def retrieve(tier: str, pair: Pair, index: BareIndex, lookups: Lookups, rounds: int) -> list[Line]:
    """Lookups with contexts whose vectors the server remembers; each finds the three patterns that are near it."""
    least = calibration_for(lookups.embedder).cosine_for(GATES[tier])
    failure_type = ASKED_FAILURE if tier == "e2" else None
    times = LOOKUPS_OF_A_BLOCK // len(lookups.contexts)
    vectors = [first for first, *_ in lookups.contexts.values()]
    query = Costs()

    def look_up(place: int) -> None:
        found = index.query(tier, failure_type, vectors[place % len(vectors)], TOP_K, least)
        if len(found) != len(NEAR):
            raise SystemExit(f"expected {len(NEAR)} points for each query, got {found}")

    for _ in range(rounds):
        for asked in pair.turns():
            requests = [retrieve_request(tier, context, asked.server.key) for context in lookups.contexts]
            for answer in asked.ask(requests * times, Beside(look_up, query)):
                if answer.count(b'"pattern_id"') != len(NEAR):
                    raise SystemExit(f"expected {len(NEAR)} patterns for each lookup, got {answer[:2_000].decode()}")
    route, ours, query = (costs.by_round(rounds) for costs in (pair.bare.costs, pair.ours.costs, query))
    name = f"retrieve {tier}, {lookups.kind}: route + {'query' if lookups.queries == 1 else 'queries'}"
    lines = [Line(name, route.plus(query, lookups.queries), ours, BAR)]
    if lookups.queries != 1:
        lines.append(Line("  against route + one query", route.plus(query), ours))
    return lines
