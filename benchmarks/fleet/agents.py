"""Agents as people run them, but for the model: LangChain, our middleware, a client each; what they say is given."""

import asyncio
import json
import random
import re
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any
from zlib import crc32

from langchain.agents import create_agent
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import StructuredTool
from pydantic import PrivateAttr
from serving.material import Material

from reasonblocks import ReasonBlocks
from reasonblocks.recordings import read_runs

Steps = Sequence[dict[str, Any]]
"""Each with what `POST /monitors/evaluate` takes."""
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_WORD = re.compile(r"[A-Za-z]+")
_ANYTHING = {"type": "object", "properties": {}, "additionalProperties": True}


def made_up(seed: int, known: float) -> Iterator[Steps]:
    """Runs of made-up texts, for ever. A share has the words of the starter library, the others words of their own.

    So few texts of real agents have enough of those words in common that a lookup goes as far as the embedder.
    """
    material, chance = Material(seed), random.Random(seed)
    while True:
        steps = material.steps()
        yield steps if chance.random() < known else [step | {"thought": _foreign(step["thought"])} for step in steps]


def _foreign(text: str) -> str:
    """As long a text, in a language that the library does not have."""
    return _WORD.sub(lambda word: f"{crc32(word[0].encode()):x}z"[-len(word[0]) :], text)


def recorded(files: Sequence[Path], most: int) -> Iterator[Steps]:
    """The runs of some files, mixed, for ever; of each no more than so many steps."""
    runs = [run for file in files for run in read_runs(file) if len(run.steps) > 1]
    if not runs:
        raise SystemExit("there is no run with more than one step in these files")
    random.Random(1).shuffle(runs)
    for run in cycle(runs):
        yield [
            {
                "thought": step.thought or "",
                "action": step.action or "say",
                "action_input": step.action_input or "{}",
                "observation": step.observation or "",
                "observation_is_error": step.observation_is_error,
            }
            for step in run.steps[:most]
        ]


class Player(BaseChatModel):
    """Says one thing after another, each after a pause."""

    steps: Any
    pause: float
    _place: int = PrivateAttr(default=-1)

    @property
    def _llm_type(self) -> str:
        return "player"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        """It knows what it will call."""
        return self

    def seen(self) -> str:
        """What the tool that was called last answers."""
        return str(self.steps[self._place]["observation"])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        self._place += 1
        step = self.steps[self._place]
        calls = []
        if self._place + 1 < len(self.steps):
            calls = [{"name": tool_name(step), "args": _arguments(step), "id": f"call-{self._place}"}]
        usage = {"input_tokens": 3_000, "output_tokens": 200, "total_tokens": 3_200}
        said = AIMessage(step["thought"] or "Go on.", tool_calls=calls, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=said)])

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **_: Any,
    ) -> ChatResult:
        await asyncio.sleep(self.pause)
        return self._generate(messages)


def tool_name(step: dict[str, Any]) -> str:
    """A name that a tool may have."""
    return _NOT_IN_A_NAME.sub("_", step["action"])[:64] or "say"


def _arguments(step: dict[str, Any]) -> dict[str, Any]:
    try:
        given = json.loads(step["action_input"])
    except ValueError:
        given = step["action_input"]
    return given if isinstance(given, dict) else {"input": given}


async def play(steps: Steps, client: ReasonBlocks, pause: float) -> int:
    """One run, from its start to its end; how many steps it had."""
    model = Player(steps=steps, pause=pause)

    async def seen(**_: Any) -> str:
        return model.seen()

    tools = [
        StructuredTool(name=name, description="A tool.", args_schema=_ANYTHING, coroutine=seen)
        for name in sorted({tool_name(step) for step in steps})
    ]
    agent = create_agent(
        model, tools, system_prompt="You are an engineer.", middleware=[client.middleware(agent_name="bench")]
    )
    task = {"messages": [("human", "Find out why this fails, and mend it.")]}
    await agent.ainvoke(task, {"recursion_limit": 10 * len(steps) + 100})
    return len(steps)


async def play_all(runs: Iterator[Steps], clients: Sequence[ReasonBlocks], rounds: int, pause: float) -> int:
    """So many agents side by side, each with a client of its own, for some runs each; how many steps they took."""

    async def agent(place: int, client: ReasonBlocks) -> int:
        await asyncio.sleep(pause * place / len(clients))  # not all at the same moment
        return sum([await play(next(runs), client, pause) for _ in range(rounds)])

    taken = sum(await asyncio.gather(*(agent(*each) for each in enumerate(clients))))
    for client in clients:
        await client.aclose()
    return taken
