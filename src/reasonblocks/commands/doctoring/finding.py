"""What a check found."""

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from ...errors import ReasonBlocksError

Level = Literal["ok", "warning", "problem"]


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    topic: str
    level: Level
    says: str
    do: str = ""
    """What to do about it, where there is something to do."""


def ok(topic: str, says: str) -> Finding:
    """It is as it should be."""
    return Finding(topic, "ok", says)


def warning(topic: str, says: str, do: str = "") -> Finding:
    """It works, but not as somebody may expect."""
    return Finding(topic, "warning", says, do)


def problem(topic: str, says: str, do: str = "") -> Finding:
    """It cannot work like this."""
    return Finding(topic, "problem", says, do)


def checked(topic: str, check: Callable[[], Iterable[Finding]], do: str = "") -> list[Finding]:
    """What a check finds; an error that it raises is a problem like any other, and does not stop the rest."""
    found: list[Finding] = []
    try:
        found.extend(check())
    except ReasonBlocksError as error:
        found.append(problem(topic, str(error), do))
    except Exception as error:  # whatever is broken, the others are still to be looked at
        found.append(problem(topic, f"{type(error).__name__}: {error}", do))
    return found
