"""Which run a hook belongs to: a new one, the one its state carries, or one that a checkpoint names."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Annotated, Any, NotRequired

from langchain.agents.middleware import AgentState, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse, PrivateStateAttr
from langchain_core.messages import AIMessage
from langgraph.channels.untracked_value import UntrackedValue
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command

from . import identity
from .call import Response, Setup
from .invocation import Invocation
from .registry import Book, RunHandle, Watch, registry
from .run import Run
from .runtime.contain import contain
from .settings import disabled

HANDLE = "_reasonblocks_run"
SNAPSHOT = "_reasonblocks_snapshot"


class RunState(AgentState[Any]):
    """What our hooks keep in the agent's state; neither key is ever part of its output."""

    _reasonblocks_run: NotRequired[Annotated[Any, UntrackedValue, PrivateStateAttr]]
    _reasonblocks_snapshot: NotRequired[Annotated[dict[str, Any], PrivateStateAttr]]


class Block:
    """A `with middleware:` and the runs that began inside it."""

    def __init__(self, outer: "Block | None") -> None:
        self.outer = outer
        self.watches: list[Watch] = []


_block: ContextVar[Block | None] = ContextVar("reasonblocks_block", default=None)


def open_block() -> None:
    """Runs that begin from here on belong to a `with`."""
    _block.set(Block(_block.get()))


def close_block() -> Block | None:
    """Leave the innermost `with`, if this context knows it."""
    block = _block.get()
    if block is not None:
        _block.set(block.outer)
    return block


class Admission:
    """Begins the runs of one middleware and finds them again."""

    def __init__(self, setup: Setup, book: Book) -> None:
        self._setup = setup
        self._book = book
        self._unused_run_ids = [setup.first_run_id] if setup.first_run_id else []

    def begin(self, state: Mapping[str, Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """A run begins: what the agent's state has to hold from now on."""
        config = get_config()
        if disabled() or identity.opted_out(config):
            return {HANDLE: RunHandle(None)}
        return self.carry(self._begin(config, state, runtime), state)

    def find(self, state: Mapping[str, Any]) -> Watch | None:
        """The run of a hook: the one its state carries, else the one its checkpoint names."""
        handle = state.get(HANDLE)
        if isinstance(handle, RunHandle):
            return handle.watch
        watch: Watch | None = None
        with contain("finding the run"):
            watch = self._adopt(state)
        return watch

    def carry(self, watch: Watch, state: Mapping[str, Any]) -> dict[str, Any] | None:
        """What the state has to hold for the hooks to come: the run, and a snapshot where there are checkpoints."""
        update: dict[str, Any] = {}
        with contain("keeping the run in the state", watch.run.errors):
            if HANDLE not in state:
                update[HANDLE] = watch.handle()
            if watch.resumable:
                update[SNAPSHOT] = identity.snapshot(watch.run, state["messages"], self._setup.policy.all_injections)
        return update or None

    def carried(self, watch: Watch, state: Mapping[str, Any], response: Response) -> Response:
        """A model's response, with what the state has to hold where no hook before could say it: after time travel."""
        if HANDLE in state or isinstance(response, ExtendedModelResponse):
            return response
        update = self.carry(watch, state)
        if isinstance(response, AIMessage):
            response = ModelResponse(result=[response])
        return ExtendedModelResponse(response, Command(update=update)) if update else response

    def _adopt(self, state: Mapping[str, Any]) -> Watch | None:
        """A run that this invocation of the graph did not begin: resumed, or travelled back to."""
        config = get_config()
        if disabled() or identity.opted_out(config):
            return None
        invocation = Invocation(config)
        joined = registry.joined.get(invocation.loop) if invocation.loop is not None else None
        if joined is not None:
            return joined
        saved = state.get(SNAPSHOT)
        if not saved:
            return self._begin(config, state, None)
        known = registry.find(saved["run_id"]) if not invocation.travelled else None
        if known is None:
            return self._restore(saved, state, invocation, config)
        known.move_to(self._book)
        known.join(invocation)
        known.run.resume()
        return known

    def _begin(self, config: Mapping[str, Any], state: Mapping[str, Any], runtime: Runtime[Any] | None) -> Watch:
        """A new run, reported as such."""
        given = self._unused_run_ids.pop() if self._unused_run_ids else None
        info = getattr(runtime, "execution_info", None)
        who = identity.identify(given, config, getattr(info, "run_id", None))
        watch = self._open(self._run(who, config), Invocation(config))
        watch.run.begin()
        watch.run.hear(state["messages"])
        return watch

    def _restore(
        self, saved: Mapping[str, Any], state: Mapping[str, Any], invocation: Invocation, config: Mapping[str, Any]
    ) -> Watch:
        """The run that a checkpoint names; from a checkpoint of the past it is a new run, linked to the old one."""
        travelled = invocation.travelled
        if travelled:
            who = identity.Identity(identity.new_run_id(), parent_id=saved["run_id"], relation="time_travel")
        else:
            who = identity.Identity(saved["run_id"], parent_id=saved.get("parent_id"), relation=saved.get("relation"))
        run = self._run(who, config, saved.get("traceparent") if travelled else None)
        if travelled:
            run.begin()
        if travelled or self._setup.outlets.redact is None:
            run.hear(state["messages"])
        else:
            run.forget_task()
        identity.restore(run, saved, state["messages"], self._setup.policy.all_injections, travelled=travelled)
        if not travelled:
            run.resume(saved.get("traceparent") or "")
        return self._open(run, invocation)

    def _run(self, who: identity.Identity, config: Mapping[str, Any], left_off: str | None = None) -> Run:
        return Run(
            who.run_id,
            self._setup.outlets,
            self._setup.facts,
            parent_id=who.parent_id,
            relation=who.relation,
            named=who.named,
            origin=identity.origin(who, config, left_off),
        )

    def _open(self, run: Run, invocation: Invocation) -> Watch:
        watch = Watch(run, self._book, resumable=invocation.resumable)
        self._book.opened(watch)
        watch.join(invocation)
        block = _block.get()
        if block is not None:
            block.watches.append(watch)
        return watch
