"""A failure as a span may tell it: without secrets, and without reading a file on an agent's event loop."""

import itertools
import traceback
from typing import TYPE_CHECKING

from ..secret import mask
from . import semantics

if TYPE_CHECKING:
    from opentelemetry.trace import Span

LONGEST_MESSAGE = 300
MOST_FRAMES = 20


def fail(span: "Span", kind: str, reason: str | None = None) -> None:
    """Mark a span as failed."""
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute(semantics.ERROR_TYPE, kind)
    span.set_status(Status(StatusCode.ERROR, mask(reason) if reason else None))


def add_exception(span: "Span", error: BaseException, messages: bool) -> None:
    """An exception with what may be told of it. (`record_exception` tells everything and reads source files.)"""
    attributes = described(error, messages)
    span.add_event(semantics.EVENT_EXCEPTION, attributes)
    fail(span, type(error).__name__, attributes.get(semantics.EXCEPTION_MESSAGE))


def described(error: BaseException, messages: bool) -> dict[str, str]:
    """The attributes of its event; its message only where that may be told."""
    attributes = {
        semantics.EXCEPTION_TYPE: type(error).__name__,
        semantics.EXCEPTION_STACKTRACE: _frames(error),
    }
    message = mask(str(error))[:LONGEST_MESSAGE] if messages else ""
    if message:
        attributes[semantics.EXCEPTION_MESSAGE] = message
    return attributes


def _frames(error: BaseException) -> str:
    """Where it was raised, innermost last. No source lines: they would have to be read from disk."""
    frames = list(itertools.islice(reversed(list(traceback.walk_tb(error.__traceback__))), MOST_FRAMES))
    return "\n".join(
        f'  File "{frame.f_code.co_filename}", line {line}, in {frame.f_code.co_qualname}'
        for frame, line in reversed(frames)
    )
