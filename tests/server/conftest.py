"""A server in this process around a real engine in memory, and callers of two organisations."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx
import pytest

from server.house import ADMIN_KEY, House, opened


@pytest.fixture(scope="module")
async def house() -> AsyncIterator[House]:
    """One engine for all tests of a file."""
    async with opened() as house:
        yield house


@pytest.fixture
async def acme(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """A caller of the organisation `acme`."""
    async with house.client(house.acme_key) as client:
        yield client


@pytest.fixture
async def rival(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """A caller of another organisation."""
    async with house.client(house.rival_key) as client:
        yield client


@pytest.fixture
async def admin(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """A caller with a static key."""
    async with house.client(ADMIN_KEY) as client:
        yield client


@pytest.fixture
async def stranger(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """A caller without a key."""
    async with house.client(None) as client:
        yield client
