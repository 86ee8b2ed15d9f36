"""About the caller, and about the monitors."""

from litestar import get

from ...engine.answers import HealthSummary, Identity, Scorer
from ..request import ApiRequest
from .described import OrgInQuery, ProjectInQuery, refusals


@get("/monitor/me", operation_id="me", summary="Who am I?", tags=["monitor"], responses=refusals())
async def me(request: ApiRequest) -> Identity:
    """The identity behind the key."""
    principal = request.principal
    return Identity(principal.key_id, principal.org_id, principal.project_id, principal.is_admin)


@get(
    "/monitor/health-summary",
    operation_id="health_summary",
    summary="Counts, outcomes and firing rates",
    tags=["monitor"],
    responses=refusals(422),
)
async def health_summary(
    request: ApiRequest, org_id: OrgInQuery = "", project_id: ProjectInQuery = ""
) -> HealthSummary:
    """How the runs that the key can see are doing."""
    return await request.engine.runs.summary(request.principal, org_id or None, project_id or None)


@get("/monitor/scorers", operation_id="scorers", summary="The monitors", tags=["monitor"], responses=refusals())
async def scorers(request: ApiRequest) -> list[Scorer]:
    """The six monitors with their default weights."""
    return request.engine.profiles.scorers()


HANDLERS = (me, health_summary, scorers)
