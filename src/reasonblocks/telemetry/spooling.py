"""Where the spool of a destination lies, from the settings."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from .spool.policy import SpoolPolicy, resolve_policy, resolve_spool_dir


@dataclass(frozen=True, slots=True)
class Spooling:
    """The settings of the spool, resolved."""

    directory: Path
    policy: SpoolPolicy

    @classmethod
    def from_settings(cls, spool_dir: str | Path | bool | None, policy: SpoolPolicy | None) -> "Spooling | None":
        """As the arguments and the environment say; `None` where there is to be no spool."""
        directory, resolved = resolve_spool_dir(spool_dir), resolve_policy(policy)
        return None if directory is None else cls(directory, resolved)

    def directory_for(self, destination: str | None) -> Path | None:
        """Events for one server and key never meet those for another; `None` where nothing is worth keeping."""
        if destination is None:
            return None
        return self.directory / hashlib.sha256(destination.encode()).hexdigest()[:32]
