"""What a command asks of whoever holds the runs and the patterns."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from ...engine.answers import HealthSummary, Pattern, PatternVersion, Run, RunWithSteps
from ...engine.errors import EngineError, NotFound
from ...engine.requests import PatternChange, PatternCreate

NEWEST = 1_000
"""Runs among which one is looked for by the beginning of its id."""

Fired = Mapping[str, int]
"""On how many steps of a run each monitor fired."""


class Ambiguous(EngineError):
    """What was given of an id fits several."""


class Source(Protocol):
    """The same questions for a data directory and for a server."""

    where: str
    """How people know it."""

    def runs(self, limit: int, offset: int = 0) -> list[Run]:
        """Runs, newest first."""

    def fired(self, runs: Sequence[Run]) -> list[Fired]:
        """What fired in each of these runs."""

    def run(self, run_id: str) -> RunWithSteps:
        """A run with its steps; `NotFound` if there is none."""

    def children(self, run: Run) -> list[RunWithSteps]:
        """The runs that began inside a tool of this one, or at a checkpoint of it."""

    def summary(self) -> HealthSummary:
        """How the runs are doing."""

    def patterns(self, tier: str | None = None) -> list[Pattern]:
        """All patterns there are to see."""

    def versions(self, pattern: Pattern) -> list[PatternVersion] | None:
        """Every version of a pattern, oldest first; `None` where that cannot be asked."""

    def create(self, request: PatternCreate) -> Pattern:
        """Add a pattern."""

    def change(self, pattern: Pattern, request: PatternChange) -> Pattern:
        """Change a pattern."""


def run_meant(source: Source, named: str) -> RunWithSteps:
    """The run of this id, or the only one among the newest whose id begins so."""
    try:
        return source.run(named)
    except NotFound:
        found = [run.run_id for run in source.runs(NEWEST) if run.run_id.startswith(named)]
    chosen = _only(found, named, "run", f"{source.where} has no run {named!r}, nor one among its newest {NEWEST:,} ")
    return source.run(chosen)


def pattern_meant(patterns: Sequence[Pattern], named: str, where: str) -> Pattern:
    """The pattern of this id, or the only one whose id begins so."""
    by_id = {pattern.pattern_id: pattern for pattern in patterns}
    if named in by_id:
        return by_id[named]
    found = [pattern_id for pattern_id in by_id if pattern_id.startswith(named)]
    return by_id[_only(found, named, "pattern", f"{where} has no pattern {named!r}, nor one ")]


def _only(found: Sequence[str], named: str, kind: str, nothing: str) -> str:
    if not found:
        command = "runs" if kind == "run" else "patterns list"
        raise NotFound(f"{nothing}that begins so; `reasonblocks {command}` lists them")
    if len(found) > 1:
        others = " or others" if len(found) > 3 else ""
        raise Ambiguous(f"{named!r} may be {', '.join(found[:3])}{others}: give more of the id")
    return found[0]
