"""Why a thought got its score and why a run changed its state: the same arithmetic, with the words and numbers in it.

Deciding needs only how many words there are, and is quick for it; whoever wants to know which ones asks here.
"""

import msgspec

from ..fsm import DifficultyFSM
from ..types import FSMState
from .scoring import (
    ERRORS,
    HEDGES,
    Features,
    distinct_words,
    features,
    forms_in,
    names_in,
    phrases_in,
    quotations_in,
    score_step,
    words_of,
)


class ScoreReasons(msgspec.Struct, frozen=True):
    """A score with all that it is made of."""

    features: Features
    raw: float
    difficulty: float
    words: int
    """How many there are."""
    hedges: list[str]
    errors: list[str]
    entities: list[str]
    """Quoted strings, then paths and dotted names; all of them, although no more than ten count."""


def score_reasons(text: str) -> ScoreReasons:
    """Take the score of a thought apart."""
    found = features(text)
    words = words_of(text)
    distinct = distinct_words(text, words)
    return ScoreReasons(
        features=found,
        raw=found.raw(),
        difficulty=score_step(text),
        words=len(text.split()),
        hedges=sorted([*forms_in(HEDGES, distinct), *phrases_in(words, distinct)]),
        errors=sorted(forms_in(ERRORS, distinct)),
        entities=entities_in(text),
    )


def entities_in(text: str) -> list[str]:
    """The paths, dotted names and quoted strings of a text; what is inside quotes counts once, as a whole."""
    outside, quotations = quotations_in(text)
    return [*quotations, *(name.rstrip(".-+~@") for name in names_in(outside))]


class Edge(msgspec.Struct, frozen=True):
    """A step of the difficulty states."""

    before: str
    after: str
    rule: str
    """The rule that led there, with the numbers it was about."""


def fsm_edge(fsm: DifficultyFSM, current: FSMState, score: float, history: list[float]) -> Edge:
    """The state after `score`, with which `history` ends, and the rule that says so."""
    after = fsm.transition(current, score, history)
    return Edge(current.value, after.value, _rule(fsm, current, after, score, history))


def _rule(fsm: DifficultyFSM, before: FSMState, after: FSMState, score: float, history: list[float]) -> str:
    back = round(fsm.slow_threshold - fsm.hysteresis_margin, 4)
    leaves_fast = round(fsm.fast_threshold + fsm.hysteresis_margin, 4)
    match before, after:
        case FSMState.INIT, FSMState.NORMAL:
            return "the first score"
        case FSMState.NORMAL, FSMState.FAST:
            return (
                f"the last {fsm.fast_window} scores are below {fsm.fast_threshold}: {_last(history, fsm.fast_window)}"
            )
        case FSMState.NORMAL, FSMState.SLOW:
            return (
                f"the last {fsm.slow_window} scores are above {fsm.slow_threshold}: {_last(history, fsm.slow_window)}"
            )
        case FSMState.FAST, FSMState.NORMAL:
            return f"{score:.2f} is above {leaves_fast}"
        case ((FSMState.SLOW | FSMState.SKIP), FSMState.NORMAL):
            return f"{score:.2f} is below {back}"
        case FSMState.SLOW, FSMState.SKIP:
            return f"the last {fsm.skip_window} scores are above {fsm.skip_threshold}"
        case FSMState.NORMAL, _:
            easy, hard = _row(history, below=fsm.fast_threshold), _row(history, above=fsm.slow_threshold)
            return (
                f"stays: {easy} of {fsm.fast_window} scores in a row below {fsm.fast_threshold}, "
                f"{hard} of {fsm.slow_window} above {fsm.slow_threshold}"
            )
        case FSMState.FAST, _:
            return f"stays: {score:.2f} is not above {leaves_fast}"
        case FSMState.SLOW, _:
            hard = _row(history, above=fsm.skip_threshold)
            return (
                f"stays: {score:.2f} is not below {back}, "
                f"{hard} of {fsm.skip_window} scores in a row above {fsm.skip_threshold}"
            )
        case FSMState.SKIP, _:
            return f"stays: {score:.2f} is not below {back}"
    return "no rule leads on from here"


def _last(history: list[float], count: int) -> str:
    return " ".join(f"{score:.2f}" for score in history[-count:])


def _row(history: list[float], *, below: float | None = None, above: float | None = None) -> int:
    """How many of the newest scores in a row are on one side."""
    count = 0
    for score in reversed(history):
        if (below is not None and not score < below) or (above is not None and not score > above):
            break
        count += 1
    return count
