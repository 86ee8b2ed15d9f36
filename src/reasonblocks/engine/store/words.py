"""The few words of SQL that databases do not share."""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Protocol, TypeAlias

from sqlalchemy import BigInteger, Boolean, Connection, Float, Integer, LargeBinary, Table, text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from .news import CHANGES

POSTGRES = "postgresql"
ZERO, REPLACED = "\0", "\N{REPLACEMENT CHARACTER}"
"""The one character that PostgreSQL cannot keep, and what it keeps instead."""
ALONE = 7_245_101
"""The advisory lock of those who have to be the only writer."""
_AT_ONCE = (32, 16, 8, 4, 2, 1)
"""Rows in one statement of SQLite: each size is a statement of its own, which its driver keeps prepared."""
_MOST_PARAMETERS = 999
"""In one statement, of any SQLite."""


class each(FunctionElement[Any]):
    """The members of a JSON list as rows with one column, `value`: any number of them in one parameter."""

    name = "each"
    inherit_cache = True


@compiles(each)
def _each(element: each, compiler: SQLCompiler, **keywords: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **keywords)})"


@compiles(each, POSTGRES)
def _each_in_postgres(element: each, compiler: SQLCompiler, **keywords: Any) -> str:
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **keywords)} AS JSON))"


def insert_into(connection: Connection, table: Table) -> Any:
    """An INSERT that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    if connection.dialect.name == POSTGRES:
        from sqlalchemy.dialects import postgresql

        return postgresql.insert(table)
    from sqlalchemy.dialects import sqlite

    return sqlite.insert(table)


def be_alone(connection: Connection) -> None:
    """Wait until no other transaction is alone, and be it until the end of this one. SQLite has no other writers."""
    if connection.dialect.name == POSTGRES:
        connection.execute(text(f"SELECT pg_advisory_xact_lock({ALONE})"))


def announce_changes(connection: Connection) -> None:
    """Wake those who follow the changes, once this transaction is committed. Where nobody listens they look."""
    if connection.dialect.name == POSTGRES:
        connection.execute(text(f"SELECT pg_notify('{CHANGES}', current_setting('application_name'))"))


Many: TypeAlias = Callable[[Connection, list[tuple[Any, ...]]], int]
"""Does something with any number of rows, each a tuple in the order of the names; how many it was done to."""


class Rows(Protocol):
    """How many rows go to a database at once."""

    def insert(self, table: Table, names: Sequence[str]) -> Many:
        """An INSERT that leaves alone what is there already."""

    def update(self, table: Table, names: Sequence[str], key: str) -> Many:
        """An UPDATE of the row that has this key, which is the last value of its tuple."""


class _SqliteRows:
    """A few in one statement. The driver lets go of the interpreter for each statement that it runs, and beside a busy
    agent it takes milliseconds to get it back."""

    def insert(self, table: Table, names: Sequence[str]) -> Many:
        head = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES "
        marks = f"({', '.join('?' * len(names))})"
        sizes = [size for size in _AT_ONCE if size * len(names) <= _MOST_PARAMETERS]
        sql = {size: f"{head}{', '.join([marks] * size)} ON CONFLICT DO NOTHING" for size in sizes}

        def run(connection: Connection, rows: list[tuple[Any, ...]]) -> int:
            new = done = 0
            for size, statement in sql.items():
                while len(rows) - done >= size:
                    values = tuple(chain.from_iterable(rows[done : done + size]))
                    new += connection.exec_driver_sql(statement, values).rowcount
                    done += size
            return new

        return run

    def update(self, table: Table, names: Sequence[str], key: str) -> Many:
        sql = f"UPDATE {table.name} SET {', '.join(f'{name} = ?' for name in names)} WHERE {key} = ?"
        return lambda connection, rows: connection.exec_driver_sql(sql, rows).rowcount


class _PostgresRows:
    """As columns, in one statement: a trip for each row or a parameter for each value would take many times as long."""

    def insert(self, table: Table, names: Sequence[str]) -> Many:
        return self._many(
            f"INSERT INTO {table.name} ({', '.join(names)}) "
            f"SELECT * FROM {_columns(table, names)} ON CONFLICT DO NOTHING"
        )

    def update(self, table: Table, names: Sequence[str], key: str) -> Many:
        given = ", ".join(f"{name} = given.{name}" for name in names)
        columns = (*names, key)
        return self._many(
            f"UPDATE {table.name} SET {given} FROM {_columns(table, columns)} AS given ({', '.join(columns)}) "
            f"WHERE {table.name}.{key} = given.{key}"
        )

    def _many(self, sql: str) -> Many:
        def run(connection: Connection, rows: list[tuple[Any, ...]]) -> int:
            return connection.exec_driver_sql(sql, tuple(map(list, zip(*rows, strict=True)))).rowcount

        return run


def _columns(table: Table, names: Sequence[str]) -> str:
    arrays = (f"${place}::{_kind(table.c[name].type)}[]" for place, name in enumerate(names, start=1))
    return f"unnest({', '.join(arrays)})"


def _kind(type_: Any) -> str:
    """What the values of a column are. A text has no length here: a cast would cut it off, and it is to be refused."""
    for kinds, name in (
        ((Integer, BigInteger), "bigint"),
        ((Boolean,), "boolean"),
        ((Float,), "float8"),
        ((LargeBinary,), "bytea"),
    ):
        if isinstance(type_, kinds):
            return name
    return "text"


ROWS: dict[str, Rows] = {"sqlite": _SqliteRows(), POSTGRES: _PostgresRows()}
"""By the name of a connection's dialect."""
