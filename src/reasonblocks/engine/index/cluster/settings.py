"""Where the Qdrant cluster is, and how collections in it are laid out."""

import importlib.util
import math
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from ....errors import SettingsError
from ....secret import Secret, mask

MEMORY = ":memory:"
"""Instead of a URL: Qdrant's own imitation of itself in this process, for trying things out."""
INSTALL = "pip install 'reasonblocks[qdrant]'"
Quantization = Literal["int8", "none"]
_PREFIX = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class QdrantOptions:
    """Everything about a cluster but its address; a value that cannot work is refused where it is given."""

    api_key: Secret | None = field(default=None, repr=False)
    """The cluster's key, masked wherever it would be shown; over plain http it can be read on the way."""
    prefix: str = "reasonblocks"
    """What the names of our collections begin with."""
    replicas: int = 2
    """Copies of each shard: with two, lookups go on while a node is down or restarted. One node keeps one."""
    shards: int | None = None
    """Parts of a collection; none is Qdrant's own choice, one for each node."""
    quantization: Quantization = "int8"
    """`int8` takes a quarter of the memory, and what is found is scored again with the whole vectors; or `none`."""
    timeout: float = 1.0
    """Seconds that a lookup waits for an answer; after three in vain none is made until the cluster answers again."""

    @classmethod
    def from_environment(cls) -> "QdrantOptions":
        """What the variables REASONBLOCKS_QDRANT_<OPTION> say."""
        key = _environment("API_KEY")
        given: dict[str, Any] = {"api_key": Secret(key)} if key else {}
        for name, read in (
            ("prefix", str),
            ("replicas", int),
            ("shards", int),
            ("quantization", str.lower),
            ("timeout", float),
        ):
            if text := _environment(name.upper()):
                given[name] = _read(name, text, read)
        return cls(**given)

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            raise SettingsError(
                f"qdrant_prefix is {self.prefix!r}; expected up to 64 letters, digits, hyphens and underscores"
            )
        for name, value in (("replicas", self.replicas), ("shards", self.shards)):
            if value is not None and not 1 <= value <= 1_000:
                raise SettingsError(f"qdrant_{name} is {value!r}; expected a whole number from 1 to 1000")
        if self.quantization not in get_args(Quantization):
            expected = " or ".join(get_args(Quantization))
            raise SettingsError(f"qdrant_quantization is {self.quantization!r}; expected {expected}")
        if not math.isfinite(self.timeout) or self.timeout <= 0:
            raise SettingsError(f"qdrant_timeout is {self.timeout!r}; expected a number of seconds above 0")


def checked_url(url: str) -> str:
    """The address of a cluster as it is used; what cannot be one is refused."""
    shown = mask(url)
    if url == MEMORY:
        return url
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018  reading it checks it
    except ValueError as error:
        raise SettingsError(f"qdrant_url is {shown!r}, which is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise SettingsError(
            f"qdrant_url is {shown!r}; expected an address such as http://qdrant.example.com:6333, or {MEMORY!r} to "
            "try it without a cluster"
        )
    if parts.username or parts.password:
        raise SettingsError(
            "qdrant_url holds a user or a password; Qdrant takes a key: set REASONBLOCKS_QDRANT_API_KEY"
        )
    return url.rstrip("/")


def require_client() -> None:
    """Raise the error that tells how to install Qdrant's client, if it is not."""
    if importlib.util.find_spec("qdrant_client") is None:
        raise SettingsError(
            f"qdrant_url is set, which needs Qdrant's client, and that is not installed: run `{INSTALL}`"
        )


def _environment(name: str) -> str:
    return os.environ.get(f"REASONBLOCKS_QDRANT_{name}", "").strip()


def _read(name: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except ValueError:
        expected = "a number" if read is float else "a whole number"
        raise SettingsError(f"REASONBLOCKS_QDRANT_{name.upper()} is {text!r}; expected {expected}") from None
