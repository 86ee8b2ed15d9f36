"""The block of the system message that is ours, to the byte."""

from collections.abc import Iterable

MARKER = "[REASONBLOCKS]"


def guidance_block(texts: Iterable[str]) -> str:
    """The text of the block that says these things."""
    return f"{MARKER}\n" + "\n\n".join(texts)
