"""Whoever goes through a list calls the same for one value after the other: nothing about that is wrong."""

import itertools

import msgspec
import pytest

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.lists import goes_through_a_list
from reasonblocks.engine.monitors.suite import MonitorSuite

from .deeds_and_words import say

TASK = "Check all ten of them and tell me whether any needs attention."
PEOPLE = ["anna", "bert", "carla", "dora", "emil", "fred", "gina", "hugo", "ines", "jan"]
LISTS: dict[str, list[str]] = {
    "short ids": [f"k{number}" for number in range(10)],
    "ids with a part in common": [f"r{number}-{number * 3}" for number in range(10)],
    "numbers": [str(17 + number) for number in range(10)],
    "orders": [f"#W{5490111 + number * 13}" for number in range(10)],
    "people": PEOPLE,
    "machines": [f"web-{number:02d}" for number in range(10)],
    "days": [f"2026-03-{number + 1:02d}" for number in range(10)],
    "files": [f"src/mod_{name}.py" for name in PEOPLE],
    "letters": list("ABCDEFGHIJ"),
}
RESULTS: dict[str, str] = {
    "an echo": "record {}: value=42 updated=2026-01-01 source=primary",
    "all alike": "status: ready, no open issues were found for this item",
    "fields": '{{"id": "{}", "status": "open", "owner": "team-a", "priority": 2}}',
    "many lines": "{}\n" + "line: nothing to report here\n" * 12,
}
THOUGHTS = ("", "Next is {}.", "{} is fine, going on.")
CALLS: dict[str, tuple[str, str, str]] = {
    "a tool": ("get_record_details", "record_id", "{}"),
    "a command": ("bash", "command", "check-item {}"),
    "a page": ("bash", "command", "curl -s http://svc.local/api/items/{}"),
}


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("values", LISTS.values(), ids=LISTS)
def test_c14_a_list_that_is_gone_through_disturbs_nobody(values: list[str], result: str, suite: MonitorSuite) -> None:
    """Whatever its values are, however it is asked for, and however alike what comes of it."""
    for (tool, name, asked), thought in itertools.product(CALLS.values(), THOUGHTS):
        steps = [ObservedStep("", "list_items", "{}", msgspec.json.encode(values).decode())]
        for value in values:
            given = msgspec.json.encode({name: asked.format(value)}).decode()
            steps.append(ObservedStep(thought.format(value), tool, given, result.format(value)))
        steps.append(say("I have been through all ten of them; none needs attention."))
        trajectory = suite.start(TASK)
        assert not any(trajectory.observe(step).fired for step in steps)


@pytest.mark.parametrize(
    ("calls", "is_list"),
    [
        (["check a1", "check a2", "check b7"], True),
        (["check a1", "check a2", "check a1"], False),
        (["check a1", "check A-1", "check a2"], False),
        (["check invoice", "check invoices", "check inv"], False),
        (["check a1", "check a2 --again", "check a3"], False),
        (["check a1 of b1", "check a2 of b1", "check a2 of b2"], False),
        (["check a1", "check a2"], False),
        (["check -e a1", "check -F a1", "check -w a1"], False),
        (["check 1", "check 11", "check 111"], True),
    ],
)
def test_a_list_has_another_value_for_each_call(calls: list[str], is_list: bool) -> None:
    """One value in other spellings is the same value."""
    assert goes_through_a_list(calls) is is_list
