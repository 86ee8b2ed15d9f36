"""docs/commands.md: what its examples show is what the commands print; docs/monitors.md: its loop can be gone round."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent

from commands.story import QUESTION, command
from docs.blocks import ROOT, Block, block_with, blocks, executes
from docs.shell import Shell, typed_here
from support.agents import ScriptedModel, lookup, script

PAGE = "docs/commands.md"
STACK = block_with("\nstack = ", PAGE).text
"""The module that `doctor` is shown."""
SINK = block_with("SQLiteMonitorSink(", PAGE)
TRACE = block_with("reasonblocks trace runs.db", PAGE)
COMPLETION = block_with("_REASONBLOCKS_COMPLETE", PAGE)
LOOP = block_with("runs export", "docs/monitors.md")
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


@executes(*blocks("console"))
def test_the_documented_examples_are_what_is_printed(
    block: Block, data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command of an example, one after the other on the same directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REASONBLOCKS_DATA_DIR", str(data_dir))
    (tmp_path / "app.py").write_text(STACK)
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        line, _, expected = part.partition("\n")
        _, *arguments = shlex.split(line)
        result = command(*arguments)
        assert result.exit_code == 0, result.output
        shown = steady(result.output, data_dir)
        assert pattern_of(expected).fullmatch(shown), f"$ {line}\n{shown}"


def test_every_command_is_in_the_table() -> None:
    """A new command has to be documented."""
    from reasonblocks.commands.root import COMMANDS

    table = (ROOT / PAGE).read_text().split("## What they have in common")[0]
    assert [name for name in COMMANDS if f"`{name}`" not in table] == []


@executes(LOOP, together=True)
def test_the_loop_of_tuning_can_be_gone_round(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stored runs are exported, replayed as monitors are set up and otherwise, and each replay has its report."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("REASONBLOCKS_DATA_DIR", str(data_dir))
    for line in LOOP.commands():
        typed_here(line)
    assert {page.name for page in tmp_path.glob("*.html")} == {"before.html", "after.html"}


@executes(TRACE, together=True)
def test_a_file_of_ones_own_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the block before it has set up writes the file; its runs are listed, one is shown by its beginning."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(SINK.text, str(SINK), "exec"), names)
    with names["rb"] as rb:
        agent = create_agent(ScriptedModel(script(1)), [lookup], middleware=[rb.middleware(run_id="989a0b1c2d")])
        agent.invoke(QUESTION)
    listed, shown = (typed_here(line) for line in TRACE.commands())
    assert "989a0b1c2d" in listed
    assert "step 0" in shown


@executes(COMPLETION, together=True)
def test_the_shell_learns_to_complete(tmp_path: Path) -> None:
    """In a bash that has read the line, our commands are completed by a function of ours."""
    said = Shell(tmp_path).type(f"{COMPLETION.text}\ncomplete -p reasonblocks")
    assert said.split() == "complete -o nosort -F _reasonblocks_completion reasonblocks".split()
