"""Light spans in OTLP's format: put together from what was written before, without going through their properties.

This is about spans as our pen leaves them. Where anybody else has written to one it is `otlp.py`'s.
"""

import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from . import semantics
from .light import UNSET, LightScores, LightSpan
from .protobuf import Attributes, Names, fixed64, is_steady, remember, start, state, text

Shared = dict[int, tuple[Any, bytes]]
"""What spans of a run have in common, and as it is written; by its identity, for as long as a request is made."""
_place = struct.Struct(">2s16s2sQ2sQ").pack
_times = struct.Struct("<2sBQBQ").pack
_END = b"\x7a\x00\x85\x01\x00\x01\x00\x00"
"""No status, and a parent that is in this process."""
_of_spans, _of_events = Attributes(0x4A), Attributes(0x1A)
_names = Names(0x2A)
_known_of_spans = _of_spans.__getitem__


def span(one: LightSpan, shared: Shared) -> bytes | None:
    """One span, as it is in a field of its scope; `None` if others than our pen have written to it."""
    common, own, context = one._common, one._own, one._context
    if common is None or one._status is not UNSET:
        return None
    parent: Any = one._parent  # there is one, for it was made with our pen
    parts = [
        _place(b"\x0a\x10", context[0].to_bytes(16, "big"), b"\x12\x08", context[1], b"\x22\x08", parent[1]),
        _times(b"\x30\x01", 0x39, one._start_time, 0x41, one._end_time),
        _names[one._name],
        (shared.get(id(context[4])) or _share(shared, context[4], state))[1],
    ]
    if common and semantics.RUN_ID not in own:  # else somebody has just asked for all in one
        parts.append((shared.get(id(common)) or _share(shared, common, _of_spans.joined))[1])
    size = len(parts)
    try:
        parts += map(_known_of_spans, own.items())
    except TypeError:  # there is a value that cannot be looked up
        parts[size:] = _of_spans.of(own)
    if one._scores is not None:
        parts.append(_written_scores(one._scores))
    if one._happened is not None:
        for event in one._happened:
            _add_event(parts, *event)
    parts.append(_END)
    return b"".join(parts)


def _share(shared: Shared, what: Any, write: Callable[[Any], bytes]) -> tuple[Any, bytes]:
    known = shared[id(what)] = what, write(what)
    return known


_events: dict[Any, tuple[bytes, bytes]] = {}
"""By name and attributes, what comes before the moment of an event, and after it."""


def _add_event(parts: list[bytes], name: str, attributes: Mapping[str, Any], when: int) -> None:
    key = (name, *attributes.items())
    try:
        known = _events.get(key)
    except TypeError:
        known = None
    if known is None:
        after = text(0x12, name) + _of_events.joined(attributes)
        known = start(0x5A, 1 + 8 + len(after)) + b"\x09", after
        if all(map(is_steady, attributes.items())):
            remember(_events, key, known)
    parts += (known[0], fixed64(when), known[1])


class _Scores(NamedTuple):
    """The events of all scores of one kind of evaluation."""

    pack: Callable[..., bytes]
    """Writes them in one."""
    parts: list[Any]
    """What that takes: of each event a start, the moment, what is between, the score, and what comes after it."""


_scores: dict[tuple[tuple[str, ...], tuple[str, ...]], _Scores] = {}
"""By the monitors and those that fired."""


def _written_scores(told: LightScores) -> bytes:
    key = tuple(told.scores), tuple(told.fired)
    pack, parts = _scores.get(key) or _score_events(*key)
    written = parts.copy()
    written[1::5] = [told.timestamp] * len(told.scores)
    written[3::5] = told.scores.values()
    return pack(*written)


def _score_events(names: tuple[str, ...], fired: tuple[str, ...]) -> _Scores:
    layout = "<"
    parts: list[Any] = []
    for name in names:
        label = semantics.FIRED if name in fired else semantics.NOT_FIRED
        between = text(0x12, semantics.EVENT_EVALUATION) + _of_events.joined({semantics.EVALUATION_NAME: name})
        between += _of_events.before_float(semantics.EVALUATION_SCORE)
        after = _of_events.joined({semantics.EVALUATION_LABEL: label})
        before = start(0x5A, 1 + 8 + len(between) + 8 + len(after)) + b"\x09"
        layout += f"{len(before)}sQ{len(between)}sd{len(after)}s"
        parts += (before, 0, between, 0.0, after)
    written = _Scores(struct.Struct(layout).pack, parts)
    remember(_scores, (names, fired), written)
    return written
