"""Traces that are uploaded whole, kept for distillation."""

import re
from typing import Any

from sqlalchemy import Connection

from ..limits import MAX_RUN_ID, RUN_ID_PATTERN
from .answers import TraceReceipt
from .errors import Invalid
from .principal import Principal
from .requests import TraceUpload
from .store import tenants
from .store.schema import traces
from .store.transact import Transactions
from .store.values import dump_given, new_id, now
from .store.words import insert_into

_ID = re.compile(RUN_ID_PATTERN)


class Traces:
    """Stores traces. On the engine's event loop only."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    async def store(self, principal: Principal, upload: TraceUpload) -> TraceReceipt:
        """Keep a trace; one of the same id is replaced, for what is sent later is more complete."""
        row = _row(principal.org(upload.org_id), upload)
        await self._transactions.run(lambda connection: _replace(connection, row))
        return TraceReceipt(row["trace_id"], True, row["step_count"])


def _row(org_id: str, upload: TraceUpload) -> dict[str, Any]:
    if upload.manifest is None and upload.steps is None:
        raise Invalid("a trace needs steps, or a manifest with its calls; neither was sent", location=("steps",))
    trace_id = upload.trace_id or _manifest_id(upload)
    body = {name: sent for name in ("steps", "manifest", "calls") if (sent := getattr(upload, name)) is not None}
    return {
        "org_id": org_id,
        "trace_id": trace_id,
        "outcome": upload.outcome,
        "step_count": len(upload.steps if upload.steps is not None else upload.calls or ()),
        "created_at": now(),
        "body": dump_given(body, "manifest" if upload.manifest is not None else "steps"),
    }


def _manifest_id(upload: TraceUpload) -> str:
    if upload.manifest is None:
        raise Invalid("a trace with steps needs a trace_id", location=("trace_id",))
    for field in ("trace_id", "run_id"):
        named = upload.manifest.get(field)
        if named is None or named == "":
            continue
        if not isinstance(named, str) or len(named) > MAX_RUN_ID or not _ID.fullmatch(named):
            raise Invalid(
                f"manifest.{field} is {named!r:.80}; expected 1 to {MAX_RUN_ID} characters of A-Z a-z 0-9 _ - . / : @",
                location=("manifest", field),
            )
        return named
    return new_id("trace")


def _replace(connection: Connection, row: dict[str, Any]) -> None:
    tenants.ensure(connection, [(row["org_id"], None)], row["created_at"])
    statement = insert_into(connection, traces).values(row)
    newer = {name: statement.excluded[name] for name in ("outcome", "step_count", "created_at", "body")}
    connection.execute(statement.on_conflict_do_update(index_elements=["org_id", "trace_id"], set_=newer))
