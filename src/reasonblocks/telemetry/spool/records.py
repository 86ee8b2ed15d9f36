"""How records lie in a segment: framed, checksummed, and found again behind damage. Pure.

    segment   magic, position of the first record that is not delivered, records
    record    marker, kind, length, checksum of kind and payload, payload

The marker is no part of any UTF-8 text, so behind a damaged record the next whole one can be found.
"""

import struct
import zlib
from collections.abc import Iterator
from enum import IntEnum
from typing import NamedTuple

from ...limits import MAX_BODY

HEADER = struct.Struct("<8sQ")
MAGIC = b"rbspool1"
MARKER = b"\xff\xfe"
FRAME = struct.Struct("<2sBII")
LONGEST_PAYLOAD = MAX_BODY


class Kind(IntEnum):
    """What a record is, as far as the spool has to know."""

    STEP = 1
    """A step of a run: the first to give way."""
    LASTING = 2
    """A start, an end or an interruption: never gives way."""
    LOSS = 3
    """A report of steps that were lost."""


KINDS = {int(kind): kind for kind in Kind}


class Record(NamedTuple):
    """One event, encoded."""

    kind: Kind
    payload: bytes


class Found(NamedTuple):
    """A record in a segment."""

    record: Record
    end: int
    """Where the next one begins."""
    damaged: int
    """How many stretches of damage lie before it."""


def header(head: int = HEADER.size) -> bytes:
    """The beginning of a segment."""
    return HEADER.pack(MAGIC, head)


def head_of(data: bytes) -> int | None:
    """The position of the first record that is not delivered, or `None` if this is no segment."""
    if len(data) < HEADER.size:
        return None
    magic, head = HEADER.unpack_from(data)
    if magic != MAGIC:
        return None
    return int(head)


def framed(record: Record) -> bytes:
    """A record as it is written."""
    kind, payload = record
    return FRAME.pack(MARKER, kind, len(payload), _checksum(kind, payload)) + payload


def found(data: bytes, position: int) -> Iterator[Found]:
    """The whole records from a position on. What is torn off at the end is not there."""
    damaged = 0
    while position < len(data):
        record = _at(data, position)
        if record is None:
            damaged += 1
            position = _next(data, position)
            continue
        position += FRAME.size + len(record.payload)
        yield Found(record, position, damaged)
        damaged = 0


def _at(data: bytes, position: int) -> Record | None:
    if position + FRAME.size > len(data):
        return None
    marker, kind, length, checksum = FRAME.unpack_from(data, position)
    start = position + FRAME.size
    if marker != MARKER or length > LONGEST_PAYLOAD or start + length > len(data) or kind not in KINDS:
        return None
    payload = data[start : start + length]
    return Record(KINDS[kind], payload) if _checksum(kind, payload) == checksum else None


def _next(data: bytes, position: int) -> int:
    """Where the next whole record begins, or the end."""
    while (position := data.find(MARKER, position + 1)) >= 0:
        if _at(data, position) is not None:
            return position
    return len(data)


def _checksum(kind: int, payload: bytes) -> int:
    return zlib.crc32(payload, kind)
