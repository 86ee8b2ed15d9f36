"""A chat model that follows a script, and reads its system message before every reply."""

import asyncio
from itertools import count
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult

MARKER = "[REASONBLOCKS]"
_numbers = count(1)

SEARCHES = [
    ("I look for where the session timeout is configured.", "session timeout"),
    ("No number there. Maybe the code calls it session expiry, so I search for that.", "session expiry"),
    ("The same lines. Perhaps the wording is session token expiration.", "session token expiration"),
    ("Still nothing with a number. I try session lifetime.", "session lifetime"),
    ("Hmm, the same again. It might be called session duration.", "session duration"),
    ("Not that either. Maybe session length brings it up.", "session length"),
    ("I search once more, with session validity.", "session validity"),
    ("Perhaps session period is the word they use.", "session period"),
    ("One more: session expire time.", "session expire"),
    ("Let me try session ttl.", "session ttl"),
]
GIVES_UP = "I could not find how long a session lasts; the code does not seem to say."
READS = (
    "These searches all return the same lines, and one of them says that the deployment decides. I read its settings."
)
ANSWERS = "A session lasts 1800 seconds (30 minutes): COOKIE_MAX_AGE in deploy/app.env."


class ScriptedModel(BaseChatModel):
    """Searches on and on with other words; what turns it round is guidance that quotes its own searches."""

    model_name: str = "scripted"
    think_seconds: float = 0.0
    """How long it seems to think, for those who watch."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Tools are called by name; there is nothing to bind."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=_reply(messages))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        await asyncio.sleep(self.think_seconds)
        return self._generate(messages)


def _reply(messages: list[BaseMessage]) -> AIMessage:
    calls = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    searched = [call["args"]["query"] for call in calls if call["name"] == "search_code"]
    if len(calls) > len(searched):
        return _said(ANSWERS)
    if _heard(messages, searched):
        return _said(READS, "read_file", path="deploy/app.env")
    if len(searched) == len(SEARCHES):
        return _said(GIVES_UP)
    thought, query = SEARCHES[len(searched)]
    return _said(thought, "search_code", query=query)


def _heard(messages: list[BaseMessage], searched: list[str]) -> bool:
    """Whether the system message holds guidance about what this agent has done."""
    _, _, guidance = str(messages[0].text).partition(MARKER)
    return any(query in guidance for query in searched)


def _said(thought: str, tool: str = "", **arguments: str) -> AIMessage:
    calls = [ToolCall(name=tool, args=arguments, id=f"call-{next(_numbers)}", type="tool_call")] if tool else []
    usage = {"input_tokens": 400, "output_tokens": 40, "total_tokens": 440}
    return AIMessage(content=thought, tool_calls=calls, usage_metadata=usage)
