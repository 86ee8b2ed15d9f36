"""Run: everything that belongs to one agent run, and to no other."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, ToolCall

from .api.backend import Backend, Event
from .injections.base import BaseInjection
from .injections.monitor_steering import MonitorSteeringInjection
from .messages import (
    Observation,
    Usage,
    action_of,
    all_observed,
    last_request,
    newest_version,
    observed_after,
    thought_of,
    usage_of,
)
from .runtime.contain import contain
from .runtime.drivers import Performed
from .steering.compose import Composed
from .steering.course import Course
from .steering.gate import E1_LOOK_BACK, OBSERVE_ONLY, MonitorGuard
from .steering.plan import Prepared
from .telemetry import events
from .telemetry.lookups import account, candidates
from .telemetry.tracing import Origin, Tracing
from .telemetry.untraced import NO_SPANS, NoSpans
from .types import FSMState, InjectionNotice, MonitorEvaluation, StepLogEntry, StepRecord, preview

SUCCESS = "success"


@dataclass(frozen=True)
class Outlets:
    """Where what a run does goes; the same for all runs of a middleware."""

    backend: Backend | None = None
    post: Callable[[Event], None] | None = None
    """Takes an event for delivery; `None` where nothing is streamed."""
    redact: events.Redact | None = None
    tracing: Tracing | None = None
    """`None` where no spans are made."""
    on_injection: Callable[[InjectionNotice], object] | None = None
    steer: bool = True
    score_window: int = 35
    token_budget: int | None = None


@dataclass(slots=True)
class OpenStep:
    """A model call that returned, until its tools have answered."""

    message: AIMessage
    entry: StepLogEntry
    details: dict[str, Any]
    observed: dict[str, Observation] = field(default_factory=dict)
    executed: dict[str, ToolCall] = field(default_factory=dict)
    """Calls as the tools got them, where that is known: a person may have edited one."""


class Run(Course):
    """One agent run. Only its own hooks touch it, one at a time, so there are no locks."""

    def __init__(
        self,
        run_id: str,
        outlets: Outlets,
        facts: Mapping[str, Any],
        *,
        parent_id: str | None = None,
        relation: str | None = None,
        named: str | None = None,
        origin: Origin | None = None,
    ) -> None:
        super().__init__(
            run_id,
            task=str(facts.get("task", "")),
            model=str(facts.get("model", "")),
            score_window=outlets.score_window,
            token_budget=outlets.token_budget,
        )
        self.named = named
        """What the config called this run, whether it got that name or not."""
        self.parent_id = parent_id
        self.relation = relation
        """`nested` in its parent's tool, or `time_travel` from a checkpoint of it."""
        self.origin = origin or Origin()
        self.spans: NoSpans = NO_SPANS
        self.facts = dict(facts)
        self.step_log: list[StepLogEntry] = []
        self.open_step: OpenStep | None = None
        self.outcome: str | None = None
        """What was last reported as the end of this run; `None` while it goes on."""
        self.errors: list[str] = []
        """What was contained since the last model call."""
        self._outlets = outlets
        self._marked: str | None = None
        self._waits = False
        """Whether it was interrupted, and nobody has resumed it yet."""

    # -- the life of a run -----------------------------------------------------------------------

    def begin(self) -> None:
        """Report the start."""
        self._trace(self.origin)
        metadata = dict(self.facts.get("metadata") or {})
        if self.parent_id:
            metadata["reasonblocks"] = {"parent_run_id": self.parent_id, "relation": self.relation}
        kept = self._post(events.run_start({**self.facts, "run_id": self.run_id, "metadata": metadata}))
        if self._outlets.redact is not None:
            self._task = str((kept or {}).get("task") or "")
        self.spans.begun(self._task)

    def _trace(self, origin: Origin) -> None:
        tracing = self._outlets.tracing
        if tracing is not None:
            self.spans = tracing.begin(self.run_id, self.facts, self.parent_id, origin)

    def hear(self, messages: Sequence[BaseMessage]) -> None:
        """Take what the agent is asked to do from its messages, where the middleware was not told.

        The monitors see it, so with a `redact` there is nothing to take: what a person wrote has not been through it.
        """
        if self._outlets.redact is None:
            self._task = self._task or last_request(messages)

    def forget_task(self) -> None:
        """The task was redacted when the run began, elsewhere; as the middleware was told it, it may not leave."""
        self._task = ""

    def mark(self, reason: str) -> None:
        """Name the outcome; it stands above whatever else ends the run."""
        self._marked = reason
        if self.outcome is not None:
            self.finish(self.outcome)

    def finish(self, outcome: str, messages: Sequence[BaseMessage] = (), error: BaseException | None = None) -> None:
        """Report the end; a later report replaces an earlier one."""
        self.complete_step(messages)
        outcome = self._marked or outcome
        if outcome == self.outcome:
            return
        self._tell_end(outcome, self._post(events.run_finish(self.run_id, outcome)), error)
        self.outcome = outcome
        if self._outlets.backend is not None:
            self._outlets.backend.forget_run(self.run_id)

    def _tell_end(self, outcome: str, event: Event | None, error: BaseException | None) -> None:
        """The end for those who trace and measure."""
        tracing = self._outlets.tracing
        if tracing is None:
            return
        kind = events.outcome_class(outcome)
        if self.outcome is None:
            tracing.metrics.ended(kind)
        self.spans.finish(kind, str((event or {}).get("outcome") or kind), self.step, error)

    def interrupt(self) -> None:
        """Report that the run waits for a person, to a backend that wants to know."""
        self._waits = True
        self.spans.pause()
        if self._outlets.backend is not None and self._outlets.backend.interrupts:
            self._post(events.run_interrupt(self.run_id))

    def resume(self, traceparent: str | None = None) -> None:
        """The run goes on: here, or after another process that left off at `traceparent`."""
        if self._waits or traceparent is not None:
            self._waits = False
            here = self.spans.traceparent
            self._trace(replace(self.origin, linked=here or traceparent, relation="resumed", continues=bool(here)))

    def _post(self, event: Event) -> Event | None:
        """Send an event as it may leave the process; `None` if nothing may."""
        post = self._outlets.post
        if post is None and not self.spans.recording:
            return None
        kept = events.redacted(event, self._outlets.redact)
        if kept is not None and post is not None:
            post(kept)
        return kept

    # -- before the model ------------------------------------------------------------------------

    def settle(self, prepared: Prepared, performed: Sequence[Performed], *, monitored: bool) -> None:
        """Take what was decided, and tell those who trace and measure what was asked for it."""
        self.accept(prepared, monitored=monitored)
        self.spans.prepared(prepared, performed)
        if self._outlets.tracing is not None:
            self._outlets.tracing.metrics.prepared(prepared.added_seconds, performed)

    def spend(self, composed: Composed) -> bool:
        """Count the queued guidance as given, and tell whoever wants to know."""
        first = super().spend(composed)
        if first and composed.texts and self._outlets.on_injection is not None:
            with contain("on_injection", self.errors):
                self._outlets.on_injection(self._notice(self.decided, composed))
        return first

    def _notice(self, prepared: Prepared, composed: Composed) -> InjectionNotice:
        evaluation = prepared.evaluation
        return InjectionNotice(
            run_id=self.run_id,
            step=prepared.step,
            fsm_state=prepared.state.value,
            sources=composed.sources,
            texts=composed.texts,
            monitors_fired=evaluation.fired if evaluation else (),
            failure_type=evaluation.failure_type if evaluation else None,
            applied=self._outlets.steer,
        )

    # -- after the model -------------------------------------------------------------------------

    def record(self, message: AIMessage, composed: Composed | None, model_id: str, latency: float) -> None:
        """A model call returned: it is a step now."""
        self.complete_step(())
        prepared = self.decided
        usage = usage_of(message)
        composed = composed or Composed(None)
        entry = self._entry(message, prepared, composed, usage)
        entry.model_id, entry.latency_ms = model_id, round(latency * 1000, 3)
        self.step_log.append(entry)
        self.open_step = OpenStep(message, entry, _details(prepared, entry, composed))
        self.spans.recorded(entry, message)
        if self._outlets.tracing is not None:
            self._outlets.tracing.metrics.stepped(entry.injection_sources if self._outlets.steer else ())
        self.advance(usage.total, model_id)
        self.errors = []

    def _entry(self, message: AIMessage, prepared: Prepared, composed: Composed, usage: Usage) -> StepLogEntry:
        evaluation = prepared.evaluation
        skipped = list(prepared.skipped)
        if composed.texts and not self._outlets.steer:
            skipped.append(OBSERVE_ONLY)
        return StepLogEntry(
            step=self.step,
            timestamp=time.time(),
            difficulty=prepared.difficulty,
            fsm_state=prepared.state.value,
            injections=[preview(text) for text in composed.texts],
            injection_sources=list(composed.sources),
            intervention_texts=list(composed.texts),
            monitors_fired=list(evaluation.fired) if evaluation else [],
            failure_type=evaluation.failure_type if evaluation else None,
            skipped_reason="; ".join(skipped) or None,
            thought_preview=preview(prepared.thought),
            tool_calls=[call["name"] for call in message.tool_calls],
            tokens=usage.total,
            input_tokens=usage.input,
            output_tokens=usage.output,
            cache_read_tokens=usage.cache_read,
            composite=evaluation.composite if evaluation else None,
            scores=dict(evaluation.scores) if evaluation else {},
            errors=[*prepared.errors, *self.errors, *self.spans.problems()],
        )

    def execute(self, call: ToolCall, messages: Sequence[BaseMessage]) -> None:
        """A tool is called, on behalf of the reply as `messages` have it."""
        step, call_id = self.open_step, call["id"]
        if step is not None and call_id is not None:
            step.executed[call_id] = call
            step.message = newest_version(step.message, messages)

    def observe(self, call_id: str | None, observation: Observation) -> None:
        """A tool answered; kept in case the run ends before its messages are seen."""
        if self.open_step is not None and call_id is not None:
            self.open_step.observed[call_id] = observation

    def complete_step(self, messages: Sequence[BaseMessage]) -> None:
        """The tools have answered, or the run is over: the open step is whole and goes out, once."""
        step, self.open_step = self.open_step, None
        if step is None:
            return
        record = self._record_of(step, messages)
        self._last_thought = record.thought
        post, redact = self._outlets.post, self._outlets.redact
        event: Event | None = None
        if post is not None or redact is not None or self.spans.captures:
            event = events.redacted(events.step(self.run_id, record, step.entry, step.details), redact)
            if redact is not None:
                record = _as_redacted(record, event)
            if post is not None and event is not None:
                post(event)
        self._steps.append(record)
        self.spans.complete_step(record.observation_is_error, event)

    # -- across processes ------------------------------------------------------------------------

    def memento(self, injections: Sequence[BaseInjection]) -> dict[str, Any]:
        """What another process needs to go on with this run."""
        labels = {id(injection): label for label, injection in _labelled(injections).items()}
        guard = self._guard
        queued = self.prepared.queued if self.prepared is not None and not self._spent else ()
        return {
            "run_id": self.run_id,
            "parent_id": self.parent_id,
            "relation": self.relation,
            "step": self.step,
            "state": self.state.value,
            "scores": list(self._scores),
            "tokens": self._tokens,
            "fired": {labels[known]: count for known, count in self._fired.items() if known in labels},
            "guard": [guard.count, guard.last_step, guard.last_text],
            "evaluations": [list(seen.fired) if seen else None for seen in self._monitor_eval_history[-E1_LOOK_BACK:]],
            "queued": {labels[id(item.injection)]: item.pending[0].text for item in queued},
            "marked": self._marked,
            "traceparent": self.spans.traceparent,
        }

    def recall(
        self,
        saved: Mapping[str, Any],
        before: Sequence[AIMessage],
        since: Sequence[AIMessage],
        messages: Sequence[BaseMessage],
        injections: Sequence[BaseInjection],
        *,
        own: bool,
    ) -> None:
        """Take up a memento: `before` are the replies it knows, `since` those that came after it was written.

        Those are steps yet to be reported, if they are this run's `own`.
        """
        by_label = _labelled(injections)
        self.step = int(saved.get("step", 0))
        self.state = FSMState(saved.get("state", FSMState.INIT))
        self._scores = tuple(float(score) for score in saved.get("scores", ()))
        self._tokens = int(saved.get("tokens", 0))
        fired: Mapping[str, int] = saved.get("fired", {})
        self._fired = {id(by_label[label]): count for label, count in fired.items() if label in by_label}
        self._guard = MonitorGuard(*saved.get("guard", ()))
        self._marked = saved.get("marked")
        self._monitor_eval_history = [
            None if fired is None else MonitorEvaluation(fired=tuple(fired)) for fired in saved.get("evaluations", ())
        ]
        observed = all_observed(messages)
        for index, reply in enumerate(before, start=self.step - len(before)):
            self._remember(index, reply, observed)
        if since:
            self._recall_queued(saved.get("queued") or {}, by_label)
            if own:
                self.record(since[-1], None, str(self.facts.get("model", "")), 0.0)
            else:
                self._remember(self.step, since[-1], observed)
                self.step += 1

    def _remember(self, index: int, reply: AIMessage, observed: dict[str, Observation]) -> None:
        """A step of the past, as far as its messages tell."""
        entry = StepLogEntry(step=index, timestamp=time.time(), tokens=usage_of(reply).total)
        self.remember(self._record_of(OpenStep(reply, entry, {}, observed), ()))

    def _recall_queued(self, queued: Mapping[str, str | None], by_label: Mapping[str, BaseInjection]) -> None:
        """The call that the memento was written for has returned: what was queued for it was given."""
        for label, text in queued.items():
            injection = by_label.get(label)
            if injection is None:
                continue
            self._fired[id(injection)] = self._fired.get(id(injection), 0) + 1
            if isinstance(injection, MonitorSteeringInjection):
                self._guard = self._guard.spend(self.step, text or "")

    def _record_of(self, step: OpenStep, messages: Sequence[BaseMessage]) -> StepRecord:
        message = newest_version(step.message, messages)
        calls = [step.executed.get(call["id"] or "", call) for call in message.tool_calls]
        observed = {**step.observed, **observed_after(messages, message)}
        answers = [observed[call["id"]] for call in calls if call["id"] is not None and call["id"] in observed]
        action, action_input = action_of(calls)
        return StepRecord(
            step_index=step.entry.step,
            thought=thought_of(message),
            action=action,
            action_input=action_input,
            observation="\n\n".join(answer.text for answer in answers) if answers else None,
            observation_is_error=any(answer.is_error for answer in answers),
            difficulty=step.entry.difficulty or 0.0,
            state=FSMState(step.entry.fsm_state),
            tokens_used=step.entry.tokens,
        )


def _labelled(injections: Sequence[BaseInjection]) -> dict[str, BaseInjection]:
    """Names by which another process finds the same injections: class and position among its like."""
    found: dict[str, BaseInjection] = {}
    for injection in injections:
        name = type(injection).__name__
        number = sum(1 for label in found if label.partition("#")[0] == name)
        found[f"{name}#{number}" if number else name] = injection
    return found


def _as_redacted(record: StepRecord, event: Event | None) -> StepRecord:
    """The step as the user lets it leave the process: monitors and retrieval see no more than telemetry."""
    shown = event or {}
    return StepRecord(
        step_index=record.step_index,
        thought=str(shown.get("thought") or ""),
        action=shown.get("action"),
        action_input=shown.get("action_input"),
        observation=shown.get("observation"),
        observation_is_error=record.observation_is_error,
        difficulty=record.difficulty,
        state=record.state,
        tokens_used=record.tokens_used,
    )


def _details(prepared: Prepared, entry: StepLogEntry, composed: Composed) -> dict[str, Any]:
    """What `metadata.reasonblocks` of a step event holds."""
    evaluation = prepared.evaluation
    details = {
        "timestamp": entry.timestamp,
        "composite": entry.composite,
        "scores": entry.scores,
        "difficulty": entry.difficulty,
        "fsm_state": entry.fsm_state,
        "gate": prepared.gate,
        "injection_path": evaluation.injection_path if evaluation else None,
        "intervention_source": evaluation.intervention_source if evaluation else None,
        "asked": list(prepared.asked),
        "candidates": candidates(prepared, composed),
        "skipped_reason": entry.skipped_reason,
        "errors": entry.errors,
        "latency_ms": entry.latency_ms,
        "added_ms": round(prepared.added_seconds * 1000, 3),
    }
    if prepared.asked:
        details["lookups"] = [account(lookup) for lookup in prepared.lookups]
    return details
