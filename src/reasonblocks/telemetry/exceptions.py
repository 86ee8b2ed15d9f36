"""An exception as a span may tell it: without secrets, and without reading a file on an agent's event loop."""

import itertools
import traceback

from ..secret import mask
from . import semantics

LONGEST_MESSAGE = 300
MOST_FRAMES = 20


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
