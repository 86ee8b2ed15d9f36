"""The plan of a step, driven by hand: a generator that asks, is answered, and decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from langchain_core.messages import AIMessage

from reasonblocks.errors import Unavailable
from reasonblocks.fsm import DifficultyFSM
from reasonblocks.injections import BaseInjection, E1Injection, E2Injection, E3Injection, MonitorSteeringInjection
from reasonblocks.run import Outlets, Run
from reasonblocks.steering.compose import compose
from reasonblocks.steering.gate import MonitorGuard
from reasonblocks.steering.plan import Ask, Policy, Prepared, Situation, prepare
from reasonblocks.steering.scoring import score_step
from reasonblocks.types import FSMState, MonitorEvaluation, PendingInjection, StepRecord, TraceState
from support.agents import thought

NO_API: Any = None
"""A plan only names whom to ask; nothing here is ever called."""
MONITORS = MonitorSteeringInjection(NO_API)
E1, E2, E3 = E1Injection(NO_API), E2Injection(NO_API), E3Injection(NO_API)
COOL_DOWN = {"SLOW": 2, "SKIP": 2, "NORMAL": 3, "FAST": 5}
QUICK = DifficultyFSM(fast_window=2, slow_window=2, skip_window=4)

Answer = Callable[[Ask], Any]


class Own(BaseInjection):
    """A user's injection without limits."""


OWN = Own()
POLICY = Policy(fsm=QUICK, monitors=MONITORS, injections=(E1, E2, E3, OWN))


def situation(step: int = 1, thoughts: Sequence[str] = ("I look.",), **changes: Any) -> Situation:
    steps = tuple(StepRecord(index, text) for index, text in enumerate(thoughts))
    state = FSMState.INIT if step == 0 else FSMState.NORMAL
    trace = TraceState("t", steps=steps if step else (), current_state=changes.pop("state", state))
    settled = Situation(
        step=step,
        thought=thoughts[-1] if step else "",
        trace=trace,
        fired={},
        guard=MonitorGuard(),
        evaluations=(),
        gate_threshold=0.15,
    )
    return replace(settled, **changes)


def drive(about: Situation, policy: Policy, answer: Answer) -> tuple[Prepared, list[tuple[Ask, ...]]]:
    """Answer each question of a plan until it has decided."""
    plan = prepare(about, policy)
    rounds = []
    try:
        asks = next(plan)
        while True:
            rounds.append(asks)
            asks = plan.send([answer(ask) for ask in asks])
    except StopIteration as finished:
        return finished.value, rounds


def nothing(ask: Ask) -> Any:
    return MonitorEvaluation() if ask.question == "evaluate" else []


def names(rounds: Sequence[Sequence[Ask]]) -> list[list[str]]:
    return [[ask.name for ask in asks] for asks in rounds]


def says(text: str) -> list[PendingInjection]:
    return [PendingInjection(text=text)]


# -- by hand ---------------------------------------------------------------------------------------


def test_c3_the_first_call_asks_only_what_may_run_first() -> None:
    """Before the first call nothing is scored, no monitor is asked, and E3 alone is looked up."""
    prepared, rounds = drive(situation(0), POLICY, nothing)
    assert names(rounds) == [["E3Injection"]]
    assert (prepared.difficulty, prepared.state, prepared.evaluation) == (None, FSMState.INIT, None)


def test_c24_monitors_are_asked_alone_and_first_then_all_others_at_once() -> None:
    """The first round is the evaluation, the second holds everything that the gate and caps allow."""
    fired = MonitorEvaluation(fired=("semantic_loop",), failure_type="loop")
    _, rounds = drive(situation(), POLICY, lambda ask: fired if ask.question == "evaluate" else [])
    assert names(rounds) == [
        ["MonitorSteeringInjection"],
        ["E1Injection", "E2Injection", "E3Injection", "Own"],
    ]
    assert rounds[0][0].state.evaluation is None
    assert {ask.state.failure_type for ask in rounds[1]} == {"loop"}
    assert all(ask.state.evaluation is fired for ask in rounds[1])


def test_c4_the_state_asked_with_is_scored_and_advanced() -> None:
    """Injections see the score of the newest thought and the state it led to."""
    text = thought(1, "hard")
    about = situation(2, [thought(0, "hard"), text])
    about = replace(about, trace=replace_trace(about.trace, difficulty_history=(0.9,)))
    prepared, rounds = drive(about, POLICY, nothing)
    assert prepared.difficulty == score_step(text)
    assert prepared.state is FSMState.SLOW
    for ask in (ask for asks in rounds for ask in asks):
        assert ask.state.current_state is FSMState.SLOW
        assert ask.state.difficulty_history == (0.9, score_step(text))


def replace_trace(trace: TraceState, **changes: Any) -> TraceState:
    kept = {name: getattr(trace, name) for name in trace.__struct_fields__}
    return TraceState(**(kept | changes))


def test_c22_nothing_to_ask_ends_without_a_second_round() -> None:
    """Where neither gate nor caps leave anyone to ask, the plan decides after the monitors."""
    policy = replace(POLICY, injections=(E1,))
    prepared, rounds = drive(situation(), policy, nothing)
    assert names(rounds) == [["MonitorSteeringInjection"]]
    assert any("E1Injection gate" in reason for reason in prepared.skipped)


@pytest.mark.parametrize("outcome", [Unavailable("late"), [], None, "text", [PendingInjection(text="x")]], ids=str)
def test_c21_monitors_without_an_evaluation_are_an_error_and_no_signal(outcome: Any) -> None:
    """Anything but an evaluation counts as unavailable: named, no guidance, and the gate looks back only."""
    prepared, rounds = drive(situation(), POLICY, lambda ask: outcome if ask.question == "evaluate" else [])
    assert "E1Injection" not in names(rounds)[1]
    assert prepared.evaluation is None
    assert prepared.errors[0].startswith("MonitorSteeringInjection")
    before = (MonitorEvaluation(fired=("late_sprawl",)), None)
    _, rounds = drive(
        situation(3, evaluations=before), POLICY, lambda ask: outcome if ask.question == "evaluate" else []
    )
    assert "E1Injection" in names(rounds)[1]


def test_c24_one_unavailable_answer_spoils_no_other() -> None:
    """Answers belong to their questions by position; a missing one leaves the rest."""

    def answer(ask: Ask) -> Any:
        if ask.question == "evaluate":
            return MonitorEvaluation(composite=0.5)
        return Unavailable("late") if ask.injection is E2 else says(ask.name)

    prepared, _ = drive(situation(), POLICY, answer)
    assert [queued.pending[0].text for queued in prepared.queued] == ["E1Injection", "E3Injection", "Own"]
    assert prepared.errors == ("E2Injection: late",)


def test_c24_monitor_guidance_comes_before_all_other() -> None:
    """The block begins with what the monitors want said."""
    stop = MonitorEvaluation(inject=True, intervention_text="Stop.", fired=("semantic_loop",))
    prepared, _ = drive(situation(), POLICY, lambda ask: stop if ask.question == "evaluate" else says(ask.name))
    assert [queued.pending[0].text for queued in prepared.queued] == [
        *("Stop.", "E1Injection", "E2Injection", "E3Injection", "Own"),
    ]


@pytest.mark.parametrize(
    ("step", "state", "guard", "allowed"),
    [
        (4, "NORMAL", MonitorGuard(1, 1, "A"), True),
        (3, "NORMAL", MonitorGuard(1, 1, "A"), False),
        (3, "SLOW", MonitorGuard(1, 1, "A"), True),
        (2, "SLOW", MonitorGuard(1, 1, "A"), False),
        (3, "SKIP", MonitorGuard(1, 1, "A"), True),
        (2, "SKIP", MonitorGuard(1, 1, "A"), False),
        (6, "FAST", MonitorGuard(1, 1, "A"), True),
        (5, "FAST", MonitorGuard(1, 1, "A"), False),
        (40, "NORMAL", MonitorGuard(4, 1, "A"), True),
        (40, "NORMAL", MonitorGuard(5, 1, "A"), False),
        (40, "NORMAL", MonitorGuard(1, 1, "B"), False),
        (1, "NORMAL", MonitorGuard(), True),
    ],
)
def test_c16_the_guardrails_one_by_one(step: int, state: str, guard: MonitorGuard, allowed: bool) -> None:
    """Cool-down by state, cap of five, and no text twice in a row; what is kept back has its reason."""
    # A score between the thresholds keeps every state but the extremes where they are.
    words = {"FAST": thought(0, "easy"), "NORMAL": thought(0), "SLOW": thought(0, "hard"), "SKIP": thought(0, "hard")}
    about = situation(step, [words[state]], state=FSMState(state), guard=guard)
    policy = Policy(fsm=DifficultyFSM(), monitors=MONITORS, injections=())
    text = MonitorEvaluation(inject=True, intervention_text="B", fired=("semantic_loop",))
    prepared, _ = drive(about, policy, lambda ask: text)
    assert prepared.state.value == state
    assert bool(prepared.queued) is allowed
    assert bool(prepared.skipped) is not allowed
    assert prepared.evaluation is text


# -- any run, against an independent account of the rules ------------------------------------------

EVALUATIONS = st.one_of(
    st.just(Unavailable("late")),
    st.builds(
        MonitorEvaluation,
        inject=st.booleans(),
        intervention_text=st.sampled_from([None, "", "A", "B", "C"]),
        fired=st.sampled_from([(), (), ("semantic_loop",), ("tide_watch", "late_sprawl")]),
        composite=st.sampled_from([0.0, 0.15, 0.16, 0.9]),
        failure_type=st.sampled_from([None, "loop"]),
    ),
)
LOOKUP = st.sampled_from(["hit", "miss", "late", "garbage"])
LOOKUPS = st.fixed_dictionaries(dict.fromkeys(("E1Injection", "E2Injection", "E3Injection", "Own"), LOOKUP))
THOUGHTS = st.sampled_from(["easy", "easy", "normal", "hard"])
RESULTS = {"hit": says("Found."), "miss": [], "late": Unavailable("late"), "garbage": ["no"]}


def answers(evaluation: Any, lookups: dict[str, str]) -> Answer:
    return lambda ask: evaluation if ask.question == "evaluate" else RESULTS[lookups[ask.name]]


class AnyRun(RuleBasedStateMachine):
    """A whole run of any thoughts and answers, with its rules counted again by other means."""

    def __init__(self) -> None:
        super().__init__()
        self.run = Run("r", Outlets(), {})
        self.scores: list[float] = []
        self.expected_state = FSMState.INIT
        self.fired_before: list[bool] = []
        self.firings = {"E1Injection": 0, "E2Injection": 0, "E3Injection": 0, "Own": 0}
        self.said: list[tuple[int, str]] = []
        self.last_thought = ""

    def finish_call(self, kind: Any) -> None:
        self.last_thought = thought(self.run.step, kind)
        message = AIMessage(content=self.last_thought)
        self.run.record(message, None, "m", 0.0)
        self.run.complete_step([])

    def decide(self, evaluation: Any, lookups: dict[str, str], *, compositions: int) -> None:
        about = self.run.situation(0.15)
        prepared, rounds = drive(about, POLICY, answers(evaluation, lookups))
        again, asked_again = drive(about, POLICY, answers(evaluation, lookups))
        assert (again, asked_again) == (prepared, rounds)
        self.check(prepared, rounds, evaluation, lookups)
        self.run.accept(prepared, monitored=True)
        for _ in range(compositions):
            self.run.spend(compose(prepared, None, model_id="m", cache=True))

    @precondition(lambda self: self.run.step == 0)
    @rule(lookups=LOOKUPS, kind=THOUGHTS)
    def first_call(self, lookups: dict[str, str], kind: str) -> None:
        self.decide(None, lookups, compositions=1)
        self.finish_call(kind)

    @precondition(lambda self: self.run.step > 0)
    @rule(evaluation=EVALUATIONS, lookups=LOOKUPS, kind=THOUGHTS, compositions=st.integers(1, 3))
    def next_call(self, evaluation: Any, lookups: dict[str, str], kind: str, compositions: int) -> None:
        self.scores.append(score_step(self.last_thought))
        self.expected_state = QUICK.transition(self.expected_state, self.scores[-1], self.scores)
        self.decide(evaluation, lookups, compositions=compositions)
        self.fired_before.append(isinstance(evaluation, MonitorEvaluation) and bool(evaluation.fired))
        self.finish_call(kind)

    def check(self, prepared: Prepared, rounds: Any, evaluation: Any, lookups: dict[str, str]) -> None:
        first = self.run.step == 0
        assert prepared.step == self.run.step
        assert prepared.state is self.expected_state
        assert [ask.name for ask in rounds[0]] == (["E3Injection"] if first else ["MonitorSteeringInjection"])
        asked = {ask.name for asks in rounds for ask in asks if ask.question == "retrieve"}
        assert asked == self.may_be_asked(evaluation)
        queued = {type(one.injection).__name__ for one in prepared.queued}
        assert queued - {"MonitorSteeringInjection"} == {name for name in asked if lookups[name] == "hit"}
        for name in queued & self.firings.keys():
            self.firings[name] += 1
        self.check_monitors(prepared, evaluation)

    def may_be_asked(self, evaluation: Any) -> set[str]:
        """Those that the rules allow at this step."""
        if self.expected_state is FSMState.FAST:
            return set()
        open_tiers = {name for name in ("E1Injection", "E2Injection", "E3Injection") if not self.firings[name]}
        if self.run.step == 0:
            return open_tiers & {"E3Injection"}
        known = isinstance(evaluation, MonitorEvaluation)
        signal = any(self.fired_before[-2:]) or (known and (bool(evaluation.fired) or evaluation.composite > 0.15))
        return (open_tiers | {"Own"}) - (set() if signal else {"E1Injection"})

    def check_monitors(self, prepared: Prepared, evaluation: Any) -> None:
        """What the monitors had said, against cap, cool-down and duplicates."""
        known = isinstance(evaluation, MonitorEvaluation)
        wanted = evaluation.intervention_text if known and evaluation.inject else None
        allowed = bool(wanted) and len(self.said) < 5
        if self.said:
            last_step, last_text = self.said[-1]
            enough = prepared.step - last_step >= COOL_DOWN[prepared.state.value]
            allowed = allowed and enough and wanted != last_text
        said = [one.pending[0].text for one in prepared.queued if one.injection is MONITORS]
        assert said == ([wanted] if allowed else [])
        if allowed:
            self.said.append((prepared.step, wanted))
        assert prepared.evaluation == (evaluation if known else None)

    @invariant()
    def caps_hold(self) -> None:
        assert all(self.firings[name] <= 1 for name in ("E1Injection", "E2Injection", "E3Injection"))
        assert len(self.said) <= 5
        assert self.run.step == len(self.run.step_log)


AnyRun.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_c23_any_run_keeps_the_rules() -> None:
    """Whatever is thought and answered: no tier in FAST, no cap exceeded, gate and guardrails as the contract says."""
    AnyRun.TestCase("runTest").runTest()


STEP = st.tuples(THOUGHTS, EVALUATIONS, LOOKUPS)


@settings(max_examples=40)
@given(st.lists(STEP, min_size=1, max_size=25))
def test_c4_a_replay_of_the_same_answers_decides_the_same(history: list[Any]) -> None:
    """A recorded run driven again from its answers alone gives the same decisions, step by step."""

    def play() -> list[tuple[Prepared, list[list[str]]]]:
        run = Run("r", Outlets(), {})
        decided = []
        for kind, evaluation, lookups in history:
            prepared, rounds = drive(run.situation(0.15), POLICY, answers(evaluation, lookups))
            run.accept(prepared, monitored=True)
            run.spend(compose(prepared, None, model_id="m", cache=True))
            run.record(AIMessage(content=thought(run.step, kind)), None, "m", 0.0)
            run.complete_step([])
            decided.append((prepared, names(rounds)))
        return decided

    assert play() == play()


@settings(max_examples=60)
@given(EVALUATIONS, LOOKUPS, st.integers(2, 30), st.sampled_from(["NORMAL", "SLOW", "SKIP", "FAST"]))
def test_c22_fast_never_asks_a_tier(evaluation: Any, lookups: dict[str, str], step: int, state: str) -> None:
    """From any state and with any signal: a step that is in FAST asks the monitors and nobody else, and says so."""
    about = situation(step, [thought(0, "easy")] * 2, state=FSMState(state))
    about = replace(about, trace=replace_trace(about.trace, difficulty_history=(0.01,) * 6))
    prepared, rounds = drive(about, POLICY, answers(evaluation, lookups))
    in_fast = state in ("FAST", "NORMAL")
    assert (prepared.state is FSMState.FAST) is in_fast
    if in_fast:
        assert names(rounds) == [["MonitorSteeringInjection"]]
        assert any("FAST" in reason for reason in prepared.skipped)
    else:
        assert "E2Injection" in names(rounds)[1]


def test_c4_a_prepared_step_is_immutable() -> None:
    """What was decided cannot be changed afterwards, so that any composition of it is the same."""
    prepared, _ = drive(situation(), POLICY, nothing)
    with pytest.raises(AttributeError):
        prepared.step = 7  # type: ignore[misc]
    assert isinstance(prepared.queued, tuple)
