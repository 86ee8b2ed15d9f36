"""What an engine is opened with."""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SettingsError
from .index.cluster.settings import QdrantOptions, checked_url
from .monitors.settings import NO_SETTINGS, MonitorSettings
from .store.pool import PoolSettings

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel

DAY_SECONDS = 86_400.0
EMBEDDED = frozenset(
    "DATA_DIR EMBEDDINGS PREVIOUS_EMBEDDINGS QDRANT_URL STALE_AFTER KEEP_DAYS MONITORS_OFF MONITOR_THRESHOLDS "
    "TOOL_ROLES JUDGE".split()
)
"""Of the variables of a server, those that an embedded engine reads as well."""


@dataclass(frozen=True)
class EngineSettings:
    """How one engine works; a value that cannot work is refused where it is given."""

    data_dir: Path | None = None
    """Where everything is kept; `None` keeps it in memory, and it is gone at the end."""
    database_url: str | None = field(default=None, repr=False)
    """A PostgreSQL server that holds the tables instead of the data directory; may have a password in it."""
    pool: PoolSettings = field(default_factory=PoolSettings)
    """How that server is used."""
    embeddings: "str | Embeddings | None" = None
    """`None` is the offline default; see `engine.embedding.adapter.resolve_embedder`."""
    previous_embeddings: str | None = field(default_factory=lambda: _text("PREVIOUS_EMBEDDINGS"))
    """What `embeddings` was before, if that was a module of your own: needed for a switch without a gap."""
    qdrant_url: str | None = field(default_factory=lambda: _text("QDRANT_URL"))
    """A Qdrant cluster that holds the vector index of all servers; `None` is an index in each process."""
    qdrant: QdrantOptions = field(default_factory=QdrantOptions.from_environment)
    """How that cluster is used."""
    static_keys: tuple[str, ...] = ()
    """Admin keys that are not in the database."""
    stale_after: float = DAY_SECONDS
    """Seconds without a sign of life after which a run counts as abandoned."""
    keep_days: float | None = None
    """How long runs and traces are kept; `None` is for ever."""
    monitors: MonitorSettings = NO_SETTINGS
    """Which monitors are off, when each of them fires, and what tools do."""
    judge: "str | BaseChatModel | None" = None
    """A chat model that gives a second opinion on contradictions; `None` asks nobody. See `monitors.judge`."""

    @classmethod
    def from_environment(cls, data_dir: Path | None, embeddings: str | None = None) -> "EngineSettings":
        """Those of an embedded engine: what the variables REASONBLOCKS_<SETTING> say."""
        return cls(
            data_dir=data_dir,
            embeddings=embeddings or _text("EMBEDDINGS"),
            stale_after=DAY_SECONDS if (stale := _number("STALE_AFTER")) is None else stale,
            keep_days=_number("KEEP_DAYS"),
            monitors=monitors_from_environment(),
            judge=_text("JUDGE"),
        )

    def __post_init__(self) -> None:
        _check_positive("stale_after", self.stale_after, "seconds")
        if self.keep_days is not None:
            _check_positive("keep_days", self.keep_days, "days")
        if self.qdrant_url is not None:
            object.__setattr__(self, "qdrant_url", checked_url(self.qdrant_url))


def monitors_from_environment() -> MonitorSettings:
    """What REASONBLOCKS_MONITORS_OFF, _MONITOR_THRESHOLDS and _TOOL_ROLES say."""
    names = ("MONITORS_OFF", "MONITOR_THRESHOLDS", "TOOL_ROLES")
    return MonitorSettings.parse(*(os.environ.get(f"REASONBLOCKS_{name}", "") for name in names))


def _text(name: str) -> str | None:
    return os.environ.get(f"REASONBLOCKS_{name}", "").strip() or None


def _number(name: str) -> float | None:
    text = _text(name)
    try:
        return float(text) if text else None
    except ValueError:
        raise SettingsError(f"REASONBLOCKS_{name} is {text!r}; expected a number") from None


def _check_positive(name: str, value: float, unit: str) -> None:
    if not math.isfinite(value) or value <= 0:
        raise SettingsError(f"{name} is {value!r}; expected a number of {unit} above 0")
