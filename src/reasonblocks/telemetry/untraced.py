"""What a run has instead of spans: nothing where nobody listens, and a place in the trace where it is not sampled."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..runtime.drivers import Performed
from ..steering.plan import Prepared
from ..types import StepLogEntry
from . import semantics
from .failures import add_exception, fail
from .place import contexts, traceparent_of

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, ToolCall
    from opentelemetry.context import Context
    from opentelemetry.trace import Span


class ToolSpan:
    """A tool call's span, or only the place of one where there is none."""

    __slots__ = ("_captures", "_messages", "_span", "context")

    def __init__(
        self,
        context: "Context | None" = None,
        span: "Span | None" = None,
        messages: bool = False,
        captures: bool = False,
    ) -> None:
        self.context = context
        """What is current while the tool runs; `None` leaves it as it is."""
        self._span = span
        self._messages = messages
        self._captures = captures

    def answered(self, text: str, is_error: bool) -> None:
        """The tool gave a result."""
        span = self._span
        if span is not None:
            if is_error:
                fail(span, semantics.TOOL_ERROR)
            if self._captures:
                span.set_attribute(semantics.TOOL_RESULT, text)
            span.end()

    def raised(self, error: BaseException, *, failed: bool = True) -> None:
        """The tool raised: it failed, or asked for a person."""
        span = self._span
        if span is not None:
            if failed:
                add_exception(span, error, self._messages)
            span.end()


NO_TOOL_SPAN = ToolSpan()


class NoSpans:
    """What a run has that nobody traces: it does nothing, and one serves all."""

    __slots__ = ()
    recording: bool = False
    captures: bool = False
    """Whether texts go into spans."""

    @property
    def traceparent(self) -> str | None:
        """Where this run is in its trace, for a run that continues it."""
        return None

    def problems(self) -> Sequence[str]:
        """What went wrong in here since it was last asked."""
        return ()

    def here(self) -> "Context | None":
        """The context whose current span is the step's."""
        return None

    def begun(self, task: str) -> None:
        """The run has begun, to do `task` as far as that may be told."""

    def begin_step(self, index: int) -> None:
        """A step begins: the next model call is decided about."""

    def prepared(self, prepared: Prepared, performed: Sequence[Performed]) -> None:
        """It was decided, and these were asked for it."""

    def calling(self, model: Any, model_id: str) -> "Context | None":
        """The model is about to be called; what is current meanwhile."""
        return None

    def failed(self, error: BaseException) -> None:
        """The model's call raised; somebody may call again."""

    def recorded(self, entry: StepLogEntry, message: "AIMessage") -> None:
        """The model's call returned."""

    def tool(self, call: "ToolCall") -> ToolSpan:
        """A tool is about to be called."""
        return NO_TOOL_SPAN

    def complete_step(self, tool_failed: bool, event: Mapping[str, Any] | None) -> None:
        """The step is whole; `event` is what may be told of it."""

    def pause(self) -> None:
        """The run waits for a person."""

    def finish(self, kind: str, outcome: str, steps: int, error: BaseException | None) -> None:
        """The run is over, or its outcome is another one than was said before."""


NO_SPANS = NoSpans()


class Unsampled(NoSpans):
    """A run that the sampler left out: what others do inside it is left out with it, if they ask the parent."""

    __slots__ = ("_contexts", "_current", "_known", "_span")

    def __init__(self, span: "Span") -> None:
        self._span = span
        self._contexts = contexts()
        self._current = self._contexts.current
        self._known: tuple[object, ToolSpan] = (None, NO_TOOL_SPAN)
        """A caller's context, and the place in it: one serves all tools, since it has no span to write to."""

    @property
    def traceparent(self) -> str:
        """The place of the span that is not recorded."""
        return traceparent_of(self._span.get_span_context())

    def here(self) -> "Context | None":
        """The context in which spans are children of the one that is not recorded."""
        caller, known = self._current(), self._known
        return known[1].context if caller is known[0] else self._within(caller).context

    def calling(self, model: Any, model_id: str) -> "Context | None":
        """The same while the model is called."""
        caller, known = self._current(), self._known
        return known[1].context if caller is known[0] else self._within(caller).context

    def tool(self, call: "ToolCall") -> ToolSpan:
        """The same while a tool is called."""
        caller, known = self._current(), self._known
        return known[1] if caller is known[0] else self._within(caller)

    def _within(self, caller: "Context") -> ToolSpan:
        place = ToolSpan(self._contexts.within(self._span, caller))
        self._known = caller, place
        return place
