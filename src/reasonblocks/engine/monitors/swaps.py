"""What an edit takes out and what it puts in, without what both have in common."""

import re
from itertools import takewhile

from .features import StepFeatures
from .roles import runs_commands

_MOST = 2_000
"""Characters of an edit that are looked at."""
_SED = re.compile(r"\bsed\s[^'\"]*['\"](?:[^'\"]*?[\d,\s$;])?s([/|#,])((?:\\.|(?!\1).)*)\1((?:\\.|(?!\1).)*)\1\w*['\"]")
"""One thing put in place of another by a stream editor."""
_ESCAPED = re.compile(r"\\(.)")
_ANCHORS = "^$"
_FEWEST_LINES = 3
"""A path, and one line each of what was there and what is to be there."""


def swap_of(step: StepFeatures) -> tuple[str, tuple[str, str]] | None:
    """The place of an edit, and what it takes out and puts in; nothing where it does not name both."""
    command = step.command
    if len(command) > _MOST:
        return None
    if runs_commands(step.action):
        return _by_sed(command)
    if not step.role.changes:
        return None
    path, *lines = step.arguments.split("\n")
    if len(lines) + 1 < _FEWEST_LINES or len(lines) % 2:
        return None
    half = len(lines) // 2
    return _told_apart(path, "\n".join(lines[:half]), "\n".join(lines[half:]))


def _by_sed(command: str) -> tuple[str, tuple[str, str]] | None:
    if "sed" not in command:
        return None
    found = _SED.search(command)
    if found is None:
        return None
    old, new = (_ESCAPED.sub(r"\1", part).strip(_ANCHORS) for part in found.group(2, 3))
    return _told_apart(command.rsplit(maxsplit=1)[-1], old, new)


def _told_apart(path: str, old: str, new: str) -> tuple[str, tuple[str, str]] | None:
    """What differs, whatever was written around it."""
    begin = _in_common(old, new)
    old, new = old[begin:], new[begin:]
    end = _in_common(old[::-1], new[::-1])
    old, new = (old[:-end], new[:-end]) if end else (old, new)
    return (path, (old, new)) if old != new else None


def _in_common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
