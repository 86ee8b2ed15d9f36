"""Statements that are compiled once for each kind of database and go to the driver as they are.

SQLAlchemy prepares a statement and handles the parameters of each row for every execution, which for a batch of steps
costs as much as SQLite does. Here parameters are tuples, in the order in which they were named.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select, Table
from sqlalchemy.engine.interfaces import Dialect

from .words import ROWS


class InsertNew:
    """Rows of a table; those that are there already are left as they are."""

    def __init__(self, table: Table, names: Sequence[str]) -> None:
        self._insert = {name: rows.insert(table, names) for name, rows in ROWS.items()}

    def run(self, connection: Connection, rows: list[tuple[Any, ...]]) -> int:
        """Insert them; how many are new."""
        return self._insert[connection.dialect.name](connection, rows) if rows else 0


class UpdateEach:
    """Columns of rows, each of which is found by its key, the last value of its tuple."""

    def __init__(self, table: Table, names: Sequence[str], key: str = "id") -> None:
        self._update = {name: rows.update(table, names, key) for name, rows in ROWS.items()}

    def run(self, connection: Connection, rows: list[tuple[Any, ...]]) -> int:
        """Change them; how many there were."""
        return self._update[connection.dialect.name](connection, rows) if rows else 0


class PreparedQuery:
    """A SELECT."""

    def __init__(self, statement: Select[Any], names: Sequence[str]) -> None:
        self._statement = statement
        self._names = tuple(names)
        self._sql: dict[str, str] = {}

    def run(self, connection: Connection, *values: Any) -> Sequence[Any]:
        """All rows for these parameters."""
        dialect = connection.dialect
        sql = self._sql.get(dialect.name)
        if sql is None:
            sql = self._sql[dialect.name] = self._compiled(dialect)
        return connection.exec_driver_sql(sql, values).all()

    def _compiled(self, dialect: Dialect) -> str:
        compiled = self._statement.compile(dialect=dialect)
        order = tuple(compiled.positiontup or ())
        if order != self._names:
            raise ValueError(f"the statement takes its parameters in the order {order}; expected {self._names}")
        return str(compiled)
