"""semantic_loop: the same short answer again and again to one question that is written in other ways."""

import json
from collections.abc import Sequence

import pytest

from reasonblocks.engine.monitors.features import ObservedStep, read_step
from reasonblocks.engine.monitors.semantic_loop import SemanticLoop

THOUGHTS = (
    "What does the pump report?",
    "Now I ask for the state of the water.",
    "Let me see about the pressure.",
    "Perhaps the panel knows more.",
    "One look at how the valve is doing.",
)


def scores(steps: Sequence[ObservedStep]) -> list[float]:
    """What the monitor itself has to show after each step."""
    state = SemanticLoop().start("Find out what the pump costs.")
    return [state.observe(read_step(index, step)).score for index, step in enumerate(steps)]


def asked(tool: str, name: str, values: Sequence[str], results: Sequence[str]) -> list[ObservedStep]:
    """One question after the other, each with a thought of its own."""
    return [
        ObservedStep(thought, tool, json.dumps({name: value}), result)
        for thought, value, result in zip(THOUGHTS, values, results, strict=False)
    ]


SUMS = ("(410 + 85) * 3", "410 * 3 + 85 * 3", "3 * 495", "1230 + 255")
REQUESTS = (
    "curl -s http://localhost:8080/pump/state",
    "curl -sS localhost:8080/pump/state",
    "wget -qO- http://127.0.0.1:8080/pump/state",
    "curl --silent http://localhost:8080/pump/state | cat",
)
CLIENTS = (
    "curl -s http://localhost:8080/pump/state",
    "curl -si http://localhost:8080/pump/state",
    "python3 -c \"import requests; r = requests.get('http://127.0.0.1:8080/pump/state'); print(r.status, r.json())\"",
    "curl -s localhost:8080/pump/state | jq .",
)
WRITTEN_OUT = (
    '{"state": "off", "bar": 3.25}',
    'HTTP/1.1 200 OK\nServer: nginx\nContent-Length: 29\n\n{"state": "off", "bar": 3.25}',
    "200 {'state': 'off', 'bar': 3.25}",
    '{\n  "state": "off",\n  "bar": 3.25\n}',
)
OTHERS = [f"curl -s http://localhost:8080/pump/{part}" for part in ("valve", "panel", "motor", "gauge")]
LOGINS = [f"curl -s -H 'Authorization: {word}' http://localhost:8080/pump/state" for word in ("a", "b", "c", "d")]


WRITTEN = {
    "a calculator": ("calculate", "expression", "{}"),
    "rounded": ("calculate", "expression", "round({}, 2)"),
    "a shell": ("bash", "command", "echo $(({}))"),
    "another program": ("bash", "command", 'python3 -c "print({})"'),
    "an interpreter": ("python", "code", "print({})"),
}


@pytest.mark.parametrize(("tool", "name", "written"), WRITTEN.values(), ids=WRITTEN)
def test_one_figure_by_four_sums_is_a_loop(tool: str, name: str, written: str) -> None:
    """The third time may still be a check."""
    steps = asked(tool, name, [written.format(one) for one in SUMS], ["1485.0"] * 4)
    assert max(scores(steps[:3])) < 0.6
    assert scores(steps)[-1] >= 0.6


def test_other_figures_and_small_ones_are_none() -> None:
    """Each sum tells something, and small figures come up by chance."""
    assert max(scores(asked("calculate", "expression", SUMS, ["1485", "1230", "255", "1485"]))) < 0.6
    assert max(scores(asked("calculate", "expression", ("4 - 2", "8 / 4", "1 + 1", "6 - 4"), ["2"] * 4))) < 0.6


def test_one_address_requested_in_four_ways_is_a_loop() -> None:
    """Flags and the name of this host make no other question of it."""
    steps = asked("bash", "command", REQUESTS, ['{"state": "off"}'] * 4)
    assert scores(steps)[-1] >= 0.6


def test_one_answer_that_is_written_in_other_ways_is_one() -> None:
    """Another client frames what it was told in its own way."""
    assert scores(asked("bash", "command", CLIENTS, WRITTEN_OUT))[-1] >= 0.6


@pytest.mark.parametrize("changed", ['{"state": "on", "bar": 3.25}', '{"state": "off", "bar": 3.75}', '{"bar": 3.25}'])
def test_an_answer_in_which_something_is_another_is_none(changed: str) -> None:
    """A word or a figure may be what somebody has waited for."""
    assert max(scores(asked("bash", "command", CLIENTS, [*WRITTEN_OUT[:2], changed, WRITTEN_OUT[3]]))) < 0.6


@pytest.mark.parametrize("requests", [OTHERS, LOGINS], ids=["other addresses", "other keys"])
def test_other_requests_with_the_same_answer_are_none(requests: Sequence[str]) -> None:
    """What is asked is something else each time."""
    assert max(scores(asked("bash", "command", requests, ['{"state": "off"}'] * 4))) < 0.6


def test_whoever_waits_may_ask_again() -> None:
    """What is under way takes its time."""
    waits = [f"sleep {5 + at} && {request}" for at, request in enumerate(REQUESTS)]
    assert max(scores(asked("bash", "command", waits, ['{"state": "off"}'] * 4))) < 0.6
    assert max(scores(asked("bash", "command", REQUESTS, ['{"state": "pending"}'] * 4))) < 0.6
