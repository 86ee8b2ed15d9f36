"""What agents found out about a codebase, for those that come after them."""

from litestar import delete, get, patch, post

from ...engine.answers import Codebases, Finding, FindingReceipt, Findings, FoundFindings, Invalidated
from ...engine.requests import FindingChange, FindingCreate, FindingInvalidate, FindingSearch
from ..request import ApiRequest
from .described import Cleared, Deleted, IdInPath, JsonBody, OrgInQuery, refusals, within


@get("/findings", operation_id="list_codebases", summary="Codebases", tags=["findings"], responses=refusals(422))
async def list_codebases(request: ApiRequest, org_id: OrgInQuery = "") -> Codebases:
    """Those with findings."""
    return await request.engine.findings.codebases(request.principal, org_id or None)


@post(
    "/findings/{codebase_id:str}",
    operation_id="create_finding",
    summary="Store a finding",
    tags=["findings"],
    status_code=200,
    responses=refusals(body=True),
)
async def create_finding(
    data: JsonBody[FindingCreate], request: ApiRequest, codebase_id: IdInPath, org_id: OrgInQuery = ""
) -> FindingReceipt:
    """About one codebase."""
    return await request.engine.findings.create(request.principal, codebase_id, within(data, org_id))


@get(
    "/findings/{codebase_id:str}",
    operation_id="list_findings",
    summary="The findings about a codebase",
    tags=["findings"],
    responses=refusals(422),
)
async def list_findings(request: ApiRequest, codebase_id: IdInPath, org_id: OrgInQuery = "") -> Findings:
    """All of them; none about a codebase that nobody knows."""
    return await request.engine.findings.list(request.principal, codebase_id, org_id or None)


@delete(
    "/findings/{codebase_id:str}",
    operation_id="clear_findings",
    summary="Forget a codebase",
    tags=["findings"],
    status_code=200,
    responses=refusals(404, 422),
)
async def clear_findings(request: ApiRequest, codebase_id: IdInPath, org_id: OrgInQuery = "") -> Cleared:
    """Delete every finding about it."""
    await request.engine.findings.clear(request.principal, codebase_id, org_id or None)
    return Cleared("cleared")


@post(
    "/findings/{codebase_id:str}/search",
    operation_id="search_findings",
    summary="Search by meaning",
    tags=["findings"],
    status_code=200,
    responses=refusals(body=True),
)
async def search_findings(
    data: JsonBody[FindingSearch], request: ApiRequest, codebase_id: IdInPath, org_id: OrgInQuery = ""
) -> FoundFindings:
    """The best first."""
    return await request.engine.findings.search(request.principal, codebase_id, within(data, org_id))


@post(
    "/findings/{codebase_id:str}/invalidate",
    operation_id="invalidate_findings",
    summary="Files have changed",
    tags=["findings"],
    status_code=200,
    responses=refusals(body=True),
)
async def invalidate_findings(
    data: JsonBody[FindingInvalidate], request: ApiRequest, codebase_id: IdInPath, org_id: OrgInQuery = ""
) -> Invalidated:
    """Findings about these files are gone."""
    return await request.engine.findings.invalidate(request.principal, codebase_id, within(data, org_id))


@patch(
    "/findings/{codebase_id:str}/{finding_id:str}",
    operation_id="change_finding",
    summary="Change a finding",
    tags=["findings"],
    responses=refusals(404, body=True),
)
async def change_finding(
    data: JsonBody[FindingChange],
    request: ApiRequest,
    codebase_id: IdInPath,
    finding_id: IdInPath,
    org_id: OrgInQuery = "",
) -> Finding:
    """What is left out stays."""
    return await request.engine.findings.change(request.principal, codebase_id, finding_id, within(data, org_id))


@delete(
    "/findings/{codebase_id:str}/{finding_id:str}",
    operation_id="delete_finding",
    summary="Delete a finding",
    tags=["findings"],
    status_code=200,
    responses=refusals(404, 422),
)
async def delete_finding(
    request: ApiRequest, codebase_id: IdInPath, finding_id: IdInPath, org_id: OrgInQuery = ""
) -> Deleted:
    """One of them."""
    await request.engine.findings.delete(request.principal, codebase_id, finding_id, org_id or None)
    return Deleted("deleted")


HANDLERS = (
    list_codebases,
    create_finding,
    list_findings,
    clear_findings,
    search_findings,
    invalidate_findings,
    change_finding,
    delete_finding,
)
