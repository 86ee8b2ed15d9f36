"""Switches, thresholds and tool roles."""

import pytest

from reasonblocks.engine.monitors.features import ObservedStep
from reasonblocks.engine.monitors.gate import decide
from reasonblocks.engine.monitors.profiles import DEFAULT_WEIGHTS
from reasonblocks.engine.monitors.registry import BUILT_IN
from reasonblocks.engine.monitors.settings import MonitorSettings
from reasonblocks.engine.monitors.suite import MonitorSuite, SuiteReading
from reasonblocks.engine.settings import EngineSettings
from reasonblocks.errors import SettingsError

LOOP = [ObservedStep("Look.", "search", "login bug", "No results found.")] * 4


def after(settings: MonitorSettings, steps: list[ObservedStep]) -> tuple[SuiteReading, MonitorSuite]:
    """The reading after the last step, and the suite."""
    suite = MonitorSuite(BUILT_IN, settings)
    trajectory = suite.start()
    for step in steps:
        trajectory.observe(step)
    return trajectory.reading(), suite


def test_a_monitor_that_is_off_scores_nothing() -> None:
    """Its name stays in the scores, its score is 0 and it opens nothing; the others go on."""
    reading, suite = after(MonitorSettings.parse(off="semantic_loop"), LOOP)
    assert list(reading.scores) == list(DEFAULT_WEIGHTS)
    assert (reading.scores["semantic_loop"], reading.fired) == (0.0, [])
    assert decide(reading, DEFAULT_WEIGHTS, suite.failure_types) is None
    assert any(reading.scores.values())


def test_a_threshold_of_ones_own_decides_when_a_monitor_fires() -> None:
    """Below it nothing is fired and nothing opens; above it both, also where the others would not fire yet."""
    score = after(MonitorSettings(), LOOP)[0].scores["semantic_loop"]
    assert score >= 0.6
    stricter, suite = after(MonitorSettings.parse(thresholds=f"semantic_loop={score + 0.01}"), LOOP)
    assert stricter.fired == []
    assert decide(stricter, DEFAULT_WEIGHTS, suite.failure_types) is None
    assert suite.scorers()[1].fire_threshold == score + 0.01
    laxer, suite = after(MonitorSettings.parse(thresholds="semantic_loop=0.1"), LOOP[:2])
    assert 0.1 <= laxer.scores["semantic_loop"] < 0.6
    assert laxer.fired == ["semantic_loop"]
    opening = decide(laxer, DEFAULT_WEIGHTS, suite.failure_types)
    assert opening is not None
    assert opening.leader == "semantic_loop"


def test_a_declared_role_is_believed() -> None:
    """A tool waits if its owner says so, whatever its name, and waiting is no loop."""
    steps = [ObservedStep("", "zorp_lookup", "job-7", "same as before, as far as anyone can tell from here")] * 6
    assert after(MonitorSettings(), steps)[0].fired == ["semantic_loop"]
    assert after(MonitorSettings.parse(tool_roles="zorp_lookup=waits"), steps)[0].fired == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"off": "semantic_lop"}, "there is no monitor 'semantic_lop'; expected one of claim_contradiction, cyclic_"),
        ({"thresholds": "semantic_loop"}, "'semantic_loop' sets nothing; expected a monitor's threshold as name=value"),
        ({"thresholds": "semantic_loop=high"}, "the threshold of semantic_loop is 'high'; expected a number above 0"),
        ({"thresholds": "semantic_loop=1.5"}, "the threshold of semantic_loop is 1.5; expected a number above 0"),
        ({"thresholds": "semantic_loop=nan"}, "the threshold of semantic_loop is nan; expected a number above 0"),
        ({"tool_roles": "zorp=dances"}, "dances"),
    ],
)
def test_a_setting_that_cannot_work_is_refused(given: dict[str, str], told: str) -> None:
    """The message names the value and what was expected."""
    with pytest.raises(SettingsError, match=None) as refused:
        MonitorSuite(BUILT_IN, MonitorSettings.parse(**given))
    assert told in str(refused.value)


def test_an_embedded_engine_takes_them_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """REASONBLOCKS_MONITORS_OFF, REASONBLOCKS_MONITOR_THRESHOLDS and REASONBLOCKS_TOOL_ROLES."""
    monkeypatch.setenv("REASONBLOCKS_MONITORS_OFF", "late_sprawl, silent_topic_drift")
    monkeypatch.setenv("REASONBLOCKS_MONITOR_THRESHOLDS", "semantic_loop=0.8")
    monkeypatch.setenv("REASONBLOCKS_TOOL_ROLES", "zorp=waits")
    settings = EngineSettings.from_environment(None).monitors
    assert settings == MonitorSettings.of(
        ["late_sprawl", "silent_topic_drift"], {"semantic_loop": 0.8}, {"zorp": "waits"}
    )
