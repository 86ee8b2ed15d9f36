"""The few words of SQL that databases do not share."""

from collections.abc import Sequence
from typing import Any, Protocol

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


class Rows(Protocol):
    """How many rows go to a database at once."""

    def insert(self, table: Table, names: Sequence[str]) -> str:
        """An INSERT that leaves alone what is there already."""

    def update(self, table: Table, names: Sequence[str], key: str) -> str:
        """An UPDATE of the row that has this key."""

    def parameters(self, rows: list[tuple[Any, ...]]) -> Any:
        """What goes with it."""


class _SqliteRows:
    """One after another: the driver runs a prepared statement for each."""

    def insert(self, table: Table, names: Sequence[str]) -> str:
        marks = ", ".join("?" * len(names))
        return f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({marks}) ON CONFLICT DO NOTHING"

    def update(self, table: Table, names: Sequence[str], key: str) -> str:
        return f"UPDATE {table.name} SET {', '.join(f'{name} = ?' for name in names)} WHERE {key} = ?"

    def parameters(self, rows: list[tuple[Any, ...]]) -> Any:
        return rows


class _PostgresRows:
    """As columns, in one statement: a trip for each row or a parameter for each value would take many times as long."""

    def insert(self, table: Table, names: Sequence[str]) -> str:
        return (
            f"INSERT INTO {table.name} ({', '.join(names)}) "
            f"SELECT * FROM {_columns(table, names)} ON CONFLICT DO NOTHING"
        )

    def update(self, table: Table, names: Sequence[str], key: str) -> str:
        given = ", ".join(f"{name} = given.{name}" for name in names)
        columns = (*names, key)
        return (
            f"UPDATE {table.name} SET {given} FROM {_columns(table, columns)} AS given ({', '.join(columns)}) "
            f"WHERE {table.name}.{key} = given.{key}"
        )

    def parameters(self, rows: list[tuple[Any, ...]]) -> Any:
        return tuple(map(list, zip(*rows, strict=True)))


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
