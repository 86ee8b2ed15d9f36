"""The code blocks of the documentation."""

from __future__ import annotations

import re
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
        """The lines of a shell block, with continued ones joined and comments taken off."""
        joined = self.text.replace("\\\n", " ")
        lines = (re.sub(r"(^|\s)#.*", "", line).strip().removeprefix("$ ") for line in joined.splitlines())
        return [line for line in lines if line]


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
