"""Statements that are compiled once and go to the driver as they are.

SQLAlchemy prepares a statement and handles the parameters of each row for every execution, which for a batch of steps
costs as much as SQLite does. Here parameters are tuples, in the order in which they were named.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Select
from sqlalchemy.dialects.sqlite import dialect
from sqlalchemy.sql.dml import UpdateBase


class PreparedWrite:
    """An INSERT or UPDATE for many rows."""

    def __init__(self, statement: UpdateBase, names: Sequence[str]) -> None:
        self._sql = _compiled(statement, names, list(names))

    def run(self, connection: Connection, rows: list[tuple[Any, ...]]) -> int:
        """Run it for all rows; how many rows of the table that changed."""
        return connection.exec_driver_sql(self._sql, rows).rowcount if rows else 0


class PreparedQuery:
    """A SELECT."""

    def __init__(self, statement: Select[Any], names: Sequence[str]) -> None:
        self._sql = _compiled(statement, names, None)

    def run(self, connection: Connection, *values: Any) -> Sequence[Any]:
        """All rows for these parameters."""
        return connection.exec_driver_sql(self._sql, values).all()


def _compiled(statement: UpdateBase | Select[Any], names: Sequence[str], column_keys: list[str] | None) -> str:
    compiled = statement.compile(dialect=dialect(), column_keys=column_keys)
    order = tuple(compiled.positiontup or ())
    if order != tuple(names):
        raise ValueError(f"the statement takes its parameters in the order {order}; expected {tuple(names)}")
    return str(compiled)
