"""The public face of rb-api, for injections of one's own and for looking things up by hand."""

from collections.abc import Mapping, Sequence

from ..settings import DEFAULT_STEP_TIMEOUT, seconds
from ..types import ETrace, MonitorEvaluation, StepRecord
from .backend import Backend, Query, Trajectory
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
        found = await self._retrieve(Query("e1", context, E1_TOP_K, model))
        return found[0] if found else None

    async def fetch_e2_patterns(
        self, context: str, failure_type: str | None = None, *, model: str = ""
    ) -> list[ETrace]:
        """Shared failure modes that fit, narrowed by the kind of failure."""
        return await self._retrieve(Query("e2", context, E2_TOP_K, model, failure_type))

    async def fetch_e3_patterns(self, *, model: str = "") -> list[ETrace]:
        """The standing rules."""
        return await self._retrieve(Query("e3", "", E3_TOP_K, model))

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

    async def _retrieve(self, query: Query) -> list[ETrace]:
        return (await self._backend.retrieve(query))[: query.top_k]
