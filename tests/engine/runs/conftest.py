"""A house for every test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from engine.runs.house import House, house_at


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """Runs on a real database; nothing is scored in the background."""
    async with house_at(tmp_path) as house:
        yield house
