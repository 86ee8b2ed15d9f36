"""What events do to a run, one after another. Pure: the tables are read before and written after."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..errors import Invalid, NotFound
from ..monitors.profiles import DEFAULT_PROFILE
from ..principal import DEFAULT_ORG, Principal
from .decoding import Entry, NewFinish, NewLoss, NewRun, NewStep

ABANDONED = "abandoned"
"""The outcome of a run that went silent. It replaces no other, and any sign of life lifts it."""
MOST_TOKENS = 2**53


@dataclass(slots=True)
class RunState:
    """What changes in a run, and what tells it from others."""

    id: int
    """Its row; 0 until it has one."""
    org_id: str
    project_id: str
    run_id: str
    task_profile: str
    task: str
    outcome: str | None = None
    finished_at: float | None = None
    last_seen_at: float = 0.0
    interrupted_at: float | None = None
    step_count: int = 0
    total_tokens: int = 0
    lost_steps: int = 0
    loss_cause: str | None = None
    starts: list[NewRun] = field(default_factory=list)
    """What this transaction was told about its beginning."""
    steps: dict[int, NewStep] = field(default_factory=dict)
    """What this transaction brings; the first one of each index counts."""
    turned: bool = False
    """Whether this transaction ends, opens or interrupts it, it goes on after that, or steps of it were lost."""

    def start(self, event: NewRun, now: float) -> None:
        """It begins, or is said to have begun once more."""
        self.starts.append(event)
        self._alive(now)

    def take(self, event: NewStep, now: float) -> None:
        """A step, which may have come before."""
        self.steps.setdefault(event.step.step_index, event)
        self._alive(now)
        if event.interrupted:
            self.interrupted_at, self.turned = now, True

    def finish(self, event: NewFinish, now: float) -> None:
        """It ends: the last outcome that is told counts."""
        if event.outcome == ABANDONED and self.outcome is not None:
            self.last_seen_at = now
            return
        self._alive(now)
        self.outcome, self.finished_at, self.turned = event.outcome, now, True

    def interrupt(self, now: float) -> None:
        """It waits for a person."""
        self._alive(now)
        self.interrupted_at, self.turned = now, True

    def lose(self, event: NewLoss) -> None:
        """Steps were lost on the way, so many in all. That is no sign of life: it may be told for the dead."""
        if event.steps > self.lost_steps:
            self.lost_steps, self.loss_cause, self.turned = event.steps, event.cause, True

    def _alive(self, now: float) -> None:
        self.last_seen_at = now
        if self.interrupted_at is not None:
            self.interrupted_at, self.turned = None, True
        if self.outcome == ABANDONED:
            self.outcome, self.finished_at, self.turned = None, None, True

    def count(self, steps: int, tokens: int) -> None:
        """So many it has now."""
        self.step_count, self.total_tokens = steps, min(tokens, MOST_TOKENS)


class Ledger:
    """The runs that the events of one transaction may be about."""

    def __init__(self, principal: Principal, org_id: str | None, now: float) -> None:
        self._principal = principal
        self._org_id = org_id
        self._now = now
        self._runs: dict[str, list[RunState]] = {}
        self._meant: dict[tuple[str, str | None], RunState] = {}
        """By run id, and by the org that an event names."""

    def hold(self, states: Iterable[RunState]) -> None:
        """Take in what the tables hold."""
        for state in states:
            self._runs.setdefault(state.run_id, []).append(state)
            self._meant.pop((state.run_id, None), None)

    def apply(self, event: Entry) -> RunState:
        """The run that an event is about, after it; `NotFound` or `Invalid` if there is none to mean."""
        if isinstance(event, NewRun):
            state = self._started(event)
            state.start(event, self._now)
            return state
        state = self._meant.get((event.run_id, event.org_id)) or self._find(event.run_id, event.org_id)
        if isinstance(event, NewStep):
            state.take(event, self._now)
        elif isinstance(event, NewFinish):
            state.finish(event, self._now)
        elif isinstance(event, NewLoss):
            state.lose(event)
        else:
            state.interrupt(self._now)
        return state

    def _find(self, run_id: str, org_id: str | None) -> RunState:
        state = meant(self._runs.get(run_id, ()), run_id, self._principal, org_id or self._org_id)
        self._meant[run_id, org_id] = state
        return state

    def _started(self, event: NewRun) -> RunState:
        org = self._principal.org(event.start.org_id or self._org_id)
        project = self._principal.project(event.start.project_id)
        for state in self._runs.get(event.run_id, ()):
            if state.org_id == org:
                if _visible(state, self._principal, org):
                    return state
                raise unknown_run(event.run_id)  # another project's: nobody is told
        start = event.start
        state = RunState(0, org, project, event.run_id, start.task_profile or DEFAULT_PROFILE, start.task or "")
        self.hold((state,))
        return state


def meant(candidates: Iterable[RunState], run_id: str, principal: Principal, org_id: str | None) -> RunState:
    """The one of these runs that the caller can mean.

    An admin who names no org means the only run of that id, or else that of the default org.
    """
    org = principal.visible_org(org_id)
    visible = [state for state in candidates if _visible(state, principal, org)]
    if len(visible) > 1:
        visible = [state for state in visible if state.org_id == DEFAULT_ORG]
        if not visible:
            raise Invalid(
                f"several organisations have a run {run_id!r}; say which one is meant with org_id", location=("org_id",)
            )
    if not visible:
        raise unknown_run(run_id)
    return visible[0]


def unknown_run(run_id: str) -> NotFound:
    """There is no such run, or not for the one who asks."""
    return NotFound(f"unknown run {run_id!r:.300}; send its run_start first")


def _visible(state: RunState, principal: Principal, org: str | None) -> bool:
    if org is not None and state.org_id != org:
        return False
    return principal.project_id is None or state.project_id == principal.project_id
