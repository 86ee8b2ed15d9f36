"""`reasonblocks runs`: the runs of a data directory or a server, and one of them step by step."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import click
import msgspec

from ..engine.answers import Run, RunWithSteps
from ..engine.runs.ledger import ABANDONED
from ..recordings import RecordedRun, RecordedStep
from . import options
from .sources.base import Fired, Source, run_meant
from .sources.choosing import Place, place
from .table import Cell, Column, table_lines

SHOWN_WHOLE = 20
"""Characters of an id that is never shortened."""
SHORTEST = 8
PAGE = 500
"""Runs that are asked for at once where all are wanted."""
FAILURES = {
    "claim_contradiction": "contradiction",
    "semantic_loop": "loop",
    "verification_skip": "unverified",
    "cyclic_compression": "churn",
    "late_sprawl": "sprawl",
    "silent_topic_drift": "drift",
}
"""What the monitors look for, in a word."""
COLUMNS = (
    Column("run"),
    Column("agent", gives_way=True),
    Column("project", gives_way=True),
    Column("began"),
    Column("steps", right=True),
    Column("tokens", right=True),
    Column("outcome", gives_way=True),
    Column("fired", gives_way=True),
)


@click.group(invoke_without_command=True)
@click.option("-n", "--limit", type=click.IntRange(1, 1_000), default=20, show_default=True, help="How many at most.")
@click.option("--offset", type=click.IntRange(min=0), default=0, help="How many of the newest to pass over.")
@options.as_json
@place
@click.pass_context
def runs(context: click.Context, limit: int, offset: int, as_json: bool, place: Place) -> None:
    """List runs, the newest first.

    Ids are shortened where they are long: their beginning is enough for other commands. `fired` counts the steps on
    which monitors fired.
    """
    context.obj = place
    if context.invoked_subcommand is not None:
        return
    with place.open() as source:
        found = source.runs(limit, offset)
        fired = source.fired(found)
    if as_json:
        rows = [{**msgspec.to_builtins(run), "fired": dict(counted)} for run, counted in zip(found, fired, strict=True)]
        click.echo(options.json_text(rows))
    elif found:
        options.echo(run_lines(found, fired, options.width(), datetime.now()))
    else:
        click.echo(f"there are no runs in {source.where} yet", err=True)


@runs.command()
@click.argument("run")
@click.option("--full", is_flag=True, help="Texts in full, not cut to the width of the terminal.")
@options.as_json
@place
@click.pass_context
def show(context: click.Context, run: str, full: bool, as_json: bool, place: Place) -> None:
    """Show one run as a tree: its steps, and the runs that came of it. Of RUN, the beginning of its id will do."""
    from .run_tree import traced
    from .tree import run_lines as tree_lines

    with place.within(context.obj).open() as source:
        found = run_meant(source, run)
        if as_json:
            click.echo(options.json_text(msgspec.to_builtins(found)))
            return
        options.echo(tree_lines(traced(source, found), options.width(), full=full))


@runs.command()
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to write; .gz packs it, - is stdout.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=1_000, show_default=True, help="How many at most.")
@place
@click.pass_context
def export(context: click.Context, output: str, limit: int, place: Place) -> None:
    """Write the newest runs as recordings, for `reasonblocks replay` and `reasonblocks report`.

    Those that have steps, one a line. What ended with success is a success, what was abandoned or still runs nobody
    knows, and all else is a failure.
    """
    from ..replay.output import written

    with place.within(context.obj).open() as source, written(output) as stream:
        count = 0
        for run in _newest(source, limit):
            if run.step_count:
                stream.write(msgspec.json.encode(recorded(source.run(run.run_id))) + b"\n")
                count += 1
    click.echo(f"{count} run{'s' * (count != 1)} in {output}", err=True)


def _newest(source: Source, limit: int) -> Iterator[Run]:
    """The newest runs, as many at a time as a source gives."""
    taken = 0
    while taken < limit and (found := source.runs(min(PAGE, limit - taken), taken)):
        yield from found
        taken += len(found)


def recorded(run: RunWithSteps) -> RecordedRun:
    """A stored run as a recording has it."""
    steps = [
        RecordedStep(step.thought, step.action, step.action_input, step.observation, step.is_error)
        for step in run.steps
    ]
    outcome = {None: None, ABANDONED: None, "success": "success"}.get(run.outcome, "failure")
    return RecordedRun(run.run_id, steps, task=run.task or None, model=run.model or None, outcome=outcome)


def run_lines(found: Sequence[Run], fired: Sequence[Fired], width: int, now: datetime) -> Iterator[str]:
    """Runs as a table."""
    names = short_ids([run.run_id for run in found])
    rows = [
        (
            Cell(name, "cyan"),
            run.agent_name,
            run.project_id,
            moment(run.started_at, now),
            f"{run.step_count:,}",
            f"{run.total_tokens:,}",
            outcome_cell(run),
            Cell(fired_text(counted), "red"),
        )
        for run, name, counted in zip(found, names, fired, strict=True)
    ]
    return table_lines(COLUMNS, rows, width)


def short_ids(ids: Sequence[str]) -> list[str]:
    """The ids, long ones cut to a beginning that no other of them has."""
    return [_short(one, ids) for one in ids]


def _short(one: str, ids: Sequence[str]) -> str:
    if len(one) <= SHOWN_WHOLE:
        return one
    return next(
        one[:length]
        for length in range(SHORTEST, len(one) + 1)
        if length == len(one) or sum(other.startswith(one[:length]) for other in ids) == ids.count(one)
    )


def moment(told: str, now: datetime) -> str:
    """A time of the wire as the clock on the wall shows it; the year only where it is another one."""
    local = datetime.fromisoformat(told).astimezone()
    return local.strftime("%m-%d %H:%M" if local.year == now.year else "%Y-%m-%d")


def outcome_cell(run: Run) -> Cell:
    """How a run ended."""
    if run.outcome is None:
        return Cell("running", "yellow")
    return Cell(run.outcome, "green" if run.outcome == "success" else "red")


def fired_text(counted: Fired) -> str:
    """Monitors by what they look for, the busiest first."""
    busiest = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    return ", ".join(f"{FAILURES.get(name, name)} {count}" for name, count in busiest)
