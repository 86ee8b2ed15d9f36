"""Patterns as text for a terminal. Pure."""

import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import click

from ..engine.answers import Pattern, PatternVersion
from ..engine.patterns.fields import headline
from ..format_routing import render_pattern
from .runs import moment
from .table import Cell, Column, harmless, table_lines

STATUS_COLOURS = {"live": "green", "candidate": "yellow", "retired": "bright_black"}
COLUMNS = (
    Column("pattern"),
    Column("tier"),
    Column("status"),
    Column("failure", gives_way=True),
    Column("says", gives_way=True),
)


def pattern_lines(patterns: Sequence[Pattern], width: int) -> Iterator[str]:
    """Patterns as a table."""
    return table_lines(
        COLUMNS,
        [
            (
                Cell(pattern.pattern_id, "cyan"),
                pattern.tier if pattern.org_id is None else f"{pattern.tier} {pattern.org_id}",
                Cell(pattern.status, STATUS_COLOURS.get(pattern.status, "")),
                pattern.failure_type or "",
                headline(pattern.fields),
            )
            for pattern in patterns
        ],
        width,
    )


def detail_lines(pattern: Pattern, versions: Sequence[PatternVersion] | None, width: int) -> Iterator[str]:
    """One pattern, whole: what it is, what it says, how a model reads it, and what it said before."""
    yield click.style(f"pattern {pattern.pattern_id}", bold=True)
    yield from _row("tier", pattern.tier + (f" of {pattern.org_id}" if pattern.org_id else ", shared by all"), width)
    yield from _row("status", pattern.status, width)
    yield from _row("version", f"{pattern.version}, changed {_when(pattern.updated_at)}", width)
    yield from _row("failure", pattern.failure_type or "none in particular", width)
    yield from _row(
        "gate", "that of its tier" if pattern.gate_threshold is None else str(pattern.gate_threshold), width
    )
    yield from _row("models", pattern.model_family or "any", width)
    traced = f", from {pattern.source_trace_id}" if pattern.source_trace_id else ""
    yield from _row("origin", f"{pattern.provenance}{traced}, added {_when(pattern.created_at)}", width)
    yield click.style("fields", bold=True)
    for name, value in pattern.fields.items():
        yield from _field(name, value, width)
    yield click.style("as a model reads it", bold=True)
    for line in render_pattern(pattern.tier, "", pattern.fields).splitlines():
        yield from textwrap.wrap(harmless(line), width - 2, initial_indent="  ", subsequent_indent="  ")
    yield from _version_lines(versions, width)


def _version_lines(versions: Sequence[PatternVersion] | None, width: int) -> Iterator[str]:
    if versions is None:
        yield "Its versions are in the server's database; no route shows them."
        return
    yield click.style("versions", bold=True)
    for version, before in zip(versions, [None, *versions], strict=False):
        yield from _row(
            str(version.version),
            f"{_when(version.created_at)} by {version.changed_by}: {_news(version, before)}",
            width,
        )


def _news(version: PatternVersion, before: PatternVersion | None) -> str:
    """What a version changed."""
    if before is None:
        return f"added, {version.status}"
    names = ("status", "failure_type", "gate_threshold", "model_family")
    news = [f"{name} {getattr(version, name)}" for name in names if getattr(version, name) != getattr(before, name)]
    fields = sorted(
        name
        for name in version.fields.keys() | before.fields.keys()
        if version.fields.get(name) != before.fields.get(name)
    )
    return "; ".join([*news, *([f"fields {', '.join(fields)}"] if fields else [])]) or "nothing"


def _when(told: str) -> str:
    return moment(told, datetime.now())


def _row(label: str, text: str, width: int) -> Iterator[str]:
    lines = textwrap.wrap(harmless(text), max(20, width - 12)) or [""]
    for place, line in enumerate(lines):
        yield f"  {label if place == 0 else '':10}{line}"


def _field(name: str, value: Any, width: int, depth: int = 1) -> Iterator[str]:
    indent = "  " * depth
    if isinstance(value, dict):
        yield f"{indent}{name}:"
        for inner, item in value.items():
            yield from _field(inner, item, width, depth + 1)
        return
    yield f"{indent}{name}:"
    for text in value if isinstance(value, list) else [value]:
        for line in str(text).splitlines():
            inner = f"{indent}  "
            yield from textwrap.wrap(harmless(line), max(20, width), initial_indent=inner, subsequent_indent=inner)
