"""`reasonblocks doctor`: what is set up, whether it works, and what to change."""

import os
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from ..engine.location import resolve_data_dir
from ..errors import SettingsError
from . import options
from .sources.choosing import Place, place
from .table import harmless

if TYPE_CHECKING:
    from ..settings import Connection
    from .doctoring.finding import Finding

SERVER_SECONDS = 5.0
"""How long a server may take to answer before it counts as away."""
MARKS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "problem": ("PROBLEM", "red")}


@click.command()
@click.argument("target", required=False, metavar="[MODULE:ATTRIBUTE]")
@options.as_json
@place
def doctor(target: str | None, as_json: bool, place: Place) -> None:
    """Check what is set up, whether it works, and what to change.

    Settings and where each comes from, server and key or the engine and its data directory, versions, OpenTelemetry.
    MODULE:ATTRIBUTE names an agent of yours, or a list of middleware, such as app.agents:agent: the order of its
    stack is looked at, too. It is imported for that. Exit code 1 where there is a problem.
    """
    found = diagnosis(place, target)
    if as_json:
        click.echo(options.json_text(msgspec.to_builtins(found)))
    else:
        options.echo(finding_lines(found, options.width()))
    if any(one.level == "problem" for one in found):
        click.get_current_context().exit(1)


def diagnosis(place: Place, target: str | None) -> list["Finding"]:
    """Look at everything; what cannot be looked at is a problem, and does not stop the rest."""
    from .doctoring import agents, packages, settings
    from .doctoring.finding import checked

    found = checked("version", packages.frameworks)
    found += checked("settings", lambda: settings.in_force(place))
    found += _backend(place)
    found += checked("OpenTelemetry", packages.telemetry)
    if target is not None:
        found += checked("stack", lambda: agents.stack(target))
    return found


def _backend(place: Place) -> list["Finding"]:
    """The server that is named, else the engine in process."""
    from .doctoring.finding import problem

    if place.data_dir is not None and place.base_url is not None:
        raise click.UsageError("--data-dir and --base-url are given; a command works on one of them")
    try:
        connection = None if place.data_dir is not None else place.connection()
    except SettingsError as error:
        return [problem("server", str(error))]
    return _engine(place) if connection is None else _server(place, connection)


def _server(place: Place, connection: "Connection") -> list["Finding"]:
    from .doctoring import server
    from .doctoring.finding import checked
    from .sources.remote import RemoteSource

    with RemoteSource(connection, place.api_key_env, seconds=SERVER_SECONDS) as source:
        return checked("server", lambda: server.answering(source))


def _engine(place: Place) -> list["Finding"]:
    from .doctoring import engine, packages
    from .doctoring.finding import checked, ok

    path = resolve_data_dir(place.data_dir)
    found = [ok("engine", "in process: neither a key nor a URL is set"), *checked("engine", packages.extras)]
    found += checked("data directory", lambda: engine.directory(path))
    if not any(one.level == "problem" for one in found):
        setting = os.environ.get("REASONBLOCKS_EMBEDDINGS", "").strip() or None
        found += checked("embedder", lambda: engine.embedder(setting))
        found += checked("engine", lambda: engine.parts(path))
    return found


def finding_lines(found: Sequence["Finding"], width: int) -> Iterator[str]:
    """Findings, one after another, and how many of each there are."""
    topics = max(len(one.topic) for one in found)
    indent = " " * (topics + 11)
    for one in found:
        mark, colour = MARKS[one.level]
        text = textwrap.wrap(harmless(one.says), max(30, width - len(indent)), break_on_hyphens=False)
        yield f"{click.style(f'{mark:7}', fg=colour)}  {one.topic:{topics}}  {text[0] if text else ''}"
        yield from (f"{indent}{line}" for line in text[1:])
        for line in textwrap.wrap(harmless(one.do), max(30, width - len(indent) - 3), break_on_hyphens=False):
            yield f"{indent}{click.style('-> ' + line, fg=colour)}"
    counts = [sum(one.level == level for one in found) for level in ("problem", "warning")]
    yield ""
    yield f"{counts[0]} problem{'s' * (counts[0] != 1)}, {counts[1]} warning{'s' * (counts[1] != 1)}"
