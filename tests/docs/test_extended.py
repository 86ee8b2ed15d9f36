"""Blocks that bring another embedding model or a monitor of one's own, installed by pip."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from docs.blocks import ROOT, block_with, executes
from docs.conftest import Installing
from docs.shell import SERVER, alone_on
from support.ollama import Ollama
from support.recorded import run, step, write_runs

MODEL = "nomic-embed-text"
INSTALL = 'pip install "reasonblocks[server]"'
OTHER_MODEL = block_with("index rebuild", "docs/operations.md")
FIT = block_with("benchmarks/calibration/fit.py", "docs/server.md")
CALIBRATION = "src/reasonblocks/engine/embedding/calibration.json"
ENTRY_POINT = block_with("entry-points", "docs/monitors.md")
MONITOR = block_with("class Apologies", "docs/monitors.md")
PROJECT = '[project]\nname = "my-package"\nversion = "1.0"\n\n'


@pytest.mark.slow
@executes(OTHER_MODEL, together=True)
def test_a_server_embeds_with_another_model(installing: Installing) -> None:
    """The index is made anew, the provider's package installed, and the server asks that model."""
    with Ollama() as ollama, alone_on(SERVER):
        shell = installing("server", OLLAMA_HOST=ollama.url)
        shell.type(INSTALL)
        shell.type("reasonblocks keys create")
        with shell.served(OTHER_MODEL.text) as server:
            assert "items are in the index" in server.printed
    assert set(ollama.asked) == {MODEL}


@pytest.mark.slow
@executes(FIT, together=True)
def test_the_gates_are_fitted_to_another_model(installing: Installing, checkout: Path) -> None:
    """The figures of the default are printed; those of the other one are written into the checkout."""
    with Ollama() as ollama:
        shell = installing("server", checkout, OLLAMA_HOST=ollama.url, PYTHONPATH=str(checkout / "src"))
        shell.type(f"{INSTALL} langchain-ollama")
        said = shell.type(FIT.text)
    assert "precision" in said
    assert set(ollama.asked) == {MODEL}
    assert MODEL in (checkout / CALIBRATION).read_text()
    assert MODEL not in (ROOT / CALIBRATION).read_text()


@pytest.mark.slow
@executes(ENTRY_POINT, together=True)
def test_a_monitor_is_found_by_its_entry_point(installing: Installing, tmp_path: Path) -> None:
    """A package with the module above it and these lines in its project file: once installed, the monitor fires."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "my_package.py").write_text(MONITOR.text)
    (tmp_path / "project" / "pyproject.toml").write_text(PROJECT + ENTRY_POINT.text)
    sorry = [step(f"Sorry, I was wrong about part {place}.") for place in range(3)]
    write_runs(tmp_path / "runs.jsonl", [run("a", sorry)])
    shell = installing("server", tmp_path, PYTHONPATH=str(tmp_path / "packages"))
    shell.type(f"{INSTALL} && pip install --target packages ./project")
    shell.type("reasonblocks replay runs.jsonl -o replayed.jsonl")
    replayed = json.loads((tmp_path / "replayed.jsonl").read_text())
    assert [entry["scores"]["apologies"] for entry in replayed["steps"]] == [0.0, 0.0, 0.7]
