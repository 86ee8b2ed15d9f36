"""The alternative: Litestar as it comes, which decodes the same bodies, gives the same answers and does nothing else.

    python benchmarks/serving/bare.py ANSWERS

listens on any free port and answers with what the file holds.
"""

import sys
from pathlib import Path

import msgspec
import uvicorn
from litestar import Litestar, post

from reasonblocks.engine.answers import Evaluation, EventsReceipt, Retrieval
from reasonblocks.engine.requests import EvaluateRequest, RetrieveRequest, RunFinishEvent, RunId, RunStartEvent, Step

EVALUATE, RETRIEVE, EVENTS = "/v1/monitors/evaluate", "/v1/traces/retrieve", "/v1/monitor/events"


class Answers(msgspec.Struct):
    """What the routes answer, whatever they are asked."""

    evaluation: Evaluation
    retrieval: Retrieval
    receipt: EventsReceipt


class StepEvent(Step, kw_only=True, tag_field="type", tag="step"):
    """A step in a batch."""

    run_id: RunId


class DecodedEvents(msgspec.Struct):
    """The body of a batch, with every event in it decoded."""

    events: list[RunStartEvent | StepEvent | RunFinishEvent]


def bare_app(answers: Answers) -> Litestar:
    """Three routes, and nothing before, behind or around them."""

    @post(EVALUATE, status_code=200)
    async def evaluate(data: EvaluateRequest) -> Evaluation:
        return answers.evaluation

    @post(RETRIEVE, status_code=200)
    async def retrieve(data: RetrieveRequest) -> Retrieval:
        return answers.retrieval

    @post(EVENTS, status_code=200)
    async def events(data: DecodedEvents) -> EventsReceipt:
        return answers.receipt

    return Litestar([evaluate, retrieve, events], openapi_config=None, logging_config=None)


def main() -> None:
    """Serve until a signal comes."""
    answers = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Answers)
    uvicorn.run(
        bare_app(answers), port=0, access_log=False, log_config=None, server_header=False, ws="none", lifespan="on"
    )


if __name__ == "__main__":
    main()
