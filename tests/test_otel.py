"""C42: where spans and metrics go, what they may tell, and what they cost where nobody listens."""

from __future__ import annotations

import ast
import gc
import importlib.util
import os
import re
import subprocess
import sys
import textwrap
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from opentelemetry import trace
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes, exception_attributes

import reasonblocks
from reasonblocks import ReasonBlocks
from reasonblocks.errors import SettingsError
from reasonblocks.runtime.contain import incidents
from reasonblocks.telemetry import export, semantics
from reasonblocks.telemetry.providers import provider_of
from support.agents import ScriptedModel, call, lookup, make_tool, say, script
from support.otlp import Collector
from support.standin import Fault, Standin, inject

SOURCE = Path(reasonblocks.__file__).parent
QUESTION: Any = {"messages": [("user", "Find the secret record.")]}
SPOKEN = ("I think aloud", "Find the secret record", "secret answer", "Say nothing more", "secret key")
Connect = Callable[..., ReasonBlocks]


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Takes what is exported."""
    with Collector() as receiver:
        yield receiver


@pytest.fixture
def connect(standin: Standin) -> Iterator[Connect]:
    """Makes clients of the stand-in and closes them."""
    made: list[ReasonBlocks] = []

    def make(**settings: Any) -> ReasonBlocks:
        made.append(ReasonBlocks(standin.key, base_url=standin.url, step_timeout=10.0, **settings))
        return made[-1]

    yield make
    for rb in made:
        rb.close()


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    """Keeps what is recorded."""
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> TracerProvider:
    """A provider of the user's own."""
    made = TracerProvider(shutdown_on_exit=False)
    made.add_span_processor(SimpleSpanProcessor(exporter))
    return made


def run_once(rb: ReasonBlocks, *, config: Any = None, model: Any = None, **facts: Any) -> Any:
    """Run an agent whose every text can be told from all else."""

    def look(key: str) -> str:
        return "secret answer"

    replies = [say("I think aloud.", call("look", key="secret key")), say("I think aloud, again.")]
    middleware = rb.middleware(**({"agent_name": "fixer", "run_id": "run-1"} | facts))
    agent = create_agent(model or ScriptedModel(replies), [make_tool("look", look)], middleware=[middleware])
    agent.invoke(QUESTION, config)
    return middleware


def names(exporter: InMemorySpanExporter) -> list[str]:
    return sorted(span.name for span in exporter.get_finished_spans())


# -- where they go ---------------------------------------------------------------------------------


def test_c42_a_url_exports_there(connect: Connect, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """`otel="http://..."` sends to it, with the service's name and the headers of the standard variables."""
    monkeypatch.setenv("OTEL_SERVICE_NAME", "my-agents")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-honeycomb-team=abc")
    rb = connect(otel=f"{collector.url}/v1/traces")
    run_once(rb)
    rb.close()
    assert {span.resource["service.name"] for span in collector.spans} == {"my-agents"}
    assert collector.headers[0]["x-honeycomb-team"] == "abc"


@pytest.mark.parametrize("otel", [None, True])
def test_c42_the_standard_variables_export_there(
    connect: Connect, collector: Collector, monkeypatch: pytest.MonkeyPatch, otel: Any
) -> None:
    """`OTEL_EXPORTER_OTLP_ENDPOINT` is enough where the application has set no provider; `otel=True` asks for it."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    rb = connect(otel=otel)
    run_once(rb)
    rb.close()
    assert len(collector.named("invoke_agent fixer")) == 1


def test_c42_false_is_off(connect: Connect, collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """`otel=False`, or the variable, sends nothing, whatever else is set."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    run_once(connect(otel=False))
    monkeypatch.setenv("REASONBLOCKS_OTEL", "off")
    rb = connect()
    run_once(rb)
    rb.close()
    assert collector.spans == []


def test_c42_the_variable_names_a_collector(
    connect: Connect, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`REASONBLOCKS_OTEL` is the argument for those who cannot change the code."""
    monkeypatch.setenv("REASONBLOCKS_OTEL", collector.url)
    rb = connect()
    run_once(rb)
    rb.close()
    assert len(collector.named("invoke_agent fixer")) == 1


def test_c42_the_applications_own_provider(standin: Standin) -> None:
    """Without an argument, spans go to the provider that the application sets, also after the client was made."""
    told = in_a_process(
        f"""
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
        rb = ReasonBlocks({standin.key!r}, base_url={standin.url!r})
        exporter = InMemorySpanExporter()
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        trace.set_tracer_provider(provider)
        create_agent(ScriptedModel(["done"]), [], middleware=[rb.middleware()]).invoke(QUESTION)
        print([span.name for span in exporter.get_finished_spans()])
        """
    )
    assert told == "['reasonblocks.retrieve E3', 'chat claude-sonnet-4-5', 'invoke_agent']"


def in_a_process(code: str, **environment: str) -> str:
    """Run code in a fresh interpreter and give what it printed."""
    head = """
        import os, sys, time
        from langchain.agents import create_agent
        from reasonblocks import ReasonBlocks
        from support.agents import ScriptedModel
        QUESTION = {"messages": [("user", "What is it?")]}
    """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), **environment},
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize("last", ["", "del rb, agent, middleware; import gc; gc.collect()"], ids=["kept", "collected"])
def test_c42_the_end_of_the_program_sends_what_is_left(standin: Standin, collector: Collector, last: str) -> None:
    """A program that just ends has sent its spans, without a `close`; also where the client is gone before it."""
    in_a_process(
        f"""
        rb = ReasonBlocks({standin.key!r}, base_url={standin.url!r}, otel={collector.url!r})
        middleware = rb.middleware()
        agent = create_agent(ScriptedModel(["done"]), [], middleware=[middleware])
        agent.invoke(QUESTION)
        {last}
        """
    )
    assert [span.name for span in collector.named("invoke_agent")] == ["invoke_agent"]


@pytest.mark.slow
def test_c42_a_collector_that_is_away_holds_nobody_up(standin: Standin) -> None:
    """With nobody at the address, a run takes as long as without spans, and the program ends within seconds."""
    told = in_a_process(
        f"""
        rb = ReasonBlocks({standin.key!r}, base_url={standin.url!r}, otel="http://127.0.0.1:9")
        agent = create_agent(ScriptedModel(["done"]), [], middleware=[rb.middleware()])
        agent.invoke(QUESTION)
        began = time.perf_counter()
        agent.invoke(QUESTION)
        print(time.perf_counter() - began)
        """
    )
    assert float(told) < 1.0


def test_c42_closed_and_used_again(connect: Connect, collector: Collector) -> None:
    """`close` sends everything and leaves no thread of the exporter; the next run starts it again."""
    import threading

    rb = connect(otel=collector.url)
    for number in range(2):
        run_once(rb, run_id=f"run-{number}")
        rb.close()
        assert [thread.name for thread in threading.enumerate() if thread.name.startswith("Otel")] == []
    assert [span.attributes["reasonblocks.run.id"] for span in collector.named("invoke_agent")] == ["run-0", "run-1"]


@pytest.mark.parametrize("otel", [True, "http://localhost:4318"])
def test_c42_a_missing_extra_is_named(standin: Standin, monkeypatch: pytest.MonkeyPatch, otel: Any) -> None:
    """Without the SDK, whoever asks for an export is told what to install, before anything is opened."""
    monkeypatch.setattr(export, "installed", lambda: False)
    with pytest.raises(SettingsError, match=re.escape("pip install 'reasonblocks[otel]'")):
        ReasonBlocks(standin.key, base_url=standin.url, otel=otel)


def test_c42_installed_knows_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra is there here, and is not where one of its packages is not found."""
    assert export.installed()
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if "exporter" in name else found(name))
    assert not export.installed()


def test_c42_a_wrong_switch_is_refused(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value of `REASONBLOCKS_OTEL_CHAT` that means nothing is named."""
    monkeypatch.setenv("REASONBLOCKS_OTEL_CHAT", "sometimes")
    with pytest.raises(SettingsError, match="'sometimes'; expected one of auto, on, off"):
        ReasonBlocks(standin.key, base_url=standin.url)


# -- where nobody listens --------------------------------------------------------------------------


def test_c42_nothing_is_loaded_where_nobody_listens(standin: Standin) -> None:
    """Importing us and running an agent loads nothing of OpenTelemetry that others have not loaded."""
    told = in_a_process(
        f"""
        class Refused:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] == "opentelemetry":
                    raise ModuleNotFoundError(name, name=name)
        for name in [name for name in sys.modules if name.split(".")[0] == "opentelemetry"]:
            del sys.modules[name]
        sys.meta_path.insert(0, Refused())
        rb = ReasonBlocks({standin.key!r}, base_url={standin.url!r})
        middleware = rb.middleware()
        create_agent(ScriptedModel(["done"]), [], middleware=[middleware]).invoke(QUESTION)
        print(len(middleware.step_log), middleware.step_log[0].errors,
              [name for name in sys.modules if name.split(".")[0] == "opentelemetry"])
        """
    )
    assert told == "1 [] []"


def test_c42_no_run_is_kept_by_its_spans(connect: Connect, provider: TracerProvider) -> None:
    """When a run is over, neither a span nor a context keeps its messages."""
    rb = connect(otel=provider)
    question = HumanMessage("What is it?")
    known = weakref.ref(question)
    agent = create_agent(ScriptedModel(script(1)), [lookup], middleware=[rb.middleware()])
    given = {"messages": [question]}
    agent.invoke(given)
    assert trace.get_current_span() is trace.INVALID_SPAN
    del agent, question, given
    gc.collect()
    assert known() is None


# -- what goes wrong in here -----------------------------------------------------------------------


class Broken(TracerProvider):
    """A provider whose spans cannot be made, or not be ended."""

    def __init__(self, where: str) -> None:
        super().__init__(shutdown_on_exit=False)
        self._broken = where

    def get_tracer(self, *args: Any, **named: Any) -> Any:
        tracer = super().get_tracer(*args, **named)
        start, where = tracer.start_span, self._broken

        def start_span(name: str, *args: Any, **named: Any) -> Any:
            if name.startswith(where):
                raise RuntimeError(f"no span for {name}")
            return start(name, *args, **named)

        tracer.start_span = start_span
        return tracer


@pytest.mark.parametrize("where", ["invoke_agent", "step", "execute_tool", "reasonblocks"])
def test_c42_a_broken_provider_breaks_nothing(connect: Connect, standin: Standin, where: str) -> None:
    """Whatever a provider raises is contained, and told in the step's errors where there is a step to tell it."""
    rb = connect(otel=Broken(where))
    middleware = run_once(rb)
    rb.close()
    assert standin.runs["run-1"].outcome == "success"
    assert standin.runs["run-1"].step_order == [0, 1]
    assert any("no span for" in cause or cause.startswith("spans: RuntimeError") for cause in incidents.counts)
    told = [error for entry in middleware.step_log for error in entry.errors]
    assert told == [] if where == "invoke_agent" else all(f"no span for {where}" in error for error in told)


# -- texts -----------------------------------------------------------------------------------------


def content_of(spans: Any) -> str:
    return str(
        [(span.name, dict(span.attributes), [dict(event.attributes) for event in span.events]) for span in spans]
    )


@pytest.mark.parametrize("value", [None, "false", "NO_CONTENT", "EVENT_ONLY"])
def test_c42_no_text_is_in_a_span_unless_asked_for(
    connect: Connect,
    standin: Standin,
    provider: TracerProvider,
    exporter: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
    value: str | None,
) -> None:
    """Thought, task, arguments, result and guidance stay out of spans by default."""
    if value is not None:
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
    standin.evaluate = lambda steps, body: inject("Say nothing more.")
    run_once(connect(otel=provider))
    seen = content_of(exporter.get_finished_spans())
    assert "semantic_loop" in seen
    assert [text for text in SPOKEN if text in seen] == []


@pytest.mark.parametrize("value", ["true", "True", "SPAN_ONLY", "span_and_event"])
def test_c42_texts_are_in_spans_where_asked_for(
    connect: Connect,
    standin: Standin,
    provider: TracerProvider,
    exporter: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
    value: str,
) -> None:
    """The standard variable puts them in, under the conventions' names where there are any."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", value)
    standin.evaluate = lambda steps, body: inject("Say nothing more.")
    run_once(connect(otel=provider), task="Find the secret record.")
    told = {
        (span.name, name): text
        for span in exporter.get_finished_spans()
        for name, text in (span.attributes or {}).items()
        if any(word in str(text) for word in SPOKEN)
    }
    assert {(name, str(text)[:80]) for (_, name), text in told.items()} == snapshot(
        {
            (
                "gen_ai.input.messages",
                '[{"role":"user","parts":[{"type":"text","content":"Find the secret record."}]}]',
            ),
            (
                "gen_ai.output.messages",
                '[{"role":"assistant","parts":[{"type":"text","content":"I think aloud, again."}]',
            ),
            ("gen_ai.tool.call.arguments", '{"key":"secret key"}'),
            ("gen_ai.tool.call.result", "secret answer"),
            (
                "reasonblocks.step.intervention_texts",
                "('Say nothing more.', 'Lesson from an earlier run | Context: A service that keep",
            ),
            ("reasonblocks.step.observation", "secret answer"),
        }
    )
    events = [event for span in exporter.get_finished_spans() for event in span.events]
    explained = [event.attributes["gen_ai.evaluation.explanation"] for event in events
                 if "gen_ai.evaluation.explanation" in event.attributes]  # fmt: skip
    assert explained == ["Say nothing more."]


def test_c42_texts_go_through_redact(
    connect: Connect,
    standin: Standin,
    provider: TracerProvider,
    exporter: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a `redact`, spans tell what it leaves, and no text that it has not seen."""
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")

    def redact(event: Any) -> Any:
        hidden = dict.fromkeys(("thought", "observation", "action_input", "task", "outcome"), "[gone]")
        return {**event, **{name: text for name, text in hidden.items() if event.get(name)}}

    rb = connect(otel=provider, redact=redact, live_streaming_enabled=False)
    run_once(rb, task="Find the secret record.")

    def fail(messages: Any) -> Any:
        raise ValueError("a secret answer in an error")

    with pytest.raises(ValueError, match="secret"):
        run_once(rb, model=ScriptedModel([fail]), run_id="run-2")
    seen = content_of(exporter.get_finished_spans())
    assert "[gone]" in seen
    assert [text for text in SPOKEN if text in seen] == []


# -- others who make spans -------------------------------------------------------------------------


def instrumentor(*packages: str) -> BaseInstrumentor:
    """An instrumentation that is switched on, of packages that a model's client may be."""

    class Instrumentor(BaseInstrumentor):
        def instrumentation_dependencies(self) -> Any:
            return packages

        def _instrument(self, **named: Any) -> None:
            pass

        def _uninstrument(self, **named: Any) -> None:
            pass

    made = Instrumentor()
    made.instrument(skip_dep_check=True)
    return made


class AnthropicLike(ScriptedModel):
    """A scripted model that looks as if it came from Anthropic's package."""


AnthropicLike.__module__ = "langchain_anthropic.chat_models"

WITH_CHAT = ["chat", "chat", "execute_tool", "invoke_agent"]
CASES = [
    ((), "", WITH_CHAT),
    (("langchain-core >= 0.3",), "", ["invoke_agent", "step", "step"]),
    (("anthropic >= 0.3.11",), "", ["execute_tool", "invoke_agent", "step", "step"]),
    (("openai >= 1.0",), "", WITH_CHAT),
    (("redis >= 2.6",), "", WITH_CHAT),
    (("langchain-core >= 0.3",), "on", WITH_CHAT),
    ((), "off", ["invoke_agent", "step", "step"]),
]


@pytest.mark.parametrize(("packages", "switch", "expected"), CASES)
def test_c42_no_second_span_of_the_same_call(
    connect: Connect,
    provider: TracerProvider,
    exporter: InMemorySpanExporter,
    monkeypatch: pytest.MonkeyPatch,
    packages: tuple[str, ...],
    switch: str,
    expected: list[str],
) -> None:
    """Where an instrumentation makes the calls' spans, ours are plain steps without usage, so nothing counts twice."""
    if switch:
        monkeypatch.setenv("REASONBLOCKS_OTEL_CHAT", switch)
    mine = provider.get_tracer("an instrumentation")
    made = instrumentor(*packages) if packages else None

    def reply(*calls: Any) -> Callable[[Any], Any]:
        def said(messages: Any) -> Any:
            with mine.start_as_current_span("theirs"):
                return say("I look.", *calls)

        return said

    try:
        rb = connect(otel=provider, e_traces_enabled=False, monitors_enabled=False)
        run_once(rb, model=AnthropicLike([reply(call("look", key="x")), reply()]))
    finally:
        if made is not None:
            made.uninstrument()
    spans = {span.context.span_id: span for span in exporter.get_finished_spans()}
    ours = sorted(span.name.split()[0] for span in spans.values() if span.name != "theirs")
    assert ours == expected
    counted = [span for span in spans.values() if "gen_ai.usage.input_tokens" in span.attributes]
    assert len(counted) == expected.count("chat")
    parents = {spans[span.parent.span_id].name.split()[0] for span in spans.values() if span.name == "theirs"}
    assert parents == {"chat" if "chat" in expected else "step"}


def test_c42_the_provider_of_a_model() -> None:
    """The provider is told by the package a model's class, or one it extends, comes from; else it is not told."""

    class Mine(ChatAnthropic):
        pass

    assert provider_of(Mine).name == "anthropic"
    assert provider_of(AnthropicLike).name == "anthropic"
    assert provider_of(ScriptedModel) is None


# -- names -----------------------------------------------------------------------------------------


def constants() -> dict[str, str]:
    return {name: value for name, value in vars(semantics).items() if name.isupper() and isinstance(value, str)}


def test_c42_names_are_spelled_as_in_the_conventions() -> None:
    """Every name of ours that is one of the conventions' is one they have."""
    theirs = {
        value
        for module in (gen_ai_attributes, error_attributes, exception_attributes)
        for value in vars(module).values()
        if isinstance(value, str)
    }
    mine = {value for value in constants().values() if value.startswith(("gen_ai.", "error.", "exception."))}
    assert mine - theirs == {"gen_ai.evaluation.result"}  # the name of an event: the package has attributes alone
    operations = {value.value for value in gen_ai_attributes.GenAiOperationNameValues}
    assert {semantics.CHAT, semantics.INVOKE_AGENT, semantics.EXECUTE_TOOL} <= operations


def test_c42_names_are_spelled_in_one_place() -> None:
    """No other module writes a name of an attribute, a metric or an event of the conventions."""
    spelled = {value for value in constants().values() if "." in value and not value.startswith("http")}
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name == "semantics.py":
            continue
        texts = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
        assert texts & spelled == set(), path


# -- metrics ---------------------------------------------------------------------------------------


def test_c42_metrics_arrive(connect: Connect, standin: Standin, collector: Collector) -> None:
    """What we cost and did, the breaker and the health of our telemetry are exported with their units."""
    standin.evaluate = lambda steps, body: inject("Look closer.")
    rb = connect(otel=collector.url)
    run_once(rb)
    with pytest.raises(ValueError, match="no"):
        run_once(rb, model=ScriptedModel([ValueError("no")]), run_id="run-2")
    rb._stream.flush()
    rb.close()
    units = {name: metric.unit for name, metric in collector.metrics().items() if name.startswith("reasonblocks.")}
    assert units == snapshot(
        {
            "reasonblocks.step.added.duration": "s",
            "reasonblocks.evaluation.duration": "s",
            "reasonblocks.injections": "{injection}",
            "reasonblocks.steps": "{step}",
            "reasonblocks.runs": "{run}",
            "reasonblocks.telemetry.events": "{event}",
            "reasonblocks.breaker.open": "1",
        }
    )
    assert collector.points("reasonblocks.steps") == {(): 2}
    assert collector.points("reasonblocks.runs") == {("success",): 1, ("failure",): 1}
    assert collector.points("reasonblocks.injections") == {
        ("E3Injection",): 1,
        ("MonitorSteeringInjection",): 1,
        ("E1Injection",): 1,
        ("E2Injection",): 1,
    }
    assert collector.points("reasonblocks.step.added.duration") == {(): 3}
    assert collector.points("reasonblocks.evaluation.duration") == {(): 1}
    assert collector.points("reasonblocks.breaker.open") == {(): 0}
    assert collector.points("reasonblocks.telemetry.events")[("sent",)] > 0


def test_c42_a_breaker_that_is_open_shows(connect: Connect, standin: Standin, collector: Collector) -> None:
    """While the backend is not asked, the gauge says 1."""
    standin.fault("*", Fault(status=500))
    rb = connect(otel=collector.url, live_streaming_enabled=False)
    middleware = rb.middleware()
    create_agent(ScriptedModel(script(4)), [lookup], middleware=[middleware]).invoke(QUESTION)
    rb.close()
    assert collector.points("reasonblocks.breaker.open") == {(): 1}


def test_c42_metrics_do_not_keep_a_client(standin: Standin, collector: Collector) -> None:
    """A client that nobody uses any more is collected, whatever observes it."""
    rb = ReasonBlocks(standin.key, base_url=standin.url, otel=collector.url)
    run_once(rb)
    rb.close()
    known = weakref.ref(rb)
    del rb
    deadline = time.monotonic() + 5
    while known() is not None and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert known() is None
