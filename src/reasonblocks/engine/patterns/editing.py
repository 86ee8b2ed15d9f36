"""The library as people work on it: listing, adding, changing, deleting; and the import of the starter library."""

import builtins
from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from .. import answers
from ..errors import Conflict, Forbidden, Invalid, NotFound
from ..index.follower import Follower, record_changes
from ..principal import Principal
from ..requests import PatternChange, PatternCreate
from ..store.database import Database, asked_again
from ..store.schema import facts, pattern_versions, patterns
from ..store.tenants import ensure
from ..store.values import dump, load, new_id, now, shown
from .catalogue import KIND
from .fields import check_pattern, pattern_digest
from .library import ImportPlan, Library, StoredLibraryState, plan_import

STRUCTURAL = ("pattern_id", "tier", "customer_id")
"""What a pattern is, as opposed to what it says; never among its fields."""
DEFAULT_LIMIT, MOST_LISTED = 100, 1_000
MOST_PER_ORG = 10_000
"""E1 patterns of one organisation: every process holds all of them in memory."""
_SHARED = ("e2", "e3")
_LIBRARY = "library"
"""Who changed a pattern, where it was an import."""
_VERSION = "library_version"
"""The fact that says which library was imported last."""
CURATED: Mapping[str, Any] = {"provenance": "curated"}
"""Where a pattern comes from that somebody wrote."""
_VERSIONED = ("pattern_id", "version", "status", "failure_type", "gate_threshold", "model_family", "fields")


class Patterns:
    """The patterns that a principal can see and change; lives on the engine's loop."""

    def __init__(self, database: Database, follower: Follower) -> None:
        self._database = database
        self._follower = follower

    @asked_again
    async def list(
        self,
        principal: Principal,
        tier: str | None = None,
        limit: int = DEFAULT_LIMIT,
        org_id: str | None = None,
    ) -> "builtins.list[answers.Pattern]":
        """Own e1 patterns and the shared ones, oldest first; only an admin sees shared ones that are not live."""
        query = select(patterns).where(patterns.c.deleted.is_(False), visible_patterns(principal, org_id))
        if tier is not None:
            query = query.where(patterns.c.tier == tier)
        query = query.order_by(patterns.c.tier, patterns.c.created_at, patterns.c.pattern_id)
        async with self._database.reading() as connection:
            rows = await connection.execute(query.limit(max(1, min(limit, MOST_LISTED))))
            return [shown_pattern(row) for row in rows]

    async def create(self, principal: Principal, request: PatternCreate) -> answers.Pattern:
        """Add a pattern: e1 to the organisation of the key, e2 and e3 for all, which only an admin may."""
        _check_right(principal, request.tier)
        _check_structure(request.fields)
        values: dict[str, Any] = {
            "tier": request.tier,
            "fields": request.fields,
            "failure_type": request.failure_type,
            "gate_threshold": request.gate_threshold,
            "model_family": request.model_family or "",
            "status": request.status or "live",
        }
        check_pattern(**values)
        org_id = principal.org(request.org_id) if request.tier == "e1" else None
        pattern_id = (request.pattern_id if principal.is_admin else None) or new_id("pat")
        origin = {"provenance": request.provenance or "curated", "source_trace_id": request.source_trace_id}
        async with self._database.writing() as connection:
            if org_id is not None:
                await _check_room(connection, org_id)
                await connection.run_sync(ensure, [(org_id, None)], now())
            await _make_room(connection, pattern_id)
            identity = {"pattern_id": pattern_id, "org_id": org_id}
            await _insert(connection, {**identity, **values}, principal.key_id, origin)
            row = await _found(connection, request.tier, pattern_id, principal)
        self._follower.notify()
        return shown_pattern(row)

    async def change(
        self, principal: Principal, tier: str, pattern_id: str, request: PatternChange, org_id: str | None = None
    ) -> answers.Pattern:
        """Change what a pattern says, or approve or retire it; the version before is kept."""
        _check_right(principal, tier)
        async with self._database.writing() as connection:
            row = await _found(connection, tier, pattern_id, principal, request.org_id or org_id)
            values = _changed(row, request)
            check_pattern(tier, **values)
            changed = await _update(connection, row, values, principal.key_id)
            row = await _found(connection, tier, pattern_id, principal)
        if changed:
            self._follower.notify()
        return shown_pattern(row)

    async def delete(self, principal: Principal, tier: str, pattern_id: str, org_id: str | None = None) -> None:
        """Take a pattern away with its versions; of the starter library so much stays that it never comes back."""
        _check_right(principal, tier)
        async with self._database.writing() as connection:
            row = await _found(connection, tier, pattern_id, principal, org_id)
            this = patterns.c.pattern_id == row.pattern_id
            if row.library_digest is None:
                await connection.execute(delete(patterns).where(this))
            else:
                await connection.execute(update(patterns).where(this).values(deleted=True, updated_at=now()))
            await record_changes(connection, KIND, [row.pattern_id])
        self._follower.notify()

    async def import_library(self, library: Library) -> ImportPlan:
        """Have the store hold the library as it is installed, without touching what people made of the last one.

        An older one than was imported before, by a newer reasonblocks on the same data, brings nothing.
        """
        async with self._database.reading() as connection:
            plan, newer = await _planned(connection, library)
        if plan.changes_anything or newer:
            async with self._database.writing() as connection:  # another process may have been faster
                plan, newer = await _planned(connection, library)
                await _carry_out(connection, plan)
                if newer:
                    await connection.execute(delete(facts).where(facts.c.name == _VERSION))
                    await connection.execute(insert(facts), {"name": _VERSION, "value": str(library.version)})
            self._follower.notify()
        return plan


# -- who may what ----------------------------------------------------------------------------------


def visible_patterns(principal: Principal, asked_org: str | None) -> ColumnElement[bool]:
    """What limits a listing of patterns to those that the caller may see."""
    org_id = principal.visible_org(asked_org)
    own = patterns.c.tier == "e1" if org_id is None else and_(patterns.c.tier == "e1", patterns.c.org_id == org_id)
    shared: list[ColumnElement[bool]] = [patterns.c.tier.in_(_SHARED)]
    if not principal.is_admin:  # what is not approved yet may quote the runs of another organisation
        shared.append(patterns.c.status == "live")
    return or_(own, and_(*shared))


def _check_right(principal: Principal, tier: str) -> None:
    if tier in _SHARED and not principal.is_admin:
        raise Forbidden(f"{tier} patterns are shared by all organisations; only an admin key may change them")


async def _check_room(connection: AsyncConnection, org_id: str) -> None:
    own = select(func.count()).select_from(patterns).where(patterns.c.tier == "e1", patterns.c.org_id == org_id)
    if (await connection.execute(own)).scalar_one() >= MOST_PER_ORG:
        raise Invalid(
            f"organisation {org_id!r} has {MOST_PER_ORG} e1 patterns already, and no more are kept; delete some first"
        )


def _check_structure(fields: Mapping[str, Any]) -> None:
    for key in STRUCTURAL:
        if key in fields:
            raise Invalid(
                f"fields.{key} says what a pattern is and cannot be set; leave it out, fields hold what it says",
                location=("fields", key),
            )


async def _found(
    connection: AsyncConnection, tier: str, pattern_id: str, principal: Principal, org_id: str | None = None
) -> Any:
    """A pattern that the principal may change; an admin who names an organisation means no other's."""
    query = select(patterns).where(
        patterns.c.pattern_id == pattern_id, patterns.c.tier == tier, patterns.c.deleted.is_(False)
    )
    own = principal.visible_org(org_id)
    if own is not None and not (principal.is_admin and tier in _SHARED):
        query = query.where(patterns.c.org_id == own)
    nameable = f"{tier}{pattern_id}".isprintable()  # a lone surrogate cannot even be asked for
    row = (await connection.execute(query)).first() if nameable else None
    if row is None:
        raise NotFound(f"there is no {tier} pattern {pattern_id!r}")
    return row


# -- what is written -------------------------------------------------------------------------------


def _changed(row: Any, request: PatternChange) -> dict[str, Any]:
    """What a pattern says after a change."""
    structure = {"pattern_id": row.pattern_id, "tier": row.tier, "customer_id": row.org_id}
    said = {
        key: value  # whoever sends a pattern back as it was shown overwrites nothing
        for key, value in (request.fields or {}).items()
        if key not in structure or value != structure[key]
    }
    _check_structure(said)
    fields = {**load(row.fields), **said}
    return {
        "fields": {key: value for key, value in fields.items() if value is not None},
        "failure_type": row.failure_type if request.failure_type is msgspec.UNSET else request.failure_type,
        "gate_threshold": row.gate_threshold if request.gate_threshold is msgspec.UNSET else request.gate_threshold,
        "model_family": row.model_family if request.model_family is None else request.model_family,
        "status": request.status or row.status,
    }


async def _make_room(connection: AsyncConnection, pattern_id: str) -> None:
    """Of a pattern that was deleted nothing is left once its id is used again; `Conflict` where it is in use."""
    this = patterns.c.pattern_id == pattern_id
    deleted = (await connection.execute(select(patterns.c.deleted).where(this))).scalar()
    if deleted is False:
        raise Conflict(f"there is a pattern {pattern_id!r} already; change that one, or use another id")
    if deleted:
        await connection.execute(delete(patterns).where(this))


async def _insert(
    connection: AsyncConnection, values: Mapping[str, Any], changed_by: str, origin: Mapping[str, Any] = CURATED
) -> None:
    """Add a pattern with its first version. `values` has its id, its org and what `pattern_digest` takes."""
    written = now()
    said = {key: value for key, value in values.items() if key not in ("pattern_id", "org_id", "library_digest")}
    row = {
        **values,
        "fields": dump(values["fields"]),
        "digest": pattern_digest(**said),
        **origin,
        "version": 1,
        "deleted": False,
        "created_at": written,
        "updated_at": written,
    }
    await connection.execute(insert(patterns), row)
    await _keep_version(connection, row, changed_by)
    await record_changes(connection, KIND, [row["pattern_id"]])


async def _update(
    connection: AsyncConnection,
    row: Any,
    values: Mapping[str, Any],
    changed_by: str,
) -> bool:
    """Make a new version of a pattern, unless that would say the same; whether it did."""
    identity = pattern_digest(tier=row.tier, **values)
    library_digest = identity if changed_by == _LIBRARY else row.library_digest
    if (identity, library_digest) == (row.digest, row.library_digest):
        return False
    written = {
        **values,
        "fields": dump(values["fields"]),
        "digest": identity,
        "library_digest": library_digest,
        "version": row.version + 1,
        "updated_at": now(),
    }
    await connection.execute(update(patterns).where(patterns.c.pattern_id == row.pattern_id).values(written))
    await _keep_version(connection, {"pattern_id": row.pattern_id, **written}, changed_by)
    await record_changes(connection, KIND, [row.pattern_id])
    return True


async def _keep_version(connection: AsyncConnection, row: Mapping[str, Any], changed_by: str) -> None:
    """Every version is kept, the present one too, with who made it."""
    version = {name: row[name] for name in _VERSIONED}
    await connection.execute(
        insert(pattern_versions), {**version, "changed_by": changed_by, "created_at": row["updated_at"]}
    )


# -- the starter library ---------------------------------------------------------------------------


async def _planned(connection: AsyncConnection, library: Library) -> tuple[ImportPlan, bool]:
    """What is to be imported, and whether it is of a newer library than the last one."""
    found = (await connection.execute(select(facts.c.value).where(facts.c.name == _VERSION))).scalar()
    imported = int(found) if found is not None else 0
    if library.version < imported:
        return ImportPlan((), (), (), ()), False
    return plan_import(library, await _library_state(connection, library)), library.version > imported


async def _library_state(connection: AsyncConnection, library: Library) -> dict[str, StoredLibraryState]:
    ids = [pattern.pattern_id for pattern in library.patterns]
    rows = await connection.execute(
        select(
            patterns.c.pattern_id,
            patterns.c.library_digest,
            patterns.c.digest,
            patterns.c.status,
            patterns.c.deleted,
        ).where(or_(patterns.c.library_digest.is_not(None), patterns.c.pattern_id.in_(ids)))
    )
    return {row.pattern_id: StoredLibraryState(row.library_digest, row.digest, row.status, row.deleted) for row in rows}


async def _carry_out(connection: AsyncConnection, plan: ImportPlan) -> None:
    for pattern in plan.insert:
        values = {"pattern_id": pattern.pattern_id, "org_id": None, "library_digest": pattern.digest}
        await _insert(connection, {**values, "tier": pattern.tier, **_said(pattern)}, _LIBRARY)
    upgrades = {pattern.pattern_id: pattern for pattern in plan.upgrade}
    rows = await connection.execute(select(patterns).where(patterns.c.pattern_id.in_([*upgrades, *plan.retire])))
    for row in rows.all():
        if row.pattern_id in upgrades:
            pattern = upgrades[row.pattern_id]
            await _update(connection, row, _said(pattern), _LIBRARY)
        else:
            await _update(connection, row, {**_said(row), "fields": load(row.fields), "status": "retired"}, _LIBRARY)


def _said(pattern: Any) -> dict[str, Any]:
    return {
        "fields": pattern.fields,
        "failure_type": pattern.failure_type,
        "gate_threshold": pattern.gate_threshold,
        "model_family": pattern.model_family,
        "status": pattern.status,
    }


def shown_pattern(row: Any) -> answers.Pattern:
    """A row of `patterns` as it is shown."""
    return answers.Pattern(
        tier=row.tier,
        pattern_id=row.pattern_id,
        org_id=row.org_id,
        fields=load(row.fields),
        failure_type=row.failure_type,
        gate_threshold=row.gate_threshold,
        model_family=row.model_family,
        status=row.status,
        provenance=row.provenance,
        source_trace_id=row.source_trace_id,
        version=row.version,
        created_at=shown(row.created_at),
        updated_at=shown(row.updated_at),
    )
