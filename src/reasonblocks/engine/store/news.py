"""What processes on one database tell each other, and who of them does what only one should."""

from collections.abc import Callable

CHANGES = "reasonblocks_changes"
"""Something was written into the table `changes`."""
STEPS = "reasonblocks_steps"
"""Steps were scored; the text says which."""

Heard = Callable[[str], object]
"""Is told what another process said; nothing where something may have been missed."""


class News:
    """That of a database whose processes do not hear each other: they look into the tables from time to time."""

    heard = False
    """Whether others are heard at all."""

    def listen(self, channel: str, heard: Heard) -> None:
        """Have others heard on a channel; before `open`."""

    async def open(self) -> None:
        """Begin to listen."""

    async def tell(self, channel: str, text: str) -> None:
        """Tell all other processes; at most `LONGEST` bytes."""

    async def leads(self, chore: str) -> bool:
        """Whether a chore is this process's to do: of those on a database one has it until it ends."""
        return True

    def state(self) -> str:
        """`ok`, or why others are not heard at the moment."""
        return "ok"

    async def aclose(self) -> None:
        """Stop listening, and leave every chore to others."""


LONGEST = 7_900
"""Bytes of what is told at once; PostgreSQL takes no more than 8,000, our name before it."""
