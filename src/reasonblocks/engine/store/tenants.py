"""The rows of organisations and projects, which come into being with what is first stored for them."""

from collections.abc import Iterable

from sqlalchemy import Connection

from .schema import organisations, projects
from .words import insert_into


def ensure(connection: Connection, tenants: Iterable[tuple[str, str | None]], now: float) -> None:
    """Make what is missing of these organisations and projects."""
    wanted = list(tenants)
    orgs = sorted({org for org, _ in wanted})
    pairs = sorted({(org, project) for org, project in wanted if project is not None})
    if orgs:
        connection.execute(
            insert_into(connection, organisations).on_conflict_do_nothing(),
            [{"org_id": org, "created_at": now} for org in orgs],
        )
    if pairs:
        connection.execute(
            insert_into(connection, projects).on_conflict_do_nothing(),
            [{"org_id": org, "project_id": project, "created_at": now} for org, project in pairs],
        )
