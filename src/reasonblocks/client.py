"""ReasonBlocks: settings in, middleware out."""

import weakref
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self, TypeVar

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from . import settings
from .api.backend import Event
from .api.connect import connect
from .api.facade import ReasonBlocksAPI
from .call import Setup
from .errors import SettingsError
from .fsm import DifficultyFSM
from .identity import checked_run_id
from .injections import BaseInjection, E1Injection, E2Injection, E3Injection, MonitorSteeringInjection
from .middleware import ReasonBlocksMiddleware
from .run import Outlets
from .runtime.deadline import StepBudget
from .steering.plan import Policy
from .steering.scoring import score_step
from .telemetry.spool.policy import SpoolPolicy
from .telemetry.spooling import Spooling
from .telemetry.sqlite_sink import SQLiteMonitorSink
from .telemetry.stream import DRAIN_SECONDS, TelemetryStream
from .telemetry.streams import Streams
from .telemetry.tracing import Tracing, require_otel
from .types import FSMState, InjectionNotice

Part = TypeVar("Part")


class ReasonBlocks:
    """The entry point: one per backend, shared by as many agents as you like.

    Every argument that is left out is taken from the environment variable `REASONBLOCKS_<ARGUMENT>` where it
    is text, a number or a switch, and has its default otherwise.

    Args:
        api_key: The key for rb-api. With neither a key nor a URL the engine runs in this process (extra `engine`).
        base_url: Where rb-api is, with or without `/v1` at the end. Needs a key.
        step_timeout: Seconds for all that is done before one model call; what is late is dropped and counted.
        e_traces_enabled: Whether guidance is looked up: your own patterns, known failures, standing rules.
        monitors_enabled: Whether the monitors look at every step.
        live_streaming_enabled: Whether runs are reported to the backend while they happen.
        steer: `False` only observes: what would have been said is logged, and no request is changed.
        task_profile: How much each monitor counts: `coding`, `pr_review`, `qa`, or a profile of your own.
        monitor_weights: Weights from 0 to 1 that replace those of the profile, by monitor; 0 leaves one out.
        model_routing: Another model while a run is in a state, such as `{"SLOW": "anthropic:claude-opus-4-5"}`.
        fsm_thresholds: Other limits between the states, by name; see below.
        token_budget: Tokens that a run may use. It limits nothing: injections are told, and may speak of it.
        cache_control: When the base prompt is marked for the provider's cache: `always`, `anthropic` (only for
            Anthropic's models; some gateways refuse unknown fields) or `never`.
        injections: Your own sources of guidance, instances of `BaseInjection`.
        redact: A function that is given each event before it leaves the process; it returns the event, changed or
            not, or `None` to drop it.
        on_injection: A function that is told what is said to the model, just before it is.
        data_dir: Where the embedded engine keeps its data; `":memory:"` keeps nothing.
        otel: Where spans and metrics go: a collector's URL, a `TracerProvider`, `True` (as the `OTEL_*` variables
            say), `False` (nowhere). Left out: to what the application has set up.
        allow_insecure_http: Whether plain http to another machine is allowed, which shows key and thoughts to
            everybody on the way.
        sinks: Files that get the same events, instances of `SQLiteMonitorSink`.
        spool_dir: Where events wait that could not be delivered; `False` (`off` in the variable) keeps them in
            memory only.
        spool: How much of them is kept and how safely, a `SpoolPolicy`; see below.
    """

    def __init__(
        self,
        api_key: str | None = None,
        *,
        base_url: str | None = None,
        step_timeout: float | None = None,
        e_traces_enabled: bool | None = None,
        monitors_enabled: bool | None = None,
        live_streaming_enabled: bool | None = None,
        steer: bool | None = None,
        task_profile: str | None = None,
        monitor_weights: Mapping[str, float] | None = None,
        model_routing: Mapping[str, str | BaseChatModel] | None = None,
        fsm_thresholds: Mapping[str, float] | None = None,
        token_budget: int | None = None,
        cache_control: str | None = None,
        injections: Iterable[BaseInjection] = (),
        redact: Callable[[Event], Event | None] | None = None,
        on_injection: Callable[[InjectionNotice], object] | None = None,
        data_dir: str | Path | None = None,
        otel: object = None,
        allow_insecure_http: bool | None = None,
        sinks: Iterable[SQLiteMonitorSink] = (),
        spool_dir: str | Path | bool | None = None,
        spool: SpoolPolicy | None = None,
    ) -> None:
        otel = settings.otel(otel)
        require_otel(otel)
        timeout = settings.step_timeout(step_timeout)
        self._profile = settings.profile(task_profile)
        self._weights = settings.weights(monitor_weights)
        self._monitors_enabled = settings.switch("monitors_enabled", monitors_enabled)
        self._e_traces_enabled = settings.switch("e_traces_enabled", e_traces_enabled)
        self._steer = settings.switch("steer", steer)
        self._cache_control = settings.cache_control(cache_control)
        self._fsm = DifficultyFSM.from_mapping(fsm_thresholds)
        self._routes = _routes(model_routing)
        self._own_injections = _checked_all("injections", injections, BaseInjection)
        self._budget = StepBudget(timeout)
        streams = settings.switch("live_streaming_enabled", live_streaming_enabled)
        redact, on_injection = _callable("redact", redact), _callable("on_injection", on_injection)
        budget = settings.budget(token_budget)
        files = [TelemetryStream(sink) for sink in _checked_all("sinks", sinks, SQLiteMonitorSink)]
        spooling = Spooling.from_settings(spool_dir, spool)
        # Last: it may open a database, which is in vain where another setting cannot work.
        self._backend, self._where = connect(
            api_key,
            base_url,
            data_dir=data_dir,
            step_timeout=timeout,
            allow_insecure_http=allow_insecure_http,
        )
        self.api = ReasonBlocksAPI(backend=self._backend)
        """Lookups by hand, for injections of one's own."""
        self._stream = TelemetryStream(self._backend, spooling)
        self._streams = Streams((self._stream, *files))
        posting = self._streams if streams else Streams(files)
        self._tracing = None if otel is False else Tracing(otel, _stats_of(self), redacts=redact is not None)
        self._outlets = Outlets(
            backend=self._backend,
            post=posting.post if posting else None,
            redact=redact,
            tracing=self._tracing,
            on_injection=on_injection,
            steer=self._steer,
            score_window=self._fsm.longest_window,
            token_budget=budget,
        )
        self._release_when_collected()

    def _release_when_collected(self) -> None:
        """A client that nobody closes lets go of everything when nobody uses it any more."""
        weakref.finalize(self, self._streams.retire).atexit = False
        if self._tracing is not None:
            weakref.finalize(self, self._tracing.close).atexit = False

    def middleware(
        self,
        *,
        run_id: str | None = None,
        agent_name: str = "",
        task: str = "",
        framework: str = "langchain",
        model: str = "",
        codebase_id: str = "",
        org_id: str = "default",
        project_id: str = "default",
        task_profile: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ReasonBlocksMiddleware:
        """A LangChain middleware; one serves any number of concurrent and successive runs.

        Args:
            run_id: The id of its first run; the next ones get new ones. For each run by itself, put
                `reasonblocks_run_id` into the metadata of its config.
            agent_name: What the agent is called in tables and traces.
            task: What the agent is asked to do. The monitors tell by it whether a run has left its subject.
            framework: What the agent is built with.
            model: The model's name for the record, where it cannot be told from the model itself.
            codebase_id: Which codebase the agent works on.
            org_id: Whose runs these are; a server takes the organisation of the key instead.
            project_id: Which project they belong to; a key that is bound to one decides.
            task_profile: How much each monitor counts for these runs, if not as the client says.
            metadata: Anything to be kept with each run.
        """
        profile = settings.profile(task_profile) if task_profile is not None else self._profile
        facts = {
            "agent_name": settings.text("agent_name", agent_name),
            "task": settings.text("task", task),
            "framework": settings.text("framework", framework),
            "model": settings.text("model", model),
            "codebase_id": settings.text("codebase_id", codebase_id),
            "org_id": settings.text("org_id", org_id),
            "project_id": settings.text("project_id", project_id),
            "task_profile": profile,
            "metadata": settings.mapping("metadata", metadata),
        }
        return ReasonBlocksMiddleware(
            Setup(
                policy=self._policy(model, profile),
                outlets=self._outlets,
                budget=self._budget,
                streams=self._streams,
                owner=self,
                facts=facts,
                first_run_id=checked_run_id(run_id),
                routes=self._routes,
                cache_control=self._cache_control,
                steer=self._steer,
            )
        )

    def _policy(self, model: str, profile: str) -> Policy:
        monitors = MonitorSteeringInjection(self.api, model, profile, self._weights) if self._monitors_enabled else None
        tiers = [E1Injection(self.api), E2Injection(self.api), E3Injection(self.api)] if self._e_traces_enabled else []
        return Policy(fsm=self._fsm, monitors=monitors, injections=(*tiers, *self._own_injections))

    @staticmethod
    def score_step(text: str) -> float:
        """How difficult a thought looks, from 0 to 1."""
        return score_step(text)

    def stats(self) -> dict[str, Any]:
        """What became of the telemetry so far."""
        return {**self._stream.stats(), **self._backend.stats()}

    # -- closing ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Deliver what is on its way, for at most 5 s, and leave no thread; the next run starts it again."""
        export = self._tracing.close() if self._tracing is not None else None
        self._streams.flush(DRAIN_SECONDS)
        self._streams.close()
        self._backend.close()
        if export is not None:
            export.join()

    async def aclose(self) -> None:
        """As `close`, without blocking the event loop; its connections are closed too."""
        export = self._tracing.close() if self._tracing is not None else None
        await self._streams.aflush(DRAIN_SECONDS)
        await self._streams.aclose()
        await self._backend.aclose()
        if export is not None:
            await export.ajoin()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"ReasonBlocks({self._where})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("ReasonBlocks holds connections and a key and is not pickled; create it where it is used")


def _stats_of(blocks: ReasonBlocks) -> Callable[[], dict[str, Any] | None]:
    """Its counters for metrics, which do not keep it alive."""
    known = weakref.ref(blocks)

    def stats() -> dict[str, Any] | None:
        found = known()
        return found.stats() if found is not None else None

    return stats


def _routes(routing: Mapping[str, str | BaseChatModel] | None) -> dict[FSMState, BaseChatModel]:
    """The model of each state; a model that is only named is created here, once."""
    routes: dict[FSMState, BaseChatModel] = {}
    created: dict[str, BaseChatModel] = {}
    for name, model in settings.mapping("model_routing", routing).items():
        state = FSMState.__members__.get(str(name).upper())
        if state is None:
            known = ", ".join(FSMState.__members__)
            raise SettingsError(f"model_routing has the state {name!r}; expected one of {known}, in any case")
        if isinstance(model, str) and model not in created:
            created[model] = _created(state, model)
        routes[state] = created[model] if isinstance(model, str) else model
        if not isinstance(routes[state], BaseChatModel):
            raise SettingsError(
                f"model_routing[{name!r}] is a {type(model).__name__}; expected a model id or a chat model"
            )
    return routes


def _created(state: FSMState, model_id: str) -> BaseChatModel:
    try:
        created: BaseChatModel = init_chat_model(model_id)
    except Exception as error:
        raise SettingsError(f"model_routing[{state.value!r}]: {model_id!r} cannot be created: {error}") from error
    return created


def _checked_all(name: str, values: Iterable[Part], kind: type[Part]) -> tuple[Part, ...]:
    """Everything in a list, if all of it is of one kind."""
    expected = f"expected instances of {kind.__module__}.{kind.__name__} in a list"
    if not isinstance(values, Iterable):
        raise SettingsError(f"{name} is {values!r:.80}; {expected}")
    found = tuple(values)
    for value in found:
        if not isinstance(value, kind):
            raise SettingsError(f"{name} holds {value!r:.80}; {expected}")
    return found


def _callable(name: str, value: Any) -> Any:
    if value is not None and not callable(value):
        raise SettingsError(f"{name} is a {type(value).__name__}; expected a function")
    return value
