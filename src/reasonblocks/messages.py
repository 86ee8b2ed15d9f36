"""From LangChain's messages to what a step was: its thought, its actions, what came back, what it cost."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from .api.wire import encode

_THOUGHT_BLOCKS = ("text", "thinking", "reasoning", "reasoning_content")
_REASONING_KEYS = ("thinking", "reasoning", "text")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call."""

    total: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0


@dataclass(frozen=True, slots=True)
class Observation:
    """What one tool call gave."""

    text: str
    is_error: bool = False


def thought_of(message: AIMessage) -> str:
    """Text and reasoning of a message; the compact rendering of its tool calls where it has neither."""
    parts = [*_reasoning_beside(message), *_content_texts(message.content)]
    text = "\n".join(part for part in parts if part and part.strip())
    return text or "; ".join(f"{call['name']}({_arguments(call['args'])})" for call in message.tool_calls)


def _reasoning_beside(message: AIMessage) -> list[str]:
    """Reasoning that some providers put beside the content."""
    if not message.additional_kwargs:
        return []
    beside = message.additional_kwargs.get("reasoning_content")
    block = message.additional_kwargs.get("reasoning")
    found = [beside] if isinstance(beside, str) else []
    return [*found, *_block_texts(block)] if isinstance(block, dict) else found


def _content_texts(content: str | list[Any]) -> Iterable[str]:
    if isinstance(content, str):
        yield content
        return
    for block in content:
        if isinstance(block, str):
            yield block
        elif isinstance(block, dict) and block.get("type") in _THOUGHT_BLOCKS:
            yield from _block_texts(block)


def _block_texts(block: dict[str, Any]) -> Iterable[str]:
    for key in _REASONING_KEYS:
        if isinstance(value := block.get(key), str):
            yield value
    if isinstance(nested := block.get("reasoning_content"), dict):
        yield from _block_texts(nested)
    for part in block.get("summary") or ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]


def _arguments(arguments: Any) -> str:
    return encode(arguments).decode("utf-8", "replace")


def action_of(calls: Sequence[ToolCall]) -> tuple[str | None, str | None]:
    """The names of the tools that are called, and their arguments as JSON (a list if there are several)."""
    if not calls:
        return None, None
    names = ", ".join(call["name"] for call in calls)
    return names, _arguments(calls[0]["args"] if len(calls) == 1 else [call["args"] for call in calls])


def usage_of(message: AIMessage) -> Usage:
    """Tokens as the provider reported them."""
    usage = message.usage_metadata
    if not usage:
        return Usage()
    details = usage.get("input_token_details") or {}
    return Usage(
        total=usage.get("total_tokens") or 0,
        input=usage.get("input_tokens") or 0,
        output=usage.get("output_tokens") or 0,
        cache_read=details.get("cache_read") or 0,
    )


def observation_of(message: ToolMessage) -> Observation:
    """What a tool answered."""
    return Observation(text_of(message), message.status == "error")


def text_of(message: BaseMessage) -> str:
    """The text of any message."""
    content = message.content
    if isinstance(content, str):
        return content
    return "\n".join(_content_texts(content)) or encode(content).decode("utf-8", "replace")


def observed_after(messages: Sequence[BaseMessage], reply: AIMessage) -> dict[str, Observation]:
    """What the messages behind a reply answered to its tool calls; others may stand between and behind them."""
    wanted = {call["id"] for call in reply.tool_calls}
    found: dict[str, Observation] = {}
    if not wanted:
        return found
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and message.tool_call_id in wanted:
            found.setdefault(message.tool_call_id, observation_of(message))
        elif message is reply or (isinstance(message, AIMessage) and message.id == reply.id):
            break
    return found


def newest_version(reply: AIMessage, messages: Sequence[BaseMessage]) -> AIMessage:
    """A reply as the history has it now: another middleware, or a person, may have edited it meanwhile."""
    if reply.id is not None:
        for message in reversed(messages):
            if message.id == reply.id and isinstance(message, AIMessage):
                return message
    return reply


def all_observed(messages: Sequence[BaseMessage]) -> dict[str, Observation]:
    """What every tool call of a history was answered."""
    return {message.tool_call_id: observation_of(message) for message in messages if isinstance(message, ToolMessage)}


def last_reply(messages: Sequence[BaseMessage]) -> AIMessage | None:
    """The newest message of the model."""
    for message in reversed(messages):
        if isinstance(message, AIMessage):
            return message
    return None


def last_request(messages: Sequence[BaseMessage]) -> str:
    """What a person asked for last; empty if nobody did."""
    for message in reversed(messages):
        if isinstance(message, HumanMessage):
            return text_of(message)
    return ""
