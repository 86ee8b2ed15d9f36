"""A house for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from engine.runs.house import House, house_at
from support.cluster import Place


@pytest.fixture
async def house(place: Place) -> AsyncIterator[House]:
    """Runs on a real database; nothing is scored in the background."""
    async with house_at(place) as house:
        yield house
