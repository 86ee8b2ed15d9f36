"""Runs and their steps, one by one or many at once."""

from typing import Annotated

from litestar import get, post
from litestar.params import Parameter

from ...engine.answers import EventsReceipt, Run, RunWithSteps, StepScores
from ...engine.requests import RunFinish, RunStart, Step
from ..bodies import EventsBody, refused
from ..request import ApiRequest
from .described import JsonBody, OrgInQuery, ProjectInQuery, RunIdInPath, refusals, within

MOST_LISTED = 500
Limit = Annotated[int, Parameter(ge=1, description=f"How many at most; never more than {MOST_LISTED}.")]
Offset = Annotated[int, Parameter(ge=0, le=2**31, description="How many to skip.")]


@post(
    "/monitor/runs",
    operation_id="start_run",
    summary="A run begins",
    tags=["runs"],
    status_code=201,
    responses=refusals(404, 409, body=True),
)
async def start_run(data: JsonBody[RunStart], request: ApiRequest, org_id: OrgInQuery = "") -> Run:
    """Idempotent: a run that is known already stays as it is."""
    return await request.engine.runs.start(request.principal, within(data, org_id))


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
    return await request.engine.runs.step(request.principal, run_id, within(data, org_id))


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
    return await request.engine.runs.finish(request.principal, run_id, within(data, org_id))


@get("/monitor/runs", operation_id="list_runs", summary="Runs, newest first", tags=["runs"], responses=refusals(422))
async def list_runs(
    request: ApiRequest,
    limit: Limit = 50,
    offset: Offset = 0,
    org_id: OrgInQuery = "",
    project_id: ProjectInQuery = "",
) -> list[Run]:
    """Those that the key can see."""
    shown = min(limit, MOST_LISTED)
    return await request.engine.runs.list(request.principal, shown, offset, org_id or None, project_id or None)


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
    dto=EventsBody,
)
async def add_events(data: JsonBody[bytes], request: ApiRequest, org_id: OrgInQuery = "") -> EventsReceipt:
    """Each is `run_start`, `step` or `run_finish` with the fields of its own route, or `run_interrupt`, or `loss`.

    `run_interrupt` says that the run waits for a person, `loss` how many `steps` of it were lost on the way in all,
    and by what `cause`. A bad event spoils no other.
    """
    with refused():
        return await request.engine.runs.events_in(request.principal, data, org_id or None)


HANDLERS = (start_run, list_runs, show_run, add_step, finish_run, add_events)
