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
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module 'reasonblocks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
