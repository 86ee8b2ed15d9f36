"""What is remembered of a text must be what reading it again would tell."""

import msgspec
import pytest

from reasonblocks.engine.monitors.calls import read_call
from reasonblocks.engine.monitors.features import ObservedStep, StepFeatures, read_step
from reasonblocks.engine.monitors.results import read_result
from reasonblocks.engine.monitors.roles import Role
from reasonblocks.engine.monitors.thoughts import read_thought

STEPS = (
    ObservedStep(),
    ObservedStep("I look at order_4711 in src/app.py. It failed.", "bash", '{"command": "cat src/app.py"}', "Error: 7"),
    ObservedStep("Now the long one.", "write_file", "x" * 3_000, "ok"),
)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_comes_again_is_read_alike(step: ObservedStep) -> None:
    """From memory as from its text."""
    assert fields(read_step(0, step)) == fields(read_step(0, step))


def test_what_is_remembered_of_a_result_does_not_hide_that_it_is_an_error() -> None:
    """The same text may be an error at one time and none at another."""
    assert [read_step(0, ObservedStep(observation="42", is_error=error)).failed for error in (False, True, False)] == [
        False,
        True,
        False,
    ]


def test_what_is_remembered_of_a_call_does_not_hide_a_declared_role() -> None:
    """Another engine may know more of the same tool."""
    step = ObservedStep(action="lookup", action_input="a")
    assert read_step(0, step).role.looks
    assert read_step(0, step, {"lookup": Role(changes=True)}).role == Role(changes=True)
    assert read_step(0, step).role.looks


def test_long_calls_are_not_remembered() -> None:
    """Nobody's memory is filled with what is hardly ever made twice."""
    assert read_call("write", "x" * 3_000) is not read_call("write", "x" * 3_000)
    assert read_call("write", "x") is read_call("write", "x")
    assert read_thought("x") is read_thought("x")
    assert read_result("x") is read_result("x")


def fields(step: StepFeatures) -> dict[str, object]:
    """All of a step; the words of a call are compared by their sets."""
    read = msgspec.structs.asdict(step)
    terms = read.pop("terms")
    return {**read, "words": terms.words, "names": terms.names, "parts": terms.parts}
