"""The rows of a database, from one to another or to a file and back, counted and compared on the way.

Whatever is copied, two numbers are kept of each table: how many rows there were, and a sum over the digests of all of
them, which does not depend on their order. The same is asked of what was written before it is committed.
"""

import hashlib
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Table, func, select, text, true
from sqlalchemy.ext.asyncio import AsyncConnection

from ..errors import StoreError
from .database import Database
from .prepared import InsertNew
from .schema import metadata
from .words import POSTGRES, REPLACED, ZERO

AT_ONCE = 500
TABLES: tuple[Table, ...] = tuple(metadata.sorted_tables)
"""Those that others refer to come first."""
_NUMBERED = (("runs", "id"), ("traces", "id"), ("changes", "number"))
_SUM = 1 << 128

Row = tuple[Any, ...]
Wheres = Mapping[str, ColumnElement[bool]]
"""By table, which rows are meant."""
Progress = Callable[[int], object]
"""Is told how many rows more are done."""


@dataclass
class Tally:
    """What identifies the rows of a table, in whatever order."""

    rows: int = 0
    digest: int = 0

    def add(self, rows: Iterable[Row]) -> None:
        """Count these in."""
        for row in rows:
            self.rows += 1
            told = hashlib.blake2b(msgspec.json.encode(row), digest_size=16).digest()
            self.digest = (self.digest + int.from_bytes(told)) % _SUM


Tallies = dict[str, Tally]


async def count(connection: AsyncConnection, wheres: Wheres | None = None) -> dict[str, int]:
    """How many rows each table has, of those that are meant."""
    counts = {}
    for table in _meant(wheres):
        query = select(func.count()).select_from(table).where(_where(table, wheres))
        counts[table.name] = (await connection.execute(query)).scalar_one()
    return counts


async def read(
    connection: AsyncConnection, wheres: Wheres | None = None, tables: Sequence[Table] | None = None
) -> AsyncIterator[tuple[Table, list[Row]]]:
    """The rows of all tables, some at a time."""
    for table in tables if tables is not None else _meant(wheres):
        found = await connection.stream(select(table).where(_where(table, wheres)).order_by(*table.primary_key))
        async for portion in found.partitions(AT_ONCE):
            yield table, [tuple(row) for row in portion]


def _meant(wheres: Wheres | None) -> Sequence[Table]:
    return TABLES if wheres is None else [table for table in TABLES if table.name in wheres]


def _where(table: Table, wheres: Wheres | None) -> ColumnElement[bool]:
    return true() if wheres is None else wheres[table.name]


async def check_empty(connection: AsyncConnection, database: Database) -> None:
    """Refuse a database with anything in it: what is there and what comes would be mixed up."""
    filled = {name: rows for name, rows in (await count(connection)).items() if rows}
    if filled:
        told = ", ".join(f"{rows} in {name}" for name, rows in filled.items())
        raise StoreError(f"the database {database.name!r} is not empty ({told}); name one that holds nothing yet")


class Writer:
    """Writes rows into an empty database, within one transaction, and compares in the end."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._inserts: dict[str, InsertNew] = {}
        self._keeps_zeros = connection.dialect.name != POSTGRES
        self.tallies: Tallies = {table.name: Tally() for table in TABLES}
        self.mended = 0
        """Rows with a character that this database cannot keep, which has another in its place now."""

    async def write(self, table: Table, rows: list[Row]) -> None:
        """Some rows of a table."""
        kept = rows if self._keeps_zeros else [_without_zeros(row) for row in rows]
        self.mended += sum(1 for before, after in zip(rows, kept, strict=True) if before != after)
        self.tallies[table.name].add(kept)
        insert = self._inserts.get(table.name)
        if insert is None:
            insert = self._inserts[table.name] = InsertNew(table, table.columns.keys())
        written = await self._connection.run_sync(insert.run, kept)
        if written != len(kept):
            raise StoreError(f"{len(kept) - written} rows of {table.name} were there already; nothing was written")

    async def finish(self) -> Tallies:
        """Have new rows numbered after those that came, and check that all that was written is there."""
        await self._connection.run_sync(_go_on_numbering)
        there: Tallies = {table.name: Tally() for table in TABLES}
        async for table, rows in read(self._connection):
            there[table.name].add(rows)
        compare(self.tallies, there)
        return there


def compare(expected: Tallies, found: Tallies) -> None:
    """Raise which table is not what it should be."""
    for name, tally in expected.items():
        if tally != found.get(name, Tally()):
            raise StoreError(
                f"{name} has {found.get(name, Tally()).rows} rows after the copy and should have {tally.rows}, "
                "or not the same ones; nothing was kept of it"
            )


def _without_zeros(row: Row) -> Row:
    return tuple(value.replace(ZERO, REPLACED) if isinstance(value, str) else value for value in row)


def _go_on_numbering(connection: Connection) -> None:
    """SQLite does of itself; a sequence of PostgreSQL has not seen the numbers that were written."""
    if connection.dialect.name == POSTGRES:
        for table, column in _NUMBERED:
            newest = f"(SELECT coalesce(max({column}), 0) + 1 FROM {table})"
            connection.execute(text(f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), {newest}, false)"))


async def copy(source: Database, target: Database, progress: Progress) -> tuple[Tallies, int]:
    """Copy everything into an empty database, all or nothing; what is there then, and how many rows were mended."""
    async with source.reading() as reading, target.writing() as writing:
        await check_empty(writing, target)
        writer = Writer(writing)
        async for table, rows in read(reading):
            await writer.write(table, rows)
            progress(len(rows))
        return await writer.finish(), writer.mended
