"""The code blocks of the documentation, and who executes which of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One fenced block, and where it stands."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    def commands(self) -> list[str]:
        """The commands of a shell block, with continued lines joined and comments taken off."""
        if self.language == "console":
            return [line[2:] for line in self.text.splitlines() if line.startswith("$ ")]
        found, open_line = [], ""
        for line in self.text.replace("\\\n", " ").splitlines():
            bare = line if open_line else re.sub(r"(^|\s)#.*", "", line).strip()
            open_line = f"{open_line}\n{bare}" if open_line else bare
            if _is_whole(open_line):
                found.append(open_line)
                open_line = ""
        return [command for command in found if command]


def _is_whole(command: str) -> bool:
    """Whether no quotation is left open."""
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True


def pages() -> list[Path]:
    """Everything a reader may follow."""
    return sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "otel").glob("*.md")])


def every_block() -> list[Block]:
    """All of them, in the order of the pages."""
    found = []
    for page in pages():
        text = page.read_text()
        for match in _FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(str(page.relative_to(ROOT)), line, match[1], match[2]))
    return found


def blocks(*languages: str, page: str | None = None) -> list[Block]:
    """All blocks in one of these languages, or those of one page."""
    return [block for block in every_block() if block.language in languages and page in (None, block.page)]


def block_with(words: str, page: str) -> Block:
    """The one block of a page that has these words in it."""
    found = [block for block in every_block() if block.page == page and words in block.text]
    assert len(found) == 1, f"{page} has {len(found)} blocks with {words!r}; a test executes the one it should have"
    return found[0]


def executes(*chosen: Block, together: bool = False) -> Callable[[Any], Any]:
    """Says which blocks a test executes: each as its parameter `block`, or all of them in one go.

    `test_inventory.py` holds that every block is executed by exactly one test that says so.
    """

    def mark(test: Any) -> Any:
        test.executed = chosen
        return test if together else pytest.mark.parametrize("block", chosen, ids=str)(test)

    return mark


def executing(module: Any) -> list[tuple[Any, Sequence[Block]]]:
    """The tests of a module that execute blocks, with those."""
    return [(test, test.executed) for test in vars(module).values() if hasattr(test, "executed")]
