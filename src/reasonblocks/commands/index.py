"""`reasonblocks index`: the vector index, which is derived from the database."""

import asyncio
from dataclasses import replace

import click

from ..errors import SettingsError
from . import options


@click.group()
def index() -> None:
    """Look after the vector index."""


@index.command()
@options.data_dir
@options.database_url
@options.embeddings
def rebuild(data_dir: str | None, database_url: str | None, embeddings: str | None) -> None:
    """Make the vector index anew from the database; processes that are running make theirs anew as well."""
    options.require_engine()
    from ..engine.engine import Engine
    from ..engine.location import resolve_data_dir
    from ..engine.settings import EngineSettings

    url = options.named_url(database_url)
    settings = replace(EngineSettings.from_environment(resolve_data_dir(data_dir), embeddings), database_url=url)
    if settings.data_dir is None and url is None:
        raise SettingsError("there is nothing to rebuild in :memory:, which keeps nothing; name a directory")

    async def rebuilt() -> int:
        engine = await Engine.open(settings)
        try:
            return await engine.index.rebuild()
        finally:
            await engine.aclose()

    click.echo(f"{asyncio.run(rebuilt())} items are in the index of {settings.data_dir}")
