"""Which runs there are: those of the process, by id, and those of one middleware, for its users."""

import gc
import weakref
from collections import OrderedDict, deque
from contextvars import ContextVar
from typing import Any, Self

from langchain_core.messages import SystemMessage

from .errors import AmbiguousRun
from .run import Run
from .runtime.supervisor import runtime
from .types import StepLogEntry

PROVISIONAL_SECONDS = 2.0
"""How long after an exception a run is given to recover (an outer retry) before it is reported as failed."""
MAX_PAUSED = 1_000
MAX_RECENT = 100
UNKNOWN_FAILURE = "failure: unknown"
RECURSION_FAILURE = "failure: GraphRecursionError"

current_run: ContextVar["Run | None"] = ContextVar("reasonblocks_run", default=None)
"""The run whose hook or tool the current code is in; an agent called from there is nested in it."""


class Watch:
    """Sees to it that a run ends, however it ends.

    LangChain calls `after_agent` only on a clean return. An exception that passes one of our hooks is
    provisional: an outer retry may recover, and then the next hook takes it back. What passes none of them
    (the recursion limit, a cancellation between nodes) shows when the run's state is gone.
    """

    def __init__(self, run: Run, book: "Book", *, resumable: bool = False) -> None:
        self.run = run
        self.book = book
        self.resumable = resumable
        """Whether a checkpointer keeps the run: then its state going away may be a pause."""
        self.failure: str | None = None
        self.agent_model: object = None
        """The model of the agent itself, to tell a fallback of an outer middleware from it."""
        self.marked_base: tuple[SystemMessage, SystemMessage] | None = None
        """The caller's system message and its copy with our cache marker."""
        self._failed_call: str | None = None
        self._handles = 0
        self._touches = 0
        self._superstep = 0
        self._last_superstep: float = float("inf")
        self._widest_gap = 1

    def limit(self, superstep: int, recursion_limit: int) -> None:
        """Note where the recursion limit will end this run."""
        self._superstep = superstep
        self._last_superstep = superstep + recursion_limit - 1

    def touch(self, superstep: int | None = None) -> None:
        """A hook of this run was called: it is alive, whatever was seen before."""
        self._touches += 1
        self.failure = None
        if self.run.outcome is not None:
            self.run.outcome = None
            self.book.opened(self)
        if superstep is not None:
            self._widest_gap = max(self._widest_gap, superstep - self._superstep)
            self._superstep = superstep
            if self._near_limit():
                self._check_later()

    def _near_limit(self) -> bool:
        return self._superstep + self._widest_gap > self._last_superstep

    def raised(self, error: BaseException, call_id: str | None = None) -> None:
        """An exception left the agent through one of our hooks, or through its tool `call_id`."""
        self.failure = f"failure: {type(error).__name__}"
        self._failed_call = call_id
        self._check_later()

    def tool_begins(self, call_id: str | None, superstep: int | None) -> None:
        """A tool is called: if it is the one that failed, it is being retried."""
        if self.failure is None or self._failed_call == call_id:
            self.touch(superstep)

    def _check_later(self) -> None:
        runtime.call_later(PROVISIONAL_SECONDS, self._check, self._touches)

    def _check(self, touches: int) -> None:
        if touches == self._touches:
            self.settle()

    def settle(self) -> None:
        """Report an end that was only provisional so far."""
        if self.run.outcome is not None:
            return
        if self.failure is None and self._near_limit():
            self.failure = RECURSION_FAILURE
        if self.failure is not None:
            self.end(self.failure)

    def handle(self) -> "RunHandle":
        """What the agent's state is to carry for this run."""
        self._handles += 1
        handle = RunHandle(self)
        weakref.finalize(handle, self.vanished, self._handles).atexit = False
        return handle

    def vanished(self, handle: int) -> None:
        """The state of the run is gone: nothing can call its hooks any more, unless a checkpoint resumes it."""
        if handle != self._handles:
            return  # it was resumed before the state of the interrupted invocation was collected
        self.settle()
        if self.run.outcome is not None:
            return
        if self.resumable:
            registry.pause(self)
        else:
            self.end(UNKNOWN_FAILURE)

    def move_to(self, book: "Book") -> None:
        """The run goes on here: perhaps on another middleware than the one it began on."""
        if book is not self.book:
            self.book.closed(self)
            self.book = book
        book.opened(self)

    def end(self, outcome: str, messages: Any = ()) -> None:
        """Report the end and let go of the run."""
        self.run.finish(outcome, messages)
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
        self._forks: OrderedDict[int, tuple[object, Watch]] = OrderedDict()

    def find(self, run_id: str) -> Watch | None:
        """A run that goes on, or waits to be resumed."""
        return self.live.get(run_id) or self.paused.get(run_id)

    def pause(self, watch: Watch) -> None:
        """Keep a run that was interrupted; beyond a bound the oldest are rebuilt from their checkpoint instead."""
        self.paused[watch.run.run_id] = watch
        if len(self.paused) > MAX_PAUSED:
            _, oldest = self.paused.popitem(last=False)
            oldest.book.closed(oldest)

    def fork_of(self, replay: object) -> Watch | None:
        """The run that this very time travel has started already."""
        known = self._forks.get(id(replay))
        return known[1] if known and known[0] is replay else None

    def forked(self, replay: object, watch: Watch) -> None:
        """Remember the run of a time travel until its state carries it."""
        self._forks[id(replay)] = (replay, watch)
        if len(self._forks) > MAX_PAUSED:
            self._forks.popitem(last=False)


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
        """Report the provisional ends now, and runs that ended where no hook of ours could see it."""
        for watch in list(self.open.values()):
            watch.settle()
        if self.open:
            # A graph that raised between our hooks is a heap of reference cycles. It will be collected some day;
            # whoever closes is waiting for the outcome today.
            gc.collect()

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
