"""`reasonblocks report`: a replay and its labels as one page."""

from pathlib import Path

import click

from . import options


@click.command()
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUNS REPLAY [RUNS REPLAY]..."
)
@click.option("-o", "--output", required=True, metavar="FILE", help="The HTML page to write; - is stdout.")
@click.option(
    "--prefix", type=click.IntRange(min=1), default=8, show_default=True,
    help="How many first steps of longer runs are looked at by themselves.",
)  # fmt: skip
def report(files: tuple[Path, ...], output: str, prefix: int) -> None:
    """Write a page about how well the monitors did.

    RUNS is a file of recorded runs with their outcomes, REPLAY what `reasonblocks replay` made of it. Several pairs
    give a summary over sets.
    """
    if len(files) % 2:
        raise click.UsageError(
            f"{len(files)} files are given; expected pairs of RUNS and REPLAY, {files[-1]} is left over"
        )
    options.require_engine()
    from ..replay.output import refuse_overwriting, written
    from ..report.page import report_page
    from ..report.sets import read_set

    refuse_overwriting(output, *files)
    pairs = zip(files[::2], files[1::2], strict=True)
    page = report_page([read_set(runs, replay) for runs, replay in pairs], prefix)
    with written(output) as stream:
        stream.write(page.encode())
