"""How one process uses a database server, and where that is."""

import importlib.util
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...errors import SettingsError

if TYPE_CHECKING:
    from sqlalchemy import URL

DRIVER = "postgresql+asyncpg"
EXAMPLE = f"{DRIVER}://user:password@host/database"
MOST = 10_000


@dataclass(frozen=True)
class PoolSettings:
    """Numbers that a deployment may have to choose; a value that cannot work is refused where it is given."""

    size: int = 5
    """Connections that are kept."""
    overflow: int = 5
    """Connections beyond them while there is much to do."""
    statement_seconds: float = 30.0
    """How long one statement may take, or wait for another."""

    def __post_init__(self) -> None:
        for name, value, least in (
            ("pool_size", self.size, 1),
            ("pool_overflow", self.overflow, 0),
            ("statement_seconds", self.statement_seconds, 0.1),
        ):
            if not least <= value <= MOST:
                raise SettingsError(f"{name} is {value!r}; expected a number from {least} to {MOST}")


def checked_url(given: str) -> "URL":
    """The URL of a database server; an error that says what is expected, and never shows a password."""
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        raise SettingsError(f"database_url is not understood; expected {EXAMPLE}") from None
    if url.drivername not in (DRIVER, "postgresql", "postgres"):
        raise SettingsError(f"database_url begins with {url.drivername!r}; expected {EXAMPLE}")
    if not url.database:
        raise SettingsError(f"database_url names no database; expected {EXAMPLE}")
    if importlib.util.find_spec("asyncpg") is None:
        raise SettingsError(
            "asyncpg is needed for PostgreSQL and not installed: run `pip install 'reasonblocks[postgres]'`"
        )
    return url.set(drivername=DRIVER)
