"""Why the engine refuses, in the terms of those who ask.

EngineError (a ReasonBlocksError)
├── NotFound           unknown, or another organisation's: nobody is told which
├── Forbidden          only an admin may, or it is read-only
├── Conflict           what the caller assumes is not what is held
├── Invalid            a value that fits its type and still makes no sense; names the field
│   └── Missing        there is none where one is needed
├── Busy               too much is waiting already; ask again later
└── StoreError         the data directory or the database cannot be used as it is
    └── Away           the database server cannot be reached, or went while it was asked
"""

from ..errors import ReasonBlocksError


class EngineError(ReasonBlocksError):
    """The root of what the engine raises."""


class NotFound(EngineError):
    """Unknown, or another organisation's: nobody is told which."""


class Forbidden(EngineError):
    """Only an admin may do this, or it is read-only."""


class Conflict(EngineError):
    """What the caller assumes is not what is held."""

    def __init__(self, reason: str, *, have: int | None = None) -> None:
        super().__init__(reason)
        self.have = have
        """How many steps of the run are held, where that is the question."""


class Invalid(EngineError):
    """A value that fits its type and still makes no sense."""

    def __init__(self, reason: str, *, location: tuple[str | int, ...] = ()) -> None:
        super().__init__(reason)
        self.location = location
        """The field, from the outside in, such as `("fields", "title")`."""


class Missing(Invalid):
    """A field that may be left out in other requests, but not in this one."""


class Busy(EngineError):
    """Too much is waiting already; the caller may ask again after `retry_after` seconds."""

    def __init__(self, reason: str, *, retry_after: float = 1.0) -> None:
        super().__init__(reason)
        self.retry_after = retry_after


class StoreError(EngineError):
    """The data directory or the database cannot be used as it is; the message says what to do."""


class Away(StoreError):
    """The database server cannot be reached, or went while it was asked."""
