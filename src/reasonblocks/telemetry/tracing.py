"""Where spans and metrics go: to the application's own providers, to ours, or nowhere.

OpenTelemetry is loaded only where somebody may listen. Nobody can, if no part of the program has loaded it and no
variable asks for it: then a run costs two look-ups in dictionaries.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..errors import SettingsError
from ..runtime.contain import contain
from ..settings import Otel, otel_chat
from . import semantics
from .metrics import Metrics, Stats
from .pens import first_span, lightest, pen_for
from .place import contexts, place_of
from .spans import Manner, RunSpans
from .untraced import NO_SPANS, NoSpans, Unsampled

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link, SpanContext, Tracer

    from .export import Export

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
_CAPTURES = ("true", "1", "span_only", "span_and_event")
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PROVIDER = "OTEL_PYTHON_TRACER_PROVIDER"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a run comes from, as its spans show it."""

    conversation_id: str = ""
    """The thread that it belongs to; the run's own id where there is none."""
    agent_name: str = ""
    """What LangChain calls the agent, where the middleware was not told."""
    names_caller: bool = False
    """Whether that is the name of the agent that called this one."""
    agent_id: str = ""
    linked: str | None = None
    """The place of the run before it, as a `traceparent`."""
    relation: str | None = None
    """What this run is to that one: `nested`, `resumed` or `time_travel`."""
    continues: bool = False
    """Whether it goes on in that one's trace, unless its caller has a span of its own."""


class Tracing:
    """What a `ReasonBlocks` traces with."""

    def __init__(self, otel: Otel, stats: Stats, *, redacts: bool) -> None:
        self._otel = otel
        self._chat = otel_chat()
        self._captures = os.environ.get(CAPTURE, "").strip().lower() in _CAPTURES
        self._messages = not redacts
        self._manner: Manner | None = None
        self._tracer: Tracer | None = None
        """The one that the latest run was begun with."""
        self._export = _export(otel)
        if "opentelemetry.sdk.trace.export" in sys.modules:
            from . import light  # noqa: F401  now, and not in a hook on an agent's event loop
        self.metrics = Metrics(stats, self._exporting)

    def begin(self, run_id: str, facts: Mapping[str, Any], parent_id: str | None, origin: Origin) -> NoSpans:
        """The spans of a run that begins, or goes on; nothing where nobody listens."""
        spans: NoSpans = NO_SPANS
        with contain("spans"):
            manner = self._manner_now()
            tracer = lightest(manner.tracer, self._tracer) if manner is not None else None
            if manner is not None and tracer is not None:
                self._tracer = tracer
                spans = _begun(manner, tracer, run_id, facts, parent_id, origin)
        return spans

    def _manner_now(self) -> Manner | None:
        export = self._exporting()
        if export is not None:
            tracer = export.tracer()
            if self._manner is None or self._manner.tracer is not tracer:
                self._manner = self._made(tracer)
        elif (self._manner is None or self._export is not None) and (self._otel is not None or _somebody_may_listen()):
            self._manner = self._made(_tracer(self._otel))
        return self._manner

    def _exporting(self) -> "Export | None":
        """Our own providers; not where nobody named them, and the application has set its own meanwhile."""
        export = self._export
        return None if export is not None and self._otel is None and _application_listens() else export

    def _made(self, tracer: "Tracer") -> Manner:
        return Manner(tracer, self._chat, captures=self._captures, messages=self._messages)

    def close(self) -> "Export | None":
        """Send what is left, in the background; `join` or `ajoin` what this gives, if anything."""
        if self._export is not None:
            self._export.close()
        return self._export


def require_otel(otel: Otel) -> None:
    """Refuse what asks for the SDK where that is not installed."""
    if otel is True or isinstance(otel, str):
        from .export import INSTALL, installed

        if not installed():
            raise SettingsError(
                f"otel is {otel!r}, which asks for OpenTelemetry's SDK, but that is not installed: run `{INSTALL}`"
            )


def _export(otel: Otel) -> "Export | None":
    """Providers of our own, if arguments or variables ask for them.

    `OTEL_EXPORTER_OTLP_ENDPOINT` alone does, too, as long as the application has set no provider itself. Then it has
    asked only in general, so a missing extra is no error.
    """
    if otel is None and not _application_listens() and any(os.environ.get(name) for name in _ENDPOINTS):
        from .export import Export, installed

        return Export(None) if installed() else None
    if otel is True or isinstance(otel, str):
        from .export import Export

        return Export(otel if isinstance(otel, str) else None)
    return None


def _somebody_may_listen() -> bool:
    return "opentelemetry.trace" in sys.modules or _PROVIDER in os.environ


def _application_listens() -> bool:
    """Whether the application has set a tracer provider of its own."""
    if not _somebody_may_listen():
        return False
    from opentelemetry import trace

    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def _tracer(provider: Any) -> "Tracer":
    """The tracer of a provider, or of whichever one the application sets, now or later."""
    from opentelemetry import trace

    return trace.get_tracer(semantics.SCOPE, __version__, provider, semantics.SCHEMA_URL)


def _begun(
    manner: Manner,
    tracer: "Tracer",
    run_id: str,
    facts: Mapping[str, Any],
    parent_id: str | None,
    origin: Origin,
) -> NoSpans:
    caller = contexts().span().get_span_context()
    linked = place_of(origin.linked)
    context = _continued(linked) if linked is not None and origin.continues and not caller.is_valid else None
    common = _common(run_id, facts, origin)
    name = common.get(semantics.AGENT_NAME)
    span = first_span(
        tracer,
        f"{semantics.INVOKE_AGENT} {name}" if name else semantics.INVOKE_AGENT,
        context,
        _links(linked, caller, origin),
        lambda: {**common, **_about(facts, parent_id, origin)},
    )
    if span.is_recording():
        return RunSpans(manner, span, common, pen_for(tracer, span))
    known = span.get_span_context()
    return Unsampled(span) if known.is_valid and known != caller else NO_SPANS


def _continued(linked: "SpanContext") -> "Context":
    """A context in which the span of a run before is the current one."""
    from opentelemetry import trace

    return trace.set_span_in_context(trace.NonRecordingSpan(linked))


def _common(run_id: str, facts: Mapping[str, Any], origin: Origin) -> dict[str, Any]:
    """What every span of a run carries: Honeycomb's timeline, for one, finds them by it."""
    common = {semantics.RUN_ID: run_id, semantics.CONVERSATION_ID: origin.conversation_id or run_id}
    if name := facts.get("agent_name") or ("" if origin.names_caller else origin.agent_name):
        common[semantics.AGENT_NAME] = name
    return common


def _about(facts: Mapping[str, Any], parent_id: str | None, origin: Origin) -> dict[str, Any]:
    about = {
        semantics.OPERATION_NAME: semantics.INVOKE_AGENT,
        semantics.REQUEST_MODEL: facts.get("model"),
        semantics.AGENT_ID: origin.agent_id,
        semantics.RUN_PARENT_ID: parent_id,
        semantics.RUN_RELATION: origin.relation,
        semantics.ORG_ID: facts.get("org_id"),
        semantics.PROJECT_ID: facts.get("project_id"),
        semantics.CODEBASE_ID: facts.get("codebase_id"),
        semantics.TASK_PROFILE: facts.get("task_profile"),
        semantics.FRAMEWORK: facts.get("framework"),
    }
    return {name: value for name, value in about.items() if value}


def _links(linked: "SpanContext | None", caller: "SpanContext", origin: Origin) -> "Sequence[Link] | None":
    """A link to the run before, unless the caller's span puts the new one into its trace, as with nested runs."""
    if linked is None or (origin.relation == "nested" and caller.trace_id == linked.trace_id):
        return None
    from opentelemetry.trace import Link

    return [Link(linked, {semantics.LINK_RELATION: origin.relation or "linked"})]
