"""The demo itself: the same agent once only watched, once steered, told step by step."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ..client import ReasonBlocks
from ..types import InjectionNotice, StepLogEntry
from .model import ScriptedModel
from .world import QUESTION, TOOLS

SYSTEM = "You answer questions about a small web service. Use the tools to look at its files."
INDENT = " " * 11
Print = Callable[[str], object]


@dataclass(frozen=True)
class Outcome:
    """How a run of the demo's agent ended."""

    answer: str
    model_calls: int
    tokens: int


def tell(show: Print) -> tuple[Outcome, Outcome]:
    """Run the agent twice and tell what happens: watched, then steered."""
    show(f"The agent is asked: {QUESTION}")
    show("Its model follows a script: it searches with other words, again and again, unless its prompt tells it more.")
    show("")
    show("--- watched only (steer=False) ---")
    watched = run(show, steer=False)
    show("")
    show("--- steered ---")
    steered = run(show, steer=True)
    show("")
    for name, outcome in (("watched", watched), ("steered", steered)):
        show(f"{name}: {outcome.model_calls:2} model calls, {outcome.tokens} tokens. {outcome.answer}")
    return watched, steered


def run(show: Print, *, steer: bool) -> Outcome:
    """One run of the agent with an embedded engine that keeps nothing."""
    notices: list[InjectionNotice] = []
    with ReasonBlocks(data_dir=":memory:", steer=steer, on_injection=notices.append) as rb:
        middleware = rb.middleware(agent_name="demo", task=QUESTION)
        agent = create_agent(ScriptedModel(), TOOLS, system_prompt=SYSTEM, middleware=[middleware])
        result = agent.invoke({"messages": [HumanMessage(QUESTION)]})
        messages: list[BaseMessage] = result["messages"]
        log = middleware.step_log
    for line in _told(log, messages, notices):
        show(line)
    return Outcome(str(messages[-1].text), len(log), sum(entry.tokens for entry in log))


def _told(
    log: Sequence[StepLogEntry], messages: Sequence[BaseMessage], notices: Sequence[InjectionNotice]
) -> Iterator[str]:
    replies = [message for message in messages if isinstance(message, AIMessage)]
    results = {message.tool_call_id: message for message in messages if isinstance(message, ToolMessage)}
    said = {notice.step: notice for notice in notices}
    seen: set[str] = set()
    for entry, reply in zip(log, replies, strict=True):
        yield _head(entry)
        if entry.step in said:
            yield from _guidance(said[entry.step])
        yield from _wrapped("agent", str(reply.text))
        for call in reply.tool_calls:
            arguments = ", ".join(f"{name}={value!r}" for name, value in call["args"].items())
            yield f"   calls   {call['name']}({arguments})"
            result = str(results[call["id"] or ""].text)
            yield from _wrapped(
                "gets", result if result not in seen else f"the same {len(result.splitlines())} lines again"
            )
            seen.add(result)


def _head(entry: StepLogEntry) -> str:
    parts = [f"step {entry.step:2}", f"{entry.fsm_state:6}"]
    if entry.difficulty is not None:
        parts.append(f"difficulty {entry.difficulty:.2f}")
    highest = max(entry.scores.items(), key=lambda item: item[1], default=("", 0.0))
    if highest[1] > 0:
        parts.append(f"{highest[0]} {highest[1]:.2f}" + (" FIRED" if highest[0] in entry.monitors_fired else ""))
    return "  ".join(parts)


def _guidance(notice: InjectionNotice) -> Iterator[str]:
    label = "hears" if notice.applied else "unsaid"
    for source, text in zip(notice.sources, notice.texts, strict=True):
        if source == "E3Injection":
            yield f"   {label:7} {len(text.splitlines())} lines of standing rules"
        else:
            yield from _wrapped(label, text)


def _wrapped(label: str, text: str) -> Iterator[str]:
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, 100) or [""]]
    for number, line in enumerate(lines):
        yield (f"   {label:7} " if number == 0 else INDENT) + line
