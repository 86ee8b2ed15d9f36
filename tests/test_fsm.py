"""How scores move a run between its states."""

import dataclasses
import math
from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reasonblocks.errors import SettingsError
from reasonblocks.fsm import DifficultyFSM
from reasonblocks.types import FSMState

INIT, NORMAL, FAST, SLOW, SKIP, END = FSMState
DEFAULTS = DifficultyFSM()
SCORES = st.floats(0, 1)
HISTORIES = st.lists(SCORES, min_size=1, max_size=40)


def after(state: FSMState, *history: float, fsm: DifficultyFSM = DEFAULTS) -> FSMState:
    return fsm.transition(state, history[-1], history)


def test_c11_the_defaults_are_those_of_the_contract() -> None:
    """Without arguments the thresholds and windows are the published ones."""
    assert dataclasses.asdict(DEFAULTS) == {
        "fast_threshold": 0.2,
        "slow_threshold": 0.6,
        "skip_threshold": 0.85,
        "hysteresis_margin": 0.1,
        "fast_window": 6,
        "slow_window": 5,
        "skip_window": 35,
    }
    assert DEFAULTS.longest_window == 35


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_c11_the_first_score_leads_from_init_to_normal(score: float) -> None:
    """Whatever the first score is, a run starts in NORMAL, even with windows of one."""
    windows_of_one = DifficultyFSM(fast_window=1, slow_window=1, skip_window=1)
    assert after(INIT, score) is NORMAL
    assert after(INIT, score, fsm=windows_of_one) is NORMAL


def test_c11_normal_enters_fast_after_six_easy_scores() -> None:
    """Six scores below 0.2 are needed; five, or six of which one is on the threshold, are not enough."""
    assert after(NORMAL, *[0.1] * 5) is NORMAL
    assert after(NORMAL, *[0.1] * 6) is FAST
    assert after(NORMAL, 0.9, *[0.1] * 6) is FAST
    assert after(NORMAL, 0.2, *[0.1] * 5) is NORMAL
    assert after(NORMAL, *[0.1] * 5, 0.2) is NORMAL


def test_c11_normal_enters_slow_after_five_hard_scores() -> None:
    """Five scores above 0.6 are needed; four, or five of which one is on the threshold, are not enough."""
    assert after(NORMAL, *[0.7] * 4) is NORMAL
    assert after(NORMAL, *[0.7] * 5) is SLOW
    assert after(NORMAL, 0.1, *[0.7] * 5) is SLOW
    assert after(NORMAL, 0.6, *[0.7] * 4) is NORMAL
    assert after(NORMAL, *[0.7] * 4, 0.6) is NORMAL


def test_c11_normal_never_enters_skip_directly() -> None:
    """Even a long run of extreme scores goes through SLOW."""
    assert after(NORMAL, *[0.99] * 40) is SLOW


def test_c11_fast_returns_to_normal_above_threshold_and_margin() -> None:
    """A score between the threshold and threshold plus margin keeps FAST, one above leaves it."""
    assert after(FAST, 0.1) is FAST
    assert after(FAST, 0.25) is FAST
    assert after(FAST, DEFAULTS.fast_threshold + DEFAULTS.hysteresis_margin) is FAST
    assert after(FAST, 0.31) is NORMAL
    assert after(FAST, *[0.9] * 10) is NORMAL


@pytest.mark.parametrize("state", [SLOW, SKIP])
def test_c11_slow_and_skip_return_to_normal_below_threshold_less_margin(state: FSMState) -> None:
    """A score between threshold less margin and the threshold keeps the state, one below leaves it."""
    assert after(state, 0.7) is state
    assert after(state, 0.55) is state
    assert after(state, 0.5) is state
    assert after(state, 0.49) is NORMAL
    assert after(state, *[0.1] * 10) is NORMAL


def test_c11_slow_enters_skip_after_thirty_five_extreme_scores() -> None:
    """Thirty-five scores above 0.85 are needed; fewer, or one on the threshold, are not enough."""
    assert after(SLOW, *[0.9] * 34) is SLOW
    assert after(SLOW, *[0.9] * 35) is SKIP
    assert after(SLOW, 0.85, *[0.9] * 34) is SLOW
    assert after(SLOW, *[0.9] * 34, 0.85) is SLOW


def test_c11_skip_stays_until_it_returns_to_normal() -> None:
    """Falling below the skip threshold alone does not lead back to SLOW."""
    assert after(SKIP, 0.7) is SKIP
    assert after(SKIP, *[0.9] * 40) is SKIP


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_c11_end_is_reserved(score: float) -> None:
    """Nothing leads out of END."""
    assert after(END, *[score] * 40) is END


@settings(deadline=None, max_examples=50)
@given(HISTORIES, st.sampled_from(FSMState))
def test_c11_nothing_leads_to_end(history: list[float], state: FSMState) -> None:
    """No scores lead from another state to END."""
    assert (after(state, *history) is END) == (state is END)


@pytest.mark.parametrize("state", list(FSMState))
def test_c11_a_score_that_is_nan_changes_nothing(state: FSMState) -> None:
    """A score that could not be computed keeps every state, also INIT."""
    assert after(state, *[0.1] * 40, math.nan) is state


@pytest.mark.parametrize(("easy_or_hard", "state"), [(0.1, FAST), (0.9, SLOW)])
def test_c11_nan_in_a_window_keeps_it_from_being_satisfied(easy_or_hard: float, state: FSMState) -> None:
    """A window counts only scores that are known; once the unknown one has moved out it is satisfied."""
    assert after(NORMAL, math.nan, *[easy_or_hard] * 4) is NORMAL
    assert after(NORMAL, math.nan, *[easy_or_hard] * 6) is state


def test_c11_a_window_longer_than_the_history_is_not_satisfied() -> None:
    """Scores that were never made do not count as easy or hard."""
    patient = DifficultyFSM(fast_window=10, slow_window=10)
    assert after(NORMAL, *[0.1] * 9, fsm=patient) is NORMAL
    assert after(NORMAL, *[0.9] * 9, fsm=patient) is NORMAL
    assert DEFAULTS.transition(NORMAL, 0.1, ()) is NORMAL


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(FSMState), HISTORIES)
def test_c11_a_transition_is_pure(state: FSMState, history: list[float]) -> None:
    """The same question has the same answer, for any kind of sequence, and leaves the history alone."""
    before = list(history)
    first = DEFAULTS.transition(state, history[-1], history)
    assert DEFAULTS.transition(state, history[-1], tuple(history)) is first
    assert DEFAULTS.transition(state, history[-1], deque(history)) is first
    assert history == before


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(FSMState), HISTORIES, st.lists(SCORES, max_size=10))
def test_c11_only_the_longest_window_matters(state: FSMState, history: list[float], older: list[float]) -> None:
    """A run may forget scores older than `longest_window` without a change of its states."""
    fsm = DifficultyFSM(fast_window=2, slow_window=3, skip_window=4)
    kept = history[-fsm.longest_window :]
    if len(kept) == fsm.longest_window:
        assert fsm.transition(state, history[-1], older + kept) is fsm.transition(state, history[-1], kept)


def test_c11_a_run_goes_through_its_states() -> None:
    """One run that gets hard, extreme, easy and normal again visits the states in this order."""
    fsm = DifficultyFSM(fast_window=2, slow_window=2, skip_window=3)
    state, visited, history = INIT, [], []
    for score in (0.5, 0.9, 0.9, 0.9, 0.9, 0.4, 0.1, 0.1, 0.25, 0.5):
        history.append(score)
        state = fsm.transition(state, score, history)
        visited.append(state)
    assert visited == [NORMAL, NORMAL, SLOW, SKIP, SKIP, NORMAL, NORMAL, FAST, FAST, NORMAL]


def test_c11_thresholds_can_be_set() -> None:
    """Each setting given by name replaces its default, the others stay."""
    fsm = DifficultyFSM(slow_threshold=0.4, slow_window=1)
    assert after(NORMAL, 0.5, fsm=fsm) is SLOW
    assert fsm.fast_threshold == 0.2


def test_rules_are_immutable_and_comparable() -> None:
    """A set of rules can be shared by runs, since nobody can change it."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        DEFAULTS.fast_window = 1  # type: ignore[misc]
    assert DifficultyFSM(fast_window=6) == DEFAULTS


@pytest.mark.parametrize("value", [0, -1, 2.0, True, "6", None, math.nan])
@pytest.mark.parametrize("name", ["fast_window", "slow_window", "skip_window"])
def test_a_window_is_a_whole_number_from_one(name: str, value: object) -> None:
    """Anything else is refused with its name, the value and what was expected."""
    with pytest.raises(SettingsError, match=rf"{name} is .*expected a whole number") as caught:
        DifficultyFSM(**{name: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf, True, "0.5", None])
@pytest.mark.parametrize("name", ["fast_threshold", "slow_threshold", "skip_threshold", "hysteresis_margin"])
def test_a_threshold_is_a_number_from_zero_to_one(name: str, value: object) -> None:
    """Anything else is refused with its name, the value and what was expected."""
    with pytest.raises(SettingsError, match=rf"{name} is .*expected a number from 0 to 1") as caught:
        DifficultyFSM(**{name: value})
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fast_threshold": 0.6}, "fast_threshold is 0.6 and slow_threshold is 0.6.*lower the first"),
        ({"slow_threshold": 0.1}, "fast_threshold is 0.2 and slow_threshold is 0.1.*raise the second"),
        ({"skip_threshold": 0.5}, "slow_threshold is 0.6 and skip_threshold is 0.5.*lower the first"),
    ],
)
def test_thresholds_are_in_order(settings: dict[str, float], message: str) -> None:
    """Easy lies below hard and hard not above extreme, else the error names both and says what to do."""
    with pytest.raises(SettingsError, match=message):
        DifficultyFSM(**settings)


def test_equal_slow_and_skip_thresholds_are_allowed() -> None:
    """Extreme may mean the same as hard; then only the window tells them apart."""
    assert DifficultyFSM(slow_threshold=0.7, skip_threshold=0.7).skip_threshold == 0.7


def test_a_mapping_sets_some_thresholds() -> None:
    """`fsm_thresholds=` may name any subset; none at all gives the defaults."""
    assert DifficultyFSM.from_mapping(None) == DEFAULTS
    assert DifficultyFSM.from_mapping({}) == DEFAULTS
    assert DifficultyFSM.from_mapping({"fast_window": 3}) == DifficultyFSM(fast_window=3)


def test_an_unknown_name_in_a_mapping_is_refused() -> None:
    """The error names the unknown one and lists those that exist."""
    with pytest.raises(SettingsError, match=r"'fast_treshold', which is not a setting.*fast_threshold.*skip_window"):
        DifficultyFSM.from_mapping({"fast_treshold": 0.1})


@pytest.mark.parametrize("value", [[("fast_window", 3)], 0.5, "fast_window"])
def test_thresholds_that_are_no_mapping_are_refused(value: object) -> None:
    """The error says what was given and shows what is expected."""
    with pytest.raises(SettingsError, match=rf"fsm_thresholds is a {type(value).__name__}; expected a mapping"):
        DifficultyFSM.from_mapping(value)  # type: ignore[arg-type]
