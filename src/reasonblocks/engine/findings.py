"""Findings: what agents learned about a codebase, kept for the next one."""

import re
from collections.abc import Collection, Sequence
from typing import Any, Protocol

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, insert, select, update

from .answers import Codebases, Finding, FindingReceipt, Findings, FoundFinding, FoundFindings, Invalidated
from .errors import Invalid, NotFound
from .index.findings import Admit
from .principal import Principal
from .requests import FindingChange, FindingCreate, FindingInvalidate, FindingSearch
from .store import tenants
from .store.changes import Notify, nobody, record
from .store.database import Database, asked_again
from .store.schema import findings
from .store.transact import Transactions
from .store.values import dump, dump_given, load, new_id, now, shown
from .store.words import each

MOST_LISTED = 1_000
TOP_K = 5
SCORE_THRESHOLD = 0.5
_CODEBASE = re.compile(r"[^\x00-\x1f\x7f]{1,256}")
_named = each(bindparam("finding_ids")).table_valued("value")  # any number of ids in one parameter
_is_named = findings.c.finding_id.in_(select(_named.c.value))


class FindingIndex(Protocol):
    """What finds findings by meaning."""

    async def search(
        self, org_id: str, codebase_id: str, query: str, top_k: int, *, least: float, admit: Admit
    ) -> list[tuple[str, float]]:
        """The ids of the findings nearest to `query` that are admitted, best first, with their scores."""


class FindingService:
    """Keeps and finds findings. An admin who names no org means the default one."""

    def __init__(
        self, database: Database, transactions: Transactions, index: FindingIndex, notify: Notify = nobody
    ) -> None:
        self._database = database
        self._transactions = transactions
        self._index = index
        self._notify = notify

    # -- writing -----------------------------------------------------------------------------------

    async def create(self, principal: Principal, codebase_id: str, finding: FindingCreate) -> FindingReceipt:
        """Keep a finding."""
        moment = now()
        row: dict[str, Any] = {
            "finding_id": new_id("finding"),
            "org_id": principal.org(finding.org_id),
            "project_id": principal.project(),
            "codebase_id": _checked_codebase(codebase_id),
            "content": finding.content,
            "file_path": finding.file_path or "",
            "finding_type": finding.finding_type or "note",
            "metadata": dump_given(finding.metadata, "metadata") if finding.metadata else "{}",
            "created_at": moment,
            "updated_at": moment,
        }

        def work(connection: Connection) -> None:
            tenants.ensure(connection, [(row["org_id"], row["project_id"])], moment)
            connection.execute(insert(findings), row)
            record(connection, "finding", [row["finding_id"]])

        await self._transactions.run(work)
        self._notify()
        return FindingReceipt(row["finding_id"], True)

    async def change(
        self,
        principal: Principal,
        codebase_id: str,
        finding_id: str,
        change: FindingChange,
        org_id: str | None = None,
    ) -> Finding:
        """Change a finding; what is left out stays."""
        values: dict[str, Any] = {
            name: value
            for name in ("content", "file_path", "finding_type")
            if (value := getattr(change, name)) is not None
        }
        if change.metadata is not None:
            values["metadata"] = dump_given(change.metadata, "metadata")
        meant = [*_visible(principal, codebase_id, change.org_id or org_id), findings.c.finding_id == finding_id]

        def work(connection: Connection) -> Any:
            connection.execute(update(findings).where(*meant).values(updated_at=now(), **values))
            row = connection.execute(select(findings).where(*meant)).one_or_none()
            if row is None:
                raise _unknown(finding_id)
            record(connection, "finding", [finding_id])
            return row

        row = await self._transactions.run(work)
        self._notify()
        return Finding(**_fields(row))

    async def delete(self, principal: Principal, codebase_id: str, finding_id: str, org_id: str | None = None) -> None:
        """Delete a finding."""
        meant = [*_visible(principal, codebase_id, org_id), findings.c.finding_id == finding_id]
        if not await self._delete(meant):
            raise _unknown(finding_id)

    async def invalidate(self, principal: Principal, codebase_id: str, request: FindingInvalidate) -> Invalidated:
        """Delete what was found about files that have changed."""
        paths = list({path for path in request.file_paths if path})
        about = findings.c.file_path.in_(paths)
        return Invalidated(await self._delete([*_visible(principal, codebase_id, request.org_id), about]))

    async def clear(self, principal: Principal, codebase_id: str, org_id: str | None = None) -> int:
        """Delete all findings about a codebase; how many there were."""
        return await self._delete(_visible(principal, codebase_id, org_id))

    async def _delete(self, meant: list[ColumnElement[bool]]) -> int:
        def work(connection: Connection) -> int:
            gone = list(connection.execute(select(findings.c.finding_id).where(*meant)).scalars())
            # These, and none that came in between: nobody would be told that it is gone.
            connection.execute(delete(findings).where(_is_named), {"finding_ids": dump(gone)})
            record(connection, "finding", gone)
            return len(gone)

        number = await self._transactions.run(work)
        if number:
            self._notify()
        return number

    # -- reading -----------------------------------------------------------------------------------

    @asked_again
    async def codebases(self, principal: Principal, org_id: str | None = None) -> Codebases:
        """The codebases about which something was found."""
        query = (
            select(findings.c.codebase_id)
            .where(*_visible(principal, None, org_id))
            .distinct()
            .order_by(findings.c.codebase_id)
        )
        async with self._database.reading() as connection:
            return Codebases(list((await connection.execute(query)).scalars()))

    async def search(self, principal: Principal, codebase_id: str, request: FindingSearch) -> FoundFindings:
        """The findings that fit a question, best first."""
        top_k = request.top_k or TOP_K
        least = SCORE_THRESHOLD if request.score_threshold is None else request.score_threshold
        query = select(findings).where(*_visible(principal, codebase_id, request.org_id), _is_named)
        rows: dict[str, Any] = {}

        async def admit(finding_ids: Sequence[str]) -> Collection[str]:
            async with self._database.reading() as connection:
                found = await connection.execute(query, {"finding_ids": dump(finding_ids)})
                rows.update((row.finding_id, row) for row in found)
            return rows

        org_id = principal.org(request.org_id)
        nearest = await self._index.search(org_id, codebase_id, request.query, top_k, least=least, admit=admit)
        return FoundFindings([FoundFinding(**_fields(rows[name]), score=score) for name, score in nearest[:top_k]])

    @asked_again
    async def list(self, principal: Principal, codebase_id: str, org_id: str | None = None) -> Findings:
        """The findings about a codebase, newest first, and how many there are in all."""
        meant = _visible(principal, codebase_id, org_id)
        newest = (
            select(findings)
            .where(*meant)
            .order_by(findings.c.created_at.desc(), findings.c.finding_id.desc())
            .limit(MOST_LISTED)
        )
        async with self._database.reading() as connection:
            rows = await connection.execute(newest)
            listed = [Finding(**_fields(row)) for row in rows]
            counted = await connection.execute(select(func.count()).select_from(findings).where(*meant))
            return Findings(listed, counted.scalar_one())


def _visible(principal: Principal, codebase_id: str | None, org_id: str | None) -> list[ColumnElement[bool]]:
    """What limits findings to those that the caller means and may see."""
    limits: list[ColumnElement[bool]] = [findings.c.org_id == principal.org(org_id)]
    if codebase_id is not None:
        limits.append(findings.c.codebase_id == codebase_id)
    if principal.project_id is not None:
        limits.append(findings.c.project_id == principal.project_id)
    return limits


def _checked_codebase(codebase_id: str) -> str:
    if not _CODEBASE.fullmatch(codebase_id):
        raise Invalid(
            f"codebase_id is {codebase_id!r:.80}; expected 1 to 256 characters without control characters",
            location=("codebase_id",),
        )
    return codebase_id


def _unknown(finding_id: str) -> NotFound:
    return NotFound(f"unknown finding {finding_id!r:.80}; the list of findings has those there are")


def _fields(row: Any) -> dict[str, Any]:
    return {
        "finding_id": row.finding_id,
        "codebase_id": row.codebase_id,
        "content": row.content,
        "file_path": row.file_path,
        "finding_type": row.finding_type,
        "metadata": load(row.metadata),
        "created_at": shown(row.created_at),
        "updated_at": shown(row.updated_at),
    }
