"""What was measured, on one page."""

import os
import platform
import sqlite3
from collections.abc import Iterable, Sequence
from importlib import metadata

from serving.costs import Line

_SHOWN = "reasonblocks litestar uvicorn uvloop httptools msgspec SQLAlchemy qdrant-edge-py numpy onnxruntime".split()


def machine() -> str:
    """What it ran on and with."""
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in _SHOWN)
    return (
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {versions}\n"
        f"{os.cpu_count()} cores, {load()}"
    )


def load() -> str:
    """How busy the machine is."""
    return "load average " + " ".join(f"{each:.2f}" for each in os.getloadavg())


def table(lines: Iterable[Line]) -> str:
    """All comparisons; times in microseconds."""
    rows = [("part", "raw CPU", "ours CPU", "ratio", "raw wall", "ours wall", "ratio", "bar")]
    for line in lines:
        raw, ours = line.raw.median(), line.ours.median()
        rows.append(
            (
                line.part,
                microseconds(raw.cpu),
                microseconds(ours.cpu),
                f"{line.cpu_ratio:.2f}",
                microseconds(raw.wall),
                microseconds(ours.wall),
                f"{line.wall_ratio:.2f}",
                f"{line.bar:g}" if line.bar else "",
            )
        )
    return aligned(rows)


def microseconds(seconds: float) -> str:
    """A time as the table shows it."""
    return f"{seconds * 1e6:,.0f}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def verdict(what: str, found: float, bar: float, unit: str = "") -> tuple[bool, str]:
    """Whether a bar is held, and a line that says so."""
    held = found <= bar
    return held, f"{'ok    ' if held else 'MISSED'}  {what}: {found:.2f}{unit}, bar {bar:g}{unit}"
