"""The engine in process: the same questions and answers as rb-api's, without a socket.

Agents ask the engine from their own loops and threads: evaluating and retrieving touch no database. Everything else
happens on the process runtime's loop, where it lives.
"""

import asyncio
import concurrent.futures
import importlib.util
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from ..engine import PACKAGES, answers
from ..engine.answers import Evaluation, Trace
from ..engine.errors import Conflict, EngineError
from ..engine.principal import LOCAL
from ..engine.requests import EvaluateRequest, RetrieveRequest, TraceStep
from ..errors import ReasonBlocksError, Rejected, SettingsError, Unavailable
from ..limits import MAX_TASK
from ..runtime.contain import describe
from ..runtime.drivers import on_event_loop
from ..runtime.supervisor import runtime
from ..settings import no_engine
from ..types import ETrace, MonitorEvaluation, NearMiss, StepRecord
from . import wire
from .backend import Event, Query, Retrieved, Trajectory
from .hosting import EngineHost, hosts

if TYPE_CHECKING:
    from ..engine.engine import Engine

OPEN_SECONDS = 60.0
"""How long a constructor waits for its engine; a large library may have to be indexed anew."""
MAX_CURSORS = 10_000


def require_engine(why: str) -> None:
    """Raise the error that tells how to install the engine, if it is not."""
    if any(importlib.util.find_spec(name) is None for name in PACKAGES):
        raise SettingsError(no_engine(why))


class Cursor:
    """How much of one run the engine has seen."""

    __slots__ = ("held", "last")

    def __init__(self) -> None:
        self.held = 0
        self.last: StepRecord | None = None


class EmbeddedBackend:
    """The engine of this process behind the protocol that a server has."""

    batches = True
    interrupts = True
    losses = True
    linger_seconds = 0.25
    """As for a server: each delivery is a transaction in the agent's own process."""

    def __init__(self, data_dir: Path | None) -> None:
        self._data_dir = data_dir
        self.destination = None if data_dir is None else f"engine {data_dir}"
        self._user = object()
        """Who we are among the users of a host; not ourselves, so that nobody keeps us alive."""
        self._host: EngineHost | None = None
        self._streams = False
        self._cursors: OrderedDict[str, Cursor] = OrderedDict()
        host = self._joined()
        if on_event_loop():
            host.start()  # the loop must not be held up: the first lookups wait instead
        else:
            self._wait(host)

    def _joined(self) -> EngineHost:
        if self._host is None:
            self._host = hosts.join(self._data_dir, self._user)
        return self._host

    def _left(self) -> EngineHost | None:
        """The host that we were the last ones to use, if so."""
        host, self._host = self._host, None
        return host if host is not None and hosts.leave(host, self._user) else None

    def _wait(self, host: EngineHost) -> None:
        try:
            host.wait(OPEN_SECONDS)
        except concurrent.futures.TimeoutError:
            return  # it goes on opening; until it is there lookups are unavailable
        except Exception as error:
            if self._left() is not None:
                runtime.dismiss(host)
            known = isinstance(error, ReasonBlocksError)  # then the sentence says it all
            raise SettingsError(str(error)) from (None if known else error)

    async def _engine(self) -> "Engine":
        host = self._host or self._joined()
        return host.engine or await host.current()

    # -- lookups ---------------------------------------------------------------------------------

    def refusal(self) -> str | None:
        """Why a lookup would fail right now: the engine could not be opened."""
        return self._host.problem if self._host is not None else None

    def stats(self) -> dict[str, Any]:
        """What there is to say about this backend."""
        return {"breaker_open": self.refusal() is not None}

    async def evaluate(self, trajectory: Trajectory) -> MonitorEvaluation:
        """Ask the monitors about what is new in a run."""
        engine = await self._engine()
        await asyncio.sleep(
            0
        )  # many agents step at once: what waits on this loop gets its turn between theirs and ours
        return await _evaluated(engine, trajectory, self._cursor(trajectory.run_id))

    async def retrieve(self, query: Query) -> Retrieved:
        """Look patterns up."""
        engine = await self._engine()
        return await _retrieved(engine, query)

    def _cursor(self, run_id: str) -> Cursor:
        cursor = self._cursors.get(run_id)
        if cursor is None:
            cursor = self._cursors[run_id] = Cursor()
            if len(self._cursors) > MAX_CURSORS:
                self._cursors.popitem(last=False)
        return cursor

    def forget_run(self, run_id: str) -> None:
        """A run is over; where its steps are streamed, the engine forgets it when it has scored the last of them."""
        self._cursors.pop(run_id, None)
        engine = self._host.engine if self._host is not None else None
        if engine is not None and not self._streams:
            engine.evaluator.trajectories.forget(LOCAL.org(), run_id)

    # -- deliveries ------------------------------------------------------------------------------

    async def discover(self) -> None:
        """Nothing to ask: the engine is of this version."""

    async def send(self, event: Event) -> None:
        """Store one event."""
        refused = await self.send_batch([wire.encode_event(event)])
        if refused:
            raise Rejected(422, refused[0][1])

    async def send_batch(self, events: Sequence[bytes]) -> list[tuple[int, str]]:
        """Store encoded events in order; on the runtime's loop, where the engine lives."""
        self._streams = True
        engine = await self._engine()
        try:
            receipt = await engine.runs.events(LOCAL, events)
        except Exception as error:
            raise Unavailable(f"the engine could not store events: {describe(error)}", failed=True) from error
        return [(entry.index, entry.detail) for entry in receipt.rejected]

    def close(self) -> None:
        """Leave the engine; its last user closes it, unless it is in memory: what it holds would be lost."""
        if self._data_dir is not None and (host := self._left()) is not None:
            runtime.dismiss(host)

    async def aclose(self) -> None:
        """As `close`, without blocking the event loop."""
        if self._data_dir is not None and (host := self._left()) is not None:
            await runtime.adismiss(host)

    def release(self) -> None:
        """Nobody will ask any more."""
        if (host := self._left()) is not None:
            host.retire()


async def _evaluated(engine: "Engine", trajectory: Trajectory, cursor: Cursor) -> MonitorEvaluation:
    steps = trajectory.steps
    if cursor.held > len(steps) or (cursor.held and cursor.last is not steps[cursor.held - 1]):
        cursor.held = 0
    for _ in range(3):
        request = EvaluateRequest(
            steps=[_trace_step(step) for step in steps[cursor.held :]],
            model=trajectory.model,
            task_profile=trajectory.task_profile,
            weights=dict(trajectory.weights) if trajectory.weights else None,
            run_id=trajectory.run_id,
            offset=cursor.held,
            task=wire.cap(trajectory.task, MAX_TASK),
        )
        try:
            answer = await engine.evaluator.evaluate(LOCAL, request)
        except Conflict as conflict:
            have = conflict.have or 0
            cursor.held = have if have <= len(steps) and have != cursor.held else 0
            continue
        except EngineError as error:
            raise Unavailable(describe(error)) from error
        cursor.held, cursor.last = len(steps), steps[-1] if steps else None
        return as_seen_by_the_client(answer)
    raise Unavailable("the engine and this run do not agree on the steps it holds")


def as_seen_by_the_client(answer: Evaluation) -> MonitorEvaluation:
    """An evaluation of the engine, without what only a server's answer shows."""
    return MonitorEvaluation(
        inject=answer.inject,
        intervention_text=answer.intervention_text,
        fired=tuple(answer.fired),
        scores=answer.scores,
        composite=answer.composite,
        failure_type=answer.failure_type,
        intervention_source=answer.intervention_source,
        injection_path=answer.injection_path,
        pattern_id=answer.pattern_id,
    )


def _trace_step(step: StepRecord) -> TraceStep:
    return TraceStep(
        thought=wire.cap(step.thought),
        action=wire.cap(step.action),
        action_input=wire.cap(step.action_input),
        observation=wire.cap(step.observation),
        observation_is_error=step.observation_is_error,
    )


async def _retrieved(engine: "Engine", query: Query) -> Retrieved:
    request = RetrieveRequest(
        context=wire.cap(query.context) or "",
        tier=query.tier,
        top_k=query.top_k,
        model=query.model,
        failure_type=query.failure_type,
        near_misses=query.near_misses,
    )
    try:
        answer = await engine.retriever.retrieve(LOCAL, request)
    except EngineError as error:
        raise Unavailable(describe(error)) from error
    return Retrieved(
        [_etrace(trace) for trace in answer.traces],
        tuple(_near_miss(missed) for missed in answer.near_misses or ()),
        told=answer.near_misses is not UNSET,
        not_compared=answer.not_compared or None,
    )


def _etrace(trace: Trace) -> ETrace:
    return ETrace(
        tier=trace.tier,
        similarity=trace.similarity,
        pattern_id=trace.pattern_id,
        fields=trace.fields,
        failure_type=trace.failure_type,
        model_family=trace.model_family,
        source_trace_id=trace.source_trace_id,
        gate=trace.gate or None,
    )


def _near_miss(missed: answers.NearMiss) -> NearMiss:
    return NearMiss(
        pattern_id=missed.pattern_id,
        title=missed.title,
        similarity=missed.similarity,
        gate=missed.gate,
        reason=missed.reason,
        failure_type=missed.failure_type,
    )
