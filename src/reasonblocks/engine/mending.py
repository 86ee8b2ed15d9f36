"""JSON that no decoder takes because of one small part of it, made readable without that part. No I/O.

Nothing here is called before a decoder has given up, and none of it recurses. It is all linear, most of it is done by
`bytes` and `re`, and how much is mended is bounded: a body that is made to take long would hold up everybody else.
"""

import re

MOST_REPAIRS = 100_000
MOST_TOKENS = 100_000
"""Brackets, texts and commas that are looked at: a batch of 500 ordinary events has a quarter of it."""
DEEPEST = 200
"""Levels of an event that is left where it is; what is stored of one has less."""

_ESCAPED_BACKSLASH = b"\\\\"
_NO_JSON = b"\0\0"
"""As long as what it stands for; no JSON has it."""
_HIGH = rb"\\u[dD][89aAbB][0-9a-fA-F]{2}"
_LOW = rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE_HIGH = re.compile(rb"%b(?!%b)" % (_HIGH, _LOW))
_LONE_LOW = re.compile(rb"%b(?<!%b%b)" % (_LOW, _HIGH, _LOW))
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}".encode()
_TOKEN = re.compile(rb'[^"\[{\]},]*(?:("[^"]*"|[\[{]+|[\]}]+|,|")|\Z)')
"""After whatever is none: a text, brackets, a comma, or the beginning of a text without an end."""
_INSIDE = 2
"""The level of what is in the list of events: the body is one object around it."""


def without_lone_surrogates(body: bytes) -> bytes:
    """The same JSON with U+FFFD for every escaped half of a character, which no UTF-8 can hold."""
    if b"\0" in body:
        return body  # which no JSON has
    plain = body.replace(_ESCAPED_BACKSLASH, _NO_JSON)  # from here on every backslash begins an escape
    plain = _LONE_HIGH.sub(_REPLACEMENT, plain, count=MOST_REPAIRS)
    plain = _LONE_LOW.sub(_REPLACEMENT, plain, count=MOST_REPAIRS)
    return plain.replace(_NO_JSON, _ESCAPED_BACKSLASH)


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
    plain = body.replace(_ESCAPED_BACKSLASH, _NO_JSON).replace(rb"\"", _NO_JSON)  # now every quotation mark is one
    for count, matched in enumerate(_TOKEN.finditer(plain)):
        token = matched[1] or b""
        if token == b'"' or count > MOST_TOKENS:
            return []  # a text without an end, or too much to look at
        first, at = token[:1], matched.start(1)
        if first == b'"':
            if level == 1:
                key = token
        elif first in (b"[", b"{"):
            if level < _INSIDE <= level + len(token) and key == b'"events"':
                found, start, deepest = [], at + _INSIDE - level, 0
            level += len(token)
            deepest = max(deepest, level - _INSIDE)
        elif first in (b"]", b"}"):
            if level - len(token) < _INSIDE <= level and key == b'"events"':
                found.append((start, at + level - _INSIDE, deepest))
            level -= len(token)
        elif first == b"," and level == _INSIDE and key == b'"events"':
            found.append((start, at, deepest))
            start, deepest = matched.end(), 0
    return found
