"""Runs, as the routes and an embedded engine know them."""

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, select

from ...limits import MAX_EVENTS
from ..answers import EventsReceipt, HealthSummary, RejectedEvent, Run, RunWithSteps, StepScores
from ..errors import EngineError, Invalid
from ..monitors.trajectories import Trajectories
from ..principal import Principal
from ..requests import RunFinish, RunStart, Step
from ..store.database import Database, asked_again
from ..store.schema import evaluations, runs
from ..store.transact import Transactions
from ..store.values import load, now
from .decoding import Entry, NewInterrupt, decode_body, decode_events, new_finish, new_run, new_step
from .ingest import Applied, apply
from .ledger import RunState
from .live import Live
from .reading import RunReader, shown_run
from .relay import Relay
from .scorer import Scorer
from .scoring import RunRef, StepReader, Weigh

_NONE = StepScores({}, 0.0, [])
"""The scores of a step that could not be scored."""


class Runs:
    """Takes in what agents report, and shows it. On the engine's event loop only."""

    def __init__(
        self,
        database: Database,
        transactions: Transactions,
        trajectories: Trajectories,
        weigh: Weigh,
        live: Live,
        relay: Relay | None = None,
    ) -> None:
        self._database = database
        self._transactions = transactions
        self._reader = RunReader(database, [monitor.name for monitor in trajectories.suite.monitors])
        self.scorer = Scorer(database, self._transactions, StepReader(database, trajectories, weigh), live, relay)

    def open(self, *, leftovers: bool = True) -> None:
        """Begin to score in the background; with what was left before the last end, unless that is another's to do."""
        self.scorer.start()
        if leftovers:
            self.scorer.pick_up()

    async def aclose(self) -> None:
        """Finish scoring what was acknowledged, as far as time allows."""
        await self.scorer.aclose()

    # -- one event ---------------------------------------------------------------------------------

    async def start(self, principal: Principal, start: RunStart, org_id: str | None = None) -> Run:
        """A run begins. Said again it changes nothing, but what was left open the first time is filled in."""
        return await self._run_after(principal, new_run(start), org_id)

    async def step(self, principal: Principal, run_id: str, step: Step, org_id: str | None = None) -> StepScores:
        """Store a step and score it; one that was stored before stays as it is, with the scores it has."""
        applied = await self._apply(principal, [new_step(run_id, step)], org_id)
        run = RunRef.of(_told(applied))
        scored = await self._scores_of(run, step, new=not applied.behind)
        self.scorer.submit(Applied([], finished=applied.finished))
        return scored

    async def _scores_of(self, run: RunRef, step: Step, *, new: bool) -> StepScores:
        if new:
            scored = await self.scorer.score(run, step)
            return StepScores(dict(scored.scores), scored.weighed.composite, scored.weighed.fired) if scored else _NONE
        stored = await self._stored_scores(run, step.step_index)
        if stored is None:  # it came in a batch, and its turn has not come
            await self.scorer.catch_up(run)
            stored = await self._stored_scores(run, step.step_index)
        return stored or _NONE

    async def finish(self, principal: Principal, run_id: str, finish: RunFinish, org_id: str | None = None) -> Run:
        """A run ends. The last outcome that is told counts; `abandoned` replaces none."""
        return await self._run_after(principal, new_finish(run_id, finish), org_id)

    async def interrupt(self, principal: Principal, run_id: str, org_id: str | None = None) -> Run:
        """A run waits for a person, and is not abandoned however long that takes; any other event ends the wait."""
        return await self._run_after(principal, NewInterrupt(run_id), org_id)

    async def _run_after(self, principal: Principal, entry: Entry, org_id: str | None) -> Run:
        moment = now()

        def work(connection: Connection) -> tuple[Applied, Any]:
            applied = apply(connection, [entry], principal, org_id, moment)
            row = connection.execute(select(runs).where(runs.c.id == _told(applied).id)).one()
            return applied, row

        applied, row = await self._transactions.run(work)
        self.scorer.submit(applied)
        return shown_run(row)

    @asked_again
    async def _stored_scores(self, run: RunRef, step_index: int) -> StepScores | None:
        query = select(evaluations).where(evaluations.c.run == run.id, evaluations.c.step_index == step_index)
        async with self._database.reading() as connection:
            row = (await connection.execute(query)).one_or_none()
        return None if row is None else StepScores(load(row.scores), row.composite, load(row.fired))

    # -- many events -------------------------------------------------------------------------------

    async def events(
        self, principal: Principal, events: Sequence[bytes | msgspec.Raw], org_id: str | None = None
    ) -> EventsReceipt:
        """Store encoded events, in order and in one transaction; what cannot be stored is named and spoils no other."""
        if len(events) > MAX_EVENTS:
            raise Invalid(f"{len(events)} events at once; expected at most {MAX_EVENTS}", location=("events",))
        return await self._store(principal, decode_events(events), org_id)

    async def events_in(self, principal: Principal, body: bytes, org_id: str | None = None) -> EventsReceipt:
        """As `events`, from the whole body of a request, which is quicker; raises as `decode_body` does."""
        return await self._store(principal, decode_body(body), org_id)

    async def _store(
        self, principal: Principal, entries: Sequence[Entry | EngineError], org_id: str | None
    ) -> EventsReceipt:
        if not entries:
            return EventsReceipt(0, [])
        with self.scorer.giving_way():
            applied = await self._apply(principal, entries, org_id)
        self.scorer.submit(applied)
        rejected = [
            RejectedEvent(index, str(result))
            for index, result in enumerate(applied.results)
            if isinstance(result, EngineError)
        ]
        return EventsReceipt(len(entries) - len(rejected), rejected)

    async def _apply(self, principal: Principal, entries: Sequence[Entry | EngineError], org_id: str | None) -> Applied:
        moment = now()
        return await self._transactions.run(lambda connection: apply(connection, entries, principal, org_id, moment))

    # -- questions ---------------------------------------------------------------------------------

    async def show(self, principal: Principal, run_id: str, org_id: str | None = None) -> RunWithSteps:
        """A run with its steps, their scores and the evidence."""
        return await self._reader.shown(principal, run_id, org_id)

    async def summary(
        self, principal: Principal, org_id: str | None = None, project_id: str | None = None
    ) -> HealthSummary:
        """How the visible runs are doing."""
        return await self._reader.summary(principal, org_id, project_id)

    async def list(
        self,
        principal: Principal,
        limit: int = 50,
        offset: int = 0,
        org_id: str | None = None,
        project_id: str | None = None,
    ) -> list[Run]:
        """The visible runs, newest first."""
        return await self._reader.listed(principal, limit, offset, org_id, project_id)


def _told(applied: Applied) -> RunState:
    """The run of the only event; raises why it was refused."""
    result = applied.results[0]
    if isinstance(result, EngineError):
        raise result
    return result
