"""All monitors over one trajectory: bounds, determinism, garbage, and monitors of other packages."""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasonblocks.engine.answers import Evidence
from reasonblocks.engine.monitors.base import MonitorState, Reading
from reasonblocks.engine.monitors.features import ObservedStep, StepFeatures
from reasonblocks.engine.monitors.registry import BUILT_IN, load_monitors
from reasonblocks.engine.monitors.suite import MonitorSuite, SuiteReading

Read = Callable[[Sequence[ObservedStep]], list[SuiteReading]]
SIX = [
    "claim_contradiction",
    "semantic_loop",
    "verification_skip",
    "cyclic_compression",
    "late_sprawl",
    "silent_topic_drift",
]
any_text = st.text(st.characters(codec=None), max_size=200)  # lone surrogates as well
any_step = st.builds(ObservedStep, any_text, any_text, any_text, any_text, st.booleans())
few_words = st.lists(
    st.sampled_from("the cache is not shared also summary fixed error done search".split()), max_size=12
)
likely_step = st.builds(
    ObservedStep,
    few_words.map(" ".join),
    st.sampled_from(["", "search", "edit_file", "bash"]),
    st.sampled_from(["", '{"query": "a b"}', '{"command": "pytest"}', "[" * 5_000]),
    st.sampled_from(["", "ok", "1 failed", "Traceback (most recent call last)"]),
    st.booleans(),
)


def test_c14_the_six_monitors_and_their_failure_types() -> None:
    """The built-in monitors are those of the contract, in its order."""
    assert {monitor.name: monitor.failure_type for monitor in BUILT_IN} == dict(
        zip(SIX, ["contradiction", "loop", "unverified", "churn", "sprawl", "drift"], strict=True)
    )


def test_c15_scorers_have_the_default_weights(suite: MonitorSuite) -> None:
    """The monitors are shown with the weights of the coding profile."""
    assert [(scorer.name, scorer.default_weight) for scorer in suite.scorers()] == list(
        zip(SIX, [0.30, 0.25, 0.15, 0.10, 0.10, 0.10], strict=True)
    )


@settings(max_examples=60)
@given(st.lists(any_step | likely_step, max_size=20))
def test_c14_scores_are_in_bounds_and_depend_on_the_steps_alone(readings: Read, steps: list[ObservedStep]) -> None:
    """Whatever the steps are, nothing raises, scores lie in [0, 1], and a second look says the same."""
    first = readings(steps)
    assert all(0.0 <= score <= 1.0 for reading in first for score in reading.scores.values())
    assert all(list(reading.scores) == SIX for reading in first)
    assert readings(steps) == first


@pytest.mark.parametrize(
    "text",
    ["", " \n\t", "x" * 64_000, "word " * 12_800, "\ud800" * 5_000, "é\u200b" * 20_000, "[" * 64_000, "a.b/c" * 12_000],
    ids=["empty", "blank", "one word", "many words", "surrogates", "marks", "brackets", "paths"],
)
def test_garbage_is_taken(readings: Read, text: str) -> None:
    """Texts of any size and kind in every field are read without an error."""
    assert len(readings([ObservedStep(text, text, text, text)] * 3)) == 3


class Counter:
    """A monitor of another package; `broken` says at which step it breaks."""

    name = "counter"
    failure_type = "counting"
    description = "Counts."
    default_weight = 0.5

    def __init__(self, broken: int = -1, score: float = 1.0) -> None:
        self.broken = broken
        self.score = score

    def start(self, task: str) -> MonitorState:
        return self

    def observe(self, step: StepFeatures) -> Reading:
        if step.index == self.broken:
            raise RuntimeError("out of fingers")
        return Reading(self.score, Evidence("somebody", "Counted.", [step.index], ["one"]))


def test_a_monitor_of_another_package_takes_part() -> None:
    """It is scored, weighted and shown like any other, under its own name."""
    reading = MonitorSuite([*BUILT_IN, Counter()]).start().observe(ObservedStep("one"))
    assert reading.scores["counter"] == 1.0
    assert reading.evidence["counter"].monitor == "counter"
    assert MonitorSuite([Counter()]).default_weights == {"counter": 0.5}


def test_a_monitor_that_breaks_is_silent_for_the_rest_of_the_run(caplog: pytest.LogCaptureFixture) -> None:
    """The others go on, and the cause is reported once."""
    trajectory = MonitorSuite([*BUILT_IN, Counter(broken=1)]).start()
    with caplog.at_level(logging.WARNING):
        found = [trajectory.observe(ObservedStep("one")).scores["counter"] for _ in range(3)]
    assert found == [1.0, 0.0, 0.0]
    assert "monitor 'counter': RuntimeError: out of fingers" in caplog.text


@pytest.mark.parametrize(("score", "shown"), [(7.0, 1.0), (-1.0, 0.0), (float("nan"), 0.0)])
def test_c14_a_score_out_of_bounds_is_brought_back(score: float, shown: float) -> None:
    """Whatever a monitor returns, what leaves the suite lies in [0, 1]."""
    reading = MonitorSuite([Counter(score=score)]).start().observe(ObservedStep("one"))
    assert reading.scores == {"counter": shown}


def test_monitors_are_found_by_entry_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An installed package adds its monitors; a broken one, and one that takes a built-in name, is reported."""
    (tmp_path / "rb_extra_monitors.py").write_text(
        "class Good:\n"
        "    name = 'good'\n    failure_type = 'none'\n    description = 'Fine.'\n"
        "    def start(self, task): return self\n"
        "    def observe(self, step): raise RuntimeError\n"
        "class Taken(Good):\n    name = 'semantic_loop'\n"
    )
    metadata = tmp_path / "rb_extra-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: rb-extra\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(
        "[reasonblocks.monitors]\ngood = rb_extra_monitors:Good\ntaken = rb_extra_monitors:Taken\n"
        "gone = rb_extra_monitors:Gone\nwrong = rb_extra_monitors:__name__\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with caplog.at_level(logging.WARNING):
        names = [monitor.name for monitor in load_monitors()]
    assert names == [*SIX, "good"]
    for entry in ("taken", "gone", "wrong"):
        assert f"monitor '{entry}'" in caplog.text


def test_one_more_step_takes_no_more_memory(suite: MonitorSuite) -> None:
    """What is held of a run is bounded: after 2,000 steps as much as after 500."""

    def held(count: int) -> int:
        trajectory = suite.start()
        for number in range(count):
            trajectory.observe(ObservedStep(f"thought {number} about x{number} is here", "search", f"q{number}", "r"))
        return sum(len(window) for window in _containers(trajectory))

    assert held(2_000) == held(500)


def _containers(held: object, seen: set[int] | None = None) -> list[Sequence[object]]:
    """Every list, dict, set and deque that can be reached from an object of ours."""
    seen = set() if seen is None else seen
    if id(held) in seen or isinstance(held, str | bytes | int | float | type) or held is None:
        return []
    seen.add(id(held))
    found: list[Sequence[object]] = [held] if hasattr(held, "__len__") else []  # type: ignore[list-item]
    slots = [name for kind in type(held).__mro__ for name in getattr(kind, "__slots__", ())]
    parts = [getattr(held, name) for name in slots if hasattr(held, name)] + list(
        getattr(held, "__dict__", {}).values()
    )
    if found:
        parts += list(held.values() if isinstance(held, dict) else held)  # type: ignore[call-overload]
    return found + [inner for part in parts for inner in _containers(part, seen)]


def test_the_monitor_in_the_documentation_works() -> None:
    """Whoever copies it has a monitor that fires with its evidence."""
    text = (Path(__file__).parents[3] / "docs" / "monitors.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(text.split("```python\n")[1].split("```")[0], names)
    trajectory = MonitorSuite([*BUILT_IN, names["Apologies"]()]).start()
    reading = [trajectory.observe(ObservedStep(f"Sorry, that was wrong ({number}).")) for number in range(3)][-1]
    assert reading.fired == ["apologies"]
    assert reading.evidence["apologies"].steps == [0, 1, 2]
