"""What a server is started with: arguments first, then REASONBLOCKS_* from the environment; checked once."""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from ..engine.location import resolve_data_dir
from ..engine.monitors.settings import MonitorSettings
from ..engine.settings import DAY_SECONDS, EngineSettings
from ..engine.store.pool import PoolSettings, checked_url
from ..errors import SettingsError
from ..limits import MAX_BODY
from ..secret import Secret

LogLevel = Literal["debug", "info", "warning", "error"]
PREFIX = "REASONBLOCKS_"
ANY_ORIGIN = "*"
LONGEST_KEY = 512
"""Characters of a key; longer ones are not even looked at."""
SHORT_KEY = 16
"""Below this a static key can be guessed."""
_SHORTEST_MASKED = 8
_NOT_IN_A_KEY = frozenset("\"'\\")
"""Such characters would look different in a log line than in the key, and could not be masked there."""


@dataclass(frozen=True)
class ServerSettings:
    """How one server works; a value that cannot work is refused where it is given."""

    host: str = "127.0.0.1"
    """The address it listens on; `0.0.0.0` is every one of this machine."""
    port: int = 8484
    """The port it listens on; 0 takes any free one."""
    data_dir: Path | None = None
    """Where everything is kept: one SQLite file and an index for each process; `:memory:` keeps nothing."""
    database_url: str | None = field(default=None, repr=False)
    """PostgreSQL for the tables, which many servers may share: `postgresql+asyncpg://user:password@host/database`.

    None is a file in the data directory. As a variable it shows in no list of processes.
    """
    qdrant_url: str | None = None
    """A Qdrant cluster for the vectors, which many servers may share; none is an index in the data directory."""
    workers: int = 1
    """Processes that serve the port; more than one need a `database_url` and a `qdrant_url`, which they share."""
    pool_size: int = PoolSettings.size
    """Connections to the database server that each worker keeps."""
    pool_overflow: int = PoolSettings.overflow
    """Connections beyond them while there is much to do."""
    statement_seconds: float = PoolSettings.statement_seconds
    """Seconds that one statement on the database server may take, or wait for another."""
    keys: tuple[Secret, ...] = ()
    """Static keys, separated by commas: those of admins, who have no organisation of their own and may name any."""
    embeddings: str | None = None
    """What turns texts into vectors: `minilm` (offline), `PROVIDER:MODEL` of LangChain, or `package.module:attribute`.

    The last is an `Embeddings`, or what makes one.
    """
    max_body: int = MAX_BODY
    """Bytes of a request's body."""
    rate: float = 2_000.0
    """Requests a second that a key may make for ever, at each worker; a batch of events is one."""
    burst: int = 4_000
    """Requests that a key may make at once."""
    anonymous_rate: float = 50.0
    """Requests a second for those who show no valid key, by the address they come from."""
    anonymous_burst: int = 500
    """Requests at once for those who show no valid key."""
    max_connections: int = 4_000
    """Connections at once; with fewer files allowed to the process, as many as those leave room for."""
    max_streams: int = 100
    """Streams that a key may hold open."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may call from a browser; `*` is any."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses whose X-Forwarded-For is believed; `*` is any."""
    stale_after: float = DAY_SECONDS
    """Seconds without a sign of life after which a run is closed as `abandoned`; one that waits for a person is not."""
    keep_days: float | None = None
    """Days after which runs and traces are deleted, counted from the last sign of them; none keeps them for ever."""
    monitors_off: str = ""
    """Monitors that are not asked, such as `late_sprawl,silent_topic_drift`."""
    monitor_thresholds: str = ""
    """From which score on monitors fire, such as `semantic_loop=0.8`; the others fire at 0.6."""
    tool_roles: str = ""
    """What tools do whose name does not tell, such as `deploy_service=changes,poll_job=waits`."""
    judge: str | None = None
    """A chat model, as LangChain names it, that is asked about doubtful contradictions; none asks nobody."""
    shutdown_seconds: float = 30.0
    """Seconds that requests in flight may take to finish once the server is asked to stop (SIGTERM)."""
    heartbeat_seconds: float = 15.0
    """Seconds after which a silent stream shows that it is alive."""
    log_level: LogLevel = "info"
    """What is logged: one JSON object a line on stderr, without keys. `warning` leaves out the line of each request."""

    def __post_init__(self) -> None:
        if not isinstance(self.host, str) or not self.host.strip():
            raise SettingsError(f"host is {self.host!r}; expected a name or an address, for example 127.0.0.1")
        _check_whole("port", self.port, 0, 65_535)
        _check_whole("max_body", self.max_body, 1_000, 1_000_000_000)
        for name in ("burst", "anonymous_burst", "max_connections", "max_streams"):
            _check_whole(name, getattr(self, name), 1, 1_000_000_000)
        for name in ("rate", "anonymous_rate", "stale_after", "shutdown_seconds", "heartbeat_seconds"):
            _check_positive(name, getattr(self, name))
        if self.keep_days is not None:
            _check_positive("keep_days", self.keep_days)
        if self.log_level not in get_args(LogLevel):
            raise SettingsError(f"log_level is {self.log_level!r}; expected one of {', '.join(get_args(LogLevel))}")
        self._monitors()
        self._check_shared()
        for origin in self.cors_origins:
            _check_origin(origin)
        for number, key in enumerate(self.keys, start=1):
            _check_key(number, key)

    def _check_shared(self) -> None:
        """What several workers use, they have to share."""
        _check_whole("workers", self.workers, 1, 1_000)
        self._pool()
        if self.database_url is not None:
            password = checked_url(self.database_url).password
            if password:
                secret(str(password))  # which has it masked in every log line
        shared = {
            "--database-url, a PostgreSQL server": self.database_url,
            "--qdrant-url, a Qdrant cluster": self.qdrant_url,
        }
        missing = [option for option, url in shared.items() if url is None]
        if self.workers > 1 and missing:
            raise SettingsError(
                f"workers is {self.workers}, and more than one need tables and an index that they share: "
                f"name {' and '.join(missing)}; or run one worker"
            )

    def _pool(self) -> PoolSettings:
        return PoolSettings(self.pool_size, self.pool_overflow, self.statement_seconds)

    @classmethod
    def from_environment(cls, **given: Any) -> "ServerSettings":
        """The settings that the arguments give; for those that are `None`, the environment, then the default."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(given) - known):
            raise SettingsError(
                f"there is no setting {', '.join(unknown)}; expected some of {', '.join(sorted(known))}"
            )
        values = {name: value for name, value in given.items() if value is not None}
        for name in known - set(values) - {"data_dir"}:
            text = os.environ.get(PREFIX + name.upper(), "").strip()
            if text:
                values[name] = _READ[name](PREFIX + name.upper(), text) if name in _READ else text
        values["data_dir"] = resolve_data_dir(values.get("data_dir"))
        return cls(**values)

    def engine(self) -> EngineSettings:
        """What the engine behind this server is opened with."""
        return EngineSettings(
            data_dir=self.data_dir,
            database_url=self.database_url,
            pool=self._pool(),
            qdrant_url=self.qdrant_url,
            embeddings=self.embeddings,
            static_keys=tuple(key.reveal() for key in self.keys),
            stale_after=self.stale_after,
            keep_days=self.keep_days,
            monitors=self._monitors(),
            judge=self.judge,
        )

    def _monitors(self) -> MonitorSettings:
        return MonitorSettings.parse(self.monitors_off, self.monitor_thresholds, self.tool_roles)


class _ShortSecret(Secret):
    """A key that is not masked: a letter or a word that is masked everywhere makes a log unreadable."""

    __slots__ = ()

    def __init__(self, value: str) -> None:
        self._value = value


def secret(key: str) -> Secret:
    """A key that is masked wherever it would be shown, unless it is too short for that."""
    return Secret(key) if len(key) >= _SHORTEST_MASKED else _ShortSecret(key)


Read = Callable[[str, str], Any]
"""From the name of a variable and its text to the value."""


def _number(kind: Callable[[str], float]) -> Read:
    def read(name: str, text: str) -> float:
        try:
            return kind(text.replace("_", ""))
        except ValueError:
            raise SettingsError(f"{name} is {text!r}; expected a number") from None

    return read


def _listed(_: str, text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


_READ: Mapping[str, Read] = {
    "port": _number(int),
    "workers": _number(int),
    "pool_size": _number(int),
    "pool_overflow": _number(int),
    "statement_seconds": _number(float),
    "max_body": _number(int),
    "burst": _number(int),
    "anonymous_burst": _number(int),
    "max_connections": _number(int),
    "max_streams": _number(int),
    "rate": _number(float),
    "anonymous_rate": _number(float),
    "stale_after": _number(float),
    "keep_days": _number(float),
    "shutdown_seconds": _number(float),
    "heartbeat_seconds": _number(float),
    "cors_origins": _listed,
    "trusted_proxies": _listed,
    "keys": lambda name, text: tuple(map(secret, _listed(name, text))),
    "log_level": lambda _, text: text.lower(),
}


def _check_whole(name: str, value: object, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SettingsError(f"{name} is {value!r}; expected a whole number from {least} to {most}")


def _check_positive(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise SettingsError(f"{name} is {value!r}; expected a number above 0")


def _check_origin(origin: str) -> None:
    parts = urlsplit(origin)
    whole = parts.scheme in ("http", "https") and parts.netloc and origin == f"{parts.scheme}://{parts.netloc}"
    if origin != ANY_ORIGIN and not whole:
        raise SettingsError(
            f"cors_origins holds {origin!r}; expected origins such as https://app.example.com "
            f"(scheme, host and port only), or {ANY_ORIGIN!r} for any"
        )


def _check_key(number: int, key: Secret) -> None:
    text = key.reveal()
    if not 0 < len(text) <= LONGEST_KEY:
        raise SettingsError(
            f"static key {number} of REASONBLOCKS_KEYS has {len(text)} characters; expected 1 to {LONGEST_KEY}"
        )
    if not text.isascii() or not text.isprintable() or " " in text or _NOT_IN_A_KEY & set(text):
        raise SettingsError(
            f"static key {number} of REASONBLOCKS_KEYS holds a character that cannot be in a key "
            "(blanks, quotes, backslashes or non-ASCII); separate keys by commas and do not quote them"
        )
