"""A run as the current one, and its span as the current span, while a hook of it works."""

import contextlib
import functools
from collections.abc import Callable
from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .registry import current_run
from .run import Run

if TYPE_CHECKING:
    from opentelemetry.context import Context


class Inside:
    """`with Inside(run, context)`: left in a context other than the one it was entered in, it changes nothing there.

    That happens to a coroutine that nobody awaits to its end: whoever collects it closes it, wherever that is.
    OpenTelemetry's own `detach` would log an error about it.
    """

    __slots__ = ("_context", "_run", "_run_token", "_span_token")

    def __init__(self, run: Run, context: "Context | None" = None) -> None:
        self._run = run
        self._context = context
        self._span_token: Any = None

    def __enter__(self) -> None:
        self._run_token = current_run.set(self._run)
        if self._context is not None:
            self._span_token = _attach()(self._context)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._span_token is not None:
            _detach(self._span_token)
        with contextlib.suppress(ValueError):
            current_run.reset(self._run_token)


@functools.cache
def _attach() -> "Callable[[Context], Any]":
    from opentelemetry.context import attach

    return attach


def _detach(token: Any) -> None:
    if isinstance(token, Token):
        with contextlib.suppress(ValueError):
            token.var.reset(token)
    else:  # another implementation of contexts, chosen by OTEL_PYTHON_CONTEXT
        from opentelemetry.context import detach

        detach(token)
