"""What a call says, read off its text alone: one that is made again, in whatever run, need not be read again."""

from functools import lru_cache
from typing import Any

import msgspec

from .excerpts import LONGEST_VALUE, digest, head_and_tail, key
from .roles import Role, role_of
from .terms import Terms, parted
from .topics import TopicPart, topic_of_call
from .words import WordSet, split, word_set

_MOST_DECODED = 8_000
"""Longer arguments are not taken apart."""
_MOST_GIVEN = 2_000
"""Characters of the arguments whose words are looked at."""
_BEGINS_JSON = '{["-0123456789tfn'
_MOST_LEAVES = 64
_DEEPEST = 4
_CONTAINERS = (dict, list)
_COMMANDS = ("command", "cmd", "code", "script")
"""What the argument is called that a shell or an interpreter runs; others only say what it is for."""
_MOST_REMEMBERED, _LONGEST_REMEMBERED = 256, 2_000
"""Calls of which is remembered what was read, and characters of one of them."""


class CallRead(msgspec.Struct, frozen=True, gc=False):
    """What a call says; not to be changed, for others may have the same."""

    action: str
    """As far as it is looked at; empty if there is no call at all."""
    tool: bytes
    leaves: list[str]
    """The values of the arguments."""
    role: Role
    """As far as nobody has declared another one."""
    arguments: str
    command: str
    """The same, without what describes it: what is run, where a call hands something over to be run."""
    given: set[str]
    given_words: WordSet
    whole: bool
    """Whether all words of the arguments were looked at."""
    call: bytes
    target: bytes
    terms: Terms
    topic: TopicPart


def read_call(action: str, action_input: str) -> CallRead:
    """What a call says: its tool, and the arguments as they were written."""
    short = len(action) + len(action_input) <= _LONGEST_REMEMBERED
    return (_remembered if short else _read)(action, action_input)


def _read(action: str, action_input: str) -> CallRead:
    tool = action[:_MOST_DECODED]
    leaves, command = _values(action_input)
    arguments = "\n".join(leaves)
    looked_at = arguments[:_MOST_GIVEN]
    given = set(split(looked_at))
    whole = len(arguments) <= _MOST_GIVEN
    fixed, plain = parted(tool, leaves)
    return CallRead(
        # In the order of the fields: by their names it takes ten times as long.
        tool,
        _tool(tool),
        leaves,
        role_of(tool, leaves, None, given if whole else None),
        arguments,
        command or arguments,
        given,
        word_set(given),
        whole,
        key(f"{action}\n{action_input}"),
        digest("\n".join(fixed)),
        Terms(tuple(fixed), tuple(plain)),
        topic_of_call(looked_at, given),
    )


_remembered = lru_cache(maxsize=_MOST_REMEMBERED)(_read)


@lru_cache(maxsize=1_024)
def _tool(action: str) -> bytes:
    return digest(action)


def _values(arguments: str) -> tuple[list[str], str]:
    """The values of the arguments without their names, and the one that is run where something describes it.

    Where they are not JSON, all of it is one value.
    """
    if not arguments:
        return [], ""
    if len(arguments) > _MOST_DECODED:
        return [head_and_tail(arguments)], ""
    if arguments.lstrip()[:1] not in _BEGINS_JSON:
        return [arguments], ""  # quickly said of most that is none
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return [arguments], ""
    leaves: list[str] = []
    _collect(value, leaves, 0)
    return leaves, _command(value) if len(leaves) > 1 and isinstance(value, dict) else ""


def _command(values: dict[str, Any]) -> str:
    for name in _COMMANDS:
        command = values.get(name)
        if isinstance(command, str):
            return command
    return ""


def _collect(value: Any, leaves: list[str], depth: int) -> None:
    if len(leaves) >= _MOST_LEAVES:
        return
    if isinstance(value, str):
        leaves.append(value)
    elif isinstance(value, _CONTAINERS) and depth < _DEEPEST:
        for item in value.values() if isinstance(value, dict) else value:
            _collect(item, leaves, depth + 1)
    elif value is not None:
        leaves.append(str(value)[:LONGEST_VALUE])
