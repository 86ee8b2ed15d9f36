"""The pattern library: one's own E1, and the E2 and E3 that all share."""

from typing import Annotated, Literal

from litestar import delete, get, patch, post
from litestar.params import Parameter

from ...engine.answers import Pattern
from ...engine.patterns.editing import MOST_LISTED
from ...engine.requests import PatternChange, PatternCreate
from ...types import Tier
from ..request import ApiRequest
from .described import Deleted, IdInPath, JsonBody, OrgInQuery, TierInPath, refusals, within

Limit = Annotated[int, Parameter(ge=1, description=f"How many at most; never more than {MOST_LISTED}.")]
TierInQuery = Annotated[Tier | Literal[""], Parameter(description="Only this tier.")]


@get(
    "/library/patterns",
    operation_id="list_patterns",
    summary="The pattern library",
    tags=["library"],
    responses=refusals(422),
)
async def list_patterns(
    request: ApiRequest, tier: TierInQuery = "", limit: Limit = 100, org_id: OrgInQuery = ""
) -> list[Pattern]:
    """One's own E1, and the E2 and E3 that all share."""
    return await request.engine.patterns.list(request.principal, tier or None, limit, org_id or None)


@post(
    "/library/patterns",
    operation_id="create_pattern",
    summary="Add a pattern",
    tags=["library"],
    status_code=201,
    responses=refusals(403, 409, body=True),
)
async def create_pattern(data: JsonBody[PatternCreate], request: ApiRequest, org_id: OrgInQuery = "") -> Pattern:
    """E1 into one's own organisation; E2 and E3 by admins only, who may also choose an id."""
    return await request.engine.patterns.create(request.principal, within(data, org_id))


@patch(
    "/library/patterns/{tier:str}/{pattern_id:str}",
    operation_id="change_pattern",
    summary="Change a pattern",
    tags=["library"],
    responses=refusals(403, 404, body=True),
)
async def change_pattern(
    data: JsonBody[PatternChange],
    request: ApiRequest,
    tier: TierInPath,
    pattern_id: IdInPath,
    org_id: OrgInQuery = "",
) -> Pattern:
    """Fields are merged, null removes one; pattern_id, tier and customer_id cannot be overwritten."""
    return await request.engine.patterns.change(request.principal, tier, pattern_id, within(data, org_id))


@delete(
    "/library/patterns/{tier:str}/{pattern_id:str}",
    operation_id="delete_pattern",
    summary="Delete a pattern",
    tags=["library"],
    status_code=200,
    responses=refusals(403, 404, 422),
)
async def delete_pattern(
    request: ApiRequest, tier: TierInPath, pattern_id: IdInPath, org_id: OrgInQuery = ""
) -> Deleted:
    """One's own E1; E2 and E3 by admins only."""
    await request.engine.patterns.delete(request.principal, tier, pattern_id, org_id or None)
    return Deleted("deleted")


HANDLERS = (list_patterns, create_pattern, change_pattern, delete_pattern)
