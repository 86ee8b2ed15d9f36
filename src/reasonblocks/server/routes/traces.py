"""Traces that are stored for distillation."""

from litestar import post
from litestar.openapi.datastructures import ResponseSpec

from ...engine.answers import TraceReceipt
from ...engine.requests import TraceUpload
from ..answer import JsonAnswer
from ..request import ApiRequest
from .described import JsonBody, OrgInQuery, refusals, within


@post(
    "/traces",
    operation_id="store_trace",
    summary="Store a trace",
    tags=["traces"],
    status_code=200,
    responses=refusals(409, body=True)
    | {202: ResponseSpec(TraceReceipt, generate_examples=False, description="A manifest with its calls is stored.")},
)
async def store_trace(
    data: JsonBody[TraceUpload], request: ApiRequest, org_id: OrgInQuery = ""
) -> JsonAnswer[TraceReceipt]:
    """A trace with its steps (200), or a manifest with its calls (202)."""
    receipt = await request.engine.traces.store(request.principal, within(data, org_id))
    return JsonAnswer(receipt, status_code=200 if data.manifest is None else 202)


HANDLERS = (store_trace,)
