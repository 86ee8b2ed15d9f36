"""What the documentation takes for granted: a checkout, an environment, a package to install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from docs.blocks import ROOT
from docs.shell import Shell
from reasonblocks import __version__

Environments = Callable[[str], Path]
Installing = Callable[..., Shell]
NOT_IN_A_CLONE = shutil.ignore_patterns(
    ".git", ".venv*", "__pycache__", ".*_cache", ".hypothesis", "build", "dist", ".env"
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the repository as somebody has it who has just cloned it."""
    return Path(shutil.copytree(ROOT, tmp_path / "reasonblocks", ignore=NOT_IN_A_CLONE))


@pytest.fixture
def finished_environment(tmp_path: Path) -> Path:
    """The environment that the tests run in, with the stamp by which make knows that there is nothing to install."""
    place = tmp_path / "environment"
    place.mkdir()
    for entry in Path(sys.prefix).iterdir():
        if entry.name != ".installed":
            (place / entry.name).symlink_to(entry)
    (place / ".installed").touch()
    return place


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Has pip take the versions that were tested, and for `reasonblocks` a wheel of this checkout.

    PyPI has versions of another package under that name. This one gets a version that PyPI cannot have.
    """
    folder = tmp_path_factory.mktemp("wheel")
    source = shutil.copytree(ROOT, folder / "source", ignore=NOT_IN_A_CLONE)
    marked = f"{__version__}+checkout"
    (source / "src" / "reasonblocks" / "_version.py").write_text(f'__version__ = "{marked}"\n')
    wheel = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "-w", str(folder), str(source)]
    subprocess.run(wheel, check=True)
    constraints = folder / "constraints.txt"
    constraints.write_text(f"{(ROOT / 'constraints.txt').read_text()}\nreasonblocks=={marked}\n")
    links = f"{os.environ.get('PIP_FIND_LINKS', '')} {folder}".strip()
    return {"PIP_CONSTRAINT": str(constraints), "PIP_FIND_LINKS": links, "PIP_NO_COMPILE": "1"}


@pytest.fixture(scope="session")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Environments:
    """Gives the programs of an environment in which nothing is installed until a block does; one for each purpose."""
    made: dict[str, Path] = {}

    def programs(purpose: str) -> Path:
        if purpose not in made:
            place = tmp_path_factory.mktemp("environment")
            subprocess.run([sys.executable, "-m", "venv", place], check=True)
            made[purpose] = place / "bin"
        return made[purpose]

    return programs


@pytest.fixture
def installing(tmp_path: Path, environments: Environments, package: dict[str, str]) -> Installing:
    """Somebody with an environment for a purpose, in a folder, who knows some variables."""

    def shell(purpose: str, folder: Path | None = None, **variables: str) -> Shell:
        home = tmp_path / "home"
        home.mkdir()
        return Shell(home, folder, environments(purpose), **package, **variables)

    return shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """In the environment that the tests run in."""
    home = tmp_path / "home"
    home.mkdir()
    return Shell(home)
