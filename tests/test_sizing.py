"""The arithmetic and the simulation behind `benchmarks/sizing.py`, against what is known without them."""

from __future__ import annotations

import importlib.util
import math
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

FLEET = Path(__file__).parents[1] / "benchmarks" / "fleet"


def loaded(name: str) -> Any:
    """A module of the benchmark, which is no part of the package."""
    spec = importlib.util.spec_from_file_location(f"sizing_{name}", FLEET / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there for their types
    spec.loader.exec_module(module)
    return module


queueing, model = loaded("queueing"), loaded("model")
STEP = SimpleNamespace(
    server_cpu=0.005,
    database_cpu=0.002,
    stored=2_000.0,
    wal=3_000.0,
    up=3_000.0,
    down=1_000.0,
    idle_database=0.0,
    requests={"evaluate": 1.0, "retrieve": 0.5, "events": 1.0},
)


@pytest.mark.parametrize("busy", [0.5, 0.8])
def test_waits_of_one_worker_are_those_of_the_formula(busy: float) -> None:
    """Arrivals by chance and exponential service: P(wait > t) = busy * exp(-(1 - busy) * t)."""
    chance = random.Random(7)
    service = {"any": [chance.expovariate(1.0) for _ in range(20_000)]}
    found = queueing.simulate(busy, {"any": 1.0}, service, 1, requests=100_000, seed=3)
    assert found.busy == pytest.approx(busy, rel=0.05)
    assert found.p99 == pytest.approx(math.log(100 * busy) / (1 - busy), rel=0.2)


def test_workers_who_share_a_queue_make_it_shorter() -> None:
    """As busy, ten together wait less than one alone."""
    service = {"short": [0.001], "long": [0.1]}
    mix = {"short": 9.0, "long": 1.0}
    alone, together = (
        queueing.simulate(0.7 * crew / 0.0109, mix, service, crew, requests=20_000, seed=1) for crew in (1, 10)
    )
    assert alone.busy == pytest.approx(together.busy, rel=0.05)
    assert together.p99 < alone.p99 / 2


def test_a_fleet_at_a_limit_needs_just_what_there_is() -> None:
    """What a fleet needs and where a limit lies are the same arithmetic, read from either end."""
    assumed = model.Assumptions()
    found = {limit.name: limit.agents for limit in model.limits(STEP, assumed)}
    worker = found["one worker's processor"]
    assert worker == pytest.approx(0.6 / (0.1 * 0.005))
    assert model.need(STEP, int(worker), assumed).workers == 1
    assert model.need(STEP, int(worker) + 1, assumed).workers == 2
    cores = model.need(STEP, round(found["16 cores of PostgreSQL"]), assumed).database_cores
    assert cores == pytest.approx(16 * 0.6, rel=0.01)
    stored = model.need(STEP, round(found["2000 GB for 30 days"]), assumed).gb_per_day
    assert stored * 30 == pytest.approx(2_000, rel=0.01)
    assert model.need(STEP, round(found["10000 Mbit/s in front"]), assumed).up_mbit == pytest.approx(10_000, rel=0.01)
