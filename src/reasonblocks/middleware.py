"""LangChain's hooks, as thin as they can be: find the run, let it decide, do what it decided.

Nothing here holds state: runs do. Every hook exists twice, for LangChain runs a sync hook of an async agent
on the event loop; both halves call the same code but for the one line that waits.

`awrap_model_call` and `awrap_tool_call` are plain functions that return their coroutine. LangChain puts every
wrap hook inside LangSmith's `traceable`, and that takes a coroutine function through two worker threads and a
new task on every call, whether anything is traced or not: more than all of our own work.
"""

import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.runtime import Runtime
from langgraph.types import Command, TracePolicy
from langsmith.utils import tracing_is_enabled

from .admission import Admission, RunState, close_block, open_block
from .call import Call, Response, Setup, composed_call, reply_in
from .messages import Observation, observation_of
from .naming import OUR_NAME, Name
from .registry import Book, Watch
from .run import SUCCESS, Run
from .runtime.contain import contain, describe
from .runtime.drivers import Journal, drive, drive_sync, on_event_loop
from .scope import Inside
from .steering.gate import E1_COMPOSITE_THRESHOLD
from .steering.plan import Prepared, prepare
from .telemetry.stream import DRAIN_SECONDS
from .telemetry.untraced import ToolSpan
from .types import StepLogEntry

logger = logging.getLogger("reasonblocks")

Hook = TypeVar("Hook", bound=Callable[..., Any])


def _with_known_signature(hook: Hook) -> Hook:
    """Save LangGraph from parsing a hook's signature for every agent, and LangSmith's wrapper on every call."""
    hook.__signature__ = inspect.signature(hook)  # type: ignore[attr-defined]
    return hook


def _nothing_where_traced(payload: Any) -> Any:
    """Nothing for a tracer to record. Where nobody traces, the payload itself: another makes LangGraph begin and end
    our node twice, once for tracers and once for all others."""
    return {} if tracing_is_enabled() else payload


class ReasonBlocksMiddleware(AgentMiddleware[Any, Any, Any]):
    """Watches and steers any number of concurrent and successive runs of an agent."""

    state_schema = RunState
    trace_policy = TracePolicy(process_inputs=_nothing_where_traced, process_outputs=_nothing_where_traced)
    """Where LangSmith traces, our spans carry no second copy of the conversation."""

    def __init__(self, setup: Setup) -> None:
        super().__init__()
        self._setup = setup
        self._book = Book()
        self._admission = Admission(setup, self._book)
        self._warned_about_loop = False
        self._e1_gate_composite_threshold = E1_COMPOSITE_THRESHOLD

    @property
    def name(self) -> str:
        """The name of our nodes in the agent's graph."""
        return Name(OUR_NAME)

    # -- for users -------------------------------------------------------------------------------

    @property
    def step_log(self) -> list[StepLogEntry]:
        """The log of the only open run, else of the latest one."""
        return self._book.step_log()

    @property
    def _monitor_eval_history(self) -> list[Any]:
        shown = self._book.shown()
        return shown._monitor_eval_history if shown else []

    def run(self, run_id: str) -> Run:
        """Any open or recent run, with its `step_log`."""
        return self._book.get(run_id)

    def mark_failure(self, reason: str, run_id: str | None = None) -> None:
        """Give a run its outcome: that of the current hook or tool, else the only open one, else the latest."""
        self._book.meant(run_id).mark(str(reason).strip() or "failure")

    def close(self) -> None:
        """Deliver what is on its way, for at most 5 s; the middleware stays usable."""
        self._book.settle()
        self._setup.streams.flush(DRAIN_SECONDS)

    async def aclose(self) -> None:
        """As `close`, without blocking the event loop."""
        self._book.settle()
        await self._setup.streams.aflush(DRAIN_SECONDS)

    def __enter__(self) -> Self:
        open_block()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave(error)
        self.close()

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leave(error)
        await self.aclose()

    def _leave(self, error: BaseException | None) -> None:
        """End a `with`: an exception that leaves it is the outcome of the runs that began in it."""
        block = close_block()
        watches = block.watches if block is not None else list(self._book.open.values())
        if error is None:
            return
        with contain("leaving the context"):
            unfinished = [watch for watch in watches if watch.run.outcome is None]
            for watch in unfinished or watches[-1:]:
                watch.end(f"failure: {type(error).__name__}", error=error)

    # -- before_agent, before_model, after_agent -------------------------------------------------
    # One line each, naming nothing global: LangGraph disassembles the functions of its nodes when an agent is
    # compiled, to find subgraphs, and takes a millisecond for a page of code.

    @_with_known_signature
    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """A run begins."""
        return self._start(state, runtime)

    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """A run begins."""
        return self._start(state, runtime)

    @_with_known_signature
    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Decide about the next model call, asking the backend on the runtime's own loop."""
        return self._decide_sync(state)

    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Decide about the next model call."""
        return await self._decide(state)

    @_with_known_signature
    def after_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """A run returned cleanly."""
        self._end(state)
        return None

    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """A run returned cleanly."""
        self._end(state)
        return None

    def _start(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        update: dict[str, Any] | None = None
        with contain("before_agent"):
            update = self._admission.begin(state, runtime)
        return update

    def _end(self, state: Mapping[str, Any]) -> None:
        with contain("after_agent"):
            watch = self._admission.find(state)
            if watch is not None:
                watch.touch()
                watch.end(SUCCESS, state["messages"])

    def _decide_sync(self, state: Mapping[str, Any]) -> dict[str, Any] | None:
        watch = self._admission.find(state)
        if watch is None:
            return None
        self._prepare_sync(watch, state)
        return self._admission.carry(watch, state)

    async def _decide(self, state: Mapping[str, Any]) -> dict[str, Any] | None:
        watch = self._admission.find(state)
        if watch is None:
            return None
        await self._prepare(watch, state)
        return self._admission.carry(watch, state)

    async def _prepare(self, watch: Watch, state: Mapping[str, Any]) -> None:
        began = time.perf_counter()
        journal: Journal = []
        try:
            with contain("prepare", watch.run.errors), Inside(watch.run) as inside:
                if self._needs_plan(watch, state):
                    inside.attach(watch.run.spans.here())
                    prepared = await drive(self._plan(watch), self._setup.budget, journal)
                    self._accept(watch, prepared, journal, began)
        except BaseException as error:
            watch.raised(error)
            raise

    def _prepare_sync(self, watch: Watch, state: Mapping[str, Any]) -> None:
        began = time.perf_counter()
        journal: Journal = []
        try:
            with contain("prepare", watch.run.errors), Inside(watch.run) as inside:
                if self._needs_plan(watch, state):
                    self._warn_on_loop()
                    inside.attach(watch.run.spans.here())
                    prepared = drive_sync(self._plan(watch), self._setup.budget, journal)
                    self._accept(watch, prepared, journal, began)
        except BaseException as error:
            watch.raised(error)
            raise

    def _needs_plan(self, watch: Watch, state: Mapping[str, Any]) -> bool:
        """Close the step before; whether the next one has not been decided about yet."""
        watch.touch()
        run = watch.run
        run.complete_step(state["messages"])
        needed = run.prepared is None or run.prepared.step != run.step
        if needed:
            run.spans.begin_step(run.step)
        return needed

    def _plan(self, watch: Watch) -> Any:
        return prepare(watch.run.situation(self._e1_gate_composite_threshold), self._setup.policy)

    def _accept(self, watch: Watch, prepared: Prepared, journal: Journal, began: float) -> None:
        timed = replace(prepared, added_seconds=time.perf_counter() - began)
        watch.run.settle(timed, journal, monitored=self._setup.policy.monitors is not None)

    def _warn_on_loop(self) -> None:
        if not self._warned_about_loop and on_event_loop():
            self._warned_about_loop = True
            logger.warning(
                "a sync agent runs inside a running event loop and blocks it; "
                "use `await agent.ainvoke(...)` there, so that neither the model nor reasonblocks holds the loop up"
            )

    # -- wrap_model_call -------------------------------------------------------------------------

    @_with_known_signature
    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Response:
        """Call the model with what was decided, and record what it said."""
        watch = self._admission.find(request.state)
        if watch is None:
            return handler(request)
        if watch.run.prepared is None:
            self._prepare_sync(watch, request.state)
        try:
            with Inside(watch.run) as inside:
                call = self._compose(watch, request)
                inside.attach(call.context)
                response = handler(call.request)
        except BaseException as error:
            self._raised(watch, error)
            raise
        self._record(watch, call, response)
        return self._admission.carried(watch, request.state, response)

    @_with_known_signature
    def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> Coroutine[Any, Any, Response]:
        """Call the model with what was decided, and record what it said."""
        return self._around_model(request, handler)

    async def _around_model(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> Response:
        watch = self._admission.find(request.state)
        if watch is None:
            return await handler(request)
        if watch.run.prepared is None:
            await self._prepare(watch, request.state)
        try:
            with Inside(watch.run) as inside:
                call = self._compose(watch, request)
                inside.attach(call.context)
                response = await handler(call.request)
        except BaseException as error:
            self._raised(watch, error)
            raise
        self._record(watch, call, response)
        return self._admission.carried(watch, request.state, response)

    def _compose(self, watch: Watch, request: ModelRequest[Any]) -> Call:
        """The request as the model gets it; as it came, if anything goes wrong here."""
        call: Call | None = None
        with contain("compose", watch.run.errors):
            watch.touch()
            call = composed_call(watch, request, self._setup)
        return call or Call(request, began=time.perf_counter(), context=watch.run.spans.here())

    def _record(self, watch: Watch, call: Call, response: Response) -> None:
        with contain("record", watch.run.errors):
            message = reply_in(response)
            if message is not None:
                latency = time.perf_counter() - call.began
                watch.run.record(message, call.composed, call.model_id, latency)

    def _raised(self, watch: Watch, error: BaseException) -> None:
        """An exception passes on its way to the agent; a graph's own signals are not failures."""
        with contain("noting an exception", watch.run.errors):
            if not isinstance(error, GraphBubbleUp):
                watch.run.spans.failed(error)
                watch.raised(error)

    # -- wrap_tool_call --------------------------------------------------------------------------

    @_with_known_signature
    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        """Let a tool run as part of its run: agents it calls are nested, its errors are seen."""
        watch = self._find_for_tool(request)
        if watch is None:
            return handler(request)
        span = watch.run.spans.tool(request.tool_call)
        try:
            with Inside(watch.run) as inside:
                inside.attach(span.context)
                result = handler(request)
        except BaseException as error:
            self._tool_raised(watch, request, error, span)
            raise
        self._observed(watch, request, result, span)
        return result

    @_with_known_signature
    def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> Coroutine[Any, Any, ToolMessage | Command[Any]]:
        """Let a tool run as part of its run: agents it calls are nested, its errors are seen."""
        return self._around_tool(request, handler)

    async def _around_tool(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        watch = self._find_for_tool(request)
        if watch is None:
            return await handler(request)
        span = watch.run.spans.tool(request.tool_call)
        try:
            with Inside(watch.run) as inside:
                inside.attach(span.context)
                result = await handler(request)
        except BaseException as error:
            self._tool_raised(watch, request, error, span)
            raise
        self._observed(watch, request, result, span)
        return result

    def _find_for_tool(self, request: ToolCallRequest) -> Watch | None:
        watch = self._admission.find(request.state) if isinstance(request.state, Mapping) else None
        if watch is not None:
            with contain("wrap_tool_call", watch.run.errors):
                watch.touch()
                watch.run.execute(request.tool_call, request.state.get("messages", ()))
        return watch

    def _observed(
        self, watch: Watch, request: ToolCallRequest, result: ToolMessage | Command[Any], span: ToolSpan
    ) -> None:
        with contain("wrap_tool_call", watch.run.errors):
            seen = observation_of(result) if isinstance(result, ToolMessage) else None
            if seen is not None:
                watch.run.observe(request.tool_call["id"], seen)
            span.answered(seen.text if seen else "", is_error=seen is not None and seen.is_error)

    def _tool_raised(self, watch: Watch, request: ToolCallRequest, error: BaseException, span: ToolSpan) -> None:
        with contain("noting a tool's exception", watch.run.errors):
            failed = not isinstance(error, GraphBubbleUp)
            span.raised(error, failed=failed)
            if failed:
                watch.run.observe(request.tool_call["id"], Observation(describe(error), is_error=True))
                watch.raised(error)
