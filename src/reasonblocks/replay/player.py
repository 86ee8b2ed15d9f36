"""One recorded run, decided about again step by step."""

from ..engine.monitors.profiles import DEFAULT_PROFILE, resolve_weights
from ..engine.monitors.registry import load_monitors
from ..engine.monitors.settings import NO_SETTINGS, MonitorSettings
from ..engine.monitors.suite import MonitorSuite
from ..fsm import DifficultyFSM
from ..recordings import RecordedRun, RecordedStep
from ..runtime.drivers import drive_in_place
from ..steering.compose import compose
from ..steering.course import Course
from ..steering.gate import E1_COMPOSITE_THRESHOLD
from ..steering.plan import Policy, Prepared, prepare
from ..types import StepRecord
from .entries import ReplayedRun, ReplayedStep
from .monitors import ReplayedMonitors


class Player:
    """Replays runs with the monitors that are installed and the weights of a profile, as a live client would ask."""

    def __init__(
        self,
        profile: str = DEFAULT_PROFILE,
        settings: MonitorSettings = NO_SETTINGS,
        suite: MonitorSuite | None = None,
    ) -> None:
        self._suite = suite or MonitorSuite(load_monitors(), settings)
        self._weights = resolve_weights(self._suite.default_weights, "", profile, None)
        self._fsm = DifficultyFSM()

    def replay(self, run: RecordedRun) -> ReplayedRun:
        """What would have been decided after each step; an entry depends on the steps up to its own alone."""
        monitors = ReplayedMonitors(self._suite, self._weights, run.task or "")
        policy = Policy(self._fsm, monitors, ())
        model = run.model or ""
        course = Course(run.run_id, task=run.task or "", model=model, score_window=self._fsm.longest_window)
        _decide(course, policy, model)
        entries = []
        for step in run.steps:
            _take(course, step, model)
            entries.append(_entry(*_decide(course, policy, model), monitors))
        return ReplayedRun(run.run_id, entries)


def _decide(course: Course, policy: Policy, model: str) -> tuple[Prepared, tuple[str, ...]]:
    """What is decided for the next call, and what its model would have read; the guardrails count it as said."""
    prepared = drive_in_place(prepare(course.situation(E1_COMPOSITE_THRESHOLD), policy))
    course.accept(prepared, monitored=True)
    if not prepared.queued:
        return prepared, ()
    composed = compose(prepared, None, model_id=model, cache=False)
    course.spend(composed)
    return prepared, composed.texts


def _take(course: Course, step: RecordedStep, model: str) -> None:
    """The call has returned, and its tools have answered."""
    before = course.decided
    record = StepRecord(
        step_index=course.step,
        thought=step.thought or "",
        action=step.action,
        action_input=step.action_input,
        observation=step.observation,
        observation_is_error=bool(step.observation_is_error),
        difficulty=before.difficulty or 0.0,
        state=before.state,
    )
    course.advance(model=model)
    course.remember(record)


def _entry(prepared: Prepared, texts: tuple[str, ...], monitors: ReplayedMonitors) -> ReplayedStep:
    answer = monitors.answer
    if answer is None or prepared.difficulty is None:
        raise RuntimeError("a complete step is always scored and evaluated; this one was not")
    entry = ReplayedStep(
        composite=answer.composite,
        scores=answer.scores,
        fired=answer.fired,
        inject=bool(texts),
        inject_requested=answer.inject,
        failure_type=answer.failure_type,
        difficulty=round(prepared.difficulty, 6),
        fsm_state=prepared.state.value,
        evidence=answer.evidence,
        signs=monitors.signs,
    )
    if texts:
        entry.intervention_text = "\n\n".join(texts)
    return entry
