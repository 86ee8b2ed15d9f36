"""How one process uses a database server."""

from dataclasses import dataclass

from ...errors import SettingsError

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
