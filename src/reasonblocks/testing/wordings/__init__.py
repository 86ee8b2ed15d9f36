"""The words that are planted. Two sets that share no phrase: what is fitted to one is tried on the other."""

from ..case import Wording
from .development import DEVELOPMENT
from .held_out import HELD_OUT
from .shape import Claim, Wordings

__all__ = ["Claim", "Wordings", "wordings_of"]


def wordings_of(name: Wording) -> Wordings:
    """One of the two sets."""
    if name == "development":
        return DEVELOPMENT
    if name == "held_out":
        return HELD_OUT
    raise ValueError(f"wording is {name!r}; expected 'development' or 'held_out'")
