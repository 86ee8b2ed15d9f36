"""What options, a file or an editor say about a pattern, in the shape of a file."""

import tempfile
from typing import TYPE_CHECKING, Any

import click
import msgspec

from ..errors import SettingsError

if TYPE_CHECKING:
    from .pattern_files import PatternEntry

if TYPE_CHECKING:
    pass

STATUSES = click.Choice(["candidate", "live", "retired"])
NONE = "none"
"""Instead of a failure or a gate: none in particular."""


def qualities(command: Any) -> Any:
    """The options that say what a pattern is like."""
    for option, settings in (
        ("--status", {"type": STATUSES, "help": "Only live patterns are used."}),
        ("--model-family", {"metavar": "NAME", "help": "The models it is for, such as haiku; '' is any."}),
        ("--gate-threshold", {"metavar": "SHARE", "help": f"The least similarity from 0 to 1, or {NONE}."}),
        ("--failure-type", {"metavar": "NAME", "help": f"The failure it is about, such as loop, or {NONE}."}),
        (
            "--field",
            {
                "multiple": True,
                "metavar": "NAME=TEXT",
                "help": "What it says; may be repeated. A TEXT that is JSON (a list, true, null) is taken as such.",
            },
        ),
        ("--file", {"metavar": "FILE", "help": "Take it from a JSON or TOML file; - is stdin."}),
    ):
        command = click.option(option, **settings)(command)
    return command


def chosen(given: dict[str, Any]) -> dict[str, Any]:
    """What the options say about a pattern, in the shape of a file."""
    said: dict[str, Any] = {}
    if given["field"]:
        said["fields"] = dict(map(_field, given["field"]))
    for name in ("failure_type", "gate_threshold"):
        if given[name] is not None:
            said[name] = None if given[name] == NONE else given[name]
    if said.get("gate_threshold") is not None:
        said["gate_threshold"] = _share(said["gate_threshold"])
    for name in ("model_family", "status"):
        if given[name] is not None:
            said[name] = given[name]
    return said


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise click.UsageError(f"--gate-threshold is {text!r}; expected a number from 0 to 1, or {NONE}")
    return share


def _field(given: str) -> tuple[str, Any]:
    name, equals, text = given.partition("=")
    if not equals or not name.strip():
        raise click.UsageError(f"--field is {given!r}; expected NAME=TEXT, such as observation='The cache was stale.'")
    if text[:1] in "[{" or text in ("true", "false", "null"):
        try:
            return name.strip(), msgspec.json.decode(text)
        except msgspec.DecodeError:
            pass  # a text that only looks like it
    return name.strip(), text


def changed_by(entry: "PatternEntry", said: dict[str, Any]) -> "PatternEntry":
    """A stored pattern as options change it."""
    from .pattern_files import parse_patterns

    changed = msgspec.to_builtins(entry) | {name: value for name, value in said.items() if name != "fields"}
    fields = {**entry.fields, **said.get("fields", {})}
    changed["fields"] = {name: value for name, value in fields.items() if value is not None}
    return parse_patterns(msgspec.json.encode(changed), "the pattern")[0]


def edited(value: dict[str, Any], shown: str) -> "list[PatternEntry]":
    """A pattern as somebody leaves it in their editor; what cannot be read is kept, with its place."""
    from .pattern_files import parse_patterns

    before = msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
    after = click.edit(before, extension=".json")
    if after is None or after == before:
        raise SettingsError(f"{shown} was not saved in the editor, so nothing is changed")
    try:
        return parse_patterns(after.encode(), shown)
    except SettingsError as error:
        with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as kept:
            kept.write(after)
        raise SettingsError(f"{error} (what you wrote is in {kept.name})") from None
