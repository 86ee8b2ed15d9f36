"""What the examples share: a model from the command line, or one that follows a script, so that they run offline.

A real model is chosen with `--model anthropic:claude-sonnet-4-5`; it needs its package and its key.
"""

import argparse
from collections.abc import Sequence
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from reasonblocks.demo.model import ScriptedModel as SearchingModel
from reasonblocks.demo.world import QUESTION, TOOLS
from reasonblocks.types import StepLogEntry

__all__ = ["QUESTION", "TOOLS", "Script", "SearchingModel", "chosen_model", "parser", "say", "show"]


class Script(BaseChatModel):
    """A chat model that gives one reply after another, whatever it is asked."""

    replies: list[AIMessage]
    model_name: str = "scripted"

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
        given = sum(isinstance(message, AIMessage) for message in messages)
        return ChatResult(generations=[ChatGeneration(message=self.replies[min(given, len(self.replies) - 1)])])


def say(thought: str, tool: str = "", **arguments: str) -> AIMessage:
    """A reply of a script: a thought, and perhaps a tool call."""
    calls = [{"name": tool, "args": arguments, "id": f"call-{abs(hash((thought, tool)))}"}] if tool else []
    usage = {"input_tokens": 400, "output_tokens": 40, "total_tokens": 440}
    return AIMessage(content=thought, tool_calls=calls, usage_metadata=usage)


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that every example has."""
    options = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    options.add_argument("--model", help="a real model, such as anthropic:claude-sonnet-4-5, instead of the script")
    return options


def chosen_model(name: str | None, otherwise: BaseChatModel | None = None) -> BaseChatModel:
    """The model that was named, or one that searches with other words again and again until it is told so."""
    return init_chat_model(name) if name else otherwise or SearchingModel()


def show(log: Sequence[StepLogEntry]) -> None:
    """What happened around each model call."""
    for step in log:
        fired = ", ".join(f"{name} {step.scores[name]:.2f}" for name in step.monitors_fired)
        said = ", ".join(step.injection_sources)
        print(f"step {step.step:2}  {step.fsm_state:6}  fired: {fired or '-':22}  injected: {said or '-'}")
