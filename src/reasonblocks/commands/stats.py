"""`reasonblocks stats`: how all runs are doing."""

from collections.abc import Iterator, Mapping

import click
import msgspec

from ..engine.answers import Guidance, HealthSummary
from . import options
from .sources.choosing import Place, place
from .table import Cell, Column, table_lines


@click.command()
@options.as_json
@place
def stats(as_json: bool, place: Place) -> None:
    """Sum up the runs.

    Outcomes, tokens, how often each monitor fired, what was said by whom, and what came of it.
    """
    with place.open() as source:
        summary = source.summary()
    if as_json:
        click.echo(options.json_text(msgspec.to_builtins(summary)))
    else:
        options.echo(summary_lines(summary, source.where, options.width()))


def summary_lines(summary: HealthSummary, where: str, width: int) -> Iterator[str]:
    """The summary, part by part."""
    yield click.style(where, bold=True)
    counted = (_many(summary.steps, "step"), _many(summary.total_tokens, "token"))
    yield f"{_many(summary.runs, 'run')} ({summary.open_runs:,} open), {', '.join(counted)}"
    if not summary.runs:
        return
    yield ""
    yield from _shares("outcome", "runs", summary.outcomes, summary.runs, width)
    yield ""
    yield from _firing(summary, width)
    yield ""
    if summary.guidance is None:
        yield f"Guidance was given on {_many(summary.injected_steps, 'step')}; this server does not tell by whom."
    else:
        yield from _guidance_lines(summary.guidance, summary, width)


def _shares(title: str, counted: str, numbers: Mapping[str, int], total: int, width: int) -> Iterator[str]:
    rows = [
        (_outcome(name) if title == "outcome" else name, f"{number:,}", f"{number / total:.1%}" if total else "")
        for name, number in sorted(numbers.items(), key=lambda one: (-one[1], one[0]))
    ]
    return table_lines(
        (Column(title, gives_way=True), Column(counted, right=True), Column("share", right=True)), rows, width
    )


def _outcome(name: str) -> Cell:
    return Cell(name, {"success": "green", "running": "yellow"}.get(name, "red"))


def _firing(summary: HealthSummary, width: int) -> Iterator[str]:
    columns = (
        Column("monitor"),
        Column("fired on", right=True),
        Column(f"of {_many(summary.scored_steps, 'scored step')}"),
    )
    rows = [
        (name, f"{rate:.2%}", _bar(rate))
        for name, rate in sorted(summary.firing_rates.items(), key=lambda one: (-one[1], one[0]))
    ]
    return table_lines(columns, rows, width)


def _bar(rate: float) -> Cell:
    """A picture of a share: one mark for two hundredths."""
    return Cell("\N{BLACK SQUARE}" * min(50, round(50 * rate)), "red")


def _guidance_lines(guidance: Guidance, summary: HealthSummary, width: int) -> Iterator[str]:
    if not guidance.steps_by_source:
        yield "No guidance was given yet."
        return
    yield from _shares("guidance by", "steps", guidance.steps_by_source, summary.injected_steps, width)
    known = guidance.fell_silent + guidance.fired_again
    yield ""
    if known:
        yield (
            f"After the monitors had spoken, they fell silent for two steps in {guidance.fell_silent} of {known} cases"
            + (f" ({guidance.not_known} not known)" if guidance.not_known else "")
        )
    yield f"Runs told more than the standing rules: {_ended(guidance.guided_outcomes)}"
    yield f"Runs told nothing else: {_ended(guidance.unguided_outcomes)}"
    yield "(No comparison: guidance goes to runs in trouble. Harm is not measured here.)"


def _ended(outcomes: Mapping[str, int]) -> str:
    total, well, still = sum(outcomes.values()), outcomes.get("success", 0), outcomes.get("running", 0)
    counted = {"success": well, "otherwise": total - well - still, "open": still}
    said = ", ".join(f"{name} {number:,}" for name, number in counted.items() if number)
    return f"{total:,} ({said})" if total else "none"


def _many(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
