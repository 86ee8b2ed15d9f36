"""The demo itself: the same agent without and with steering, side by side."""

import asyncio
import re
from pathlib import Path

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from rich.console import Console
from rich.live import Live
from rich.terminal_theme import TerminalTheme

from ..errors import SettingsError
from ..runtime.contain import describe
from .model import ScriptedModel
from .scene import Scene
from .view import stage, verdict
from .world import QUESTION

THINK_SECONDS = 0.4
"""How long the scripted model seems to think where somebody watches."""
FRAME_SECONDS = 0.1
PICTURE = TerminalTheme(
    background=(12, 12, 12),
    foreground=(217, 217, 217),
    normal=[
        (26, 26, 26),
        (255, 85, 110),
        (152, 224, 36),
        (253, 151, 31),
        (157, 101, 255),
        (255, 100, 150),
        (88, 209, 235),
        (196, 197, 181),
    ],
    bright=[
        (148, 146, 130),  # what is less important still has to be read
        (255, 85, 110),
        (152, 224, 36),
        (224, 213, 97),
        (157, 101, 255),
        (255, 100, 150),
        (88, 209, 235),
        (246, 246, 239),
    ],
)
"""The colours of a saved picture."""
SCRIPTED = (
    "Its model follows a script: it searches with other words, again and again, unless its prompt tells it "
    "that it does. Nothing is sent anywhere, nothing is kept."
)
NEXT = """
On an agent of your own:

    rb = ReasonBlocks()    # the engine in this process: no key, no service
    agent = create_agent(model, tools, middleware=[rb.middleware(task="...")])

then `reasonblocks runs` lists what it did and `reasonblocks explain RUN` says why.
The same with a real model: reasonblocks demo --model anthropic:claude-sonnet-4-5
"""


def tell(console: Console, model: str | None = None) -> tuple[Scene, Scene]:
    """Run the agent twice at once, and show what happens."""
    chosen = _real(model) if model else ScriptedModel(think_seconds=THINK_SECONDS if console.is_terminal else 0.0)
    console.print(f"The agent is asked: [bold]{QUESTION}[/bold]")
    console.print(SCRIPTED if model is None else f"Its model is {model}; both runs begin alike.", style="bright_black")
    scenes = Scene("without steering", steer=False), Scene("with steering", steer=True)
    asyncio.run(_play(scenes, chosen, console))
    console.print(stage(scenes, console, live=False))
    console.print(verdict(scenes))
    console.print(NEXT, highlight=False, markup=False, soft_wrap=True)
    return scenes


def save_picture(console: Console, path: Path) -> None:
    """Write what was shown as an SVG that loads nothing from anywhere."""
    picture = console.export_svg(title="reasonblocks demo", theme=PICTURE)
    path.write_text(re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL))


async def _play(scenes: tuple[Scene, Scene], model: BaseChatModel, console: Console) -> None:
    if not console.is_terminal:
        await asyncio.gather(*(scene.play(model) for scene in scenes))
        return
    with Live(console=console, transient=True, auto_refresh=False) as live:
        playing = asyncio.gather(*(scene.play(model) for scene in scenes))
        while not playing.done():
            live.update(stage(scenes, console, live=True), refresh=True)
            await asyncio.wait((playing,), timeout=FRAME_SECONDS)
        await playing


def _real(name: str) -> BaseChatModel:
    try:
        model: BaseChatModel = init_chat_model(name)
    except Exception as error:
        raise SettingsError(
            f"the model {name!r} cannot be made: {describe(error)}; expected PROVIDER:MODEL, such as "
            "anthropic:claude-sonnet-4-5, with its package installed and its key in the environment"
        ) from error
    return model
