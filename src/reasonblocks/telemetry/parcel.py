"""An event on its way, from the mailbox over the spool to the server."""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from ..api.backend import Event
from ..api.wire import encode_event

STEP_WEIGHT, OTHER_WEIGHT = 3_000, 800
"""About what a step, and any other event, takes besides its texts."""
FIELDS_OF_A_STEP = 19
LONG_TEXTS = ("thought", "action_input", "observation", "action")
MOST_NODES = 1_000


class Origin(Enum):
    """Where an event waited last, and whose it is."""

    MEMORY = "memory"
    DISK = "disk"
    ADOPTED = "adopted"
    """On disk, left by a process that is no more."""
    OURS = "ours"
    """Not of an agent: a report of what was lost."""


@dataclass(slots=True, eq=False)
class Parcel:
    """An event on its way."""

    number: int
    event: Event | None
    weight: int
    step: bool = False
    """Whether it is a step, which may give way where the start or the end of a run may not."""
    encoded: bytes | None = None
    """Made once, off the agent's thread; then the event itself is let go."""
    origin: Origin = Origin.MEMORY
    done: bool = False
    """Whether it is dealt with, one way or the other."""
    failures: int = 0
    """How often the server, asked for this one alone, answered that something is wrong with itself."""
    strikes: int = 0
    """How many of these failures came after it had taken another one."""
    crashes: int = 0

    def content(self) -> Event:
        """The event, decoded again if need be."""
        if self.event is None:
            event: Event = msgspec.json.decode(self.encoded or b"{}")
            return event
        return self.event

    def encode(self) -> bytes:
        """The event as JSON; `Rejected` if no server would take it."""
        if self.encoded is None:
            self.encoded = encode_event(self.event or {})
            self.event = None
        return self.encoded

    @property
    def run_id(self) -> str:
        """The run it is about."""
        return str(self.content()["run_id"])


def weight_of(event: Event) -> int:
    """About how many bytes an event takes, from the lengths of its texts: nothing is encoded on an agent's thread."""
    if event["type"] != "step":
        return OTHER_WEIGHT + _weight_within(event)
    if len(event) > FIELDS_OF_A_STEP:  # a caller's redaction has added some
        return STEP_WEIGHT + _weight_within(event)
    try:
        weight = STEP_WEIGHT + sum(map(len, filter(None, map(event.get, LONG_TEXTS))))
    except TypeError:  # a caller's redaction has made something else of a text
        weight = STEP_WEIGHT + _weight_within(list(map(event.get, LONG_TEXTS)))
    texts = event.get("intervention_texts")
    return weight + _weight_within(texts) if texts else weight


def _weight_within(value: Any) -> int:
    """About what lies in something that a caller may have put anything into."""
    weight, nodes, left = 0, 0, [value]
    while left and nodes < MOST_NODES:
        nodes += 1
        item = left.pop()
        if isinstance(item, str | bytes):
            weight += len(item)
        elif isinstance(item, dict):
            weight += 100 * len(item)
            left += item.values()
        elif isinstance(item, list | tuple | set | frozenset):
            weight += 100 * len(item)
            left += item
    return weight
