"""docs/settings.md: every setting that the code reads, as the code defines it."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import pytest

from docs.blocks import ROOT
from reasonblocks import ReasonBlocks
from reasonblocks.commands import known
from reasonblocks.server.settings import ServerSettings

PAGE = ROOT / "docs" / "settings.md"
SOURCES = (
    known.client_settings,
    known.run_settings,
    known.state_settings,
    known.spool_settings,
    known.server_settings,
    known.qdrant_settings,
    known.other_settings,
    known.limit_settings,
)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment that sets nothing."""
    for name in ("REASONBLOCKS_SPOOL_DIR", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.usefixtures("bare")
def test_the_page_is_what_the_code_says() -> None:
    """It was written by `make pages` after the last change of any setting."""
    page = runpy.run_path(str(ROOT / "tools" / "settings_page.py"))["page"]()
    assert PAGE.read_text() == page, "docs/settings.md is behind the code: run `make pages`"


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_every_setting_says_what_it_means(source: Any) -> None:
    """None is there without a sentence."""
    found = list(source())
    assert found
    assert [setting.name for setting in found if not setting.meaning.endswith(".")] == []


class Recorded(dict[str, str]):
    """An environment that keeps which variables were asked for."""

    def __init__(self, values: dict[str, str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The variables of ours that are read meanwhile."""
    recorded = Recorded(dict(os.environ))
    monkeypatch.setattr(os, "environ", recorded)
    return recorded.asked


def test_every_variable_that_is_read_is_on_the_page(asked: set[str]) -> None:
    """Those of a client with its engine, and those of a server; none is read that nobody is told about."""
    with ReasonBlocks(data_dir=":memory:") as rb:
        rb.middleware()
    ServerSettings.from_environment(data_dir=":memory:").engine()
    ours = {name for name in asked if name.startswith(known.PREFIX)}
    assert {"REASONBLOCKS_STEER", "REASONBLOCKS_JUDGE", "REASONBLOCKS_POOL_SIZE"} <= ours
    assert ours <= known.variables()
    page = PAGE.read_text()
    assert [name for name in sorted(known.variables()) if f"`{name}`" not in page] == []


def test_an_embedded_engine_reads_what_has_a_star(asked: set[str]) -> None:
    """The engine in process takes these from the environment, and nothing else that a server takes."""
    from reasonblocks.engine.location import resolve_data_dir
    from reasonblocks.engine.settings import EMBEDDED, EngineSettings

    EngineSettings.from_environment(resolve_data_dir())
    read = {name.removeprefix(known.PREFIX) for name in asked if name.startswith(known.PREFIX)}
    of_server = {setting.variable.removeprefix(known.PREFIX) for setting in known.server_settings()}
    assert read & of_server == EMBEDDED
