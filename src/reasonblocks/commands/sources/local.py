"""A data directory, opened for as long as one command takes: its database only, no embedder and no index."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sqlalchemy.exc import DBAPIError

from ...engine.answers import HealthSummary, Pattern, PatternVersion, Run, RunWithSteps
from ...engine.errors import StoreError
from ...engine.principal import Principal
from ...engine.requests import PatternChange, PatternCreate
from ...engine.runs.reading import RunReader
from ...engine.runs.tallies import children_of, fired_in
from ...engine.store.database import Database, explained
from ...engine.store.migrate import prepare
from ...engine.store.sqlite import FILE_NAME
from .base import Fired

if TYPE_CHECKING:
    from ...engine.patterns.editing import Patterns

Result = TypeVar("Result")
OWNER = Principal(key_id="command")
"""Whoever may open the file may see and change all of it."""


class LocalSource:
    """What is in a data directory. A context manager: closed with the command."""

    def __init__(self, directory: Path, org_id: str | None = None, project_id: str | None = None) -> None:
        self.where = str(directory)
        self._directory = directory
        self._org_id = org_id
        self._project_id = project_id
        self._runner = asyncio.Runner()
        self._database: Database | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._database is not None:
            self._runner.run(self._database.aclose())
        self._runner.close()

    def do(self, work: Callable[[Database], Coroutine[Any, Any, Result]], *, create: bool = False) -> Result:
        """Do something with the database, which is only made where something will be put into it."""
        if self._database is None:
            self._database = self._opened(create)
        try:
            return self._runner.run(work(self._database))
        except DBAPIError as error:
            raise StoreError(f"the database of {self.where} cannot be read: {explained(error)}") from error

    def _opened(self, create: bool) -> Database:
        if not create and not (self._directory / FILE_NAME).exists():
            raise StoreError(
                f"there is nothing in {self.where!r} yet: an agent with ReasonBlocks() fills it; name another "
                "directory with --data-dir, or a server with --base-url"
            )
        database = Database.at(self._directory)
        try:
            self._runner.run(prepare(database))
        except BaseException:
            self._runner.run(database.aclose())
            raise
        return database

    # -- runs ----------------------------------------------------------------------------------------

    def runs(self, limit: int, offset: int = 0) -> list[Run]:
        """Runs, newest first."""
        return self.do(lambda held: RunReader(held, ()).listed(OWNER, limit, offset, self._org_id, self._project_id))

    def fired(self, runs: Sequence[Run]) -> list[Fired]:
        """What fired in each of these runs."""
        wanted = [(run.org_id, run.run_id) for run in runs]
        found = self.do(lambda held: fired_in(held, wanted))
        return [found.get(key, Counter()) for key in wanted]

    def run(self, run_id: str) -> RunWithSteps:
        """A run with its steps."""
        return self.do(lambda held: RunReader(held, ()).shown(OWNER, run_id, self._org_id))

    def children(self, run: Run) -> list[RunWithSteps]:
        """The runs that came of this one."""

        async def found(held: Database) -> list[RunWithSteps]:
            names = await children_of(held, run.org_id, run.run_id)
            return [await RunReader(held, ()).shown(OWNER, name, run.org_id) for name in names]

        return self.do(found)

    def summary(self) -> HealthSummary:
        """How the runs are doing."""
        from ...engine.monitors.registry import load_monitors

        monitors = [monitor.name for monitor in load_monitors()]
        return self.do(lambda held: RunReader(held, monitors).summary(OWNER, self._org_id, self._project_id))

    # -- patterns ------------------------------------------------------------------------------------

    def patterns(self, tier: str | None = None) -> list[Pattern]:
        """All patterns; those of the starter library are there from the first look on, as for an engine."""
        from ...engine.patterns.library import load_library
        from ...engine.patterns.reading import every_pattern

        library = load_library()

        async def listed(held: Database) -> list[Pattern]:
            await _library(held).import_library(library)
            return await every_pattern(held, OWNER, tier, self._org_id)

        return self.do(listed, create=True)

    def versions(self, pattern: Pattern) -> list[PatternVersion]:
        """Every version of a pattern, oldest first."""
        from ...engine.patterns.reading import versions_of

        return self.do(lambda held: versions_of(held, pattern.pattern_id))

    def create(self, request: PatternCreate) -> Pattern:
        """Add a pattern."""
        request.org_id = self._org_id
        return self.do(lambda held: _library(held).create(OWNER, request), create=True)

    def change(self, pattern: Pattern, request: PatternChange) -> Pattern:
        """Change a pattern; processes that are running follow within a second."""
        request.org_id = pattern.org_id
        return self.do(lambda held: _library(held).change(OWNER, pattern.tier, pattern.pattern_id, request))


def _library(database: Database) -> "Patterns":
    from ...engine.index.follower import Follower
    from ...engine.patterns.editing import Patterns

    return Patterns(database, Follower(database))
