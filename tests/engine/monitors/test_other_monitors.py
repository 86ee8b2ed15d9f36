"""Three of the other monitors: a planted failure fires, its healthy twin does not."""

from collections.abc import Callable, Sequence

import pytest

from reasonblocks.engine.answers import Evidence
from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.suite import SuiteReading

Scores = Callable[[str, Sequence[ObservedStep]], list[float]]
Readings = Callable[[Sequence[ObservedStep]], list[SuiteReading]]
Why = Callable[[str, Sequence[ObservedStep]], Evidence]


def step(thought: str, action: str = "", given: str = "", observation: str = "") -> ObservedStep:
    """A step in the order in which it happens."""
    return ObservedStep(thought, action, given, observation)


RUN = ("bash", '{"command": "pytest tests/test_cache.py"}')
EDIT = ("edit_file", '{"path": "src/cache.py", "text": "x"}', "ok")


def look(thought: str, number: int = 0) -> ObservedStep:
    """A step that reads one file after another."""
    return step(thought, "read_file", f'{{"path": "src/cache_{number}.py"}}', f"class Cache{number}: ...")


FIRST = look("The cache is shared between all worker threads.")
SUMMARY = (
    "what we know: the cache is shared, the lock is taken late, the index is rebuilt on every write and the "
    "tests cover only the reading side of the store."
)
ABOUT_CACHES = [
    look(f"The cache module holds part {n} of the store, and the lock guards its index.", n) for n in range(12)
]

PLANTED: dict[str, list[ObservedStep]] = {
    "claim_contradiction": [FIRST, look("The cache is not shared between all worker threads.")],
    "verification_skip": [step("Add the lock.", *EDIT), step("The issue is fixed and the task is complete.")],
    "cyclic_compression": [
        step(f"{start} {SUMMARY}") for start in ("To sum up", "In summary", "So far", "Overall, to recap,", "In short")
    ],
}
HEALTHY: dict[str, tuple[str, list[ObservedStep]]] = {
    "an acknowledged change of mind": (
        "claim_contradiction",
        [FIRST, look("I was mistaken: the cache is not shared between all worker threads.")],
    ),
    "a change in between": (
        "claim_contradiction",
        [FIRST, step("Give each its own.", *EDIT), look("The cache is not shared between all worker threads.")],
    ),
    "success after success": (
        "claim_contradiction",
        [step("Run them.", *RUN, "5 passed"), look("All tests passed.")],
    ),
    "a conclusion after a trial": (
        "verification_skip",
        [step("Add it.", *EDIT), step("Run.", *RUN, "5 passed"), step("The task is complete.")],
    ),
    "an admitted gap": (
        "verification_skip",
        [step("Add it.", *EDIT), step("The task is complete, but it could not be run here and is untested.")],
    ),
    "an answer that needed no change": ("verification_skip", [FIRST, step("Final answer: the cache is shared.")]),
    "steady work": ("cyclic_compression", ABOUT_CACHES),
    "summing up while reading on": ("cyclic_compression", [look(f"To sum up {SUMMARY}", n) for n in range(6)]),
}


@pytest.mark.parametrize("monitor", PLANTED)
def test_c14_a_planted_failure_fires(monitor: str, scores: Scores) -> None:
    """Each monitor sees the failure it is named for."""
    assert scores(monitor, PLANTED[monitor])[-1] >= 0.6


@pytest.mark.parametrize("monitor", PLANTED)
def test_a_planted_failure_comes_with_evidence(monitor: str, evidence: Why) -> None:
    """What is found can be shown: the steps it is about, and short quotations from them."""
    found = evidence(monitor, PLANTED[monitor])
    assert found.monitor == monitor
    assert found.reason.endswith(".")
    assert found.steps[-1] == len(PLANTED[monitor]) - 1
    assert all(0 < len(quotation) <= 100 for quotation in found.quotes)


@pytest.mark.parametrize(("monitor", "steps"), HEALTHY.values(), ids=HEALTHY)
def test_c14_a_healthy_twin_does_not_fire(monitor: str, steps: list[ObservedStep], scores: Scores) -> None:
    """What resembles a failure and is none stays below the threshold."""
    assert max(scores(monitor, steps)) < 0.6


def test_c14_a_claim_against_the_result_fires(scores: Scores) -> None:
    """Success cannot be claimed right after a run that failed."""
    steps = [step("Run them.", *RUN, "exit code: 1\n2 failed"), look("All tests passed and everything is fine.")]
    assert scores("claim_contradiction", steps)[-1] >= 0.6


def test_c14_a_conclusion_after_a_failed_trial_fires(scores: Scores) -> None:
    """Work is not done while the last thing that was run had failed."""
    steps = [
        step("Add the lock.", *EDIT),
        step("Run them.", *RUN, "exit code: 1\n2 failed"),
        step("The issue is fixed and the task is complete."),
    ]
    assert scores("verification_skip", steps)[-1] >= 0.6


def test_a_single_finding_fades(scores: Scores) -> None:
    """What was found once is not held against the run for ever."""
    after = scores("claim_contradiction", [*PLANTED["claim_contradiction"], *ABOUT_CACHES])
    assert after[1] >= 0.6 > after[2] > after[3]
    assert after[-1] < 0.1


@pytest.mark.parametrize("monitor", PLANTED)
def test_only_the_failure_at_hand_is_named(monitor: str, readings: Readings) -> None:
    """In a planted run no other monitor fires."""
    assert {name for reading in readings(PLANTED[monitor]) for name in reading.fired} == {monitor}
