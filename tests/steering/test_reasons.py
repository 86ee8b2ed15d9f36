"""Why a score is what it is: the words found are those that were counted, and the rule is the one that was applied."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reasonblocks.fsm import DifficultyFSM
from reasonblocks.steering.reasons import fsm_edge, score_reasons
from reasonblocks.steering.scoring import ERRORS, HEDGES, features, score_step
from reasonblocks.types import FSMState

PIECES = [
    *HEDGES,
    *ERRORS,
    "not sure",
    "I think",
    "src/app.py",
    "models.User",
    "'quoted text'",
    '"x y"',
    "and/or",
    "the",
    ".",
]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=60).map(" ".join)


@given(texts)
def test_the_words_are_those_that_were_counted(text: str) -> None:
    """As many as the features say, up to where more of them count for nothing."""
    reasons, found = score_reasons(text), features(text)
    count = len(text.split())
    assert found.hedging == min(1.0, len(reasons.hedges) / (1 + count / 20))
    assert found.errors == min(1.0, len(reasons.errors) / 3)
    assert found.entities == min(1.0, len(reasons.entities) / 10)
    assert (reasons.features, reasons.raw, reasons.difficulty) == (found, found.raw(), score_step(text))
    assert reasons.words == count


def test_forms_of_one_word_are_one_and_phrases_are_seen() -> None:
    """`fails` and `failed` count once; names are shown without the full stop behind them."""
    reasons = score_reasons("I'm not sure. It fails, it failed in src/app.py.")
    assert (reasons.hedges, reasons.errors, reasons.entities) == (["not sure"], ["failed"], ["src/app.py"])


@given(
    st.sampled_from(FSMState),
    st.lists(st.floats(0, 1), min_size=1, max_size=40),
    st.sampled_from([DifficultyFSM(), DifficultyFSM(fast_window=1, slow_window=1, skip_window=2)]),
)
def test_the_edge_is_that_of_the_state_machine(current: FSMState, history: list[float], fsm: DifficultyFSM) -> None:
    """And its rule begins with "stays" exactly where the state does, if any rule leads on from it."""
    edge = fsm_edge(fsm, current, history[-1], history)
    assert (edge.before, edge.after) == (current, fsm.transition(current, history[-1], history))
    if current in (FSMState.NORMAL, FSMState.FAST, FSMState.SLOW, FSMState.SKIP):
        assert edge.rule.startswith("stays") == (edge.before == edge.after)


@pytest.mark.parametrize(
    ("current", "history", "after", "words"),
    [
        (FSMState.INIT, [0.4], "NORMAL", "the first score"),
        (FSMState.NORMAL, [0.1] * 6, "FAST", "the last 6 scores are below 0.2: 0.10 0.10"),
        (FSMState.NORMAL, [0.7] * 5, "SLOW", "the last 5 scores are above 0.6: 0.70 0.70"),
        (FSMState.NORMAL, [0.5, 0.7, 0.7], "NORMAL", "stays: 0 of 6 scores in a row below 0.2, 2 of 5 above 0.6"),
        (FSMState.FAST, [0.31], "NORMAL", "0.31 is above 0.3"),
        (FSMState.FAST, [0.3], "FAST", "stays: 0.30 is not above 0.3"),
        (FSMState.SLOW, [0.4], "NORMAL", "0.40 is below 0.5"),
        (FSMState.SLOW, [0.9] * 35, "SKIP", "the last 35 scores are above 0.85"),
        (FSMState.SLOW, [0.9] * 3, "SLOW", "3 of 35 scores in a row above 0.85"),
        (FSMState.SKIP, [0.6], "SKIP", "stays: 0.60 is not below 0.5"),
        (FSMState.END, [0.6], "END", "no rule leads on from here"),
    ],
)
def test_each_rule_is_told_with_its_numbers(current: FSMState, history: list[float], after: str, words: str) -> None:
    """What led there, or how far the run is from anywhere else."""
    edge = fsm_edge(DifficultyFSM(), current, history[-1], history)
    assert edge.after == after
    assert words in edge.rule
