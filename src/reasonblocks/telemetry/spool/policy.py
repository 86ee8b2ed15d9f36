"""When, where and how much is kept on disk."""

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from ...errors import SettingsError
from ...location import user_data_dir

Fsync = Literal["always", "batch", "never"]
_OFF = ("0", "false", "no", "off")
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class SpoolPolicy:
    """How the spool behaves; every field has a default that suits most."""

    max_bytes: int = 256 * MEGABYTE
    """What all processes together keep for one destination. Beyond it the oldest steps go."""
    fsync: Fsync = "batch"
    """When the disk is told to keep what was written.

    A process that dies loses nothing in any case: what it wrote is in the hands of the operating system. This is
    about a machine that dies. `batch` risks the last second of an outage and costs next to nothing, `always` risks
    nothing and waits for the disk with every portion, `never` leaves it to the operating system.
    """
    begin_after: float = 1.0
    """Seconds of failed deliveries after which events go to disk."""
    adopt_every: float = 15.0
    """Seconds between two looks for what dead processes left behind."""

    def __post_init__(self) -> None:
        if isinstance(self.max_bytes, bool) or not isinstance(self.max_bytes, int) or self.max_bytes < 100_000:
            raise SettingsError(f"SpoolPolicy.max_bytes is {self.max_bytes!r}; expected a number of at least 100000")
        if self.fsync not in get_args(Fsync):
            raise SettingsError(f"spool fsync is {self.fsync!r}; expected one of {', '.join(get_args(Fsync))}")
        for name, value in (("begin_after", self.begin_after), ("adopt_every", self.adopt_every)):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise SettingsError(f"SpoolPolicy.{name} is {value!r}; expected a number of seconds above 0")


def resolve_policy(value: SpoolPolicy | None) -> SpoolPolicy:
    """The policy that is given, else that of the environment."""
    if value is not None:
        if not isinstance(value, SpoolPolicy):
            raise SettingsError(f"spool is {value!r:.80}; expected a SpoolPolicy")
        return value
    return SpoolPolicy(
        max_bytes=_megabytes(SpoolPolicy().max_bytes),
        fsync=os.environ.get("REASONBLOCKS_SPOOL_FSYNC", "").strip().lower() or "batch",  # type: ignore[arg-type]  # checked
    )


def resolve_spool_dir(value: str | Path | bool | None) -> Path | None:
    """Where the spool is: as given, else by REASONBLOCKS_SPOOL_DIR, else in the user's own place; `None` for none."""
    if value is None:
        value = os.environ.get("REASONBLOCKS_SPOOL_DIR", "").strip() or None
        if value is not None and value.lower() in _OFF:
            return None
    if value is None:
        return user_data_dir() / "spool"
    if value is False:
        return None
    if isinstance(value, Path):
        return value.expanduser().absolute()
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise SettingsError(f"spool_dir is {value!r}; expected the path of a directory, or False for none")
    return Path(value.strip()).expanduser().absolute()


def _megabytes(default: int) -> int:
    text = os.environ.get("REASONBLOCKS_SPOOL_MAX_MB", "").strip()
    if not text:
        return default
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.1 <= number < 1e9:
        raise SettingsError(f"REASONBLOCKS_SPOOL_MAX_MB is {text!r}; expected a number of megabytes, for example 256")
    return int(number * MEGABYTE)
