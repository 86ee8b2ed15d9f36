"""late_sprawl: one tangent after the other fires, bulk work does not."""

import pytest

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.late_sprawl import LateSprawl

from .departures import ON_TASK, STRETCH, TANGENTS, read, step

FIRES = 0.6
SPRAWLED = [*ON_TASK, *TANGENTS]
HEALTHY: dict[str, list[ObservedStep]] = {
    "work on the task": [*ON_TASK, *ON_TASK],
    "early exploration": [*TANGENTS, *ON_TASK],
    "one thing that is stayed with": [*ON_TASK, *STRETCH],
    "the same for one item after the other": [
        *ON_TASK,
        *(
            step("", "lookup", f"{name} found", name=name)
            for name in ("zebra", "giraffe", "lion", "elephant", "hippo", "cheetah", "ostrich")
        ),
    ],
    "a list that is filled in": [
        *ON_TASK,
        *(
            step(f"Also add the {name}, which lives in the {place}.", "add_entry", "ok", name=name)
            for name, place in (("meerkat", "burrow"), ("penguin", "ocean"), ("sloth", "canopy"), ("koala", "bush"))
        ),
    ],
    "what a result brought up": [
        *ON_TASK[:-1],
        step(
            "The race is gone with the lock in front.",
            "run",
            " ".join(one.thought + one.action_input for one in TANGENTS),
            command="python race_demo.py",
        ),
        *TANGENTS,
    ],
}


def test_c14_one_tangent_after_the_other_fires_and_names_them() -> None:
    """The steps are those of the tangents, and they are quoted."""
    readings = read(LateSprawl(), SPRAWLED)
    assert max(reading.score for reading in readings[: len(ON_TASK) + 1]) < FIRES
    assert readings[-1].score >= FIRES
    found = readings[-1].evidence
    assert found is not None
    assert found.steps == list(range(len(ON_TASK), len(SPRAWLED)))
    assert found.quotes[-1] == TANGENTS[-1].thought
    assert f"{len(TANGENTS)} steps since step {len(ON_TASK)} each begin something new" in found.reason


def test_c14_it_needs_no_task() -> None:
    """Tangents have nothing to do with each other, whatever the task may be."""
    assert read(LateSprawl(), SPRAWLED, task="")[-1].score >= FIRES


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_c14_work_over_many_things_does_not_fire(steps: list[ObservedStep]) -> None:
    """What resembles sprawl and is none stays below the threshold."""
    assert max(reading.score for reading in read(LateSprawl(), steps)) < FIRES
