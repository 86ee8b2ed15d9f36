"""Every code block in README and docs does what it says, or at least can be typed as it stands there."""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import anyio.to_thread
import click
import pytest

from docs.blocks import ROOT, Block, blocks, pages
from reasonblocks.commands.root import reasonblocks
from support.agents import ScriptedModel, lookup, script

LANGUAGES = {"", "python", "sh", "toml", "json", "yaml", "sql", "console"}
"""Those with what a command prints (`console`) are compared with it in `tests/commands`."""


def test_every_block_is_in_a_language_that_is_checked() -> None:
    """A block in another language would be checked by nobody."""
    known = blocks(*LANGUAGES)
    fences = sum(len(re.findall(r"^```", page.read_text(), re.MULTILINE)) for page in pages())
    assert fences == 2 * len(known)


@pytest.mark.parametrize("block", blocks("python"), ids=str)
async def test_python_runs(block: Block, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Python block runs as it stands: `tools` are there, and whatever model it names answers by a script."""
    monkeypatch.chdir(tmp_path)
    for place in ("langchain.agents.factory.init_chat_model", "reasonblocks.client.init_chat_model"):
        monkeypatch.setattr(place, lambda name, **_: ScriptedModel(script(2), model_name=name.partition(":")[2]))
    names: dict[str, Any] = {"tools": [lookup], "__name__": "block"}
    code = compile(block.text, str(block), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    # A block that makes an engine does so before any loop runs, as a module does: not on the loop of this test.
    result = await _on_a_thread(code, names)
    assert result is None


async def _on_a_thread(code: Any, names: dict[str, Any]) -> object:
    def run() -> object:
        if not code.co_flags & inspect.CO_COROUTINE:
            exec(code, names)
            return None

        async def main() -> object:
            return await eval(code, names)

        return asyncio.run(main())

    try:
        return await anyio.to_thread.run_sync(run)
    finally:
        for value in list(names.values()):
            if type(value).__name__ == "ReasonBlocks":
                await anyio.to_thread.run_sync(value.close)


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_toml_parses(block: Block) -> None:
    """A TOML block is TOML."""
    assert tomllib.loads(block.text)


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_json_parses(block: Block) -> None:
    """A JSON block is JSON."""
    assert json.loads(block.text) is not None


@pytest.mark.parametrize(
    ("block", "command"),
    [(block, command) for block in blocks("sh") for command in block.commands()],
    ids=lambda value: str(value).replace(" ", "_")[:60],
)
def test_commands_can_be_typed(block: Block, command: str) -> None:
    """Each command exists with its options: ours are parsed by themselves, targets and files are there."""
    words = [word for word in shlex.split(command) if not re.fullmatch(r"[A-Z_]+=.*", word)]
    for part in _split(words):
        problem = _problem(part)
        assert problem is None, f"{block}: {command}: {problem}"


def _split(words: list[str]) -> list[list[str]]:
    """A line with `&&` is several commands."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word in ("&&", "|", ";"):
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part]


def _problem(words: list[str]) -> str | None:
    program, *arguments = words
    check = CHECKS.get(Path(program).name)
    return f"nothing here knows what {program!r} is" if check is None else check(arguments)


def _ours(arguments: list[str]) -> str | None:
    command: click.Command = reasonblocks
    context = click.Context(command, **command.context_settings)
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        found = command.get_command(context, arguments[0])
        if found is None:
            return f"there is no command {arguments[0]!r}"
        command, arguments = found, arguments[1:]
    if isinstance(command, click.Group) or "--help" in arguments:
        return None
    try:
        command.make_context("reasonblocks", list(arguments), parent=context)
    except click.ClickException as error:
        return error.format_message()
    return None


def _make(arguments: list[str]) -> str | None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    missing = [word for word in arguments if not word.startswith("-") and "=" not in word and word not in targets]
    return f"there is no target {missing[0]}" if missing else None


def _pip(arguments: list[str]) -> str | None:
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    named = {
        extra
        for word in arguments
        for found in re.findall(r"reasonblocks\[(.*?)\]", word)
        for extra in found.split(",")
    }
    folders = [word for word in arguments if word.startswith("./") and not (ROOT / word).is_dir()]
    return f"no extra {named - extras}" if named - extras else f"no folder {folders}" if folders else None


def _python(arguments: list[str]) -> str | None:
    if arguments[:1] == ["-m"]:
        return None if arguments[1] in ("pytest", "reasonblocks", "venv", "pip") else f"no module {arguments[1]}"
    path = ROOT / arguments[0]
    if not path.is_file():
        return f"there is no file {arguments[0]}"
    options = [word for word in arguments[1:] if word.startswith("--")]
    known = path.read_text() + "".join(other.read_text() for other in path.parent.glob("*.py"))
    missing = [option for option in options if option not in known]
    return f"{arguments[0]} has no option {missing[0]}" if missing else None


def _anything(arguments: list[str]) -> str | None:
    return None


CHECKS = {
    "reasonblocks": _ours,
    "make": _make,
    "pip": _pip,
    "python": _python,
    "python3": _python,
    # programs of others, which are not here: what is typed is theirs to check
    **dict.fromkeys(
        ("git", "cd", "cp", "curl", "docker", "kubectl", "export", "eval", "open", "psql", "sqlite3", "source"),
        _anything,
    ),
}


def test_links_lead_somewhere() -> None:
    """A relative link names a file that is there."""
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages()
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text())
        if "://" not in target and not (page.parent / target).exists()
    ]
    assert broken == []


def _anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, as GitHub makes it of them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def test_links_into_a_page_lead_to_a_heading() -> None:
    """Of a link with a `#`, the heading is there."""
    broken = [
        f"{page.relative_to(ROOT)}: {file}#{anchor}"
        for page in pages()
        for file, anchor in re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", page.read_text())
        if "://" not in file and (page.parent / file).exists()
        if anchor not in _anchors(page if not file else page.parent / file)
    ]
    assert broken == []
