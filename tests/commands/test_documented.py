"""docs/commands.md: what its examples show is what the commands print; docs/monitors.md: its loop can be gone round."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from commands.story import command
from docs.blocks import blocks

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = BLOCK.findall(PAGE.read_text())
(STACK,) = re.findall(r"```python\n([^`]*\nstack = [^`]*)```", PAGE.read_text())
"""The module that `doctor` is shown."""
CHANCE = (
    (re.compile(r"\d\d-\d\d \d\d:\d\d"), "11-17 23:03"),
    (re.compile(r"\b\d+ ms"), "1 ms"),
    (re.compile(r"\b\d+\.\d s\b"), "0.0 s"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
)


def steady(text: str, data_dir: Path) -> str:
    """A text without what differs from time to time and from place to place."""
    text = text.replace(str(data_dir), "~/.local/share/reasonblocks")
    for pattern, instead in CHANCE:
        text = pattern.sub(instead, text)
    return text


def pattern_of(expected: str) -> re.Pattern[str]:
    """What an example allows: `...` is anything in a line, and alone on its line any lines."""
    lines = [
        r"(?:.*\n)*?" if line == "..." else re.escape(line).replace(re.escape("..."), ".*") + "\n"
        for line in expected.splitlines()
    ]
    return re.compile("".join(lines))


@pytest.mark.parametrize(
    "example", EXAMPLES, ids=lambda example: example.splitlines()[0].removeprefix("$ reasonblocks ")
)
def test_the_documented_examples_are_what_is_printed(
    example: str, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command of an example, one after the other on the same directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REASONBLOCKS_DATA_DIR", str(data_dir))
    (tmp_path / "app.py").write_text(STACK)
    for part in re.split(r"^\$ ", example, flags=re.MULTILINE)[1:]:
        line, _, expected = part.partition("\n")
        _, *arguments = shlex.split(line)
        result = command(*arguments)
        assert result.exit_code == 0, result.output
        shown = steady(result.output, data_dir)
        assert pattern_of(expected).fullmatch(shown), f"$ {line}\n{shown}"


def test_every_command_is_in_the_table() -> None:
    """A new command has to be documented."""
    from reasonblocks.commands.root import COMMANDS

    table = PAGE.read_text().split("## What they have in common")[0]
    assert [name for name in COMMANDS if f"`{name}`" not in table] == []


def test_the_loop_of_tuning_can_be_gone_round(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored runs are exported, replayed as monitors are set up and otherwise, and each replay has its report."""
    (loop,) = [block for block in blocks("sh") if block.page == "docs/monitors.md" and "runs export" in block.text]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REASONBLOCKS_DATA_DIR", str(data_dir))
    for line in loop.commands():
        _, *arguments = shlex.split(line)
        result = command(*arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}"
    assert {page.name for page in tmp_path.glob("*.html")} == {"before.html", "after.html"}
