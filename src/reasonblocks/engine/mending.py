"""JSON that no decoder takes because of one small part of it, made readable without that part. No I/O.

Nothing here is called before a decoder has given up, and none of it recurses. How much is mended is bounded, since a
body that is made to take long would hold up everybody else.
"""

import re

MOST_REPAIRS = 100_000
MOST_TOKENS = 300_000
"""Brackets, texts and commas that are looked at: a batch of 500 ordinary events has a tenth of it."""
DEEPEST = 200
"""Levels of an event that is left where it is; what is stored of one has less."""

_SURROGATES = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}(?:\\u[dD][89a-fA-F][0-9a-fA-F]{2})*")
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]+|[\]}]+|,|:|"', re.DOTALL)
_BACKSLASH = 0x5C
_INSIDE = 2
"""The level of what is in the list of events: the body is one object around it."""


def without_lone_surrogates(body: bytes) -> bytes:
    """The same JSON with U+FFFD for every escaped half of a character, which no UTF-8 can hold."""
    return _SURROGATES.sub(_paired, body, count=MOST_REPAIRS)


def _paired(found: re.Match[bytes]) -> bytes:
    escapes, before = found[0], found.start()
    while before and found.string[before - 1] == _BACKSLASH:
        before -= 1
    kept = b""
    if (found.start() - before) % 2:  # a backslash that is escaped itself, and a text that looks like an escape
        kept, escapes = escapes[:6], escapes[6:]
    units = bytes.fromhex(escapes.replace(rb"\u", b"").decode())
    return kept + units.decode("utf-16-be", "replace").encode()


def without_deep_events(body: bytes) -> tuple[bytes, list[int]]:
    """The body with null for every event that is nested too deeply to be decoded, and which ones those are."""
    pieces: list[bytes] = []
    places: list[int] = []
    copied = 0
    for place, (start, end, deepest) in enumerate(_events(body)):
        if deepest > DEEPEST:
            pieces += (body[copied:start], b"null")
            places.append(place)
            copied = end
    return b"".join((*pieces, body[copied:])), places


def _events(body: bytes) -> list[tuple[int, int, int]]:
    """Where each event begins and ends, and how deep it is; none if that cannot be told."""
    found: list[tuple[int, int, int]] = []
    level = start = deepest = 0
    key = b""
    for count, token in enumerate(_TOKEN.finditer(body)):
        first = token[0][:1]
        if token[0] == b'"' or count > MOST_TOKENS:
            return []  # a text without an end, or too much to look at
        if first == b'"':
            if level == 1:
                key = token[0]
        elif first in b"[{":
            if level < _INSIDE <= level + len(token[0]) and key == b'"events"':
                found, start, deepest = [], token.start() + _INSIDE - level, 0
            level += len(token[0])
            deepest = max(deepest, level - _INSIDE)
        elif first in b"]}":
            if level - len(token[0]) < _INSIDE <= level and key == b'"events"':
                found.append((start, token.start() + level - _INSIDE, deepest))
            level -= len(token[0])
        elif first == b"," and level == _INSIDE and key == b'"events"':
            found.append((start, token.start(), deepest))
            start, deepest = token.end(), 0
    return found
