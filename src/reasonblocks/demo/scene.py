"""One run of the demo's agent, as it unfolds."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ..client import ReasonBlocks
from ..types import InjectionNotice, StepLogEntry
from .world import QUESTION, TOOLS

SYSTEM = "You answer questions about a small web service. Use the tools to look at its files."
MOST_CALLS = 40
"""A real model that goes round in circles is stopped; each turn of the graph is two or three of its steps."""


@dataclass(frozen=True)
class Deed:
    """A tool call, and what it brought."""

    call: str
    result: str | None
    """`None` while the tool is at work."""
    is_new: bool
    """Whether this run had not got that very result before."""


@dataclass(frozen=True)
class Moment:
    """One step of the run."""

    entry: StepLogEntry
    said: str
    deeds: list[Deed]
    notice: InjectionNotice | None = None
    """What was given to the model before it, or would have been."""


@dataclass
class Scene:
    """A run of the agent with an embedded engine that keeps nothing."""

    title: str
    steer: bool
    moments: list[Moment] = field(default_factory=list)
    answer: str = ""

    def __post_init__(self) -> None:
        self._notices: dict[int, InjectionNotice] = {}
        self._client = ReasonBlocks(data_dir=":memory:", steer=self.steer, on_injection=self._noticed)

    def _noticed(self, notice: InjectionNotice) -> None:
        self._notices[notice.step] = notice

    @property
    def over(self) -> bool:
        """Whether the agent has answered."""
        return bool(self.answer)

    @property
    def tokens(self) -> int:
        """What the run has cost so far."""
        return sum(moment.entry.tokens for moment in self.moments)

    async def play(self, model: BaseChatModel) -> None:
        """Run the agent; what has happened so far can be looked at all the time."""
        async with self._client:
            middleware = self._client.middleware(agent_name="demo", task=QUESTION)
            agent = create_agent(model, TOOLS, system_prompt=SYSTEM, middleware=[middleware])
            turns = agent.astream(
                {"messages": [HumanMessage(QUESTION)]}, {"recursion_limit": MOST_CALLS * 3}, stream_mode="values"
            )
            messages: Sequence[BaseMessage] = ()
            async for state in turns:
                messages = state["messages"]
                self.moments = _moments(middleware.step_log, messages, self._notices)
            self.answer = str(messages[-1].text)


def _moments(
    log: Sequence[StepLogEntry], messages: Sequence[BaseMessage], notices: dict[int, InjectionNotice]
) -> list[Moment]:
    replies = [message for message in messages if isinstance(message, AIMessage)]
    results = {message.tool_call_id: str(message.text) for message in messages if isinstance(message, ToolMessage)}
    seen: set[str] = set()
    found: list[Moment] = []
    for entry, reply in zip(log, replies, strict=False):  # the newest reply may not have been recorded yet
        deeds = []
        for call in reply.tool_calls:
            arguments = ", ".join(repr(value) for value in call["args"].values())
            result = results.get(call["id"] or "")
            deeds.append(Deed(f"{call['name']}({arguments})", result, result not in seen))
            seen.add(result or "")
        found.append(Moment(entry, str(reply.text), deeds, notices.get(entry.step)))
    return found
