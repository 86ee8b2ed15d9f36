"""`reasonblocks patterns`: the library of guidance, as people work on it."""

import tempfile
from pathlib import Path
from typing import Any

import click
import msgspec

from ..engine.answers import Pattern
from ..errors import ReasonBlocksError, SettingsError
from . import options
from .sources.base import Source, pattern_meant
from .sources.choosing import Place, place

TIERS = click.Choice(["e1", "e2", "e3"])
STATUSES = click.Choice(["candidate", "live", "retired"])
FAILURES = click.Choice(["contradiction", "loop", "unverified", "churn", "sprawl", "drift"])
NONE = "none"
NEW = {"tier": "e1", "status": "candidate", "fields": {"observation": "", "recommended_action": ""}}
"""What the editor starts with for a new pattern."""


@click.group()
def patterns() -> None:
    """Look through the library of guidance and change it.

    Agents that run follow within a second. e1 patterns belong to one organisation, e2 (ways to fail) and e3 (standing
    rules) to all. Only live ones are used.
    """


def _qualities(command: Any) -> Any:
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


@patterns.command("list")
@click.option("--tier", type=TIERS, help="Only this tier.")
@click.option("--status", type=STATUSES, help="Only those of this status.")
@click.option("--failure-type", type=FAILURES, help="Only those about this failure.")
@options.as_json
@place
def list_patterns(tier: str | None, status: str | None, failure_type: str | None, as_json: bool, place: Place) -> None:
    """List the patterns."""
    from .pattern_lines import pattern_lines

    with place.open() as source:
        found = [
            pattern
            for pattern in source.patterns(tier)
            if status in (None, pattern.status) and failure_type in (None, pattern.failure_type)
        ]
    if as_json:
        click.echo(options.json_text(msgspec.to_builtins(found)))
    elif found:
        options.echo(pattern_lines(found, options.width()))
    else:
        click.echo(f"there is no such pattern in {source.where}", err=True)


@patterns.command()
@click.argument("pattern")
@options.as_json
@place
def show(pattern: str, as_json: bool, place: Place) -> None:
    """Show one pattern: its fields, how a model reads it, its versions."""
    from .pattern_lines import detail_lines

    with place.open() as source:
        found = _meant(source, pattern)
        versions = source.versions(found)
    if as_json:
        click.echo(options.json_text({**msgspec.to_builtins(found), "versions": msgspec.to_builtins(versions)}))
    else:
        options.echo(detail_lines(found, versions, options.width()))


@patterns.command()
@click.option("--tier", type=TIERS, help="Needed, unless a file says it.")
@_qualities
@options.as_json
@place
def add(tier: str | None, as_json: bool, place: Place, **given: Any) -> None:
    """Add a pattern: by options, from a file, or in $EDITOR where neither is given."""
    from .pattern_files import parse_patterns, read_patterns

    qualities, file = _chosen(given), given["file"]
    if file is not None:
        if tier or qualities:
            raise click.UsageError("--file says all about a pattern; leave the other options out")
        entries = read_patterns(file)
    elif tier is None and not qualities:
        entries = _edited(NEW, "a new pattern")
    elif tier is None:
        raise click.UsageError("a pattern needs its --tier: e1, e2 or e3")
    else:
        entries = parse_patterns(msgspec.json.encode({"tier": tier, "fields": {}, **qualities}), "the pattern")
    with place.open() as source:
        added = [source.create(entry.creation()) for entry in entries]
    _tell(added, "added", as_json)


@patterns.command()
@click.argument("pattern")
@_qualities
@options.as_json
@place
def edit(pattern: str, as_json: bool, place: Place, **given: Any) -> None:
    """Change a pattern: by options, from a file, or in $EDITOR where neither is given. A field of null is removed."""
    from .pattern_files import PatternEntry, exported, read_patterns

    qualities, file = _chosen(given), given["file"]
    with place.open() as source:
        found = _meant(source, pattern)
        if file is not None:
            if qualities:
                raise click.UsageError("--file says all about a pattern; leave the other options out")
            entries = read_patterns(file)
        elif qualities:
            entries = [_with(PatternEntry.of(found), qualities)]
        else:
            entries = _edited(exported(found), f"pattern {found.pattern_id!r}")
        if len(entries) != 1 or entries[0].tier != found.tier:
            raise SettingsError(f"expected one {found.tier} pattern to put in the place of {found.pattern_id!r}")
        changed = source.change(found, entries[0].change_of(found))
    _tell([changed], "unchanged" if changed.version == found.version else "changed", as_json)


@patterns.command()
@click.argument("patterns_", metavar="PATTERN...", nargs=-1, required=True)
@options.as_json
@place
def approve(patterns_: tuple[str, ...], as_json: bool, place: Place) -> None:
    """Put patterns into use: their status is live from now on."""
    _tell(_marked(place, patterns_, "live"), "live", as_json)


@patterns.command()
@click.argument("patterns_", metavar="PATTERN...", nargs=-1, required=True)
@options.as_json
@place
def retire(patterns_: tuple[str, ...], as_json: bool, place: Place) -> None:
    """Take patterns out of use. They stay in the library, and can be approved again."""
    _tell(_marked(place, patterns_, "retired"), "retired", as_json)


@patterns.command()
@click.argument("patterns_", metavar="[PATTERN]...", nargs=-1)
@click.option("--tier", type=TIERS, help="Only this tier.")
@click.option("-o", "--output", default="-", metavar="FILE", help="Where to write; - is stdout.  [default: -]")
@place
def export(patterns_: tuple[str, ...], tier: str | None, output: str, place: Place) -> None:
    """Write patterns, or those that are named, to a JSON file that `import` takes."""
    from .pattern_files import STDIN, written

    with place.open() as source:
        found = source.patterns(tier)
    if patterns_:
        found = [pattern_meant(found, named, source.where) for named in patterns_]
    content = written(found)
    if output == STDIN:
        click.echo(content, nl=False)
        return
    try:
        Path(output).write_bytes(content)
    except OSError as error:
        raise SettingsError(f"{output} cannot be written: {error.strerror or error}") from None
    click.echo(f"{len(found)} patterns are in {output}", err=True)


@patterns.command("import")
@click.argument("file")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@options.as_json
@place
def import_patterns(file: str, dry_run: bool, as_json: bool, place: Place) -> None:
    """Take patterns from a JSON or TOML FILE; - is stdin.

    What has the id of a stored pattern changes that one, what has another is added. A server lets only an admin choose
    ids; to others it gives new ones.
    """
    from .pattern_files import planned, read_patterns

    entries = read_patterns(file)
    done: list[dict[str, Any]] = []
    with place.open() as source:
        for move in planned(entries, source.patterns()):
            try:
                result = None if dry_run or move.kind == "same" else _carried_out(source, move)
            except ReasonBlocksError as error:
                raise SettingsError(
                    f"pattern {move.entry.pattern_id!r}: {error} (before it, {len(done)} of {len(entries)} were done)"
                ) from error
            stored = result or move.stored
            done.append({"pattern_id": stored.pattern_id if stored else move.entry.pattern_id, "done": move.kind})
    if as_json:
        click.echo(options.json_text(done))
        return
    kinds = [one["done"] for one in done]
    would = "would be " if dry_run else ""
    click.echo(
        f"{kinds.count('add')} {would}added, {kinds.count('change')} {would}changed, {kinds.count('same')} the same"
    )


# -- what they share -------------------------------------------------------------------------------


def _meant(source: Source, named: str) -> Pattern:
    return pattern_meant(source.patterns(), named, source.where)


def _carried_out(source: Source, move: Any) -> Pattern:
    if move.stored is None:
        return source.create(move.entry.creation())
    return source.change(move.stored, move.entry.change_of(move.stored))


def _marked(place: Place, names: tuple[str, ...], status: Any) -> list[Pattern]:
    from ..engine.requests import PatternChange

    with place.open() as source:
        held = source.patterns()
        meant = [pattern_meant(held, named, source.where) for named in names]
        return [source.change(pattern, PatternChange(status=status)) for pattern in meant]


def _tell(done: list[Pattern], what: str, as_json: bool) -> None:
    if as_json:
        click.echo(options.json_text(msgspec.to_builtins(done)))
        return
    for pattern in done:
        click.echo(f"{what} {pattern.pattern_id} ({pattern.tier}, {pattern.status}, version {pattern.version})")


def _chosen(given: dict[str, Any]) -> dict[str, Any]:
    """What the options say about a pattern, in the shape of a file."""
    chosen: dict[str, Any] = {}
    if given["field"]:
        chosen["fields"] = dict(map(_field, given["field"]))
    for name in ("failure_type", "gate_threshold"):
        if given[name] is not None:
            chosen[name] = None if given[name] == NONE else given[name]
    if chosen.get("gate_threshold") is not None:
        chosen["gate_threshold"] = _share(chosen["gate_threshold"])
    for name in ("model_family", "status"):
        if given[name] is not None:
            chosen[name] = given[name]
    return chosen


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(f"--gate-threshold is {text!r}; expected a number from 0 to 1, or {NONE}") from None


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


def _with(entry: Any, qualities: dict[str, Any]) -> Any:
    """A stored pattern as options change it."""
    from .pattern_files import parse_patterns

    changed = msgspec.to_builtins(entry) | {name: value for name, value in qualities.items() if name != "fields"}
    fields = {**entry.fields, **qualities.get("fields", {})}
    changed["fields"] = {name: value for name, value in fields.items() if value is not None}
    return parse_patterns(msgspec.json.encode(changed), "the pattern")[0]


def _edited(value: dict[str, Any], shown: str) -> Any:
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
