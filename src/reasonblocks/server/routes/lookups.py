"""What an agent asks while it runs: patterns that fit, and what the monitors say."""

import anyio.to_thread
from litestar import post

from ...engine.answers import Evaluation, Retrieval, Score
from ...engine.requests import EvaluateRequest, RetrieveRequest, ScoreRequest
from ...steering.scoring import score_step
from ..request import ApiRequest
from .described import JsonBody, OrgInQuery, refusals, within

LONG_TEXT = 4_000
"""Characters from which on scoring takes more than a fraction of a millisecond."""


@post(
    "/traces/retrieve",
    operation_id="retrieve",
    summary="Patterns that fit a context",
    tags=["lookups"],
    status_code=200,
    responses=refusals(body=True),
)
async def retrieve(data: JsonBody[RetrieveRequest], request: ApiRequest, org_id: OrgInQuery = "") -> Retrieval:
    """E1 of one's own organisation, E2 by similarity, E3 all of them; no match is an empty list."""
    return await request.engine.retriever.retrieve(request.principal, within(data, org_id))


@post(
    "/monitors/evaluate",
    operation_id="evaluate",
    summary="What the monitors say about a trace",
    tags=["lookups"],
    status_code=200,
    responses=refusals(409, body=True),
)
async def evaluate(data: JsonBody[EvaluateRequest], request: ApiRequest, org_id: OrgInQuery = "") -> Evaluation:
    """Scores of a whole trace, or with `run_id` and `offset` of one that goes on where an earlier call ended."""
    return await request.engine.evaluator.evaluate(request.principal, within(data, org_id))


@post(
    "/score",
    operation_id="score",
    summary="How difficult a thought sounds",
    tags=["lookups"],
    status_code=200,
    responses=refusals(body=True),
)
async def score(data: JsonBody[ScoreRequest], request: ApiRequest) -> Score:
    """From 0 to 1, by the words of `text` alone; `context` is taken for the sake of older clients."""
    if len(data.text) < LONG_TEXT:
        return Score(score_step(data.text))
    return Score(await anyio.to_thread.run_sync(score_step, data.text))


HANDLERS = (retrieve, evaluate, score)
