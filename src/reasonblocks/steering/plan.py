"""One step as a generator of effects: what to score, whom to ask, what to queue.

`prepare` yields questions that may be asked at once and is sent the answers, or `Unavailable` for one
that could not be had. It never waits itself, so an async agent, a sync agent and a replay share it.
"""

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from ..errors import Unavailable
from ..fsm import DifficultyFSM
from ..injections.base import BaseInjection, Found
from ..injections.monitor_steering import MonitorSteeringInjection
from ..types import FSMState, Lookup, MonitorEvaluation, PendingInjection, TraceState
from .gate import FIRST_CALL, Gate, MonitorGuard, e1_gate
from .scoring import score_step

Outcome = MonitorEvaluation | list[PendingInjection] | Unavailable


@dataclass(frozen=True, slots=True)
class Ask:
    """An effect: call this injection with this state."""

    injection: BaseInjection
    state: TraceState
    question: Literal["evaluate", "retrieve"] = "retrieve"

    @property
    def name(self) -> str:
        """Who is asked."""
        return type(self.injection).__name__

    @property
    def blocking(self) -> bool:
        """Whether the injection answers on the thread that asks."""
        return _answers_in_place(getattr(type(self.injection), self.question))

    def refusal(self) -> str | None:
        """Why asking would fail right now, if that is known."""
        return self.injection.refusal()

    def perform(self) -> object:
        """Ask: the answer, or an awaitable of it."""
        ask: Callable[[TraceState], object] = getattr(self.injection, self.question)
        return ask(self.state)


@cache
def _answers_in_place(function: Callable[..., object]) -> bool:
    return not inspect.iscoroutinefunction(function)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a middleware was set up with; the same for all its runs."""

    fsm: DifficultyFSM
    monitors: MonitorSteeringInjection | None
    injections: tuple[BaseInjection, ...]

    @property
    def all_injections(self) -> tuple[BaseInjection, ...]:
        """Everything that may fire."""
        return (*self.injections, self.monitors) if self.monitors is not None else self.injections


@dataclass(frozen=True, slots=True)
class Situation:
    """All that a step's decisions depend on."""

    step: int
    thought: str
    trace: TraceState
    fired: Mapping[int, int]
    """How often each injection has fired in this run, by its identity: two that are equal are still two."""
    guard: MonitorGuard
    evaluations: Sequence[MonitorEvaluation | None]
    """Those of the steps before, newest last."""
    gate_threshold: float


@dataclass(frozen=True, slots=True)
class Queued:
    """Guidance of one injection, for the next model call."""

    injection: BaseInjection
    pending: tuple[PendingInjection, ...]


@dataclass(frozen=True, slots=True)
class Withheld(Queued):
    """Guidance that is not given, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was decided before a model call. Immutable: composing may read it any number of times."""

    step: int
    thought: str = ""
    difficulty: float | None = None
    state: FSMState = FSMState.INIT
    evaluation: MonitorEvaluation | None = None
    gate: str = ""
    asked: tuple[str, ...] = ()
    """Who was asked for guidance, whether it had any or not; the monitors aside."""
    queued: tuple[Queued, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    """How those went that were answered."""
    skipped: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    added_seconds: float = 0.0


Asking = Generator[tuple[Ask, ...], Sequence[Outcome], Prepared]


def prepare(situation: Situation, policy: Policy) -> Asking:
    """Decide everything about the next model call."""
    difficulty, trace = _score(situation, policy.fsm)
    skipped: list[str] = []
    errors: list[str] = []
    queued: list[Queued] = []
    withheld: tuple[Withheld, ...] = ()
    lookups: tuple[Lookup, ...] = ()
    evaluation: MonitorEvaluation | None = None
    if situation.step > 0 and policy.monitors is not None:
        (outcome,) = yield (Ask(policy.monitors, trace, "evaluate"),)
        if isinstance(outcome, MonitorEvaluation):
            evaluation = outcome
            guidance = _monitor_guidance(policy.monitors, outcome, situation, trace.current_state)
            if isinstance(guidance, Withheld):
                withheld = (guidance,)
                skipped.append(guidance.reason)
            elif guidance is not None:
                queued.append(guidance)
        else:
            errors.append(_problem(policy.monitors, outcome))
    gate = e1_gate(
        configured=policy.monitors is not None,
        current=evaluation,
        previous=situation.evaluations,
        threshold=situation.gate_threshold,
    )
    allowed = _allowed(situation, policy, trace, gate, skipped)
    asks: tuple[Ask, ...] = ()
    if allowed:
        trace = _with_evaluation(trace, evaluation)
        asks = tuple(Ask(injection, trace) for injection in allowed)
        outcomes = yield asks
        queued += _collect(asks, outcomes, errors)
        lookups = tuple(outcome.lookup for outcome in outcomes if isinstance(outcome, Found))
    return Prepared(
        step=situation.step,
        thought=situation.thought,
        difficulty=difficulty,
        state=trace.current_state,
        evaluation=evaluation,
        gate=gate.reason if situation.step > 0 else FIRST_CALL,
        asked=tuple(ask.name for ask in asks),
        queued=tuple(queued),
        withheld=withheld,
        lookups=lookups,
        skipped=tuple(skipped),
        errors=tuple(errors),
    )


def _score(situation: Situation, fsm: DifficultyFSM) -> tuple[float | None, TraceState]:
    """The score of the last thought and the trace with the state it leads to; nothing on the first call."""
    trace = situation.trace
    if situation.step == 0:
        return None, trace
    difficulty = score_step(situation.thought)
    history = (*trace.difficulty_history, difficulty)
    state = fsm.transition(trace.current_state, difficulty, history)
    return difficulty, _replaced(trace, state, history)


def _replaced(trace: TraceState, state: FSMState, history: tuple[float, ...]) -> TraceState:
    return TraceState(
        trace_id=trace.trace_id,
        steps=trace.steps,
        current_state=state,
        difficulty_history=history,
        total_tokens=trace.total_tokens,
        token_budget=trace.token_budget,
        task=trace.task,
        model=trace.model,
    )


def _with_evaluation(trace: TraceState, evaluation: MonitorEvaluation | None) -> TraceState:
    if evaluation is None:
        return trace
    return TraceState(
        trace_id=trace.trace_id,
        steps=trace.steps,
        current_state=trace.current_state,
        difficulty_history=trace.difficulty_history,
        total_tokens=trace.total_tokens,
        token_budget=trace.token_budget,
        task=trace.task,
        model=trace.model,
        evaluation=evaluation,
        failure_type=evaluation.failure_type,
    )


def _monitor_guidance(
    monitors: MonitorSteeringInjection,
    evaluation: MonitorEvaluation,
    situation: Situation,
    state: FSMState,
) -> Queued | None:
    """What the monitors want said; withheld, if the guardrails do not let it through."""
    pending = tuple(monitors.pending(evaluation))
    if not pending:
        return None
    refusal = situation.guard.refusal(situation.step, state, pending[0].text or "")
    return Withheld(monitors, pending, refusal) if refusal else Queued(monitors, pending)


def _allowed(
    situation: Situation, policy: Policy, trace: TraceState, gate: Gate, skipped: list[str]
) -> list[BaseInjection]:
    """The injections that may be asked at this step."""
    fast = trace.current_state is FSMState.FAST
    allowed: list[BaseInjection] = []
    passed_over_in_fast = False
    for injection in policy.injections:
        if fast and not injection.in_fast:
            passed_over_in_fast = True
            continue
        if injection.max_calls is not None and situation.fired.get(id(injection), 0) >= injection.max_calls:
            continue
        if situation.step == 0 and not injection.on_first_call:
            continue
        if injection.needs_signal and not gate.allowed:
            skipped.append(f"{type(injection).__name__} gate: {gate.reason}")
        else:
            allowed.append(injection)
    if passed_over_in_fast:
        skipped.append("FAST: no E-trace retrieval")
    return allowed


def _collect(asks: Sequence[Ask], outcomes: Sequence[Outcome], errors: list[str]) -> list[Queued]:
    queued: list[Queued] = []
    for ask, outcome in zip(asks, outcomes, strict=True):
        if not isinstance(outcome, list) or not all(isinstance(item, PendingInjection) for item in outcome):
            errors.append(_problem(ask.injection, outcome))
        elif outcome:
            queued.append(Queued(ask.injection, tuple(outcome)))
    return queued


def _problem(injection: BaseInjection, outcome: object) -> str:
    if isinstance(outcome, Unavailable):
        return f"{type(injection).__name__}: {outcome.reason}"
    return f"{type(injection).__name__}: retrieve() gave {outcome!r:.80}; expected a list of PendingInjection"
