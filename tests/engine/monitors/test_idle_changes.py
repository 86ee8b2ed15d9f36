"""semantic_loop: changes that change nothing, made in other ways; and what only looks like them."""

import json
from collections.abc import Sequence

import pytest

from reasonblocks.engine.monitors.features import ObservedStep, read_step
from reasonblocks.engine.monitors.semantic_loop import SemanticLoop


def shell(command: str, output: str = "") -> ObservedStep:
    """A command in a shell."""
    return ObservedStep("", "bash", json.dumps({"command": command}), output)


def call(action: str, result: str, **given: object) -> ObservedStep:
    """A call of a tool."""
    return ObservedStep("", action, json.dumps(given), result)


def scores(steps: Sequence[ObservedStep]) -> list[float]:
    """What the monitor itself has to show after each step."""
    state = SemanticLoop().start("The harvest must be weighed in kilograms.")
    return [state.observe(read_step(index, step)).score for index, step in enumerate(steps)]


OLD = "weight = crate.pounds * PER_POUND"
MISSES = (
    shell(r"sed -i 's/crate\.pounds \* PER_POUNDS/crate.kilograms/' barn/scale.py"),
    shell("grep -n weight barn/scale.py", f"18:{OLD}"),
    shell(r"sed -i 's#crate\.pounds \* PER_POUNDS#crate.kilograms#' barn/scale.py"),
    shell("sed -n 18p barn/scale.py", OLD),
    shell(r"perl -pi -e 's/crate\.pounds \* PER_POUNDS/crate.kilograms/' barn/scale.py && touch barn/scale.py"),
    shell("grep -n 'weight =' barn/scale.py", f"18:{OLD}"),
)
RECORD = '{"crate": "C81", "unit": "pounds", "weight": 44}'
SWITCHES = [
    step
    for unit in ("kg", "kilogram", "kilograms")
    for step in (
        call("set_crate_unit", "Request received.", crate="C81", unit=unit, note="unit of crate C81, pounds so far"),
        call("get_crate", RECORD, crate="C81"),
    )
]
OTHERS: dict[str, Sequence[ObservedStep]] = {
    "two misses and a hit": (*MISSES[:5], shell("grep -n weight barn/scale.py", "18:weight = crate.kilograms")),
    "one entry after the other": [
        step
        for at in range(1, 6)
        for step in (
            shell(f"echo 'crate.pounds.{at}' >> barn/units.txt"),
            shell("cat barn/units.txt", "\n".join(f"crate.pounds.{n}" for n in range(1, at + 1))),
        )
    ],
    "the same look after other changes": [
        step
        for name in ("tare", "gross", "moisture", "grade")
        for step in (
            shell(f"sed -i 's/{name}_old/{name}_of_{name}/' barn/{name}.py"),
            shell("grep -n weight barn/scale.py", f"18:{OLD}"),
        )
    ],
    "tried out in between": [
        step
        for at in range(3)
        for step in (MISSES[2 * at], shell("python weigh.py", f"{at} crates off"), MISSES[2 * at + 1])
    ],
}


@pytest.mark.parametrize("steps", [MISSES, SWITCHES], ids=["a file", "a record"])
def test_the_third_change_without_any_effect_is_a_loop(steps: Sequence[ObservedStep]) -> None:
    """The look after each shows what was there before all of them."""
    assert max(scores(steps[:4])) < 0.6
    assert scores(steps)[-1] >= 0.6


@pytest.mark.parametrize("steps", OTHERS.values(), ids=OTHERS)
def test_changes_that_get_on_are_none(steps: Sequence[ObservedStep]) -> None:
    """One took effect, each is another one, or something else was learnt."""
    assert max(scores(steps)) < 0.6
