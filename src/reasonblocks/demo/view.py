"""What the demo shows: two runs side by side, their six monitors, and what was said to the model."""

from collections.abc import Iterator, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from .scene import Moment, Scene

MONITORS = (
    ("semantic_loop", "loop"),
    ("claim_contradiction", "contradiction"),
    ("verification_skip", "unverified"),
    ("cyclic_compression", "churn"),
    ("late_sprawl", "sprawl"),
    ("silent_topic_drift", "drift"),
)
STATES = {"FAST": "green", "NORMAL": "cyan", "SLOW": "yellow", "SKIP": "red"}
SIDE_BY_SIDE = 100
"""Narrower than this, the runs are shown one below the other."""
_BAR = 12
_BESIDE = "┃"
"""Stands beside what is ours among the words of the agent."""
_UNSAID = "┊"
"""Stands beside what would have been ours."""
_BLANK_LINE = "\n\n"
_FRAME = 14
"""Lines of a pane that are not the story: border, title, monitors."""

Piece = tuple[str, Text]
"""What begins its first line, and a text."""


def stage(scenes: Sequence[Scene], console: Console, *, live: bool) -> RenderableType:
    """All runs; while they go on, only as much of them as the terminal has room for."""
    wide = console.width >= SIDE_BY_SIDE
    room = console.height - _FRAME if wide else (console.height - 2 * _FRAME) // 2
    panes = [_pane(scene, max(4, room) if live else None) for scene in scenes]
    if not wide:
        return Group(*panes)
    grid = Table.grid(expand=True, padding=(0, 1))
    for _ in panes:
        grid.add_column(ratio=1)
    grid.add_row(*panes)
    return grid


def verdict(scenes: Sequence[Scene]) -> Table:
    """How the runs ended."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading, side in (("", "left"), ("model calls", "right"), ("tokens", "right"), ("answer", "left")):
        table.add_column(heading, justify=side)  # type: ignore[arg-type]  # one of rich's own words
    for scene in scenes:
        table.add_row(Text(scene.title, "bold"), str(len(scene.moments)), f"{scene.tokens:,}", scene.answer)
    return table


def _pane(scene: Scene, room: int | None) -> Panel:
    newest = scene.moments[-1].entry if scene.moments else None
    head = Text()
    if newest is not None:
        head.append(f"{newest.fsm_state:7}", f"bold {STATES.get(newest.fsm_state, 'white')}")
        head.append(f"difficulty {newest.difficulty:.2f}   " if newest.difficulty is not None else "")
        head.append(f"step {newest.step}   {scene.tokens:,} tokens")
    story = _Story(scene, room)
    return Panel(
        Group(head, _monitors(scene), Text(), story),
        title=Text(scene.title, "bold"),
        border_style="green" if scene.steer else "yellow",
    )


def _monitors(scene: Scene) -> Table:
    """The scores of the newest step as bars; a monitor that has fired stays marked."""
    scores = scene.moments[-1].entry.scores if scene.moments else {}
    ever_fired = {name for moment in scene.moments for name in moment.entry.monitors_fired}
    grid = Table.grid(padding=(0, 1))
    for name, failure in MONITORS:
        score = scores.get(name, 0.0)
        colour = "red" if score >= 0.6 else "yellow" if score >= 0.35 else "bright_black"
        filled = round(score * _BAR)
        bar = Text("━" * filled, colour).append("╌" * (_BAR - filled), "bright_black")
        fired = Text("fired", "bold red") if name in ever_fired else Text()
        grid.add_row(Text(failure, colour if score else "bright_black"), bar, Text(f"{score:.2f}", colour), fired)
    return grid


class _Story:
    """The steps of a run; where room is short, the newest of them."""

    def __init__(self, scene: Scene, room: int | None) -> None:
        self._scene = scene
        self._room = room

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        return Measurement(20, options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        unsaid: list[str] = []
        pieces = [piece for moment in self._scene.moments for piece in _told(moment, unsaid)]
        if self._scene.over:
            pieces.append(("   ", Text(self._scene.answer, "bold")))
        lines = [line for piece in pieces for line in _wrapped(piece, console, options.max_width)]
        yield from lines if self._room is None else lines[-self._room :]


def _wrapped(piece: Piece, console: Console, width: int) -> Iterator[Text]:
    """The lines of a piece; those after the first are indented as far as its text."""
    lead, text = piece
    ours = _BESIDE in lead or _UNSAID in lead
    for place, line in enumerate(text.wrap(console, max(10, width - len(lead)))):
        shown = lead if place == 0 or ours else " " * len(lead)
        yield Text().append(shown, "magenta" if _BESIDE in lead else "bright_black").append_text(line)


def _told(moment: Moment, unsaid: list[str]) -> Iterator[Piece]:
    """One step: what the model was told, what it said, what it did and what came of it."""
    yield from _guidance(moment, unsaid)
    if moment.deeds:  # the last words of a run are its answer, which is shown by itself
        yield f"{moment.entry.step:2} ", Text(moment.said)
    for deed in moment.deeds:
        line = Text(deed.call, "cyan")
        if deed.result is not None and not deed.is_new:
            line.append("  the same result again", "yellow")
        elif deed.result is not None:
            count = len(deed.result.splitlines())
            line.append(f"  {count} line{'s' if count != 1 else ''}", "bright_black")
        yield "   → ", line


def _guidance(moment: Moment, unsaid: list[str]) -> Iterator[Piece]:
    """What the model was told; of what it would have been told, the first in full and the like of it in a line."""
    notice = moment.notice
    if notice is None:
        return
    label, colour = ("told", "magenta") if notice.applied else ("would have been told", "bright_black")
    lead = f"   {_BESIDE if notice.applied else _UNSAID} "
    for source, text in zip(notice.sources, notice.texts, strict=True):
        name = source.removesuffix("Injection")
        if name == "E3":
            yield lead, Text(f"{label}: {len(text.split(_BLANK_LINE))} standing rules (E3)", "bright_black")
            continue
        why = f"{', '.join(notice.monitors_fired)} fired" if notice.monitors_fired else name
        if not notice.applied and why in unsaid:
            yield lead, Text(f"{label} so again ({why})", colour)
            continue
        unsaid.append(why)
        yield lead, Text(f"{label} ({why}):", f"bold {colour}")
        for line in text.splitlines():
            yield lead, Text(line, colour)
