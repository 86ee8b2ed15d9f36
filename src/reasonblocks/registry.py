"""Which runs there are: those of the process, by id, and those of one middleware, for its users."""

import weakref
from collections import OrderedDict, deque
from contextvars import ContextVar
from typing import Any, Self

from langchain_core.messages import SystemMessage
from langgraph.errors import GraphDrained, GraphInterrupt, ParentCommand

from .errors import AmbiguousRun
from .invocation import Invocation
from .run import SUCCESS, Run
from .runtime.contain import contain
from .runtime.supervisor import runtime
from .types import StepLogEntry

PROVISIONAL_SECONDS = 2.0
"""How long after an exception a run is given to recover before it is reported as failed, if nobody tells its end."""
MAX_PAUSED = 1_000
MAX_RECENT = 100
UNKNOWN_FAILURE = "failure: unknown"

current_run: ContextVar["Run | None"] = ContextVar("reasonblocks_run", default=None)
"""The run whose hook or tool the current code is in; an agent called from there is nested in it."""


class Watch:
    """Sees to it that a run ends, however it ends.

    LangChain calls `after_agent` only on a clean return. The graph tells how it was left otherwise. If it does not
    (see `Invocation`), an exception that passes one of our hooks ends the run unless another hook follows soon, as
    after a retry, and what passes none of them shows when the agent's state is collected.
    """

    def __init__(self, run: Run, book: "Book", *, resumable: bool = False) -> None:
        self.run = run
        self.book = book
        self.resumable = resumable
        """Whether a checkpointer keeps the run: then its state going away may be a pause."""
        self.agent_model: object = None
        """The model of the agent itself, to tell a fallback of an outer middleware from it."""
        self.marked_base: tuple[SystemMessage, SystemMessage] | None = None
        """The caller's system message and its copy with our cache marker."""
        self._guarded = False
        self._failure: str | None = None
        self._handles = 0
        self._touches = 0

    def join(self, invocation: Invocation) -> None:
        """The run goes on in this invocation of the graph, and with it, it may end."""
        if invocation.loop is not None:
            registry.joined[invocation.loop] = self
        self._guarded = invocation.when_over(self._over)

    def _over(self, error: BaseException | None) -> None:
        """The invocation is over. A clean return has been reported by `after_agent`, unless that was left out."""
        with contain("the end of a run", self.run.errors):
            if self.run.outcome is not None:
                return
            if isinstance(error, GraphInterrupt | GraphDrained) and self.resumable:
                self.pause()
            elif error is None or isinstance(error, ParentCommand):
                self.end(SUCCESS)  # also where the agent hands over to another one of its parent graph
            else:
                self.end(f"failure: {type(error).__name__}", error=error)

    def touch(self) -> None:
        """A hook of this run was called: it is alive, whatever was seen before."""
        self._touches += 1
        self._failure = None
        if self.run.outcome is not None:
            self.run.outcome = None
            self.book.opened(self)

    def raised(self, error: BaseException) -> None:
        """An exception left the agent through one of our hooks; an outer retry may still make it good."""
        if not self._guarded:
            self._failure = f"failure: {type(error).__name__}"
            runtime.call_later(PROVISIONAL_SECONDS, self._check, self._touches)

    def _check(self, touches: int) -> None:
        if touches == self._touches:
            self.settle()

    def settle(self) -> None:
        """Report an end that was only provisional so far."""
        if self.run.outcome is None and self._failure is not None:
            self.end(self._failure)

    def handle(self) -> "RunHandle":
        """What the agent's state is to carry for this run."""
        self._handles += 1
        handle = RunHandle(self)
        weakref.finalize(handle, self.vanished, self._handles).atexit = False
        return handle

    def vanished(self, handle: int) -> None:
        """The state of the run is gone: nothing can call its hooks any more, unless a checkpoint resumes it."""
        if self._guarded or handle != self._handles:
            return  # its end was told, or it was resumed before the state of the interrupted invocation was collected
        self.settle()
        if self.run.outcome is not None:
            return
        if self.resumable:
            self.pause()
        else:
            self.end(UNKNOWN_FAILURE)

    def pause(self) -> None:
        """The run waits to be resumed."""
        registry.pause(self)
        self.run.interrupt()

    def move_to(self, book: "Book") -> None:
        """The run goes on here: perhaps on another middleware than the one it began on."""
        if book is not self.book:
            self.book.closed(self)
            self.book = book
        book.opened(self)

    def end(self, outcome: str, messages: Any = (), error: BaseException | None = None) -> None:
        """Report the end and let go of the run."""
        self.run.finish(outcome, messages, error)
        self.book.closed(self)


class RunHandle(str):
    """What the agent's state carries: when it goes, the run is over. It is never written to a checkpoint.

    LangGraph streams private keys along with the others, so it is text, the id of the run: whoever reads the
    stream can print and serialise it. Copies for another process are nothing but that text.
    """

    watch: Watch | None
    """`None` for a run that opted out."""

    def __new__(cls, watch: Watch | None) -> Self:
        handle = super().__new__(cls, watch.run.run_id if watch else "off")
        handle.watch = watch
        return handle

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class Registry:
    """The runs of this process that a hook may have to find by id."""

    def __init__(self) -> None:
        self.live: dict[str, Watch] = {}
        self.paused: OrderedDict[str, Watch] = OrderedDict()
        self.joined: weakref.WeakKeyDictionary[Any, Watch] = weakref.WeakKeyDictionary()
        """By the graph's loop: the run that an invocation has begun or taken up."""

    def find(self, run_id: str) -> Watch | None:
        """A run that goes on, or waits to be resumed."""
        return self.live.get(run_id) or self.paused.get(run_id)

    def pause(self, watch: Watch) -> None:
        """Keep a run that was interrupted; beyond a bound the oldest are rebuilt from their checkpoint instead."""
        self.paused[watch.run.run_id] = watch
        if len(self.paused) > MAX_PAUSED:
            _, oldest = self.paused.popitem(last=False)
            oldest.book.closed(oldest)


registry = Registry()
"""That of this process."""


class Book:
    """The runs of one middleware."""

    def __init__(self) -> None:
        self.open: dict[str, Watch] = {}
        self._recent: deque[Run] = deque(maxlen=MAX_RECENT)
        self._latest: Run | None = None

    def opened(self, watch: Watch) -> None:
        """A run began, or goes on."""
        run = watch.run
        self.open[run.run_id] = watch
        registry.live[run.run_id] = watch
        registry.paused.pop(run.run_id, None)
        self._latest = run

    def closed(self, watch: Watch) -> None:
        """A run is over; a bounded number stays for inspection."""
        run = watch.run
        if self.open.pop(run.run_id, None) is not None:
            self._recent.append(run)
        if registry.live.get(run.run_id) is watch:
            del registry.live[run.run_id]
        if registry.paused.get(run.run_id) is watch:
            del registry.paused[run.run_id]

    def settle(self) -> None:
        """Report the provisional ends now."""
        for watch in list(self.open.values()):
            watch.settle()

    def get(self, run_id: str) -> Run:
        """Any open or recent run."""
        if run_id in self.open:
            return self.open[run_id].run
        for run in reversed(self._recent):
            if run.run_id == run_id:
                return run
        raise KeyError(f"no run {run_id!r} here: it is not open and not among the last {MAX_RECENT} that ended")

    def shown(self) -> Run | None:
        """The only open run, else the latest one."""
        if len(self.open) == 1:
            return next(iter(self.open.values())).run
        return self._latest

    def meant(self, run_id: str | None) -> Run:
        """The run that `mark_failure` means: named, current, the only open one, or the latest."""
        if run_id is not None:
            return self.get(run_id)
        current = current_run.get()
        if current is not None and current.run_id in self.open:
            return current
        if len(self.open) > 1:
            raise AmbiguousRun(
                f"{len(self.open)} runs are open ({', '.join(list(self.open)[:3])}, ...): "
                "say which one with mark_failure(reason, run_id=...)"
            )
        shown = self.shown()
        if shown is None:
            raise AmbiguousRun("no run has begun on this middleware yet, so there is none to mark as failed")
        return shown

    def step_log(self) -> list[StepLogEntry]:
        """The log of the run that is shown."""
        shown = self.shown()
        return shown.step_log if shown else []
