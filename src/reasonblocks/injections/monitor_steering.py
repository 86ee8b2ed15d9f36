"""The trajectory monitors as a source of guidance."""

from collections.abc import Mapping

from ..api.facade import ReasonBlocksAPI
from ..types import MonitorEvaluation, PendingInjection, TraceState
from .base import BaseInjection


class MonitorSteeringInjection(BaseInjection):
    """Has the monitors evaluate every scored step, in FAST too, and passes on what they want said."""

    in_fast = True

    def __init__(
        self,
        api: ReasonBlocksAPI,
        model: str = "",
        task_profile: str = "coding",
        weights: Mapping[str, float] | None = None,
    ) -> None:
        self._api = api
        self._model = model
        self._task_profile = task_profile
        self._weights = dict(weights) if weights else None

    async def evaluate(self, state: TraceState) -> MonitorEvaluation:
        """What the monitors say about the trace so far."""
        return await self._api.evaluate_monitors(
            state.trace_id,
            state.steps,
            model=state.model or self._model,
            task_profile=self._task_profile,
            weights=self._weights,
            task=state.task,
        )

    async def retrieve(self, state: TraceState) -> list[PendingInjection]:
        """The evaluation as guidance, before any guardrail."""
        return self.pending(await self.evaluate(state))

    def pending(self, evaluation: MonitorEvaluation) -> list[PendingInjection]:
        """What an evaluation wants injected."""
        text = evaluation.intervention_text
        if not evaluation.inject or not text or not text.strip():
            return []
        return [
            PendingInjection(
                source=type(self).__name__,
                text=text,
                pattern_id=evaluation.pattern_id or "",
                monitors_fired=list(evaluation.fired),
                failure_type=evaluation.failure_type,
                intervention_source=evaluation.intervention_source,
            )
        ]

    def refusal(self) -> str | None:
        """Whatever the api says."""
        return self._api.refusal()
