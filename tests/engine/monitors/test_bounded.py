"""What is remembered of a run does not grow with it."""

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from reasonblocks.engine.monitors.features import ObservedStep, StepFeatures, StepReader
from reasonblocks.engine.monitors.told_records import ToldRecords
from reasonblocks.engine.monitors.undoing import Undoing

from .deeds_and_words import call, shell

STEPS = 600
GROWTH = 1.1


def an_order(number: int) -> ObservedStep:
    """A change of an order of its own."""
    return call("update_order", "updated", order=f"ORD-{10_000 + number}")


def a_trial(number: int) -> ObservedStep:
    """A run with a result of its own."""
    return shell("./simulate", f"{number} cells are alive")


def takes(memory: object, step: StepFeatures) -> None:
    """Let whoever remembers take a step in."""
    if isinstance(memory, ToldRecords):
        memory.take(step)
    elif isinstance(memory, Undoing):
        memory.observe(step)


@pytest.mark.parametrize(("kind", "made"), [(ToldRecords, an_order), (Undoing, a_trial)])
def test_a_long_run_does_not_fill_the_memory(
    kind: Callable[[], ToldRecords | Undoing], made: Callable[[int], ObservedStep]
) -> None:
    """It takes as much after thousands of steps as after some hundreds."""
    reader, memory = StepReader(""), kind()
    steps = [reader.read(made(number)) for number in range(6 * STEPS)]
    tracemalloc.start()
    try:
        held = []
        for number, step in enumerate(steps, 1):
            takes(memory, step)
            if number % STEPS == 0:
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert held[-1] <= GROWTH * held[0] + 4_096
