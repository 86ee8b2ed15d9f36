"""The errors that reasonblocks raises, and the one it only passes around.

    ReasonBlocksError
    ├── SettingsError (also a ValueError)   a setting that cannot work; raised where it is given
    ├── AmbiguousRun (also a ValueError)    a call that could mean several runs
    └── Unavailable                         an answer that could not be had
        └── Rejected                        the server understood the request and refused it

Inside the hooks of an agent only `Unavailable` occurs, as a value: an agent never sees any of these.
"""


class ReasonBlocksError(Exception):
    """The root of everything reasonblocks raises."""


class SettingsError(ReasonBlocksError, ValueError):
    """A setting that cannot work; the message names it, what was expected and what to do."""


class AmbiguousRun(ReasonBlocksError, ValueError):
    """A call that could mean more than one run."""


class Unavailable(ReasonBlocksError):
    """An answer that could not be had in time, or at all."""

    def __init__(self, reason: str, *, retry_after: float | None = None, failed: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retry_after = retry_after
        """Seconds that the server asked to wait, if it did."""
        self.failed = failed
        """Whether the server did answer: that it tried, and something went wrong in it."""


class Rejected(Unavailable):
    """The server understood the request and refused it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
