"""From a stored run to its explanation. Pure: what is a function of stored text is calculated again, never guessed."""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec

from ...engine.answers import RunWithSteps, StoredStepAnswer
from ...fsm import DifficultyFSM
from ...steering.block import guidance_block
from ...steering.gate import (
    E1_COMPOSITE_THRESHOLD,
    E1_LOOK_BACK,
    FIRST_CALL,
    NO_ANSWER,
    NO_MONITORS,
    NO_SIGNAL,
    OBSERVE_ONLY,
)
from ...steering.reasons import fsm_edge, score_reasons
from ...types import FSMState
from ..run_tree import details_of
from .lookups import E1, candidates, given_before, lookups
from .shapes import (
    Explanation,
    Finding,
    GateDecision,
    Injected,
    Monitors,
    Score,
    State,
    StepExplanation,
)

SAME = 1e-9


def explained(run: RunWithSteps, only: int | None = None) -> Explanation:
    """A run, all of its steps or one."""
    facts = {name: value for name, value in msgspec.to_builtins(run).items() if name != "steps"}
    chosen = [place for place, step in enumerate(run.steps) if only is None or step.step_index == only]
    return Explanation(run=facts, steps=[explained_step(run.steps, place) for place in chosen])


def explained_step(steps: Sequence[StoredStepAnswer], place: int) -> StepExplanation:
    """One step by what is stored of it and of those before it."""
    step, before = steps[place], steps[:place]
    details = details_of(step)
    asked = details.get("asked")
    return StepExplanation(
        step=step.step_index,
        ours=bool(details),
        score=_score(before, details),
        state=_state(before, details),
        monitors=_monitors(before, step, details),
        gate=_gate(before, step, details),
        asked=asked,
        given_before=given_before(before),
        candidates=candidates(step, details),
        lookups=lookups(details),
        now=None,
        quiet=[reason for reason in (details.get("skipped_reason") or "").split("; ") if reason],
        errors=list(details.get("errors") or ()),
        injected=_injected(step, details),
        model=step.step_model,
        said=step.thought,
        did=f"{step.action} {step.action_input or ''}".strip() if step.action else None,
        got=step.observation,
        got_is_error=step.is_error,
        tokens=step.tokens,
    )


def _score(before: Sequence[StoredStepAnswer], details: dict[str, Any]) -> Score | None:
    if not before:
        return None
    reasons = score_reasons(before[-1].thought)
    stored = details.get("difficulty")
    return Score(
        of_step=before[-1].step_index,
        stored=stored,
        reasons=reasons,
        agrees=None if stored is None else abs(stored - reasons.difficulty) < SAME,
    )


def _state(before: Sequence[StoredStepAnswer], details: dict[str, Any]) -> State:
    after = details.get("fsm_state")
    if not before:
        return State(before=None, after=after, edge=None, agrees=None)
    earlier = details_of(before[-1]).get("fsm_state")
    history = [score for step in before if (score := details_of(step).get("difficulty")) is not None]
    score = details.get("difficulty")
    if earlier is None or earlier not in FSMState.__members__ or score is None:
        return State(before=earlier, after=after, edge=None, agrees=None)
    edge = fsm_edge(DifficultyFSM(), FSMState(earlier), score, [*history, score])
    return State(before=earlier, after=after, edge=edge, agrees=edge.after == after)


def _monitors(before: Sequence[StoredStepAnswer], step: StoredStepAnswer, details: dict[str, Any]) -> Monitors | None:
    """What the client was told before this call; the evidence is with the last step that it was about."""
    if not before:
        return None
    last = before[-1]
    scores = details.get("scores") or last.scores or {}
    fired = step.monitors_fired if details else last.fired or []
    evidence = {one.monitor: one for one in last.evidence or ()}
    composite = details.get("composite") if details else last.total_score
    agrees = None if last.scores is None or not details.get("scores") else _alike(details["scores"], last.scores)
    return Monitors(
        up_to_step=last.step_index,
        composite=composite,
        failure_type=step.failure_type,
        findings=[
            Finding(
                monitor=name,
                score=score,
                fired=name in fired,
                reason=evidence[name].reason if name in evidence else None,
                steps=list(evidence[name].steps) if name in evidence else [],
                quotes=list(evidence[name].quotes) if name in evidence else [],
            )
            for name, score in sorted(scores.items(), key=lambda one: (-one[1], one[0]))
        ],
        agrees=agrees,
        injection_path=details.get("injection_path"),
        intervention_source=details.get("intervention_source"),
    )


def _alike(told: dict[str, float], stored: dict[str, float]) -> bool:
    return told.keys() == stored.keys() and all(abs(told[name] - stored[name]) < SAME for name in told)


def _gate(before: Sequence[StoredStepAnswer], step: StoredStepAnswer, details: dict[str, Any]) -> GateDecision:
    reason, asked = details.get("gate") or None, details.get("asked")
    was_asked = None if asked is None else E1 in asked
    if reason is None or reason == FIRST_CALL:
        return GateDecision(allowed=None, reason=reason, because=None, asked=was_asked, not_asked_because=None)
    return GateDecision(
        allowed=reason not in (NO_SIGNAL, NO_ANSWER),
        reason=reason,
        because=_because(before, step, details, reason),
        asked=was_asked,
        not_asked_because=None if was_asked is not False else _not_asked(before, details, reason),
    )


def _not_asked(before: Sequence[StoredStepAnswer], details: dict[str, Any], reason: str) -> str | None:
    """Why E1 was not asked, by the rules that `prepare` goes by."""
    given = given_before(before).get(E1)
    if details.get("fsm_state") == FSMState.FAST:
        return "in FAST nothing is looked up"
    if given is not None:
        return f"it was given at step {given}, and is once in a run"
    return "the gate is closed" if reason in (NO_SIGNAL, NO_ANSWER) else "it is not among the injections of this run"


def _because(
    before: Sequence[StoredStepAnswer], step: StoredStepAnswer, details: dict[str, Any], reason: str
) -> str | None:
    """The stored values that a reason of the gate is about."""
    if reason == NO_MONITORS:
        return None
    if step.monitors_fired:
        return f"{', '.join(step.monitors_fired)} fired before this call"
    earlier = [one for one in before[-E1_LOOK_BACK:] if one.monitors_fired]
    composite = details.get("composite")
    now = (
        "no evaluation"
        if composite is None
        else f"composite {composite:.2f}, the gate opens above {_threshold(reason)}"
    )
    if earlier:
        return f"{now}; " + ", ".join(
            f"{', '.join(one.monitors_fired)} fired before call {one.step_index}" for one in earlier
        )
    return f"{now}; nothing fired now or on the {E1_LOOK_BACK} steps before"


def _threshold(reason: str) -> str:
    """The threshold that was in force, where the reason names it."""
    return reason.rsplit(" ", 1)[-1] if reason.startswith("composite above") else str(E1_COMPOSITE_THRESHOLD)


def _injected(step: StoredStepAnswer, details: dict[str, Any]) -> Injected | None:
    if not step.intervention_texts:
        return None
    block = guidance_block(step.intervention_texts)
    encoded = block.encode("utf-8", "surrogatepass")
    return Injected(
        applied=OBSERVE_ONLY not in (details.get("skipped_reason") or ""),
        sources=step.injection_sources,
        texts=step.intervention_texts,
        block=block,
        bytes=len(encoded),
        sha256=hashlib.sha256(encoded).hexdigest(),
    )
