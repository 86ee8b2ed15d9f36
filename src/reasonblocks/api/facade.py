"""The public face of rb-api, for injections of one's own and for looking things up by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..limits import MAX_PATTERN_ID, MAX_TITLE
from ..settings import DEFAULT_STEP_TIMEOUT, seconds
from ..types import ETrace, MonitorEvaluation, NearMiss, StepRecord
from .backend import Backend, Query, Retrieved, Trajectory
from .connect import connect

E1_TOP_K = 1
E2_TOP_K = 2
E3_TOP_K = 32


class ReasonBlocksAPI:
    """Lookups in the pattern store and the monitors; each may raise `reasonblocks.errors.Unavailable`."""

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        step_timeout: float | None = None,
        allow_insecure_http: bool | None = None,
        data_dir: object = None,
        backend: Backend | None = None,
    ) -> None:
        if backend is None:
            timeout = seconds("step_timeout", step_timeout, DEFAULT_STEP_TIMEOUT)
            backend, _ = connect(
                api_key,
                base_url,
                data_dir=data_dir,
                step_timeout=timeout,
                allow_insecure_http=allow_insecure_http,
            )
        self._backend = backend

    def refusal(self) -> str | None:
        """Why a lookup would fail right now, if that is known without asking."""
        return self._backend.refusal()

    async def fetch_e1_pattern(self, context: str, *, model: str = "") -> ETrace | None:
        """The pattern of one's own organisation that fits best, if any passes the server's gate."""
        found = await self.look_up(Query("e1", context, E1_TOP_K, model))
        return found.traces[0] if found.traces else None

    async def fetch_e2_patterns(
        self, context: str, failure_type: str | None = None, *, model: str = ""
    ) -> list[ETrace]:
        """Shared failure modes that fit, narrowed by the kind of failure."""
        return (await self.look_up(Query("e2", context, E2_TOP_K, model, failure_type))).traces

    async def fetch_e3_patterns(self, *, model: str = "") -> list[ETrace]:
        """The standing rules."""
        return (await self.look_up(Query("e3", "", E3_TOP_K, model))).traces

    async def evaluate_monitors(
        self,
        run_id: str,
        steps: Sequence[StepRecord],
        *,
        model: str = "",
        task_profile: str = "coding",
        weights: Mapping[str, float] | None = None,
        task: str = "",
    ) -> MonitorEvaluation:
        """What the monitors say about a trajectory."""
        return await self._backend.evaluate(Trajectory(run_id, steps, model, task_profile, weights, task))

    async def look_up(self, query: Query) -> Retrieved:
        """What fits a query and, if it asks for that, what came close."""
        found = await self._backend.retrieve(query)
        if len(found.traces) <= query.top_k:
            return found
        unused = tuple(_unused(trace) for trace in found.traces[query.top_k :][: query.near_misses])
        return replace(found, traces=found.traces[: query.top_k], near_misses=(*unused, *found.near_misses))


def _unused(trace: ETrace) -> NearMiss:
    """A pattern that a server gave though enough others were asked for."""
    title = trace.fields.get("title")
    return NearMiss(
        pattern_id=trace.pattern_id[:MAX_PATTERN_ID],
        title=title[:MAX_TITLE] if isinstance(title, str) else "",
        similarity=trace.similarity,
        gate=trace.gate,
        reason="top_k",
    )
