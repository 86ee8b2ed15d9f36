"""Protobuf's format, and attributes in it as OTLP has them.

Most attributes are a look-up: their names are few, and so are most of their values.
"""

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from . import semantics

MOST_KNOWN = 4_096
"""Of each kind of thing of which it is known how it is written; more would be values that never come again."""
LONGEST_KNOWN = 64
STEADY = frozenset(
    {
        semantics.STEP_INDEX,
        semantics.STEP_TOOL_FAILED,
        semantics.INPUT_TOKENS,
        semantics.OUTPUT_TOKENS,
        semantics.CACHE_READ_TOKENS,
        semantics.RETRIEVAL_FOUND,
    }
)
"""Those of our own attributes whose values are whole numbers, or true or false, and never now one and then the other:
for a look-up 1 and true are the same."""
double = struct.Struct("<d").pack
fixed64 = struct.Struct("<Q").pack


class Attributes(dict[tuple[str, Any], bytes]):
    """How attributes of one field were written before. Looked up by name and value, others are written.

    Only what we have written ourselves may be looked up, or a text: see `STEADY`.
    """

    def __init__(self, tag: int) -> None:
        super().__init__()
        self._tag = tag
        self._floats: dict[str, bytes] = {}
        """All of an attribute whose value is a float but the value."""

    def __missing__(self, pair: tuple[str, Any]) -> bytes:
        name, value = pair
        if type(value) is float:
            return (self._floats.get(name) or self.before_float(name)) + double(value)
        written = field(self._tag, text(0x0A, name) + field(0x12, any_value(value)))
        if is_steady(pair):
            remember(self, pair, written)
        return written

    def before_float(self, name: str) -> bytes:
        """All of an attribute but its value."""
        written = field(self._tag, text(0x0A, name) + field(0x12, any_value(0.0)))[:-8]
        remember(self._floats, name, written)
        return written

    def of(self, attributes: Mapping[str, Any]) -> list[bytes]:
        """Attributes that anybody may have written."""
        return [
            self[pair] if type(pair[1]) is str else Attributes.__missing__(self, pair) for pair in attributes.items()
        ]

    def joined(self, attributes: Mapping[str, Any] | None) -> bytes:
        """The same in one."""
        return b"".join(self.of(attributes)) if attributes else b""


class Names(dict[str, bytes]):
    """How names of spans, or of events, were written before."""

    def __init__(self, tag: int) -> None:
        super().__init__()
        self._tag = tag

    def __missing__(self, name: str) -> bytes:
        written = text(self._tag, name)
        if len(name) <= LONGEST_KNOWN:
            remember(self, name, written)
        return written


class Starts(dict[int, bytes]):
    """What comes before a field of one tag, by its size."""

    def __init__(self, tag: int) -> None:
        super().__init__()
        self._tag = tag

    def __missing__(self, size: int) -> bytes:
        written = start(self._tag, size)
        remember(self, size, written)
        return written


def is_steady(pair: tuple[str, Any]) -> bool:
    """Whether nothing else looks like this attribute, and it may well come again."""
    name, value = pair
    return len(value) <= LONGEST_KNOWN if type(value) is str else name in STEADY and isinstance(value, int)


def remember(known: dict[Any, Any], key: Any, written: Any) -> None:
    """Know one more, at the cost of all if there are too many."""
    if len(known) >= MOST_KNOWN:
        known.clear()
    known[key] = written


def state(known: Mapping[str, str]) -> bytes:
    """The state of a trace, if there is any."""
    return text(0x1A, ",".join(f"{key}={value}" for key, value in known.items()))


def any_value(value: Any) -> bytes:
    """An `AnyValue`."""
    if isinstance(value, str):
        encoded = value.encode("utf-8", "replace")
        return b"\x0a" + number(len(encoded)) + encoded
    if isinstance(value, float):
        return b"\x21" + double(value)
    if isinstance(value, bool):
        return b"\x10\x01" if value else b"\x10\x00"
    if isinstance(value, int):
        return b"\x18" + number(value & 0xFFFF_FFFF_FFFF_FFFF)
    if isinstance(value, bytes):
        return field(0x3A, value)
    if isinstance(value, Mapping):
        pairs = (text(0x0A, str(key)) + field(0x12, any_value(item)) for key, item in value.items())
        return field(0x32, b"".join(field(0x0A, pair) for pair in pairs))
    if isinstance(value, Sequence):
        return field(0x2A, b"".join(field(0x0A, any_value(item)) for item in value))
    return b"" if value is None else any_value(str(value))


def field(tag: int, body: bytes) -> bytes:
    """A field with a size."""
    return start(tag, len(body)) + body


def start(tag: int, size: int) -> bytes:
    """What comes before so many bytes of a field."""
    if size < 0x80:
        return bytes((tag, size))
    if size < 0x4000:
        return bytes((tag, size & 0x7F | 0x80, size >> 7))
    return bytes((tag,)) + number(size)


def text(tag: int, text: str) -> bytes:
    """A field with a text, if there is any."""
    return field(tag, text.encode("utf-8", "replace")) if text else b""


def counted(tag: int, count: int) -> bytes:
    """A field with a count, if there is any."""
    return bytes((tag,)) + number(count) if count else b""


def number(value: int) -> bytes:
    """A whole number, seven bits at a time."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
