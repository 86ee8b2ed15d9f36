"""`reasonblocks serve`: rb-api by HTTP."""

import click

from . import options


@click.command()
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=int, help="The port; 0 takes any free one.  [default: 8484]")
@options.data_dir
@options.database_url
@click.option("--qdrant-url", metavar="URL", help="A Qdrant cluster for the vectors that many servers share.")
@click.option("--workers", type=int, help="Processes that serve the port; more than one need both URLs.  [default: 1]")
@options.embeddings
@options.monitors
@click.option("--judge", metavar="PROVIDER:MODEL", help="A chat model for doubtful contradictions.  [default: nobody]")
@click.option("--keep-days", type=float, help="Delete runs and traces that are older.  [default: keep them]")
@click.option("--stale-after", type=float, help="Seconds of silence after which a run is abandoned.  [default: 86400]")
@click.option("--cors-origin", "cors_origins", multiple=True, help="An origin whose pages may call; may be repeated.")
@click.option("--log-level", type=click.Choice(["debug", "info", "warning", "error"]), help="[default: info]")
def serve(cors_origins: tuple[str, ...], **given: object) -> None:
    """Run rb-api, the server that many agents share.

    Static admin keys come from REASONBLOCKS_KEYS (separated by commas); a first start without any key prints one.
    Every option can also be given as REASONBLOCKS_<OPTION> (origins, separated by commas: REASONBLOCKS_CORS_ORIGINS).
    """
    options.require_engine("litestar", "uvicorn", extra="server")
    from ..server.run import serve as run_server
    from ..server.settings import ServerSettings

    run_server(ServerSettings.from_environment(cors_origins=cors_origins or None, **given))
