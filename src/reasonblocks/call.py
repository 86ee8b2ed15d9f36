"""One request to the model: routed, with its system message composed, and what came back of it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, SystemMessage

from .registry import Watch
from .run import Outlets
from .runtime.contain import contain
from .runtime.deadline import StepBudget
from .settings import CacheControl
from .steering.compose import Composed, Markers, compose, with_guidance_uncached
from .steering.plan import Policy, Prepared
from .telemetry.streams import Streams
from .types import FSMState

Response = ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any]


@dataclass(frozen=True)
class Setup:
    """Everything a middleware was made with; shared by all its runs."""

    policy: Policy
    outlets: Outlets
    budget: StepBudget
    streams: Streams
    owner: object
    """Whoever made the middleware: it may not be collected, and its streams retired, while one is in use."""
    facts: Mapping[str, Any]
    """What `run_start` says about every run."""
    first_run_id: str | None = None
    routes: Mapping[FSMState, BaseChatModel] = field(default_factory=dict)
    cache_control: CacheControl = "always"
    steer: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """A request on its way to the model."""

    request: ModelRequest[Any]
    began: float
    composed: Composed | None = None
    model_id: str = ""
    context: Any = None
    """What is current for OpenTelemetry while the model is called; `None` leaves it as it is."""


def composed_call(watch: Watch, request: ModelRequest[Any], setup: Setup) -> Call:
    """The request with the model routed first, so that guidance is rendered for the one that will read it."""
    prepared = watch.run.decided
    routed = _route(watch, request, prepared, setup) if setup.steer else request
    model_id = model_id_of(routed.model)
    composed = compose(
        prepared,
        request.system_message.content if request.system_message is not None else None,
        model_id=model_id,
        cache=_caches(setup.cache_control, routed.model, model_id),
        markers=_markers(request),
        errors=watch.run.errors,
    )
    watch.run.spend(composed)
    if setup.steer and composed.content is not None:
        message = _system_message(watch, request.system_message, composed)
        kind = GuidedRequest if composed.texts else type(routed)
        routed = _with(routed, kind, system_message=message)
    context = watch.run.spans.calling(routed.model, model_id)
    return Call(routed, time.perf_counter(), composed, model_id, context)


def _route(watch: Watch, request: ModelRequest[Any], prepared: Prepared, setup: Setup) -> ModelRequest[Any]:
    model = setup.routes.get(prepared.state)
    if model is None:
        return request
    if watch.agent_model is None:
        watch.agent_model = request.model
    if request.model is not watch.agent_model:
        return request  # an outer middleware chose another model, as a fallback does: its choice stands
    return _with(request, model=model)


class GuidedRequest(ModelRequest[Any]):
    """A request with our guidance in it, which stays uncached: a middleware inside ours may mark the last block."""

    def override(self, **overrides: Any) -> ModelRequest[Any]:
        """A changed copy."""
        changed: ModelRequest[Any] = super().override(**overrides)
        with contain("keeping the guidance uncached"):
            message = changed.system_message
            blocks = with_guidance_uncached(message.content) if message is not None else None
            if message is not None and blocks is not None:
                changed = _with(changed, system_message=message.model_copy(update={"content": blocks}))
        return changed


def _with(request: ModelRequest[Any], kind: type[ModelRequest[Any]] | None = None, **changes: Any) -> ModelRequest[Any]:
    """A changed copy. `request.override()` does the same through nine warnings it has to silence, process-wide."""
    changed: ModelRequest[Any] = object.__new__(kind or type(request))
    changed.__dict__.update(request.__dict__, **changes)
    return changed


def _system_message(watch: Watch, base: SystemMessage | None, composed: Composed) -> SystemMessage:
    """The new system message; the same object again where nothing but the cache marker was added to the same base."""
    if base is None:
        return SystemMessage(content=composed.content)
    if composed.texts:
        return base.model_copy(update={"content": composed.content})
    known = watch.marked_base
    if known is not None and known[0] is base and known[1].content == composed.content:
        return known[1]
    marked = base.model_copy(update={"content": composed.content})
    watch.marked_base = (base, marked)
    return marked


def model_id_of(model: Any) -> str:
    """What a chat model calls itself."""
    for name in ("model_name", "model", "model_id"):
        value = getattr(model, name, None)
        if isinstance(value, str) and value:
            return value
    return type(model).__name__


def _caches(policy: CacheControl, model: Any, model_id: str) -> bool:
    if policy == "anthropic":
        return "anthropic" in type(model).__name__.lower() or "claude" in model_id.lower()
    return policy == "always"


def _markers(request: ModelRequest[Any]) -> Markers:
    """Cache markers that the caller has set outside the system message."""
    settings = request.model_settings
    whole = [settings["cache_control"]] if "cache_control" in settings else []
    inside = [
        marker
        for message in request.messages
        if type(message.content) is not str
        for marker in _markers_inside(message.content)
    ]
    return Markers(sum(1 for tool in request.tools if _is_marked(tool)), [*inside, *whole])


def _is_marked(tool: Any) -> bool:
    extras = tool if isinstance(tool, dict) else getattr(tool, "extras", None)
    return isinstance(extras, dict) and "cache_control" in extras


def _markers_inside(content: Any) -> list[Any]:
    """Markers on blocks, and on blocks inside of blocks: a tool's result may be made of them."""
    if not isinstance(content, list):
        return []
    found: list[Any] = []
    for block in content:
        if isinstance(block, dict):
            found += [block["cache_control"]] if "cache_control" in block else []
            found += _markers_inside(block.get("content"))
    return found


def reply_in(response: Response) -> AIMessage | None:
    """The model's message in whatever a handler returned."""
    if isinstance(response, ExtendedModelResponse):
        response = response.model_response
    if isinstance(response, AIMessage):
        return response
    for message in reversed(response.result):
        if isinstance(message, AIMessage):
            return message
    return None
