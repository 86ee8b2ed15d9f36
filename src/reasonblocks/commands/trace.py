"""`reasonblocks trace`: a run that an `SQLiteMonitorSink` has kept, as a tree."""

import shutil
from pathlib import Path

import click

from ..telemetry.sqlite_reading import TraceFile
from .tree import run_lines, summary_lines


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("run", required=False)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="How many runs to list.")
@click.option("--full", is_flag=True, help="Texts in full, not cut to the width of the terminal.")
def trace(file: Path, run: str | None, limit: int, full: bool) -> None:
    """Show the runs in a trace file, or one of them step by step.

    FILE is what an SQLiteMonitorSink has written. Of RUN, the beginning of its id will do.
    """
    traces = TraceFile(file)
    if run is None:
        runs = traces.runs(limit)
        lines = summary_lines(runs) if runs else iter(["No runs yet."])
    else:
        lines = run_lines(traces.run(run), shutil.get_terminal_size((120, 24)).columns, full=full)
    for line in lines:
        click.echo(line)
