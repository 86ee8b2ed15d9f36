"""Fixtures of everything that is looked up: the vector index in its two forms."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from reasonblocks.engine.index.opening import MakeIndex
from support.qdrant import Rig, rigged


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """A Qdrant cluster that fails to order."""
    async with rigged() as rig:
        yield rig


@pytest.fixture(params=["edge", "cluster"])
async def make_index(request: pytest.FixtureRequest, rig: Rig) -> MakeIndex | None:
    """The index of this process, and one in a cluster: both have to say the same."""
    return rig.make() if request.param == "cluster" else None
