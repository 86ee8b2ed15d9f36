"""How values lie in the tables: JSON as text, times as seconds, vectors as bytes, new ids."""

import hashlib
import json
import secrets
import time
from datetime import UTC, datetime
from typing import Any

import msgspec

from ..errors import Invalid

_encoder = msgspec.json.Encoder(enc_hook=str)


def dump(value: Any) -> str:
    """A value as the text of a JSON column."""
    return _encoder.encode(value).decode()


def load(text: str | None) -> Any:
    """The value of a JSON column."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        # A number beyond all floats, or one of thousands of digits, which only the lenient one reads.
        return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int | float:
    """A number of any length; one that Python makes no integer of is beyond all floats, too."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def now() -> float:
    """The time, as the tables keep it."""
    return time.time()


def shown(seconds: float) -> str:
    """A time for people and for JSON."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shown_or_none(seconds: float | None) -> str | None:
    """A time that may not have come yet."""
    return None if seconds is None else shown(seconds)


def new_id(prefix: str) -> str:
    """An id that nobody can guess, in order of creation."""
    return f"{prefix}_{int(time.time() * 1000):012x}{secrets.token_hex(8)}"


def digest(text: str | bytes) -> str:
    """What identifies a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text).hexdigest()


MAX_DEPTH = 100
"""How deep a caller's JSON may be nested: what is stored is read again where less of the stack is left."""


def too_deep(value: Any) -> bool:
    """Whether objects and lists are nested deeper than is kept."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def dump_given(value: dict[str, Any] | list[Any], *location: str | int) -> str:
    """A caller's own JSON as the text of a column; `Invalid` names the field that cannot be kept."""
    if too_deep(value):
        raise Invalid(
            f"{'.'.join(map(str, location))} is nested deeper than {MAX_DEPTH} levels; send something flatter",
            location=location,
        )
    try:
        return dump(value)
    except (ValueError, RecursionError) as error:
        raise Invalid(
            f"{'.'.join(map(str, location))} cannot be kept as JSON: {str(error)[:200]}; send something plainer",
            location=location,
        ) from None
