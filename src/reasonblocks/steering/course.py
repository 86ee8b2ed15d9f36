"""How far a run has come: what its next decisions depend on, kept from step to step. A replay keeps the same."""

from ..injections.monitor_steering import MonitorSteeringInjection
from ..types import FSMState, MonitorEvaluation, StepRecord, TraceState
from .compose import Composed
from .gate import E1_LOOK_BACK, MonitorGuard
from .plan import Prepared, Situation


class Course:
    """The bookkeeping of one run, live or recorded."""

    def __init__(
        self, run_id: str, *, task: str = "", model: str = "", score_window: int = 35, token_budget: int | None = None
    ) -> None:
        self.run_id = run_id
        self.step = 0
        """Model calls that have returned."""
        self.state = FSMState.INIT
        self.prepared: Prepared | None = None
        self._task = task
        self._model = model
        """The one that was called last; before the first call, the one that was announced."""
        self._score_window = score_window
        self._token_budget = token_budget
        self._steps: list[StepRecord] = []
        self._last_thought = ""
        self._scores: tuple[float, ...] = ()
        self._tokens = 0
        self._spent = False
        self._fired: dict[int, int] = {}
        self._guard = MonitorGuard()
        self._monitor_eval_history: list[MonitorEvaluation | None] = []

    def situation(self, gate_threshold: float) -> Situation:
        """What the next step's decisions depend on."""
        return Situation(
            step=self.step,
            thought=self._last_thought,
            trace=TraceState(
                trace_id=self.run_id,
                steps=tuple(self._steps),
                current_state=self.state,
                difficulty_history=self._scores,
                total_tokens=self._tokens,
                token_budget=self._token_budget,
                task=self._task,
                model=self._model,
            ),
            fired=self._fired,
            guard=self._guard,
            evaluations=self._monitor_eval_history[-E1_LOOK_BACK:],
            gate_threshold=gate_threshold,
        )

    def accept(self, prepared: Prepared, *, monitored: bool) -> None:
        """Take what was decided for the next model call."""
        self.prepared = prepared
        self._spent = False
        self.state = prepared.state
        if prepared.difficulty is not None:
            self._scores = (*self._scores, prepared.difficulty)[-self._score_window :]
            if monitored:
                self._monitor_eval_history.append(prepared.evaluation)

    @property
    def decided(self) -> Prepared:
        """What was decided for the call that comes: nothing, where deciding failed."""
        prepared = self.prepared
        if prepared is not None and prepared.step == self.step:
            return prepared
        return Prepared(step=self.step, state=self.state)

    def spend(self, composed: Composed) -> bool:
        """Count the queued guidance as given; only the first composition of a step costs anything, and is told so."""
        if self._spent:
            return False
        self._spent = True
        step = self.decided.step
        for queued in composed.given:
            self._fired[id(queued.injection)] = self._fired.get(id(queued.injection), 0) + 1
            if isinstance(queued.injection, MonitorSteeringInjection):
                self._guard = self._guard.spend(step, queued.pending[0].text or "")
        return True

    def advance(self, tokens: int = 0, model: str = "") -> None:
        """A model call returned."""
        self._tokens += tokens
        self._model = model
        self.step += 1

    def remember(self, record: StepRecord) -> None:
        """A step is whole."""
        self._last_thought = record.thought
        self._steps.append(record)
