"""What all tests of the cluster need."""

from __future__ import annotations

import pytest

from reasonblocks.engine.index.cluster import client as client_module
from reasonblocks.engine.index.cluster import index as index_module
from reasonblocks.engine.index.cluster import leader as leader_module


@pytest.fixture(autouse=True)
def in_a_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing here is about how long is waited before something is tried again."""
    monkeypatch.setattr(index_module, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(index_module, "LONGEST_PAUSE", 0.1)
    monkeypatch.setattr(index_module, "PROBE_SECONDS", 1000.0)
    monkeypatch.setattr(index_module, "OPEN_PROBE_SECONDS", 0.05)
    monkeypatch.setattr(index_module, "STAND_BY_SECONDS", 0.1)
    monkeypatch.setattr(leader_module, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(client_module, "WRITE_SECONDS", 0.3)
