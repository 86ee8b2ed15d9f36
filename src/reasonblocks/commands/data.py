"""Commands for what a database holds: to another database, into a file and back, and away."""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from . import options

if TYPE_CHECKING:
    from ..engine.store.copying import Progress, Tallies
    from ..engine.store.database import Database

Result = TypeVar("Result")
_file = click.argument("file", type=click.Path(path_type=Path, dir_okay=False))


@click.command(short_help="Copy a data directory into PostgreSQL, and compare.")
@options.data_dir
@click.option("--database-url", metavar="URL", required=True, help="The empty PostgreSQL database it goes to.")
def migrate(data_dir: str | None, database_url: str) -> None:
    """Copy a data directory's tables into a PostgreSQL database, all or nothing, and compare the two.

    Stop the server first: what is written meanwhile would stay behind. The data directory is left as it is.
    """
    options.require_engine()
    from ..engine.store.copying import copy

    source, target = options.database_of(data_dir, None, environment=False), options.patient(database_url)

    async def work() -> "tuple[Tallies, int]":
        total = sum((await _counts(source)).values())
        with _progress("copying", total) as advance:
            return await copy(source, target, advance)

    tallies, mended = _run(work, source, target)
    _tell(tallies, mended, f"copied to {target.name} and compared")


@click.command(short_help="Write all that a database holds into a file.")
@_file
@options.data_dir
@options.database_url
def backup(file: Path, data_dir: str | None, database_url: str | None) -> None:
    """Write all that a database holds, as of one moment, into FILE; servers may go on meanwhile.

    The file holds everything, the digests of keys as well; it is readable by its owner only.
    """
    options.require_engine()
    from ..engine.store.archive import save, written

    database = options.database_of(data_dir, database_url)

    async def work() -> "Tallies":
        total = sum((await _counts(database)).values())
        with _progress("writing", total) as advance:
            return await save(database, opened, advance)

    with written(file) as opened:
        tallies = _run(work, database)
    _tell(tallies, 0, f"written to {file}")


@click.command(short_help="Write what a backup holds into an empty database.")
@_file
@options.data_dir
@options.database_url
def restore(file: Path, data_dir: str | None, database_url: str | None) -> None:
    """Write what FILE, a backup, holds into an empty database of either kind, all or nothing, and compare."""
    options.require_engine()
    from ..engine.store.archive import Archive
    from ..engine.store.archive import restore as write

    archive = Archive(file)
    database = options.database_of(data_dir, database_url)

    async def work() -> "tuple[Tallies, int]":
        with _progress("reading", sum(archive.header.counts.values())) as advance:
            return await write(archive, database, advance)

    try:
        tallies, mended = _run(work, database)
    finally:
        archive.close()
    _tell(tallies, mended, f"restored to {database.name} and compared")


@click.command(short_help="Write what one organisation has into a file.")
@click.argument("org")
@_file
@options.data_dir
@options.database_url
def export(org: str, file: Path, data_dir: str | None, database_url: str | None) -> None:
    """Write all that an organisation has into FILE: lines of JSON, compressed; without the digests of its keys."""
    options.require_engine()
    from ..engine.store.archive import save, written
    from ..engine.store.owning import SECRETS, check_known, owned

    database = options.database_of(data_dir, database_url)

    async def work() -> "Tallies":
        async with database.reading() as connection:
            total = sum((await check_known(connection, org)).values())
        with _progress("writing", total) as advance:
            return await save(database, opened, advance, kind="export", wheres=owned(org), without=SECRETS)

    with written(file) as opened:
        tallies = _run(work, database)
    _tell(tallies, 0, f"written to {file}")


@click.command("delete-org", short_help="Delete all that one organisation has.")
@click.argument("org")
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.data_dir
@options.database_url
def delete_org(org: str, yes: bool, data_dir: str | None, database_url: str | None) -> None:
    """Delete all that an organisation has, its keys as well, and see that nothing is left.

    Servers that are running follow; agents that still report to it are refused.
    """
    options.require_engine()
    from ..engine.store.owning import erase

    database = options.database_of(data_dir, database_url)
    if not yes:
        click.confirm(f"Delete everything of the organisation {org!r} from {database.name}?", abort=True)
    counts = _run(lambda: erase(database, org), database)
    for name, rows in counts.items():
        if rows:
            click.echo(f"{rows:>10,}  {name}")
    click.echo(f"deleted, and nothing of {org!r} is left in any table")


def _run(work: Callable[[], Awaitable[Result]], *databases: "Database") -> Result:
    """Do something with databases that are up to date, and close them."""
    from ..engine.store.migrate import prepare

    async def run() -> Result:
        try:
            for database in databases:
                await prepare(database)
            return await work()
        finally:
            for database in databases:
                await database.aclose()

    return asyncio.run(run())


async def _counts(database: "Database") -> dict[str, int]:
    from ..engine.store.copying import count

    async with database.reading() as connection:
        return await count(connection)


@contextlib.contextmanager
def _progress(doing: str, total: int) -> "Iterator[Progress]":
    """A bar on stderr, where that is a terminal."""
    with click.progressbar(length=total, label=doing, file=sys.stderr) as bar:
        yield bar.update


def _tell(tallies: "Tallies", mended: int, conclusion: str) -> None:
    for name, tally in tallies.items():
        if tally.rows:
            click.echo(f"{tally.rows:>10,}  {name}")
    if mended:
        click.echo(f"{mended:,} rows had U+0000 in a text, which PostgreSQL cannot keep; U+FFFD is in its place")
    click.echo(conclusion)
