"""Keys and backups go as docs/operations.md and docs/server.md tell somebody to type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docs.blocks import Block, block_with, executes
from docs.shell import typed_here
from reasonblocks import ReasonBlocks

OPERATIONS = "docs/operations.md"
BACKUP = block_with("reasonblocks restore", OPERATIONS)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of somebody who has a data directory."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("REASONBLOCKS_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


@executes(block_with("keys revoke", OPERATIONS), block_with("keys revoke", "docs/server.md"))
def test_keys_are_made_listed_and_revoked(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that is revoked is the one that was made before."""
    typed_here("reasonblocks keys create --org acme --name first")
    (first,) = json.loads(typed_here("reasonblocks keys list --json"))
    monkeypatch.setenv("KEY_ID", first["key_id"])
    made, listed, _ = (typed_here(command) for command in block.commands())
    assert made.startswith("rb_live_")
    assert "acme" in listed
    left = json.loads(typed_here("reasonblocks keys list --json"))
    assert {key["key_id"]: bool(key["revoked_at"]) for key in left} == {
        key["key_id"]: key["key_id"] == first["key_id"] for key in left
    }
    assert len(left) == 2


@executes(BACKUP, together=True)
def test_a_backup_is_restored(home: Path) -> None:
    """Into another directory, while an engine uses the first."""
    with ReasonBlocks():
        for command in BACKUP.commands():
            typed_here(command)
    assert (home / "restored" / "reasonblocks.db").exists()
