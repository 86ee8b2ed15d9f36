"""Fixtures for every test; `conftest.py` makes them available by importing them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cluster import Cluster, Place, missing
from support.standin import Standin


@pytest.fixture
def standin() -> Iterator[Standin]:
    """An old server, without capabilities."""
    with Standin() as server:
        yield server


@pytest.fixture
def capable_standin() -> Iterator[Standin]:
    """A server with every capability the client knows."""
    with Standin(capabilities=("events", "incremental")) as server:
        yield server


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """PostgreSQL itself, one for all processes of the session."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    cluster = Cluster.of_session(session_process(request.config))
    cluster.ensure()
    return cluster


@pytest.fixture(scope="session")
def database_name(cluster: Cluster) -> Iterator[str]:
    """A database with its tables, for the tests of this process."""
    name = f"tests_{os.getpid()}"
    cluster.create(name)
    yield name
    cluster.drop(name)


@pytest.fixture
def postgres_url(cluster: Cluster, database_name: str) -> str:
    """A database on a server, with its tables and nothing in them."""
    cluster.empty(database_name)
    return cluster.url(database_name)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where the database of a test is; it runs once for each kind there is."""
    return tmp_path if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


def session_process(config: pytest.Config) -> int:
    """The process that leads the session: the one whose workers we may be."""
    return int(getattr(config, "workerinput", {}).get("session_process", os.getpid()))
