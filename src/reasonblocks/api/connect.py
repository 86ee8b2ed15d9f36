"""Which backend the settings ask for: a server by its URL, or the engine in process; only that one is imported."""

from ..engine.location import MEMORY, resolve_data_dir
from ..errors import SettingsError
from ..settings import resolve_connection
from .backend import Backend


def connect(
    api_key: str | None,
    base_url: str | None,
    *,
    data_dir: object = None,
    step_timeout: float,
    allow_insecure_http: bool | None = None,
) -> tuple[Backend, str]:
    """The backend, and how a `repr` shows it."""
    connection = resolve_connection(api_key, base_url, allow_insecure_http=allow_insecure_http)
    if connection is not None:
        if data_dir is not None:
            raise SettingsError(
                f"data_dir is {data_dir!r}, but a server was named as well ({connection.base_url}); "
                "leave data_dir out, or leave the key and the URL out to use the embedded engine"
            )
        from .remote import RemoteBackend

        backend = RemoteBackend(connection.base_url, connection.key, step_timeout=step_timeout)
        return backend, f"base_url={str(connection.base_url)!r}, api_key='***'"
    from .embedded import EmbeddedBackend, require_engine

    require_engine("neither an API key nor a URL was given" if data_dir is None else f"data_dir is {data_dir!r}")
    directory = resolve_data_dir(data_dir)
    return EmbeddedBackend(directory), f"data_dir={str(directory or MEMORY)!r}"
