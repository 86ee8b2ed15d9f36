"""Runs and their steps, one by one or many at once."""

from typing import Annotated

from litestar import get, post
from litestar.params import Parameter

from ...engine.answers import EventsReceipt, Run, RunWithSteps, StepScores
from ...engine.requests import EventsRequest, RunFinish, RunStart, Step
from ..request import ApiRequest
from .described import JsonBody, OrgInQuery, ProjectInQuery, RunIdInPath, refusals

Limit = Annotated[int, Parameter(ge=1, le=500, description="How many at most.")]
Offset = Annotated[int, Parameter(ge=0, le=2**31, description="How many to skip.")]


@post(
    "/monitor/runs",
    operation_id="start_run",
    summary="A run begins",
    tags=["runs"],
    status_code=201,
    responses=refusals(409, body=True),
)
async def start_run(data: JsonBody[RunStart], request: ApiRequest) -> Run:
    """Idempotent: a run that is known already stays as it is."""
    return await request.engine.runs.start(request.principal, data)


@post(
    "/monitor/runs/{run_id:str}/steps",
    operation_id="add_step",
    summary="A step of a run",
    tags=["runs"],
    status_code=200,
    responses=refusals(404, 409, body=True),
)
async def add_step(
    data: JsonBody[Step], request: ApiRequest, run_id: RunIdInPath, org_id: OrgInQuery = ""
) -> StepScores:
    """Stored, scored and answered; idempotent on run and step_index."""
    return await request.engine.runs.step(request.principal, run_id, data, org_id=org_id or None)


@post(
    "/monitor/runs/{run_id:str}/finish",
    operation_id="finish_run",
    summary="A run ends",
    tags=["runs"],
    status_code=200,
    responses=refusals(404, 409, body=True),
)
async def finish_run(
    data: JsonBody[RunFinish], request: ApiRequest, run_id: RunIdInPath, org_id: OrgInQuery = ""
) -> Run:
    """The last outcome that is sent counts."""
    return await request.engine.runs.finish(request.principal, run_id, data, org_id=org_id or None)


@get("/monitor/runs", operation_id="list_runs", summary="Runs, newest first", tags=["runs"], responses=refusals(422))
async def list_runs(
    request: ApiRequest,
    limit: Limit = 50,
    offset: Offset = 0,
    org_id: OrgInQuery = "",
    project_id: ProjectInQuery = "",
) -> list[Run]:
    """Those that the key can see."""
    return await request.engine.runs.list(request.principal, limit, offset, org_id or None, project_id or None)


@get(
    "/monitor/runs/{run_id:str}",
    operation_id="show_run",
    summary="A run with its steps and their scores",
    tags=["runs"],
    responses=refusals(404, 422),
)
async def show_run(request: ApiRequest, run_id: RunIdInPath, org_id: OrgInQuery = "") -> RunWithSteps:
    """Steps that came in a batch have no scores until the monitors have seen them."""
    return await request.engine.runs.show(request.principal, run_id, org_id=org_id or None)


@post(
    "/monitor/events",
    operation_id="add_events",
    summary="Many events at once",
    tags=["runs"],
    status_code=200,
    responses=refusals(body=True),
)
async def add_events(data: JsonBody[EventsRequest], request: ApiRequest) -> EventsReceipt:
    """Each is `run_start`, `step` or `run_finish` with the fields of its own route; a bad one spoils no other."""
    return await request.engine.runs.events(request.principal, data.events)


HANDLERS = (start_run, list_runs, show_run, add_step, finish_run, add_events)
