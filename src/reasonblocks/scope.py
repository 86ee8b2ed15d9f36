"""A run as the current one, and its span as the current span, while a hook of it works."""

from contextvars import Token
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from .registry import current_run
from .run import Run
from .telemetry.place import contexts

if TYPE_CHECKING:
    from opentelemetry.context import Context


class Inside:
    """`with Inside(run)`: left in a context other than the one it was entered in, it changes nothing there.

    That happens to a coroutine that nobody awaits to its end: whoever collects it closes it, wherever that is.
    OpenTelemetry's own `detach` would log an error about it.
    """

    __slots__ = ("_run", "_run_token", "_span_token")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._span_token: Any = None

    def __enter__(self) -> Self:
        self._run_token = current_run.set(self._run)
        return self

    def attach(self, context: "Context | None") -> None:
        """Make `context` the current one of OpenTelemetry until this is left; once, and `None` changes nothing."""
        if context is not None:
            self._span_token = contexts().attach(context)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        token = self._span_token
        try:
            if type(token) is Token:
                token.var.reset(token)
            elif token is not None:
                _detach(token)
            current_run.reset(self._run_token)
        except ValueError:  # another context; then it is for both, which were set in the same
            pass


def _detach(token: Any) -> None:
    """Of another implementation of contexts, chosen by OTEL_PYTHON_CONTEXT."""
    from opentelemetry.context import detach

    detach(token)
