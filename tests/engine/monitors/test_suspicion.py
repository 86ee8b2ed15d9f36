"""Signs and what is suspected because of them."""

import itertools
from collections.abc import Callable, Sequence
from importlib.resources import files

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasonblocks.engine import monitors
from reasonblocks.engine.monitors.base import FIRE_THRESHOLD, FLOOR
from reasonblocks.engine.monitors.features import ObservedStep, read_step
from reasonblocks.engine.monitors.gate import decide
from reasonblocks.engine.monitors.profiles import DEFAULT_WEIGHTS
from reasonblocks.engine.monitors.signs import NAMES, Signs
from reasonblocks.engine.monitors.suite import MonitorSuite, SuiteReading
from reasonblocks.engine.monitors.suspicion import FILE, Calibration, MonitorCalibration, shipped_calibration

words = st.text(st.sampled_from("abc 1.?\n"), max_size=40)
steps = st.builds(
    ObservedStep,
    thought=words,
    action=st.sampled_from(["", "search", "edit_file", "submit"]),
    action_input=words,
    observation=words,
    is_error=st.booleans(),
)


def signs_of(task: str, observed: Sequence[ObservedStep]) -> list[dict[str, float]]:
    """The signs after each step."""
    signs = Signs(task)
    seen = []
    for index, step in enumerate(observed):
        signs.observe(read_step(index, step))
        seen.append(dict(signs.values()))
    return seen


@given(st.lists(steps, max_size=12), words)
def test_a_sign_only_ever_grows(observed: list[ObservedStep], task: str) -> None:
    """So the highest suspicion of a run is its last, and the first steps of a longer run are those of a shorter one."""
    seen = signs_of(task, observed)
    assert all(list(one) == list(NAMES) for one in seen)
    for earlier, later in itertools.pairwise(seen):
        assert all(earlier[name] <= later[name] for name in NAMES)


@given(st.lists(steps, min_size=1, max_size=8))
def test_c14_a_suspicion_alone_fires_nothing(observed: list[ObservedStep]) -> None:
    """However much adds up, what is suspected stays below what a weak finding has to have."""
    calibration = shipped_calibration()
    most = calibration.suspicions(dict.fromkeys(NAMES, 1e9))
    assert max(most.values()) < FLOOR < FIRE_THRESHOLD
    grown = calibration.suspicions(signs_of("", observed)[-1])
    assert all(0.0 <= grown[name] <= most[name] for name in grown)
    reading = SuiteReading(most)
    assert decide(reading, DEFAULT_WEIGHTS, dict.fromkeys(most, "any")) is None


def test_no_signs_no_suspicion() -> None:
    """A run that has not begun is suspected of nothing."""
    assert set(shipped_calibration().suspicions(dict.fromkeys(NAMES, 0.0)).values()) == {0.0}


@pytest.mark.parametrize(
    ("sign", "observed"),
    [
        ("steps", [ObservedStep("One.")]),
        ("same_target", [ObservedStep("", "read_file", "app.py", str(number)) for number in range(2)]),
        ("unfinished", [ObservedStep("", "job_status", "7", "status: pending")]),
        ("failures", [ObservedStep("", "run", "make", "Error: no rule")]),
        ("failing", [ObservedStep("", "run", "make", "Error: no rule")]),
        ("numbers", [ObservedStep("It took 3.5 seconds.")]),
        ("capitals", [ObservedStep("The HTTP header is gone.")]),
        ("hedges", [ObservedStep("Perhaps it is the cache.")]),
        ("announcements", [ObservedStep("Next I will look at the cache.")]),
        ("said", [ObservedStep("Something.")]),
        ("restated", [ObservedStep("The cache is stale."), ObservedStep("So the cache is stale.")]),
        ("stretch", [ObservedStep("", "read_file", "app.py", "x")]),
        ("searches", [ObservedStep("", "search", "cache", "nothing")]),
        ("read", [ObservedStep("", "read_file", "app.py", "import os")]),
        ("new_words", [ObservedStep("", "read_file", "app.py", "import cache")]),
        ("unsupported", [ObservedStep("Zebras graze.")]),
        ("unfollowed", [ObservedStep("1. Search\n2. Read\n3. Compare"), ObservedStep("", "final_answer", "42")]),
    ],
)
def test_each_sign_sees_what_it_is_called_after(sign: str, observed: list[ObservedStep]) -> None:
    """A run of one or two steps that shows the sign, and an empty one that does not."""
    assert signs_of("", [ObservedStep()])[-1][sign] == (1.0 if sign == "steps" else 0.0)
    assert signs_of("", observed)[-1][sign] > 0.0


def test_what_the_task_or_a_result_says_is_supported() -> None:
    """Words that came from elsewhere are no sign of making things up."""
    seen = ObservedStep("", "read_file", "zoo.txt", "Giraffes sleep standing.")
    assert (
        signs_of("Zebras graze.", [seen, ObservedStep("Zebras graze. Giraffes sleep standing.")])[-1]["unsupported"]
        == 0
    )


def test_a_long_plan_that_was_followed_is_no_sign() -> None:
    """As many different calls as points were planned."""
    plan = ObservedStep("1. Search\n2. Read")
    calls = [ObservedStep("", "search", "cache"), ObservedStep("", "read_file", "app.py")]
    assert signs_of("", [plan, *calls, ObservedStep("", "final_answer", "42")])[-1]["unfollowed"] == 0.0


def test_every_score_can_be_computed_from_its_signs(suite: MonitorSuite) -> None:
    """What a quiet monitor scores is what the shipped file says about the signs of the reading."""
    trajectory = suite.start()
    for number in range(4):
        reading = trajectory.observe(
            ObservedStep(f"Perhaps {number} apples are left.", "look", f"box {number}", "empty")
        )
    expected = shipped_calibration().suspicions(reading.signs)
    quiet = [name for name in reading.scores if name not in reading.evidence]
    assert quiet
    assert {name: reading.scores[name] for name in quiet} == {name: round(expected[name], 4) for name in quiet}


def test_a_finding_counts_where_it_is_higher(readings: Callable[[Sequence[ObservedStep]], list[SuiteReading]]) -> None:
    """A suspicion never lowers a score."""
    loop = readings([ObservedStep("Look.", "search", "login bug", "No results found.")] * 5)[-1]
    assert loop.scores["semantic_loop"] >= FIRE_THRESHOLD


def test_a_calibration_of_ones_own_is_used() -> None:
    """Another file, another score: nothing is built in."""
    own = Calibration(0.2, {"semantic_loop": MonitorCalibration(0.0, {"steps": 1.0})})
    reading = MonitorSuite(monitors.registry.BUILT_IN, calibration=own).start().observe(ObservedStep("One."))
    assert reading.scores["semantic_loop"] == pytest.approx(0.2 * (2 / 3 - 1 / 2) / (1 / 2), abs=1e-4)
    assert reading.scores["late_sprawl"] == 0.0


def test_the_shipped_file_says_where_it_comes_from() -> None:
    """Its provenance and its figures on runs that were not used are in it, for people."""
    shipped = msgspec.json.decode((files(monitors) / FILE).read_bytes())
    assert shipped["fitted_by"] == "benchmarks/monitors/fit.py"
    assert sum(one["failed"] + one["succeeded"] for one in shipped["fitted_on"]["runs"].values()) > 1_000
    assert {"tasks_not_used", "set_not_used"} <= set(shipped["figures"])
    assert set(shipped["monitors"]) == set(DEFAULT_WEIGHTS)
