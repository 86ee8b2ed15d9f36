"""Scripted LangChain agents: a chat model that says what a test wrote, and a few tools."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from inspect import iscoroutinefunction
from itertools import count
from typing import Any, Literal

import anyio
from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolCallChunk,
    UsageMetadata,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

MARKER = "[REASONBLOCKS]"

Content = str | list[Any]
Difficulty = Literal["easy", "normal", "hard"]


# -- replies ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """One tool call of a reply; without an id of its own it gets one that is unique in the conversation."""

    name: str
    arguments: dict[str, Any] = dataclass_field(default_factory=dict)
    id: str = ""


Reply = str | Call | AIMessage | BaseException | Callable[[list[BaseMessage]], Any]
"""What a script holds: a final text, a bare call, a message, an error to raise, or a function giving one."""


def call(name: str, /, **arguments: Any) -> Call:
    """Build one tool call, usable as a reply of its own or inside `say`."""
    return Call(name, arguments)


def usage(input_tokens: int = 100, output_tokens: int = 20, cache_read_tokens: int = 40) -> UsageMetadata:
    """Build the token counts of one reply."""
    return UsageMetadata(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        total_tokens=input_tokens + output_tokens,
        input_token_details={"cache_read": cache_read_tokens},
    )


def say(
    thought: str,
    *calls: Call,
    reasoning: str = "",
    input_tokens: int = 100,
    output_tokens: int = 20,
    cache_read_tokens: int = 40,
) -> AIMessage:
    """Build a reply with a thought, any number of tool calls, and optionally a reasoning block in front."""
    content: Content = thought
    if reasoning:
        content = [{"type": "reasoning", "reasoning": reasoning}]
        content += [{"type": "text", "text": thought}] if thought else []
    return AIMessage(
        content=content,
        tool_calls=[ToolCall(name=one.name, args=one.arguments, id=one.id, type="tool_call") for one in calls],
        usage_metadata=usage(input_tokens, output_tokens, cache_read_tokens),
    )


def flaky(error: BaseException, then: Reply, times: int = 1) -> Callable[[list[BaseMessage]], Reply]:
    """Build a reply that raises the first `times` times it is asked for and then answers."""
    left = iter(range(times))
    return lambda messages: error if next(left, None) is not None else then


def thought(number: int, difficulty: Difficulty = "normal") -> str:
    """Write a distinct thought that scores below 0.2 (easy), 0.2 to 0.6 (normal) or above 0.85 (hard)."""
    if difficulty == "easy":
        return f"Record {number} is next."
    if difficulty == "normal":
        return (
            f"Record {number} may explain the traceback: perhaps the exception comes from "
            f"src/app/loader{number}.py, so the failed call needs another look."
        )
    files = " ".join(f"src/app/module{number}_{part}.py" for part in range(12))
    filler = " ".join(["and then the value goes on to the next part of the chain"] * 6)
    return (
        f"Hmm, wait, attempt {number}: maybe this is a bug, perhaps the exception might be a problem "
        f"elsewhere; I am not sure, it is probably broken, the traceback failed with an error, I should "
        f"reconsider the issue in {files} {filler}."
    )


def script(tool_steps: int, final: str = "done", difficulty: Difficulty = "normal") -> list[Reply]:
    """Write a script of so many lookups, each with its own thought and key, and a final answer."""
    steps: list[Reply] = [
        say(thought(number, difficulty), call("lookup", key=f"key-{number}")) for number in range(tool_steps)
    ]
    return [*steps, final]


# -- the model -------------------------------------------------------------------------------------


class ScriptExhaustedError(AssertionError):
    """The model was asked for more replies than its script holds."""


class ScriptedModel(BaseChatModel):
    """A chat model that follows a script and records what it was asked."""

    replies: list[Any]
    model_name: str = "claude-sonnet-4-5"
    think: float = 0.0
    """Seconds before each reply."""
    by: Literal["turn", "conversation", "calls"] = "turn"
    """The place in the script: AI messages since the last human one, AI messages at all, or calls so far."""
    repeat: bool = False
    """Go on with the last reply when the script is exhausted, instead of failing."""

    # No lock: appending and counting are atomic, and a lock inside a hook would look like a blocking call.
    _asked: list[tuple[list[BaseMessage], dict[str, Any]]] = PrivateAttr(default_factory=list)
    _numbers: Iterator[int] = PrivateAttr(default_factory=count)

    def __init__(self, replies: Sequence[Reply], **settings: Any) -> None:
        settings["replies"] = list(replies)
        super().__init__(**settings)

    # -- what it was asked --

    @property
    def requests(self) -> list[list[BaseMessage]]:
        """The messages of each call."""
        return [messages for messages, _ in list(self._asked)]

    @property
    def options(self) -> list[dict[str, Any]]:
        """The keyword arguments of each call, bound ones included."""
        return [options for _, options in list(self._asked)]

    @property
    def calls(self) -> int:
        """How often it was called."""
        return len(self._asked)

    @property
    def systems(self) -> list[Content | None]:
        """The content of the system message of each call."""
        return [system_content(messages) for messages in self.requests]

    @property
    def blocks(self) -> list[str | None]:
        """The text of the steering block of each call, None where there is none."""
        return [steering_block(content) for content in self.systems]

    @property
    def tools_offered(self) -> list[list[str]]:
        """The names of the tools bound for each call."""
        return [[tool["function"]["name"] for tool in options.get("tools", ())] for options in self.options]

    # -- what it says --

    def _reply(self, messages: list[BaseMessage], options: dict[str, Any]) -> AIMessage:
        asked_before = next(self._numbers)
        self._asked.append((list(messages), options))
        place = asked_before if self.by == "calls" else count_replies(messages, self.by == "turn")
        if place >= len(self.replies) and not self.repeat:
            raise ScriptExhaustedError(f"reply {place + 1} was asked for, the script has {len(self.replies)}")
        reply = self.replies[min(place, len(self.replies) - 1)]
        return self._as_message(reply, messages)

    def _as_message(self, reply: Any, messages: list[BaseMessage]) -> AIMessage:
        if callable(reply) and not isinstance(reply, BaseException):
            return self._as_message(reply(list(messages)), messages)
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, str):
            reply = say(reply)
        elif isinstance(reply, Call):
            reply = say("", reply)
        message: AIMessage = reply.model_copy(deep=True)
        place = count_replies(messages, since_last_human=False)
        for number, tool_call in enumerate(message.tool_calls):
            tool_call["id"] = tool_call["id"] or f"call_{place}_{number}"
        metadata = {
            "model_name": self.model_name,
            "stop_reason": "tool_use" if message.tool_calls else "end_turn",
        }
        message.response_metadata = metadata | message.response_metadata
        return message

    # -- LangChain's side --

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools as most providers do, in OpenAI's form."""
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self.think:
            time.sleep(self.think)
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages, kwargs))])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self.think:
            await anyio.sleep(self.think)
        return ChatResult(generations=[ChatGeneration(message=self._reply(messages, kwargs))])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        pieces = chunks(self._reply(messages, kwargs))
        for piece in pieces:
            if self.think:
                time.sleep(self.think / len(pieces))
            if run_manager is not None:
                run_manager.on_llm_new_token(piece.text, chunk=piece)
            yield piece

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        pieces = chunks(self._reply(messages, kwargs))
        for piece in pieces:
            if self.think:
                await anyio.sleep(self.think / len(pieces))
            if run_manager is not None:
                await run_manager.on_llm_new_token(piece.text, chunk=piece)
            yield piece


def chunks(message: AIMessage) -> list[ChatGenerationChunk]:
    """Cut a reply into words, tool calls and a last piece with the usage."""
    pieces: list[AIMessageChunk] = []
    if isinstance(message.content, str):
        words = message.content.split(" ")
        texts = [word if number == 0 else f" {word}" for number, word in enumerate(words)]
        pieces += [AIMessageChunk(content=text) for text in texts if text]
    else:
        pieces += [
            AIMessageChunk(content=[block | {"index": number}])
            for number, block in enumerate(message.content)
            if isinstance(block, dict)
        ]
    for number, tool_call in enumerate(message.tool_calls):
        pieces += _call_pieces(tool_call, number)
    pieces.append(
        AIMessageChunk(
            content="",
            usage_metadata=message.usage_metadata,
            response_metadata=message.response_metadata,
            chunk_position="last",
        )
    )
    return [ChatGenerationChunk(message=piece) for piece in pieces]


def _call_pieces(tool_call: ToolCall, number: int) -> list[AIMessageChunk]:
    arguments = json.dumps(tool_call["args"])
    middle = len(arguments) // 2
    opening = ToolCallChunk(name=tool_call["name"], args="", id=tool_call["id"], index=number, type="tool_call_chunk")
    parts = [opening] + [
        ToolCallChunk(name=None, args=part, id=None, index=number, type="tool_call_chunk")
        for part in (arguments[:middle], arguments[middle:])
    ]
    return [AIMessageChunk(content="", tool_call_chunks=[part]) for part in parts]


# -- looking at requests ---------------------------------------------------------------------------


def count_replies(messages: Sequence[BaseMessage], since_last_human: bool) -> int:
    """Count the AI messages of a request."""
    replies = 0
    for message in messages:
        if isinstance(message, AIMessage):
            replies += 1
        elif since_last_human and isinstance(message, HumanMessage):
            replies = 0
    return replies


def system_content(messages: Sequence[BaseMessage]) -> Content | None:
    """Give the content of the only system message, None if there is none."""
    contents = [message.content for message in messages if isinstance(message, SystemMessage)]
    if len(contents) > 1:
        raise AssertionError(f"{len(contents)} system messages in one request")
    return contents[0] if contents else None


def system_text(content: Content | None) -> str:
    """Give all text of a system message's content, its blocks joined by line breaks."""
    return "\n".join(_texts(content))


def steering_block(content: Content | None) -> str | None:
    """Give the text of the only steering block of a system message's content."""
    found = [text for text in _texts(content) if MARKER in text]
    if len(found) > 1 or (found and found[0].count(MARKER) > 1):
        raise AssertionError(f"more than one steering block: {found}")
    return found[0][found[0].index(MARKER) :] if found else None


def _texts(content: Content | None) -> list[str]:
    if content is None:
        return []
    if isinstance(content, str):
        return [content]
    return [block if isinstance(block, str) else block.get("text", "") for block in content]


# -- tools -----------------------------------------------------------------------------------------


def make_tool(name: str, function: Callable[..., Any], coroutine: Callable[..., Any] | None = None) -> StructuredTool:
    """Build a tool from a plain or an async function, or from one of each."""
    if coroutine is None and iscoroutinefunction(function):
        return StructuredTool.from_function(coroutine=function, name=name, description=f"The tool {name}.")
    return StructuredTool.from_function(func=function, coroutine=coroutine, name=name, description=f"The tool {name}.")


def _lookup(key: str) -> str:
    return f"record {key}: value=42"


async def _alookup(key: str) -> str:
    return _lookup(key)


def _fail(reason: str = "the disk is full") -> str:
    raise RuntimeError(reason)


async def _afail(reason: str = "the disk is full") -> str:
    return _fail(reason)


def _complain(reason: str = "no such record") -> str:
    raise ToolException(reason)


lookup = make_tool("lookup", _lookup, _alookup)
"""Answers every key."""

failing_tool = make_tool("failing_tool", _fail, _afail)
"""Raises, which ends the agent's run."""

complaining_tool = StructuredTool.from_function(
    func=_complain, name="complaining_tool", description="The tool complaining_tool.", handle_tool_error=True
)
"""Answers with an error message, and the agent's run goes on."""


class Passing(AgentMiddleware[Any, Any, Any]):
    """Another middleware, with a node of its own before each model call."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    @property
    def name(self) -> str:
        """Tells its node from those of its likes."""
        return self._name

    def before_model(self, state: Any, runtime: Any) -> None:
        """Do nothing."""
