"""A database, or what one organisation has in it, as a file: lines of JSON, compressed, the same for every database.

The first line says what it is, the last one how much there has to be: a file that was cut off is noticed.
"""

import asyncio
import base64
import contextlib
import gzip
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import LargeBinary, Table

from ..errors import StoreError
from .copying import TABLES, Progress, Row, Tallies, Tally, Wheres, Writer, check_empty, compare, count, read
from .database import Database
from .migrate import OURS

FORMAT = 1


class Header(msgspec.Struct):
    """The first line."""

    reasonblocks: int
    """The format."""
    schema: str
    """The version of the tables."""
    kind: str
    """`backup` or `export`."""
    counts: dict[str, int]
    """How many rows there are to come."""


class Portion(msgspec.Struct):
    """Some rows of a table."""

    table: str
    columns: list[str]
    rows: list[list[Any]]


class End(msgspec.Struct):
    """The last line: rows and digests."""

    tallies: dict[str, tuple[int, str]]


_portion = msgspec.json.Decoder(Portion)


@contextlib.contextmanager
def written(path: Path) -> Iterator[gzip.GzipFile]:
    """A file that is there once it is whole, for its owner only."""
    partial = path.with_name(f"{path.name}.partial")
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as packed:
            yield packed
        partial.replace(path)
    except OSError as error:
        raise StoreError(
            f"the file {str(path)!r} cannot be written: {error.strerror or error}; name another"
        ) from error
    finally:
        partial.unlink(missing_ok=True)


async def save(
    database: Database,
    file: gzip.GzipFile,
    progress: Progress,
    *,
    kind: str = "backup",
    wheres: Wheres | None = None,
    without: frozenset[str] = frozenset(),
) -> Tallies:
    """Write all rows, or those that are meant, as of one moment; `without` names columns that stay behind."""
    tallies: Tallies = {}
    async with database.reading() as connection:
        counts = await count(connection, wheres)
        await _put(file, Header(FORMAT, OURS.head, kind, {f"{name}": rows for name, rows in counts.items()}))
        async for table, rows in read(connection, wheres):
            await _put(file, _portion_of(table, rows, without))
            tallies.setdefault(table.name, Tally()).add(rows)
            progress(len(rows))
    await _put(file, End({f"{name}": (tally.rows, f"{tally.digest:032x}") for name, tally in tallies.items()}))
    return tallies


def _portion_of(table: Table, rows: list[Row], without: frozenset[str]) -> Portion:
    kept = [(place, name) for place, name in enumerate(table.columns.keys()) if f"{table.name}.{name}" not in without]
    # SQLAlchemy's names are texts with something more to them, which the encoder does not know.
    return Portion(
        f"{table.name}", [f"{name}" for _, name in kept], [[row[place] for place, _ in kept] for row in rows]
    )


async def _put(file: gzip.GzipFile, line: msgspec.Struct) -> None:
    await asyncio.to_thread(file.write, msgspec.json.encode(line) + b"\n")


class Archive:
    """A file that is read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = gzip.open(path, "rb")  # noqa: SIM115  closed by `close`
            self.header = msgspec.json.decode(self._file.readline(), type=Header)
        except (OSError, EOFError, msgspec.DecodeError) as error:
            raise StoreError(f"{str(path)!r} is no backup of reasonblocks: {error}; name a file that is") from error
        self._check()
        self.tallies: Tallies = {table.name: Tally() for table in TABLES}

    def _check(self) -> None:
        header = self.header
        if header.kind != "backup":
            raise StoreError(f"{str(self._path)!r} is an {header.kind}, which holds no keys; restore takes a backup")
        if (header.reasonblocks, header.schema) != (FORMAT, OURS.head):
            raise StoreError(
                f"{str(self._path)!r} is of version {header.schema!r} and this reasonblocks has {OURS.head!r}; "
                "restore it with the version that made it, and let the newer one open the database then"
            )

    def portions(self) -> Iterator[tuple[Table, list[Row]]]:
        """The rows, some at a time; `StoreError` if the file is not whole."""
        tables = {table.name: table for table in TABLES}
        try:
            for line in self._file:
                if line.startswith(b'{"tallies"'):
                    self._finish(msgspec.json.decode(line, type=End))
                    return
                portion = _portion.decode(line)
                table = tables[portion.table]
                yield table, [_row(table, values) for values in portion.rows]
        except (OSError, EOFError, KeyError, msgspec.DecodeError) as error:
            raise StoreError(f"{str(self._path)!r} is damaged: {error!r:.200}; nothing was restored") from error
        raise StoreError(f"{str(self._path)!r} was cut off; nothing was restored")

    def _finish(self, end: End) -> None:
        self.tallies.update((name, Tally(rows, int(digest, 16))) for name, (rows, digest) in end.tallies.items())

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _row(table: Table, values: list[Any]) -> Row:
    columns = list(table.columns)
    return tuple(
        base64.b64decode(value) if isinstance(column.type, LargeBinary) else value
        for column, value in zip(columns, values, strict=True)
    )


async def restore(archive: Archive, database: Database, progress: Progress) -> tuple[Tallies, int]:
    """Write what a file holds into an empty database, all or nothing; what is there then, and what was mended."""
    async with database.writing() as connection:
        await check_empty(connection, database)
        writer = Writer(connection)
        async for table, rows in _each(archive):
            await writer.write(table, rows)
            progress(len(rows))
        there = await writer.finish()
        if not writer.mended:
            compare(archive.tallies, there)
        return there, writer.mended


async def _each(archive: Archive) -> AsyncIterator[tuple[Table, list[Row]]]:
    portions = archive.portions()
    while (portion := await asyncio.to_thread(next, portions, None)) is not None:
        yield portion
