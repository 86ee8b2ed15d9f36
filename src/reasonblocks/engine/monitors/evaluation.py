"""The evaluation of a trajectory: what the monitors say, whether the gate opens, and with which words."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from ...format_routing import render_pattern
from ...runtime.contain import incidents
from ..answers import Evaluation, Retrieval
from ..errors import Invalid, Missing
from ..principal import Principal
from ..requests import EvaluateRequest, RetrieveRequest
from .features import ObservedStep
from .gate import Opening, decide
from .interventions import cleaned, intervention
from .judge import MONITOR, Judge, Opinion
from .profiles import BUILT_IN_PROFILES, CustomProfiles, Weights, no_custom_profiles, resolve_weights
from .suite import SuiteReading
from .trajectories import Beginning, Observed, Remember, Trajectories, owner

Retrieve = Callable[[Principal, RetrieveRequest], Awaitable[Retrieval]]
Kept = Callable[[str, str | None, str, int, int], Awaitable[Beginning | None]]
"""The steps of a run, by org, project and run id, from one place to another, if they were kept."""
FALLBACK_SECONDS = 0.5
"""How long a lookup may take before our own text is used after all."""


@dataclass(frozen=True, slots=True)
class _Words:
    """What is said, and where it comes from."""

    text: str
    path: str
    source: str
    pattern_id: str | None = None


class Evaluator:
    """Evaluates trajectories, for any event loop and thread."""

    def __init__(
        self,
        trajectories: Trajectories,
        retrieve: Retrieve | None = None,
        custom_profiles: CustomProfiles = no_custom_profiles,
        judge: Judge | None = None,
        kept: Kept | None = None,
    ) -> None:
        self.trajectories = trajectories
        self._kept = kept
        self._judge = judge
        self._suite = trajectories.suite
        self._retrieve = retrieve
        self._custom_profiles = custom_profiles
        self._built_in = {
            name: resolve_weights(self._suite.default_weights, "", name, None) for name in ("", *BUILT_IN_PROFILES)
        }
        """By profile; these are the same for all."""

    async def evaluate(self, principal: Principal, request: EvaluateRequest) -> Evaluation:
        """The answer for a whole trace, or for a run of which `steps` is what is new."""
        org_id = principal.org(request.org_id)
        whose = owner(org_id, principal.project_id)
        observed = await self._observe(whose, request, self._memory_of(org_id, principal, request))
        weights = self.weights(org_id, request.task_profile, request.weights)
        opinion = await self._second_opinion(whose, request.run_id or "", observed.reading, weights)
        observed = replace(observed, reading=opinion.reading)
        opening = decide(observed.reading, weights, self._suite.failure_types)
        words = await self._words(principal, request.model or "", opening, observed) if opening else None
        if words and opening and opinion.decided and opening.leader == MONITOR:
            words = replace(words, source="judge")
        return _answer(observed.reading, weights, opening, words)

    async def _second_opinion(self, whose: str, run_id: str, reading: SuiteReading, weights: Weights) -> Opinion:
        if self._judge is None or not weights.get(MONITOR):
            return Opinion(reading, decided=False)
        return await self._judge.review(whose, run_id, reading)

    def weights(
        self, org_id: str, task_profile: str | None, overrides: dict[str, float] | None = None
    ) -> dict[str, float]:
        """How much each monitor counts for an organisation's profile."""
        if not overrides and (known := self._built_in.get(task_profile or "")) is not None:
            return dict(known)
        return resolve_weights(self._suite.default_weights, org_id, task_profile, overrides, self._custom_profiles)

    def _memory_of(self, org_id: str, principal: Principal, request: EvaluateRequest) -> Remember | None:
        kept, run_id = self._kept, request.run_id
        if kept is None or run_id is None:
            return None
        return lambda have, wanted: kept(org_id, principal.project_id, run_id, have, wanted)

    async def _observe(self, org_id: str, request: EvaluateRequest, remember: Remember | None) -> Observed:
        steps = [
            ObservedStep.of(step.thought, step.action, step.action_input, step.observation, step.observation_is_error)
            for step in request.steps or ()
        ]
        if request.run_id is None:
            if request.steps is None:
                raise Missing("steps is missing; only a run with a run_id may go on without any", location=("steps",))
            if request.offset:
                raise Invalid(
                    f"offset is {request.offset}, but there is no run_id it could belong to; send run_id as well, "
                    "or leave offset out and send the whole trace",
                    location=("run_id",),
                )
            return await self.trajectories.whole_trace(org_id, steps, request.task or "")
        # Without an offset the steps are the whole trace; it replaces whatever is held.
        return await self.trajectories.continue_run(
            org_id, request.run_id, request.offset or 0, steps, request.task or "", remember
        )

    async def _words(self, principal: Principal, model: str, opening: Opening, observed: Observed) -> _Words:
        if not opening.template_fits:
            pattern = await self._pattern(principal, model, opening.failure_type, observed.thoughts)
            if pattern is not None:
                return pattern
        return _template(opening, observed.reading, model)

    async def _pattern(
        self, principal: Principal, model: str, failure_type: str, thoughts: tuple[str, ...]
    ) -> _Words | None:
        """The best E2 pattern for the failure, in words for the model; `None` if there is none in time."""
        context = "\n".join(thoughts)
        if self._retrieve is None or not context.strip():
            return None
        query = RetrieveRequest(context=context, tier="e2", top_k=1, model=model or None, failure_type=failure_type)
        try:
            async with asyncio.timeout(FALLBACK_SECONDS):
                found = await self._retrieve(principal, query)
        except Exception as error:  # our own text is there, whatever the lookup does
            incidents.note("E2 lookup for a monitor", error)
            return None
        for trace in found.traces[:1]:
            text = render_pattern("e2", model, trace.fields)
            if text:
                return _Words(text, "fallback", "e2", trace.pattern_id)
        return None


def evaluate_reading(
    reading: SuiteReading, weights: Weights, failure_types: Mapping[str, str], model: str
) -> Evaluation:
    """The answer where nothing can be looked up: the same decision, always in our own words. Pure."""
    opening = decide(reading, weights, failure_types)
    return _answer(reading, weights, opening, _template(opening, reading, model) if opening else None)


def _template(opening: Opening, reading: SuiteReading, model: str) -> _Words:
    return _Words(intervention(opening, reading, model), opening.path, "template")


def _answer(reading: SuiteReading, weights: Weights, opening: Opening | None, words: _Words | None) -> Evaluation:
    return Evaluation(
        inject=words is not None,
        intervention_text=words.text if words else None,
        failure_type=opening.failure_type if opening else None,
        injection_path=words.path if words else None,
        intervention_source=words.source if words else None,
        fired=reading.fired,
        pattern_id=words.pattern_id if words else None,
        scores=dict(reading.scores),
        composite=reading.composite(weights),
        evidence=[cleaned(evidence) for evidence in reading.evidence.values()],
    )
