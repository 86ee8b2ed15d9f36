"""semantic_loop: what is a loop, and what only looks like one."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from reasonblocks.engine.answers import Evidence
from reasonblocks.engine.monitors.features import ObservedStep

Scores = Callable[[str, Sequence[ObservedStep]], list[float]]
Why = Callable[[str, Sequence[ObservedStep]], Evidence]
NOTHING_FOUND = "No results found."


def call(action: str, observation: str, thought: str = "", **arguments: object) -> ObservedStep:
    """A step with a call and its result."""
    return ObservedStep(thought, action, msgspec.json.encode(arguments).decode(), observation)


def search(query: str, observation: str = NOTHING_FOUND) -> ObservedStep:
    """A search and what it found."""
    return call("search", observation, query=query)


LOOPS = {
    "same call, same result": [search("login bug")] * 4,
    "same call, failing in the same way": [
        call("run_query", f"Error: connection to 10.0.0.{n} timed out after {n}01 ms", sql="select * from users")
        for n in range(4)
    ],
    "two calls in turn": [search("login bug"), call("list_files", "src tests docs", path="src")] * 3,
    "three calls in turn": [
        search("login bug"),
        call("list_files", "src tests docs", path="src"),
        call("read_file", "def login(): ...", path="src/login.py"),
    ]
    * 3,
    "reworded searches": [
        search("session timeout"),
        search("session expiry"),
        search("session token expiration"),
        search("session expired timeout"),
    ],
    "two edits that undo each other": [
        call("edit_file", "ok", path="a.py", old="x = 1", new="x = 2"),
        call("edit_file", "ok", path="a.py", old="x = 2", new="x = 1"),
    ]
    * 3,
    "the same message": [
        ObservedStep(
            "I hand over to the web expert, who should collect opening hours and prices of all restaurants nearby"
        )
    ]
    * 4,
}


@pytest.mark.parametrize("steps", LOOPS.values(), ids=LOOPS)
def test_c14_a_loop_fires(steps: list[ObservedStep], scores: Scores) -> None:
    """Repetition without progress reaches the threshold by the fourth time at the latest."""
    assert max(scores("semantic_loop", steps)) >= 0.6


def test_c14_a_loop_fires_at_the_third_time(scores: Scores) -> None:
    """Once is nothing, twice is little, three times is a loop, and it gets worse from there."""
    found = scores("semantic_loop", [search("login bug")] * 6)
    assert found[0] == 0.0
    assert 0.0 < found[1] < 0.6 <= found[2]
    assert found == sorted(found)


def page(number: int) -> ObservedStep:
    """A page of a long listing."""
    return call("page_down", f"Page {number}: entries {number}0 to {number}9 of the register")


HEALTHY = {
    "a new result each time": [call("get_news", f"Headline: {word}") for word in "one two three four five".split()],
    "bulk work over files": [
        call("rename_file", "ok", path=f"src/part_{n}.py", to=f"lib/part_{n}.py") for n in range(8)
    ],
    "bulk work by one shell": [call("bash", "", command=f"sed -i s/foo/bar/ src/part_{n}.py") for n in range(8)],
    "bulk reading": [call("get_order", "not found", order_id=f"#W{n}") for n in range(8)],
    "paging": [page(number) for number in range(8)],
    "polling": [call("bash", "", command="sleep 10"), call("get_build", "status: running", build="17")] * 5,
    "retry after a fix": [
        step
        for n in range(5)
        for step in (
            call("edit_file", "ok", path="a.py", old="x = 0", new=f"x = {n} + 1"),
            call("bash", "1 failed", command="pytest tests/test_a.py"),
        )
    ],
    "reading again after an edit": [
        step
        for n in range(5)
        for step in (call("read_file", "x", path="a.py"), call("write_file", "ok", path="a.py", content=f"{n}"))
    ],
    "a look now and then": [
        step
        for n in range(4)
        for step in (call("list_todos", "write tests"), *(search(f"topic{n}{m}", f"result {n} {m}") for m in range(4)))
    ],
    "short answers to a person": [ObservedStep("Yes.", observation="and now?")] * 6,
}


@pytest.mark.parametrize("steps", HEALTHY.values(), ids=HEALTHY)
def test_c14_what_only_looks_like_a_loop_does_not_fire(steps: list[ObservedStep], scores: Scores) -> None:
    """A repeated call with a new result, bulk work, paging, polling and a retry after a fix are not loops."""
    assert max(scores("semantic_loop", steps)) < 0.6


def test_c14_the_end_of_a_loop_is_seen(scores: Scores) -> None:
    """As soon as something new is done, the monitor no longer fires."""
    steps = [*[search("login bug")] * 4, call("read_file", "def login(): ...", path="src/login.py")]
    *_, in_the_loop, after_it = scores("semantic_loop", steps)
    assert in_the_loop >= 0.6 > after_it


def test_a_loop_shows_its_evidence(evidence: Why) -> None:
    """The evidence names the steps, the call and the result."""
    found = evidence("semantic_loop", [page(1), *[search("login bug")] * 3])
    assert found.steps == [1, 2, 3]
    assert "3 times" in found.reason
    assert found.quotes == ["search login bug", NOTHING_FOUND]


def test_a_result_that_differs_far_inside_is_a_new_one(scores: Scores) -> None:
    """Long results are compared as a whole, although only their ends are read."""
    steps = [call("read_log", "a" * 30_000 + str(n) + "b" * 30_000) for n in range(6)]
    assert scores("semantic_loop", steps) == [0.0] * 6
