"""`reasonblocks replay`: recorded runs through the whole pipeline."""

import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click

from ..engine.monitors.profiles import BUILT_IN_PROFILES, DEFAULT_PROFILE
from ..errors import SettingsError
from ..recordings import read_lines, refuse_twins
from . import options


@click.command(short_help="Replay recorded runs through the whole pipeline.")
@click.argument("runs", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to write; .gz packs it, - is stdout.")
@click.option(
    "--profile", type=click.Choice(list(BUILT_IN_PROFILES)), default=DEFAULT_PROFILE, show_default=True,
    help="How much each monitor counts.",
)  # fmt: skip
@click.option("--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="How many processes work.")
@options.monitors
def replay(runs: Path, output: str, profile: str, jobs: int, **monitors: str | None) -> None:
    """Replay the recorded runs of RUNS (one JSON object per line, .gz or not).

    Difficulty, states, monitors, gate and guardrails, as they would have been after each step. Needs no model and no
    network; the same runs always give the same bytes. Monitors are set up as an embedded engine's are: by the options
    below or REASONBLOCKS_<OPTION>.
    """
    options.require_engine()
    from ..engine.monitors.settings import MonitorSettings
    from ..replay.output import refuse_overwriting, written
    from ..replay.work import replay_lines

    refuse_overwriting(output, runs)
    settings = MonitorSettings.parse(
        *(
            os.environ.get(f"REASONBLOCKS_{name.upper()}", "") if (given := monitors[name]) is None else given
            for name in ("monitors_off", "monitor_thresholds", "tool_roles")
        )
    )
    began = time.perf_counter()
    lines_by_id: dict[str, int] = {}
    steps = 0
    with (
        written(output) as stream,
        _progress(runs) as shown,
        closing(read_lines(runs)) as lines,
        closing(replay_lines(lines, runs, profile, jobs, settings)) as replayed,
    ):
        for done in shown(replayed):
            refuse_twins(done.run_id, lines_by_id, runs, done.number)
            stream.write(done.line)
            steps += done.steps
        if not lines_by_id:
            raise SettingsError(f"{runs} has no runs in it; expected one JSON object per line")
    seconds, count = time.perf_counter() - began, len(lines_by_id)
    click.echo(
        f"{count} run{'s' * (count != 1)}, {steps} steps in {seconds:.1f} s: {steps / max(seconds, 1e-9):.0f} steps/s",
        err=True,
    )


@contextmanager
def _progress(runs: Path) -> Iterator[Any]:
    """A bar on stderr for whoever watches; it costs one more reading of the file, to know how long it is."""
    if not sys.stderr.isatty():
        yield _unchanged
        return
    total = sum(1 for _ in read_lines(runs))
    with click.progressbar(length=total, label="replaying", file=sys.stderr, show_pos=True) as bar:

        def counted(done: Iterable[Any]) -> Iterator[Any]:
            for one in done:
                yield one
                bar.update(1)

        yield counted


def _unchanged(done: Iterable[Any]) -> Iterable[Any]:
    return done
