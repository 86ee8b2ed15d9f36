"""The monitors of a replay: those of the engine, asked without an engine."""

from ..api.embedded import as_seen_by_the_client
from ..api.wire import cap
from ..engine.answers import Evaluation
from ..engine.monitors.evaluation import evaluate_reading
from ..engine.monitors.features import ObservedStep
from ..engine.monitors.profiles import Weights
from ..engine.monitors.suite import NEVER_ASKED, MonitorSuite
from ..injections.monitor_steering import MonitorSteeringInjection
from ..limits import MAX_TASK
from ..types import MonitorEvaluation, StepRecord, TraceState


class ReplayedMonitors(MonitorSteeringInjection):
    """The monitors over one recorded run. They answer without waiting, so the replay's driver may ask them.

    Nothing is looked up: where a live engine may fall back to an E2 pattern, our own text is used.
    """

    def __init__(self, suite: MonitorSuite, weights: Weights, task: str) -> None:
        self._suite = suite
        self._fixed_weights = weights
        self._trajectory = suite.start(cap(task, MAX_TASK) or "")
        self.answer: Evaluation | None = None
        """The newest one, with its evidence."""

    async def evaluate(self, state: TraceState) -> MonitorEvaluation:
        """What the monitors say about the trace so far; only what is new in it is looked at."""
        reading = self._trajectory.reading()
        for step in state.steps[self._trajectory.length :]:
            reading = self._trajectory.observe(_observed(step), NEVER_ASKED)
        answer = evaluate_reading(reading, self._fixed_weights, self._suite.failure_types, state.model)
        self.answer = answer
        return as_seen_by_the_client(answer)

    @property
    def signs(self) -> dict[str, float]:
        """What has added up over the run so far."""
        return self._trajectory.reading().signs

    def refusal(self) -> None:
        """They are always there."""


def _observed(step: StepRecord) -> ObservedStep:
    """The step as it would arrive at the engine, within the limits of the wire."""
    return ObservedStep.of(
        cap(step.thought), cap(step.action), cap(step.action_input), cap(step.observation), step.observation_is_error
    )
