"""docs/operations.md: what it tells somebody to type works on a data directory, one command after the other."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from docs.blocks import blocks
from reasonblocks import ReasonBlocks
from reasonblocks.commands.root import reasonblocks

LATER = ("serve", "doctor")
"""What goes on until it is stopped, and what is about the machine: both are run in tests of their own."""
TYPED = [
    command
    for block in blocks("sh")
    if block.page == "docs/operations.md"
    for command in block.commands()
    if command.startswith("reasonblocks ") and command.split()[1] not in LATER
]


def test_the_commands_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are made, listed and revoked; a backup is restored into another directory; the index is made anew."""
    monkeypatch.setenv("REASONBLOCKS_DATA_DIR", str(tmp_path / "data"))
    ReasonBlocks().close()
    assert [command.split()[1] for command in TYPED] == [*["keys"] * 3, "backup", "restore", "backup", "index"]
    for command in TYPED:
        words = [
            word.replace("/backups", str(tmp_path)).replace("/srv", str(tmp_path)) for word in shlex.split(command)
        ]
        if "KEY_ID" in words:
            listed = CliRunner().invoke(reasonblocks, ["keys", "list", "--json"])
            words[words.index("KEY_ID")] = json.loads(listed.stdout)[0]["key_id"]
        result = CliRunner().invoke(reasonblocks, words[1:])
        assert result.exit_code == 0, f"{command}\n{result.output}"
    assert (tmp_path / "restored" / "reasonblocks.db").exists()
