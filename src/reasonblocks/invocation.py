"""What LangGraph knows about the invocation of an agent that a hook runs in: how it came about, and how it ends.

LangChain calls `after_agent` on a clean return only, and tells nobody who continues an old checkpoint. The graph's
own loop knows both. It can be had from the config of a node, but it is not part of LangGraph's public interface:
everything here is asked for carefully, and where a version does not answer, `registry.Watch` has slower ways.
"""

from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from langgraph.errors import GraphRecursionError

_CHECKPOINTER = "__pregel_checkpointer"
_REPLAY = "__pregel_replay_state"
_CALL = "__pregel_call"

Told = Callable[[BaseException | None], object]


class Invocation:
    """One `invoke` or `stream` of an agent, also one that continues an earlier one."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._settings: Mapping[str, Any] = config.get("configurable") or {}
        call = self._settings.get(_CALL)
        schedule = getattr(call, "keywords", {}).get("schedule_task")
        self.loop: object | None = getattr(schedule, "__self__", None)
        """The same object for all hooks of an invocation, and for no other."""

    @property
    def resumable(self) -> bool:
        """Whether a checkpointer keeps the run."""
        return bool(self._settings.get(_CHECKPOINTER))

    @property
    def travelled(self) -> bool:
        """Whether it goes on from a checkpoint that its thread has left behind, or from a changed copy of one."""
        if getattr(self.loop, "_addressed_checkpoint_superseded", False):
            return True
        if not self._settings.get(_REPLAY):
            return False
        # LangGraph forks by itself when it is sent to a checkpoint of the run's own, be it the newest: that is a
        # resume. It need not fork where the checkpoint is one already, made by `update_state`.
        began = _checkpoint_id(self.loop, "_initial_checkpoint_config")
        return began is None or began == _checkpoint_id(self.loop, "checkpoint_config")

    def when_over(self, tell: Told) -> bool:
        """Have `tell` called with the exception that ends the invocation, or with none; whether that is possible."""
        loop = self.loop
        push = getattr(getattr(loop, "stack", None), "push", None)
        if push is None:
            return False

        def over(
            kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
        ) -> None:
            if error is None and getattr(loop, "status", "") == "out_of_steps":
                error = GraphRecursionError()  # raised only after the loop has been left
            tell(error)

        push(over)
        return True


def _checkpoint_id(loop: object, name: str) -> str | None:
    config: Mapping[str, Any] = getattr(loop, name, None) or {}
    found: str | None = config.get("configurable", {}).get("checkpoint_id")
    return found
