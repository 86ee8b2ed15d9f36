"""Fixtures around the stand-in; a `conftest.py` makes them available by importing them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

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
