"""Tables of text that fit a terminal. Pure: rows in, lines out."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

GAP = "  "
LEAST = 6
"""How narrow a column may become that gives way."""
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    title: str
    right: bool = False
    """Whether it is aligned to the right, as numbers are."""
    gives_way: bool = False
    """Whether it is cut where the terminal is too narrow."""


@dataclass(frozen=True)
class Cell:
    """A text with its colour."""

    text: str
    colour: str = ""


def table_lines(columns: Sequence[Column], rows: Sequence[Sequence[str | Cell]], width: int) -> Iterator[str]:
    """A table, line by line, the titles first."""
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    cells = [[Cell(harmless(cell.text), cell.colour) for cell in row] for row in cells]
    widths = [
        max(breadth(column.title), *(breadth(row[place].text) for row in cells), 0)
        for place, column in enumerate(columns)
    ]
    widths = _fitting(columns, widths, width)
    yield _line([Cell(column.title) for column in columns], columns, widths, bold=True)
    for row in cells:
        yield _line(row, columns, widths)


def _fitting(columns: Sequence[Column], widths: list[int], width: int) -> list[int]:
    """The widths, the widest of those that give way made narrower until all fit or none can give way any more."""
    widths = list(widths)
    while sum(widths) + len(GAP) * (len(widths) - 1) > width:
        giving = [place for place, column in enumerate(columns) if column.gives_way and widths[place] > LEAST]
        if not giving:
            break
        widths[max(giving, key=lambda place: widths[place])] -= 1
    return widths


def _line(cells: Sequence[Cell], columns: Sequence[Column], widths: Sequence[int], *, bold: bool = False) -> str:
    parts = []
    for place, (cell, column, width) in enumerate(zip(cells, columns, widths, strict=True)):
        text = cut(cell.text, width)
        blanks = " " * (width - breadth(text))
        last = place == len(columns) - 1
        shown = click.style(text, fg=cell.colour or None, bold=bold or None) if text and (cell.colour or bold) else text
        parts.append(f"{blanks}{shown}" if column.right else shown if last else f"{shown}{blanks}")
    return GAP.join(parts).rstrip()


def cut(text: str, room: int) -> str:
    """A text that takes at most so much room."""
    if breadth(text) <= room:
        return text
    while text and breadth(text) > room - 1:
        text = text[:-1]
    return text + ELLIPSIS


def breadth(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 1 + (unicodedata.east_asian_width(character) in "WF")
        for character in text
    )


def harmless(line: str) -> str:
    """A line that does nothing to the terminal: what agents and tools say may hold its control sequences."""
    return "".join(character if character.isprintable() else "\N{MIDDLE DOT}" for character in line.expandtabs(4))
