"""`reasonblocks patterns`: the library of guidance, as people work on it."""

from pathlib import Path
from typing import Any

import click
import msgspec

from ..engine.answers import Pattern
from ..errors import ReasonBlocksError, SettingsError
from . import options
from .pattern_options import STATUSES, changed_by, chosen, edited, qualities
from .sources.base import Source, pattern_meant
from .sources.choosing import Place, place

TIERS = click.Choice(["e1", "e2", "e3"])
FAILURES = click.Choice(["contradiction", "loop", "unverified", "churn", "sprawl", "drift"])
NEW = {"tier": "e1", "status": "candidate", "fields": {"observation": "", "recommended_action": ""}}
"""What the editor starts with for a new pattern."""


@click.group()
def patterns() -> None:
    """Look through the library of guidance and change it.

    Agents that run follow within a second. e1 patterns belong to one organisation, e2 (ways to fail) and e3 (standing
    rules) to all. Only live ones are used.
    """


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
@qualities
@options.as_json
@place
def add(tier: str | None, as_json: bool, place: Place, **given: Any) -> None:
    """Add a pattern: by options, from a file, or in $EDITOR where neither is given."""
    from .pattern_files import parse_patterns, read_patterns

    said, file = chosen(given), given["file"]
    if file is not None:
        if tier or said:
            raise click.UsageError("--file says all about a pattern; leave the other options out")
        entries = read_patterns(file)
    elif tier is None and not said:
        entries = edited(NEW, "a new pattern")
    elif tier is None:
        raise click.UsageError("a pattern needs its --tier: e1, e2 or e3")
    else:
        entries = parse_patterns(msgspec.json.encode({"tier": tier, "fields": {}, **said}), "the pattern")
    with place.open() as source:
        added = [source.create(entry.creation()) for entry in entries]
    _tell(added, "added", as_json)


@patterns.command()
@click.argument("pattern")
@qualities
@options.as_json
@place
def edit(pattern: str, as_json: bool, place: Place, **given: Any) -> None:
    """Change a pattern: by options, from a file, or in $EDITOR where neither is given. A field of null is removed."""
    from .pattern_files import PatternEntry, exported, read_patterns

    said, file = chosen(given), given["file"]
    with place.open() as source:
        found = _meant(source, pattern)
        if file is not None:
            if said:
                raise click.UsageError("--file says all about a pattern; leave the other options out")
            entries = read_patterns(file)
        elif said:
            entries = [changed_by(PatternEntry.of(found), said)]
        else:
            entries = edited(exported(found), f"pattern {found.pattern_id!r}")
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
