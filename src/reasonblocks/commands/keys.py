"""`reasonblocks keys`: who may use a server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click
import msgspec

from ..engine.keys import Keys
from ..engine.principal import DEFAULT_ORG
from ..engine.store.migrate import prepare
from . import options

Result = TypeVar("Result")


@click.group(short_help="Create, list and revoke the keys of a server.")
def keys() -> None:
    """Create, list and revoke the keys of a server; it may be running."""


@keys.command()
@click.option("--org", default=DEFAULT_ORG, show_default=True, help="The organisation the key belongs to.")
@click.option("--project", help="The only project the key is good for.  [default: all of them]")
@click.option("--name", default="", help="What the key is for, to know it again.")
@click.option("--test", "is_test", is_flag=True, help="Make a key that starts with rb_test_ instead of rb_live_.")
@options.data_dir
@options.database_url
def create(org: str, project: str | None, name: str, is_test: bool, **where: str | None) -> None:
    """Create a key and print it, alone on its line. It is not shown again: only its hash is kept."""
    _, plain = _with_keys(where, lambda held: held.create(org, project, "test" if is_test else "live", name))
    click.echo(plain)


@keys.command("list")
@click.option("--org", help="Only those of this organisation.")
@options.as_json
@options.data_dir
@options.database_url
def list_keys(org: str | None, as_json: bool, **where: str | None) -> None:
    """List the keys, without the keys themselves."""
    found = _with_keys(where, lambda held: held.list(org))
    if as_json:
        click.echo(options.json_text(msgspec.to_builtins(found)))
        return
    if not found:
        whose = f" of organisation {org!r}" if org else ""
        click.echo(f"there is no key{whose} yet: run `reasonblocks keys create`", err=True)
    for key in found:
        state = f"revoked {key.revoked_at}" if key.revoked_at else f"last used {key.last_used_at or 'never'}"
        whose = f"{key.org_id}/{key.project_id or '*'}"
        click.echo(
            "  ".join(filter(None, (key.key_id, key.shown, whose, f"created {key.created_at}", state, key.name)))
        )


@keys.command()
@click.argument("key_id")
@options.data_dir
@options.database_url
def revoke(key_id: str, **where: str | None) -> None:
    """Revoke a key by its id (or by the key itself); servers refuse it within seconds."""
    key = _with_keys(where, lambda held: held.revoke(key_id))
    click.echo(f"revoked {key.key_id} of {key.org_id}")


def _with_keys(where: dict[str, str | None], work: Callable[[Keys], Awaitable[Result]]) -> Result:
    """Do something with the keys of a database, and nothing else of it."""
    database = options.database_of(where["data_dir"], where["database_url"])

    async def run() -> Result:
        transactions = database.transactions()
        try:
            await prepare(database)
            return await work(Keys(database, transactions))
        finally:
            await transactions.aclose()
            await database.aclose()

    return asyncio.run(run())
