"""reasonblocks watches an agent while it works, notices when it goes wrong, and says the right sentence in time."""

from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .client import ReasonBlocks

__all__ = ["ReasonBlocks", "__version__"]


def __getattr__(name: str) -> Any:
    """Load the client on first use: `reasonblocks.types` and the CLI do without LangChain."""
    if name == "ReasonBlocks":
        from .client import ReasonBlocks

        return ReasonBlocks
    raise AttributeError(f"module 'reasonblocks' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
