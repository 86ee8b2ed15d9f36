"""reasonblocks watches an agent while it works, notices when it goes wrong, and says the right sentence in time."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .client import ReasonBlocks
    from .telemetry.sqlite_sink import SQLiteMonitorSink

__all__ = ["ReasonBlocks", "SQLiteMonitorSink", "__version__"]

_LATER = {"ReasonBlocks": "client", "SQLiteMonitorSink": "telemetry.sqlite_sink"}
"""Loaded on first use: `reasonblocks.types` and the CLI do without LangChain."""


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'reasonblocks' has no attribute {name!r}")
    try:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    except ImportError as error:
        raise _explained(error) from error


def _explained(error: ImportError) -> ImportError:
    """The error, or what to do where it is an old LangChain that lacks something."""
    package = (error.name or "").partition(".")[0]
    if package not in ("langchain", "langchain_core", "langgraph"):
        return error
    from importlib.metadata import PackageNotFoundError, version

    try:
        found = f"langchain {version('langchain')} is installed"
    except PackageNotFoundError:
        found = "langchain is not installed"
    return ImportError(
        f"reasonblocks needs langchain 1.4 or later (and before 2), but {found}: "
        "run `pip install --upgrade 'langchain>=1.4,<2'`",
        name=error.name,
    )


def __dir__() -> list[str]:
    return __all__
