"""One data directory that real agents have filled, and a real server on a copy of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from commands.story import command, tell
from server.process import running

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
    """In a process of its own, as people run it."""
    directory = copied(told, tmp_path_factory.mktemp("served") / "data")
    key = command("keys", "create", "--data-dir", directory).stdout.strip()
    with running(directory, KEYS=ADMIN_KEY) as process:
        url = process.url
        known = [{"REASONBLOCKS_BASE_URL": url, "REASONBLOCKS_API_KEY": one} for one in (ADMIN_KEY, key)]
        yield Server(url, *known)
