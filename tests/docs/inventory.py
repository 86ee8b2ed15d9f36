"""Which test executes which block: `PYTHONPATH=tests python -m docs.inventory` prints the list and its sums."""

from __future__ import annotations

import importlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from docs.blocks import Block, every_block, executing

TESTS = Path(__file__).parents[1]
SHELL = ("sh", "console")


@dataclass(frozen=True)
class Executor:
    """A test that executes a block, and whether `make test` runs it or `make test-slow`."""

    name: str
    slow: bool


def executors() -> dict[Block, list[Executor]]:
    """Everybody who says that a block is theirs, by block."""
    found = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        if "@executes(" not in path.read_text():
            continue
        module = importlib.import_module(".".join(path.relative_to(TESTS).with_suffix("").parts))
        for test, chosen in executing(module):
            marks = {mark.name for mark in getattr(test, "pytestmark", ())}
            for block in chosen:
                found[block].append(Executor(f"{path.relative_to(TESTS)}::{test.__name__}", "slow" in marks))
    return dict(found)


def _when(block: Block, executed: dict[Block, list[Executor]]) -> str:
    own = executed.get(block, [])
    return "nobody" if not own else "slow" if own[0].slow else "default"


def main() -> None:
    """Print who executes what, block by block, then how many there are."""
    executed = executors()
    counts: dict[str, Counter[str]] = {"blocks": Counter(), "commands": Counter()}
    for block in every_block():
        when, commands = _when(block, executed), len(block.commands()) if block.language in SHELL else 0
        counts["blocks"][when] += 1
        counts["commands"][when] += commands
        names = ", ".join(test.name for test in executed.get(block, []))
        print(f"{block!s:28}{block.language or '-':9}{commands or '':>3}  {when:8}{names}")
    print()
    for name, count in counts.items():
        print(f"{name:9}{sum(count.values()):4}: " + ", ".join(f"{count[when]} {when}" for when in WHEN))


WHEN = ("default", "slow", "nobody")

if __name__ == "__main__":
    main()
