"""A real database in a data directory, with its tables, closed at the end."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text

from reasonblocks.engine.store.database import Database
from reasonblocks.engine.store.migrate import prepare
from reasonblocks.engine.store.sqlite import FILE_NAME
from reasonblocks.engine.store.transact import Transactions
from support.cluster import Place, database_at


@dataclass
class Store:
    """A database and the way to write to it."""

    database: Database
    transactions: Transactions

    async def query(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """What the tables say, asked in plain SQL."""
        async with self.database.reading() as connection:
            return [tuple(row) for row in await connection.execute(text(sql), values)]

    async def execute(self, sql: str, **values: Any) -> None:
        """Change the tables behind everybody's back."""
        async with self.database.writing() as connection:
            await connection.execute(text(sql), values)

    async def changes(self) -> list[tuple[str, str]]:
        """The table of changes."""
        return [(kind, item) for kind, item in await self.query("SELECT kind, item_id FROM changes ORDER BY number")]


_made: dict[str, bytes] = {}
"""A database with its tables, made once: copying it is quicker than making them for every test."""


@asynccontextmanager
async def opened(place: Place, *, copied: bool = True) -> AsyncIterator[Store]:
    """A store on a data directory, on a database server or in memory."""
    if copied and isinstance(place, Path):
        await asyncio.to_thread(_copy, place)
    database = await asyncio.to_thread(database_at, place)
    transactions = database.transactions()
    try:
        await prepare(database)
        yield Store(database, transactions)
    finally:
        await transactions.aclose()
        await database.aclose()


def _copy(data_dir: Path) -> None:
    """Put a database with its tables into a directory that has none."""
    if not _made:
        with tempfile.TemporaryDirectory() as directory:
            asyncio.run(_make(Path(directory)))
            _made["file"] = (Path(directory) / FILE_NAME).read_bytes()
    file = data_dir / FILE_NAME
    if not file.exists():
        data_dir.mkdir(parents=True, exist_ok=True)
        file.write_bytes(_made["file"])


async def _make(data_dir: Path) -> None:
    async with opened(data_dir, copied=False):
        pass
