"""One data directory that real agents have filled, and a real server on a copy of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from commands.story import command, tell

ADMIN_KEY = "an-admin-key-for-tests"


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The story; nobody changes it."""
    directory = tmp_path_factory.mktemp("told") / "data"
    tell(directory)
    return directory


def copied(told: Path, to: Path) -> Path:
    """The same directory in another place, without its index: that is made again where it is needed."""
    return Path(shutil.copytree(told, to, ignore=shutil.ignore_patterns("index")))


@pytest.fixture
def data_dir(told: Path, tmp_path: Path) -> Path:
    """A copy of the story, to be changed."""
    return copied(told, tmp_path / "data")


class Server(NamedTuple):
    """A server on a copy of the story, and the variables by which agents and commands find it."""

    url: str
    admin: dict[str, str]
    member: dict[str, str]
    """With a key of the default organisation."""


@pytest.fixture(scope="session")
def server(told: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The command `serve` in a process of its own."""
    directory = copied(told, tmp_path_factory.mktemp("served") / "data")
    key = command("keys", "create", "--data-dir", directory).stdout.strip()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("REASONBLOCKS_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "reasonblocks", "serve", "--port", "0", "--data-dir", str(directory)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | {"REASONBLOCKS_KEYS": ADMIN_KEY},
    )
    with process:
        try:
            assert process.stderr is not None
            url = next(json.loads(line)["url"] for line in process.stderr if '"listening"' in line)
            known = [{"REASONBLOCKS_BASE_URL": url, "REASONBLOCKS_API_KEY": one} for one in (ADMIN_KEY, key)]
            yield Server(url, *known)
        finally:
            process.kill()
