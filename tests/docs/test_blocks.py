"""The Python of README and docs runs as it stands there, and links lead somewhere."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from docs.blocks import ROOT, Block, blocks, executes, pages
from support.agents import ScriptedModel, lookup, script


@executes(*blocks("python"))
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
