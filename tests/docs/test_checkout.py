"""Blocks that are typed in a checkout: make and the benchmarks; and those that show what a benchmark prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.blocks import ROOT, block_with, blocks, executes
from docs.shell import Shell
from support.cluster import missing
from support.recorded import healthy, looping, write_runs

DEMO = block_with("make demo\n", "README.md")
DEVELOPMENT = block_with("make check", "README.md")
MONITORS = block_with("benchmarks/monitors/planted.py", "docs/monitors.md")
CALIBRATION = "src/reasonblocks/engine/monitors/calibration.json"
DEPLOYMENT = "docs/deployment.md"
WORKERS = block_with("SQLite, 1 worker", DEPLOYMENT)
SIZES = [block for block in blocks("", page=DEPLOYMENT) if block != WORKERS]
SMALL = "tests/test_fsm.py tests/docs/test_inventory.py tests/replay/test_replay_command.py"
"""Some tests of both kinds, quick and slow: all of them, inside of one of them, would never end."""


@pytest.fixture
def shell(tmp_path: Path, checkout: Path) -> Shell:
    """Somebody in a fresh checkout, whose package is the one that is found."""
    home = tmp_path / "home"
    home.mkdir()
    return Shell(home, checkout, PYTHONPATH=str(checkout / "src"))


@pytest.mark.slow
@executes(DEMO, together=True)
def test_the_demo_runs_in_a_fresh_checkout(tmp_path: Path, checkout: Path) -> None:
    """It makes the environment, installs what is needed, and shows an agent that is caught and steered."""
    said = Shell(tmp_path, checkout).type(DEMO.text)
    assert "Creating .venv" in said
    assert "told (semantic_loop fired)" in said
    assert (checkout / ".venv" / "bin" / "reasonblocks").exists()


@pytest.mark.slow
@executes(DEVELOPMENT, together=True)
def test_a_developer_can_type_what_is_offered(tmp_path: Path, checkout: Path, finished_environment: Path) -> None:
    """On some of the tests, in an environment that is there already; the pages come out as they are."""
    variables = {"VENV": str(finished_environment), "ARGS": SMALL, "JOBS": "2", "PYTHONPATH": str(checkout / "src")}
    said = Shell(tmp_path, checkout, **variables).type(DEVELOPMENT.text)
    assert "lint: clean" in said
    assert "Success: no issues found" in said
    assert len(re.findall(r"^\d+ passed", said, re.MULTILINE)) == 2
    for page in ("docs/settings.md", "docs/api.md"):
        assert (checkout / page).read_text() == (ROOT / page).read_text()


@pytest.mark.slow
@executes(MONITORS, together=True)
def test_the_monitors_are_measured(shell: Shell) -> None:
    """On two sets of runs that ended well and not so well; the calibration is written into the checkout alone."""
    folder = shell.folder / "FOLDER"
    folder.mkdir()
    for name in ("harbour", "library"):
        well = [healthy(f"{name}-{place}", 6 + place) for place in range(24)]
        ill = [looping(f"{name}-ill-{place}", 4 + place) for place in range(24)]
        write_runs(folder / f"{name}.jsonl.gz", [*well, *ill])
    before = (ROOT / CALIBRATION).read_text()
    said = shell.type(MONITORS.text)
    assert "One more step costs" in said
    assert said.count("harbour") >= 2
    assert (shell.folder / CALIBRATION).read_text() != before
    assert (ROOT / CALIBRATION).read_text() == before


def rows(text: str) -> set[str]:
    """What a table has for rows, without its figures and widths; of a sentence about a fleet, whose it is."""
    masked = (re.sub(r"\d[\d,.]*", "0", line) for line in text.splitlines())
    return {re.sub(r" agents: .*", " agents", " ".join(line.split())) for line in masked if line.strip()}


def shown_by(shell: Shell, command: str) -> set[str]:
    """The rows that a benchmark prints; the page names it."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    assert f"`{command}`" in (ROOT / DEPLOYMENT).read_text()
    return rows(shell.type(command))


@pytest.mark.slow
@executes(*SIZES, together=True)
def test_sizes_are_what_the_benchmark_prints(shell: Shell) -> None:
    """Every row of these blocks, with figures of another machine."""
    printed = shown_by(shell, "python benchmarks/sizing.py")
    assert [(str(block), row) for block in SIZES for row in rows(block.text) - printed] == []


@pytest.mark.slow
@executes(WORKERS, together=True)
def test_workers_are_compared_as_the_benchmark_prints_it(shell: Shell) -> None:
    """Every row of this block, with figures of another machine."""
    assert rows(WORKERS.text) - shown_by(shell, "python benchmarks/workers.py") == set()
