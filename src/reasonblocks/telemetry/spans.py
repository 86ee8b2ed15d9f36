"""The spans of one run: `invoke_agent` around it, a child per step, children of that for what the step asked and did.

Spans live on the run, for LangGraph runs its hooks in copied contexts: a context variable set in one hook is not
seen by the next. Around the model and the tools a hook makes the step's span the current one, so spans that
others make there become its children.

Nothing here keeps the run, its messages or its state: a span may be kept by whoever was called inside it.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from ..runtime.contain import contain
from ..runtime.drivers import Performed
from ..settings import OtelChat
from ..steering.plan import Prepared
from ..types import StepLogEntry
from . import content, semantics
from .failures import add_exception, described, fail
from .pens import Pen
from .place import Place, traceparent_of, within
from .providers import others, provider_of
from .untraced import NO_TOOL_SPAN, NoSpans, ToolSpan

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, ToolCall
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer

Attributes = dict[str, Any]
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def contained(
    method: Callable[Concatenate["RunSpans", Parameters], Result],
) -> Callable[Concatenate["RunSpans", Parameters], Result | None]:
    """A method whose errors stay in here, and are told with the step.

    Those that are called at every step catch them themselves: passing arguments on takes as long as they do.
    """

    @functools.wraps(method)
    def call(self: "RunSpans", /, *arguments: Parameters.args, **named: Parameters.kwargs) -> Result | None:
        try:
            return method(self, *arguments, **named)
        except Exception as error:
            self._contain(error)
        return None

    return call


@dataclass(frozen=True, slots=True)
class Manner:
    """How spans are made: the same for all runs of a `ReasonBlocks`."""

    tracer: "Tracer"
    chat: OtelChat = "auto"
    captures: bool = False
    messages: bool = True
    """Whether the messages of exceptions are told; not where a `redact` has not seen them."""


class RunSpans(NoSpans):
    """The spans of a run that is recorded."""

    __slots__ = (
        "_attributes",
        "_call",
        "_call_name",
        "_common",
        "_manner",
        "_model_id",
        "_others",
        "_pen",
        "_place",
        "_problems",
        "_root",
        "_run_span",
        "_step",
        "captures",
    )
    recording = True

    def __init__(self, manner: Manner, span: "Span", common: Attributes, pen: Pen) -> None:
        self._manner = manner
        self._pen = pen
        self._place = Place()
        self._root = span
        self._run_span: Span | None = span
        """`None` once it has ended; its children still name it as their parent."""
        self._common = common
        """What every span of the run says, so that each can be found by it."""
        self._step: Span | None = None
        self._attributes: Attributes = {}
        """Those of the step, given all at once: a call for each costs more than the rest."""
        self._others = others(manner.chat, None)
        self._model_id = ""
        self._call_name: str | None = None
        """The step's name, once a model is called whose span it is."""
        self._call: Attributes = {}
        """What is known about the model that is called."""
        self._problems: list[str] = []
        self.captures = manner.captures

    @property
    def traceparent(self) -> str:
        """The place of the run's span."""
        return traceparent_of(self._root.get_span_context())

    def problems(self) -> Sequence[str]:
        """What was contained in here, once."""
        if not self._problems:
            return ()
        found, self._problems = self._problems, []
        return found

    def _contain(self, error: Exception) -> None:
        with contain("spans", self._problems):
            raise error

    # -- the run ---------------------------------------------------------------------------------

    @contained
    def begun(self, task: str) -> None:
        """The event of the start."""
        self._root.add_event(semantics.EVENT_RUN_START, {semantics.RUN_ID: self._common[semantics.RUN_ID]})
        if self.captures and task:
            self._root.set_attribute(semantics.INPUT_MESSAGES, content.asked(task))

    @contained
    def pause(self) -> None:
        """End what is open: a person may take days, and what has not ended is not exported."""
        if self._step is not None and self._returned():
            self._pen.events(self._step, semantics.EVENT_STEP, (self._step_event(),))
        self._end_step()
        span, self._run_span = self._run_span, None
        if span is not None:
            span.add_event(semantics.EVENT_RUN_INTERRUPT)
            span.end()

    @contained
    def finish(self, kind: str, outcome: str, steps: int, error: BaseException | None) -> None:
        """End the run's span; an outcome that comes after it has ended has a span of its own beneath it."""
        failed = kind != semantics.SUCCESS
        self._end_step(error, failed=failed)
        told = {semantics.RUN_OUTCOME: outcome, semantics.RUN_OUTCOME_CLASS: kind}
        span, self._run_span = self._run_span, None
        if span is None:
            span = self._pen.child(semantics.SPAN_RUN_FINISH, self._root, None, None, self._common)
        span.set_attributes({**told, semantics.RUN_STEPS: steps})
        if failed and error is not None:
            add_exception(span, error, self._manner.messages)
        elif failed:
            fail(span, semantics.OTHER_ERROR, outcome)
        span.add_event(semantics.EVENT_RUN_FINISH, told)
        span.end()

    # -- a step ----------------------------------------------------------------------------------

    def begin_step(self, index: int) -> None:
        """A span from here until the tools have answered."""
        try:
            if self._step is not None:
                self._end_step()
            self._attributes = {semantics.STEP_INDEX: index}
            name = f"{semantics.SPAN_STEP} {index}"
            self._step = self._pen.child(name, self._root, self._attributes, None, self._common)
        except Exception as error:
            self._contain(error)

    def here(self) -> "Context | None":
        """The context of the step, or of the run between steps."""
        return self._place.within(self._step or self._root)

    def prepared(self, prepared: Prepared, performed: Sequence[Performed]) -> None:
        """Spans of what was asked, after the fact: whoever asks knows nothing of spans."""
        step, pen = self._step, self._pen
        if step is None:
            return
        try:
            when: int | None = None
            for one in performed:
                if one.question == "evaluate":
                    when = one.ended
                    span = pen.child(semantics.SPAN_EVALUATE, step, None, one.began)
                else:
                    span = self._retrieval(step, prepared, one)
                if one.cause is not None:
                    fail(span, one.cause, one.problem)
                span.end(one.ended)
            self._attributes[semantics.STEP_GATE] = prepared.gate
            self._attributes[semantics.STEP_ADDED_MS] = round(prepared.added_seconds * 1000, 3)
            if prepared.evaluation is not None:
                pen.scores(step, prepared.evaluation, when, explained=self.captures)
        except Exception as error:
            self._contain(error)

    def _retrieval(self, step: "Span", prepared: Prepared, one: Performed) -> "Span":
        found = sum(len(queued.pending) for queued in prepared.queued if type(queued.injection).__name__ == one.name)
        attributes = {semantics.INJECTION_SOURCE: one.name, semantics.RETRIEVAL_FOUND: found}
        name = f"{semantics.SPAN_RETRIEVE} {one.name.removesuffix('Injection')}"
        return self._pen.child(name, step, attributes, one.began)

    def calling(self, model: Any, model_id: str) -> "Context | None":
        """Name the step after the call, unless somebody else's span will be the call's."""
        try:
            if model_id != self._model_id:
                self._model_id = model_id
                self._learn(model, model_id)
            if self._step is not None:
                self._name_step(self._step)
            return self._place.within(self._step or self._root)
        except Exception as error:
            self._contain(error)
        return None

    def _learn(self, model: Any, model_id: str) -> None:
        """Another model is called: who provides it, and who else makes spans of its calls."""
        provider = provider_of(type(model))  # type: ignore[arg-type]  # a class is hashable
        self._others = others(self._manner.chat, provider)
        self._call = {semantics.REQUEST_MODEL: model_id}
        if provider is not None:
            self._call[semantics.PROVIDER_NAME] = provider.name
        if self._run_span is not None:
            self._run_span.set_attributes(self._call)
        self._call_name = None
        if not self._others.calls:
            self._call[semantics.OPERATION_NAME] = semantics.CHAT
            self._call_name = f"{semantics.CHAT} {model_id}"

    def _name_step(self, step: "Span") -> None:
        self._attributes.update(self._call)
        if self._call_name is not None:
            step.update_name(self._call_name)

    @contained
    def failed(self, error: BaseException) -> None:
        """An event, not yet a failure of the step."""
        if self._step is not None:
            self._step.add_event(semantics.EVENT_EXCEPTION, described(error, self._manner.messages))
            self._attributes[semantics.ERROR_TYPE] = type(error).__name__

    def recorded(self, entry: StepLogEntry, message: "AIMessage") -> None:
        """What the call cost and what was decided for it."""
        try:
            if self._step is None:  # an outer middleware called the model again after an answer: one more step
                self.begin_step(entry.step)
                if self._step is not None:
                    self._name_step(self._step)
            attributes = self._attributes
            attributes.pop(semantics.ERROR_TYPE, None)  # an earlier attempt failed, and this one did not
            content.add_step(attributes, entry)
            if message.response_metadata:
                content.add_response(attributes, message.response_metadata)
            if semantics.OPERATION_NAME in attributes:
                attributes[semantics.INPUT_TOKENS] = entry.input_tokens
                attributes[semantics.OUTPUT_TOKENS] = entry.output_tokens
                attributes[semantics.CACHE_READ_TOKENS] = entry.cache_read_tokens
        except Exception as error:
            self._contain(error)

    def tool(self, call: "ToolCall") -> ToolSpan:
        """A span around one tool call, unless somebody else makes one."""
        try:
            parent = self._step or self._root
            if self._others.tools:
                return ToolSpan(within(parent))
            attributes = {
                semantics.OPERATION_NAME: semantics.EXECUTE_TOOL,
                semantics.TOOL_NAME: call["name"],
                semantics.TOOL_TYPE: semantics.FUNCTION_TOOL,
            }
            if call["id"]:
                attributes[semantics.TOOL_CALL_ID] = call["id"]
            captures = self.captures and self._manner.messages
            if captures:
                attributes[semantics.TOOL_ARGUMENTS] = content.as_json(call["args"])
            name = f"{semantics.EXECUTE_TOOL} {call['name']}"
            span = self._pen.child(name, parent, attributes, None, self._common)
            return ToolSpan(within(span), span, self._manner.messages, captures)
        except Exception as error:
            self._contain(error)
        return NO_TOOL_SPAN

    def complete_step(self, tool_failed: bool, event: Mapping[str, Any] | None) -> None:
        """The tools have answered."""
        step = self._step
        if step is None:
            return
        try:
            if self.captures and event is not None:
                self._attributes.update(content.texts(event))
            told = self._step_event()
            told[semantics.STEP_TOOL_FAILED] = tool_failed
            self._pen.events(step, semantics.EVENT_STEP, (told,))
            self._end_step()
        except Exception as error:
            self._contain(error)

    def _step_event(self) -> Attributes:
        action = self._attributes.get(semantics.STEP_ACTION)
        return {semantics.STEP_ACTION: action} if action is not None else {}

    def _returned(self) -> bool:
        """Whether the model's call has returned, so that the step is one."""
        return semantics.STEP_FSM_STATE in self._attributes

    def _end_step(self, error: BaseException | None = None, *, failed: bool = False) -> None:
        """End the step's span: failed, if its last attempt was, or its call never returned and the run failed."""
        step, self._step = self._step, None
        if step is None:
            return
        kind = self._attributes.get(semantics.ERROR_TYPE)
        if kind is None and failed and not self._returned():
            kind = type(error).__name__ if error is not None else semantics.OTHER_ERROR
        if kind is not None:
            fail(step, kind)
        self._pen.attributes(step, self._attributes)
        step.end()
