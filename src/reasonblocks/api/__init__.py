"""How reasonblocks asks rb-api: the wire format, the protocol of a backend, and the public facade."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .facade import ReasonBlocksAPI

__all__ = ["ReasonBlocksAPI"]


def __getattr__(name: str) -> Any:
    """The facade is loaded on first use: it brings the HTTP client along, which the wire format does without."""
    if name == "ReasonBlocksAPI":
        from .facade import ReasonBlocksAPI

        return ReasonBlocksAPI
    raise AttributeError(f"module 'reasonblocks.api' has no attribute {name!r}")
