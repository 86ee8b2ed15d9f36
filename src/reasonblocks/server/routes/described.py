"""What the routes share in the document: parameters with their limits, and the ways to be refused."""

from typing import Annotated, Literal, Protocol, TypeAlias, TypeVar

import msgspec
from litestar.enums import RequestEncodingType
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import Body, Parameter

from ...limits import MAX_RUN_ID, RUN_ID_PATTERN
from ...types import Tier
from ..problems import FieldProblems, HeldSteps, Problem

Struct = TypeVar("Struct")
JsonBody: TypeAlias = Annotated[Struct, Body(media_type=RequestEncodingType.JSON)]
"""What a route takes as its body."""
RunIdInPath = Annotated[
    str,
    Parameter(
        min_length=1,
        max_length=MAX_RUN_ID,
        pattern=RUN_ID_PATTERN,
        description="The run's id, percent-encoded: a slash in it is sent as %2F.",
    ),
]
IdInPath = Annotated[str, Parameter(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f\x7f]+$(?!\n)")]
TierInPath = Annotated[Tier, Parameter(description="The tier of the pattern.")]
OrgInQuery = Annotated[  # a text of none: `str | None` would take the word "null" for nothing
    str,
    Parameter(
        max_length=256,
        description="Whose, unless the body says so; counts for admins only, for any other key it is the key's own.",
    ),
]
ProjectInQuery = Annotated[
    str,
    Parameter(max_length=256, description="Of which project; a key that is bound to one sees no other."),
]


class OfAnOrg(Protocol):
    """A body that may say whose data is meant."""

    org_id: str | None


Told = TypeVar("Told", bound=OfAnOrg)


def within(body: Told, org_id: str) -> Told:
    """The body with the org of the query, unless it names one itself; of which key it counts, the engine knows."""
    body.org_id = body.org_id or org_id or None
    return body


_ERRORS: dict[int, ResponseSpec] = {
    400: ResponseSpec(
        Problem, generate_examples=False, description="Malformed: no JSON, not UTF-8, or a header without sense."
    ),
    401: ResponseSpec(Problem, generate_examples=False, description="No key, or none that is valid."),
    403: ResponseSpec(Problem, generate_examples=False, description="Only an admin may, or it is read-only."),
    404: ResponseSpec(Problem, generate_examples=False, description="Unknown, or another organisation's."),
    408: ResponseSpec(Problem, generate_examples=False, description="The body did not arrive in time."),
    409: ResponseSpec(
        HeldSteps,
        generate_examples=False,
        description="It is taken, or not that prefix of the run is held: `have` steps are.",
    ),
    413: ResponseSpec(Problem, generate_examples=False, description="The body is over the cap."),
    415: ResponseSpec(Problem, generate_examples=False, description="The body is compressed; send it as it is."),
    422: ResponseSpec(FieldProblems, generate_examples=False, description="A field does not fit; says which."),
    429: ResponseSpec(Problem, generate_examples=False, description="Too many requests; see Retry-After."),
    431: ResponseSpec(Problem, generate_examples=False, description="The headers are too many or too long."),
    500: ResponseSpec(Problem, generate_examples=False, description="A defect of the server, logged under the id."),
    503: ResponseSpec(Problem, generate_examples=False, description="Too much is waiting; see Retry-After."),
}
ALWAYS = (400, 401, 415, 429, 431, 500, 503)
"""What any route with a key may answer."""
OPEN = (400, 415, 429, 431, 500)
"""What a route without a key may answer."""


def refusals(*statuses: int, body: bool = False) -> dict[int, ResponseSpec]:
    """How a route that needs a key may refuse, beside what any of them may; with a body there is more to refuse."""
    wanted = {*ALWAYS, *statuses, *((408, 413, 422) if body else ())}
    return {status: _ERRORS[status] for status in sorted(wanted)}


def open_refusals(*statuses: int) -> dict[int, ResponseSpec]:
    """The same for a route without a key."""
    return {status: _ERRORS[status] for status in sorted({*OPEN, *statuses})}


NO_KEY: list[dict[str, list[str]]] = [{}]
"""The security requirement of a route that needs none."""


class Deleted(msgspec.Struct):
    """What was deleted is gone."""

    status: Literal["deleted"]


class Cleared(msgspec.Struct):
    """The answer of DELETE /findings/{codebase_id}."""

    status: Literal["cleared"]
