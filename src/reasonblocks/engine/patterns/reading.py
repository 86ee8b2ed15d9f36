"""Patterns as a whole, for whoever exports or looks through them."""

from sqlalchemy import select

from ..answers import Pattern, PatternVersion
from ..principal import Principal
from ..store.database import Database
from ..store.schema import pattern_versions, patterns
from ..store.values import load, shown
from .editing import shown_pattern, visible_patterns


async def every_pattern(
    database: Database, principal: Principal, tier: str | None = None, org_id: str | None = None
) -> list[Pattern]:
    """All patterns that the principal can see, however many there are, oldest first in each tier."""
    query = select(patterns).where(patterns.c.deleted.is_(False), visible_patterns(principal, org_id))
    if tier is not None:
        query = query.where(patterns.c.tier == tier)
    query = query.order_by(patterns.c.tier, patterns.c.created_at, patterns.c.pattern_id)
    async with database.reading() as connection:
        return [shown_pattern(row) for row in await connection.execute(query)]


async def versions_of(database: Database, pattern_id: str) -> list[PatternVersion]:
    """What a pattern has said so far, the present version last."""
    query = select(pattern_versions).where(pattern_versions.c.pattern_id == pattern_id)
    async with database.reading() as connection:
        rows = await connection.execute(query.order_by(pattern_versions.c.version))
        return [
            PatternVersion(
                version=row.version,
                status=row.status,
                failure_type=row.failure_type,
                gate_threshold=row.gate_threshold,
                model_family=row.model_family,
                fields=load(row.fields),
                changed_by=row.changed_by,
                created_at=shown(row.created_at),
            )
            for row in rows
        ]
