"""What goes wrong, as an answer: always `{"detail": ...}`, and never more than the caller may know."""

import logging
import math
import re
from dataclasses import dataclass, field
from typing import Any

import msgspec
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException, ValidationException

from ..engine.embedding.base import EmbedderProblem
from ..engine.errors import Busy, Conflict, Forbidden, Invalid, Missing, NotFound, StoreError
from ..engine.index.thread import IndexFailure
from .logs import note

Location = list[str | int]
_AT = re.compile(r"(?s)(?P<message>.*?)(?: - at (?P<key>`key` in )?`\$(?P<path>[^`]*)`)?")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_MISSING = re.compile(r"Object missing required field `([^`]+)`")


class Problem(msgspec.Struct):
    """Why a request was refused."""

    detail: str


class FieldProblem(msgspec.Struct):
    """What is wrong with one field, and where it is."""

    loc: Location
    msg: str
    type: str
    """`missing`, `type` or `value`."""


class FieldProblems(msgspec.Struct):
    """Why a request with well-formed JSON was refused."""

    detail: list[FieldProblem]


class HeldSteps(msgspec.Struct, omit_defaults=True):
    """What the caller assumes is not what is held."""

    detail: str
    have: int | None = None
    """How many steps of the run are held, where that is the question."""


class Refusal(Exception):
    """A request that goes no further, before any engine has seen it."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = headers or {}


class Misfit(Exception):
    """A body that is JSON and does not fit; says where."""

    def __init__(self, problems: FieldProblems) -> None:
        super().__init__("the body does not fit")
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Answer:
    """An error as it is sent."""

    status: int
    body: Problem | FieldProblems | HeldSteps
    headers: dict[str, str] = field(default_factory=dict)

    def encoded(self) -> bytes:
        """The body as JSON."""
        return msgspec.json.encode(self.body)


NOT_FOUND = "not found"
"""The same for what is unknown and for what is another organisation's."""


def explained(error: Exception, request_id: str) -> Answer:
    """The answer to a request that failed; what nobody expected is logged, and the caller is told where."""
    answer = answer_to(error)
    if answer is None:
        note(logging.ERROR, "failed", error=error, request_id=request_id)
        answer = Answer(500, Problem(f"this should not have happened; the server's log has it as {request_id}"))
    return answer


def answer_to(error: Exception) -> Answer | None:
    """The answer that an error means; `None` for one that nobody expected."""
    match error:
        case Refusal(status=status, detail=detail, headers=headers):
            return Answer(status, Problem(detail), headers)
        case Misfit(problems=problems):
            return Answer(422, problems)
        case NotFound() | NotFoundException():
            return Answer(404, Problem(NOT_FOUND))
        case Forbidden():
            return Answer(403, Problem(str(error)))
        case Conflict(have=have):
            return Answer(409, HeldSteps(str(error), have))
        case Invalid(location=location):
            kind = "missing" if isinstance(error, Missing) else "value"
            return Answer(422, FieldProblems([FieldProblem(["body", *location], str(error), kind)]))
        case Busy(retry_after=seconds):
            return Answer(503, Problem(str(error)), retry_after(seconds))
        case EmbedderProblem() | IndexFailure():
            return Answer(503, Problem("lookups by meaning do not work at the moment"), retry_after(5))
        case StoreError():
            return Answer(503, Problem("the database cannot be used at the moment"), retry_after(5))
        case _:
            return _of_litestar(error)


def _of_litestar(error: Exception) -> Answer | None:
    match error:
        case ValidationException(extra=list() as problems):
            return Answer(422, FieldProblems([_parameter(problem) for problem in problems]))
        case MethodNotAllowedException(headers=headers):
            named = (headers or {}).get("allow", "").split(", ")
            allowed = ", ".join(sorted(set(named) - {"OPTIONS"}))  # only browsers ask so, and the front answers them
            return Answer(
                405, Problem(f"this method is not allowed here; expected one of {allowed}"), {"allow": allowed}
            )
        case HTTPException(status_code=status, detail=detail) if status < 500:
            return Answer(status, Problem(detail))
        case _:
            return None


def _parameter(problem: dict[str, Any]) -> FieldProblem:
    """A parameter of the path or the query that does not fit, as Litestar tells it."""
    source = problem.get("source") or "query"
    message = str(problem.get("message", ""))
    kind = "missing" if "missing" in message.lower() else "type" if ", got " in message else "value"
    return FieldProblem([str(getattr(source, "value", source)), str(problem.get("key", ""))], message, kind)


def field_problems(error: msgspec.ValidationError) -> FieldProblems:
    """Where a body does not fit, read off msgspec's sentence about it."""
    found = _AT.fullmatch(str(error))
    assert found is not None  # it matches any text
    message = found["message"]
    location: Location = ["body"]
    for name, index in _STEP.findall(found["path"] or ""):
        if index != "...":  # the value of some key, which msgspec does not name
            location.append(int(index) if index else name)
    if missing := _MISSING.match(message):
        return FieldProblems([FieldProblem([*location, missing[1]], message, "missing")])
    kind = "type" if ", got " in message else "value"
    return FieldProblems([FieldProblem(location, f"{message} as a key" if found["key"] else message, kind)])


def retry_after(seconds: float) -> dict[str, str]:
    """The header that asks for patience, in whole seconds."""
    return {"retry-after": str(max(1, math.ceil(seconds)))}
