"""What we are called among an agent's middleware, and what is said where we are there twice.

LangChain tells a list with two of the same name by putting the names into a set, and refuses it without saying which
or why. There, and nowhere else, two of our names are compared; so that is where we say it ourselves.
"""

import sys

from .errors import SettingsError

OUR_NAME = "ReasonBlocks"
_FACTORY = "langchain.agents.factory"
_TWICE = (
    "ReasonBlocks is in this agent's list of middleware twice: keep one of them. One rb.middleware() serves any number "
    "of runs, and two would say and count everything twice. An agent that a tool of this one calls may have its own."
)


class Name(str):
    """A text like any other, but that LangChain may not find two of it in one list."""

    __slots__ = ()

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Name) and sys._getframe(1).f_globals.get("__name__") == _FACTORY:
            raise SettingsError(_TWICE)
        return str.__eq__(self, other)
