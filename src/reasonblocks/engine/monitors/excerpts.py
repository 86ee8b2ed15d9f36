"""Texts cut to what is looked at, and short for what they are compared by."""

from hashlib import blake2b

HEAD, TAIL = 3_000, 1_000
"""Characters that are looked at of what the agent itself has written."""
LONGEST_VALUE = 100
"""Characters of a quotation, and of a value that is no text."""


def head_and_tail(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """A text as it is, or the head and the tail of a longer one."""
    return text if len(text) <= head + tail else f"{text[:head]}\n{text[-tail:]}"


def digest(text: str, size: int = 8) -> bytes:
    """The same for the same text, in any process."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()


def key(text: str) -> bytes:
    """The same for the same text while this process lives, and so does every run: a digest takes many times as long."""
    return hash(text).to_bytes(8, "little", signed=True)
