"""What belongs to one organisation, in every table; and how all of it goes."""

from collections.abc import Sequence
from typing import Literal

from sqlalchemy import ColumnElement, Connection, delete, func, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from ..errors import NotFound, StoreError
from .changes import Kind, record
from .copying import TABLES, Wheres, count
from .database import Database
from .schema import (
    evaluations,
    findings,
    keys,
    organisations,
    pattern_versions,
    patterns,
    profiles,
    projects,
    runs,
    steps,
    traces,
    vectors,
)

SECRETS = frozenset({"keys.digest"})
"""What an export of an organisation's data does not have."""
_SHARED = frozenset({"facts", "changes"})
"""What belongs to nobody."""
_Followed = tuple[Kind, Literal["pattern_id", "finding_id", "profile_id", "key_id"]]
_FOLLOWED: Sequence[_Followed] = (
    ("pattern", "pattern_id"),
    ("finding", "finding_id"),
    ("profile", "profile_id"),
    ("key", "key_id"),
)


def owned(org_id: str) -> Wheres:
    """By table, which rows are an organisation's."""
    own_runs = select(runs.c.id).where(runs.c.org_id == org_id)
    own_patterns = select(patterns.c.pattern_id).where(patterns.c.org_id == org_id)
    own_findings = select(findings.c.finding_id).where(findings.c.org_id == org_id)
    wheres: dict[str, ColumnElement[bool]] = {
        table.name: table.c.org_id == org_id
        for table in (organisations, projects, keys, runs, findings, patterns, profiles, traces)
    }
    wheres |= {
        "steps": steps.c.run.in_(own_runs),
        "evaluations": evaluations.c.run.in_(own_runs),
        "pattern_versions": pattern_versions.c.pattern_id.in_(own_patterns),
        "vectors": or_(
            (vectors.c.kind == "pattern") & vectors.c.item_id.in_(own_patterns),
            (vectors.c.kind == "finding") & vectors.c.item_id.in_(own_findings),
        ),
    }
    missing = {table.name for table in TABLES} - set(wheres) - _SHARED
    if missing:  # a new table has to be given its place before anything of it can be left behind
        raise StoreError(f"nobody has said what an organisation owns of {', '.join(sorted(missing))}")
    return wheres


async def check_known(connection: AsyncConnection, org_id: str) -> dict[str, int]:
    """How many rows of each table are an organisation's; `NotFound` if there is none of it."""
    counts = await count(connection, owned(org_id))
    if not any(counts.values()):
        raise NotFound(f"there is no organisation {org_id!r}; `reasonblocks keys list` shows those that have keys")
    return counts


async def erase(database: Database, org_id: str) -> dict[str, int]:
    """Delete all that is an organisation's, in one transaction, and see that nothing is left; how much it was."""
    async with database.writing() as connection:
        counts = await check_known(connection, org_id)
        await connection.run_sync(_erase, org_id)
    return counts


def _erase(connection: Connection, org_id: str) -> None:
    wheres = owned(org_id)
    for kind, column in _FOLLOWED:
        table = next(each for each in TABLES if column in each.c and each.primary_key.columns.keys() == [column])
        record(connection, kind, connection.execute(select(table.c[column]).where(wheres[table.name])).scalars().all())
    for table in reversed(TABLES):  # what refers to others first: by those others it is known whose it is
        if table.name in wheres:
            connection.execute(delete(table).where(wheres[table.name]))
            left = select(func.count()).select_from(table).where(wheres[table.name])
            if rows := connection.execute(left).scalar_one():
                raise StoreError(f"{rows} rows of {table.name} could not be deleted; nothing was")
