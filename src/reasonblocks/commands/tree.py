"""A run as a tree of text, for a terminal."""

from collections.abc import Iterator
from datetime import datetime

import click

from ..telemetry.sqlite_reading import Row, TracedRun
from .table import harmless

_COLOURS = {"FAST": "green", "NORMAL": "white", "SLOW": "yellow", "SKIP": "red"}
_LABEL = 5
"""The width of a label."""
_LONGEST = 2_000
"""Of a text that is shown in full."""


def run_lines(run: TracedRun, width: int, *, full: bool = False) -> Iterator[str]:
    """The whole run, line by line."""
    yield _heading(run.facts)
    if run.facts["task"]:
        yield from _text("task", run.facts["task"], "", width, full)
    last = len(run.steps) + len(run.children) - 1
    for place, step in enumerate(run.steps):
        yield from _branch(_step_lines(step, width - 3, full), last=place == last)
    for place, child in enumerate(run.children, start=len(run.steps)):
        yield from _branch(run_lines(child, width - 3, full=full), last=place == last)


def summary_lines(runs: list[Row]) -> Iterator[str]:
    """Many runs, one line each."""
    widest = max(len(run["run_id"]) for run in runs)
    agents = max(5, *(len(run["agent_name"] or "") for run in runs))
    yield click.style(f"{'run':{widest}}  {'agent':{agents}}  {'began':19}  steps   tokens  outcome", bold=True)
    for run in runs:
        began = moment(run["began"])
        counts = f"{run['steps']:5}  {run['tokens']:7,}"
        yield f"{run['run_id']:{widest}}  {run['agent_name'] or '':{agents}}  {began:19}  {counts}  {_outcome(run)}"


def moment(seconds: float | None) -> str:
    """A point in time, as the clock on the wall shows it."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M:%S") if seconds else ""


def _heading(facts: Row) -> str:
    relation = ((facts["metadata"] or {}).get("reasonblocks") or {}).get("relation")
    name = click.style(facts["run_id"], bold=True)
    parts = [
        f"{relation} run {name}" if relation else f"run {name}",
        harmless(facts["agent_name"] or ""),
        _outcome(facts),
    ]
    parts += [_many(facts["steps"], "step"), _many(facts["tokens"], "token")]
    if facts["began"] and facts["finished_at"]:
        parts.append(f"{max(0.0, facts['finished_at'] - facts['began']):.1f} s")
    return "  ".join(part for part in parts if part)


def _outcome(facts: Row) -> str:
    outcome = facts["outcome"]
    if outcome:
        return click.style(harmless(outcome), fg="green" if outcome == "success" else "red")
    return click.style("waits for a person" if facts["interrupted_at"] else "not finished", fg="yellow")


def _step_lines(step: Row, width: int, full: bool) -> Iterator[str]:
    """In the order in which it happened: what the model was told, what it said and did, what came of it."""
    yield _step_heading(step, width)
    details = (step["metadata"] or {}).get("reasonblocks") or {}
    for source, text in zip(step["injection_sources"] or (), step["intervention_texts"] or (), strict=False):
        yield from _text("told", f"[{source}] {text}", "magenta", width, full)
    yield from _text("quiet", details.get("skipped_reason"), "bright_black", width, full)
    for error in details.get("errors") or ():
        yield from _text("error", error, "red", width, full)
    yield from _text("said", step["thought"], "", width, full)
    if step["action"]:
        yield from _text("did", f"{step['action']} {step['action_input'] or ''}", "cyan", width, full)
    yield from _text("got", step["observation"], "red" if step["is_error"] else "", width, full)


def _step_heading(step: Row, width: int) -> str:
    """What a step is; of what is told last, as much as fits."""
    state = step["fsm_state"] or ""
    parts = [click.style(f"step {step['step_index']}", bold=True), click.style(state, fg=_COLOURS.get(state))]
    for name in ("difficulty", "composite"):
        if step[name] is not None:
            parts.append(f"{name} {step[name]:.2f}")
    scores = step["scores"] or {}
    for monitor in step["monitors_fired"] or ():
        score = f" {scores[monitor]:.2f}" if monitor in scores else ""
        parts.append(click.style(f"{monitor}{score}", fg="red", bold=True))
    optional = []
    if step["step_model"]:
        optional.append(f"{step['step_model']} {step['latency_ms'] or 0:.0f} ms")
    if step["tokens"]:
        optional.append(f"{step['input_tokens'] or 0:,} in, {step['output_tokens'] or 0:,} out")
    heading = "  ".join(part for part in parts if part)
    for part in optional:
        if len(click.unstyle(heading)) + 2 + len(part) <= width:
            heading += f"  {part}"
    return heading


def _text(label: str, text: str | None, colour: str, width: int, full: bool) -> Iterator[str]:
    """A text behind its label: on one line cut to fit, or all of it."""
    if not text:
        return
    room = max(20, width - _LABEL - 4)
    lines = text[:_LONGEST].splitlines() if full else [_cut(" ".join(text[: 4 * room].split()), room)]
    for place, line in enumerate(map(harmless, lines)):
        shown = click.style(f"{label if place == 0 else '':{_LABEL}}", fg="bright_black")
        yield f"   {shown} {click.style(line, fg=colour) if colour else line}"
    if full and len(text) > _LONGEST:
        yield f"   {'':{_LABEL}} ({len(text) - _LONGEST:,} more characters)"


def _cut(line: str, room: int) -> str:
    return line if len(line) <= room else line[: room - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _branch(lines: Iterator[str], *, last: bool) -> Iterator[str]:
    for place, line in enumerate(lines):
        if place == 0:
            yield ("└─ " if last else "├─ ") + line
        else:
            yield ("   " if last else "│  ") + line


def _many(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
