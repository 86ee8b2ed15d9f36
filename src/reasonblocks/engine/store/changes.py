"""What was changed, so that whoever keeps a copy in memory or in an index can follow, in any process."""

from collections.abc import Callable, Iterable
from typing import Literal

from sqlalchemy import Connection, insert

from .schema import changes
from .words import announce_changes, be_alone

Kind = Literal["pattern", "finding", "profile", "key", "index"]
"""The last one has every vector index on the database made anew."""
Notify = Callable[[], object]
"""Called after a change was committed: there is something to follow."""


def record(connection: Connection, kind: Kind, item_ids: Iterable[str]) -> None:
    """Note that these items were made, changed or deleted, in the transaction that does it."""
    rows = [{"kind": kind, "item_id": item_id} for item_id in item_ids]
    if rows:
        be_alone(connection)  # so that numbers are committed in their order: who has seen one has seen all before it
        connection.execute(insert(changes), rows)
        announce_changes(connection)


def nobody() -> None:
    """Where nobody follows."""
