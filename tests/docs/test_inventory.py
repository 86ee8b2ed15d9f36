"""Every code block of README, docs and otel is executed by one test, and nobody's block is left to trust."""

from __future__ import annotations

from docs.blocks import every_block, pages
from docs.inventory import executors


def test_every_block_is_executed_by_exactly_one_test() -> None:
    """A block that nobody executes fails here, and so does one that two tests believe to be theirs."""
    executed = executors()
    wrong = {
        f"{block} ({block.language or 'no language'})": [test.name for test in executed.get(block, [])]
        for block in every_block()
        if len(executed.get(block, [])) != 1
    }
    assert wrong == {}, "each of these has to be executed by one test: see `executes` in tests/docs/blocks.py"


def test_no_block_hides() -> None:
    """Every fence begins its line with three backticks: one that does not would be found by nobody."""
    fences = {
        page: [line for line in page.read_text().splitlines() if line.lstrip(" >-*").startswith(("```", "~~~"))]
        for page in pages()
    }
    assert [line for lines in fences.values() for line in lines if not line.startswith("```")] == []
    assert sum(map(len, fences.values())) == 2 * len(every_block())
