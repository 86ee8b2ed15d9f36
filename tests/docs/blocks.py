"""The code blocks of the documentation."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

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
        found, open_line = [], ""
        for line in self.text.replace("\\\n", " ").splitlines():
            bare = line if open_line else re.sub(r"(^|\s)#.*", "", line).strip().removeprefix("$ ")
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


def blocks(*languages: str) -> list[Block]:
    """All blocks in one of these languages."""
    found = []
    for page in pages():
        text = page.read_text()
        for match in _FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append(Block(str(page.relative_to(ROOT)), line, match[1], match[2]))
    return [block for block in found if block.language in languages]
