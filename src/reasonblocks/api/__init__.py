"""How reasonblocks asks rb-api: the wire format, the protocol of a backend, and the public facade."""

from .facade import ReasonBlocksAPI

__all__ = ["ReasonBlocksAPI"]
