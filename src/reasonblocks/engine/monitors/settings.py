"""What can be set about the monitors: which are off, when each of them fires, what a tool does.

As texts, for the environment and the command line: `late_sprawl,silent_topic_drift`, `semantic_loop=0.8`,
`deploy_service=changes,poll_job=waits`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ...errors import SettingsError
from .base import FIRE_THRESHOLD
from .roles import Role, parse_roles


@dataclass(frozen=True, slots=True)
class MonitorSettings:
    """How the monitors of an engine are set up; the same for all its runs."""

    off: frozenset[str] = frozenset()
    """Monitors that are not asked; their score is 0."""
    thresholds: Mapping[str, float] = field(default_factory=dict)
    """From which score on a monitor fires, by name; the others fire at 0.6."""
    roles: Mapping[str, Role] = field(default_factory=dict)
    """What tools do, by their name, where that cannot be told from it."""

    @classmethod
    def of(
        cls,
        off: Iterable[str] = (),
        thresholds: Mapping[str, float] = MappingProxyType({}),
        tool_roles: Mapping[str, str] = MappingProxyType({}),
    ) -> "MonitorSettings":
        """From plain values, checked."""
        return cls(
            frozenset(off),
            {name: _threshold(name, value) for name, value in thresholds.items()},
            parse_roles(tool_roles),
        )

    @classmethod
    def parse(cls, off: str = "", thresholds: str = "", tool_roles: str = "") -> "MonitorSettings":
        """From texts, as an environment has them."""
        return cls.of(
            [name for name in map(str.strip, off.split(",")) if name],
            {name: _number(name, value) for name, value in _pairs("a monitor's threshold", thresholds)},
            dict(_pairs("a tool's role", tool_roles)),
        )

    def check_names(self, known: Iterable[str]) -> None:
        """Refuse names of monitors that there are not: a misspelt one would be a switch that does nothing."""
        names = sorted(known)
        for name in sorted(self.off | set(self.thresholds)):
            if name not in names:
                raise SettingsError(f"there is no monitor {name!r}; expected one of {', '.join(names)}")

    def threshold(self, name: str) -> float:
        """From which score on a monitor fires."""
        return self.thresholds.get(name, FIRE_THRESHOLD)


NO_SETTINGS = MonitorSettings()
"""Everything as it comes."""


def _pairs(what: str, text: str) -> Iterable[tuple[str, str]]:
    for item in filter(None, map(str.strip, text.split(","))):
        name, equals, value = item.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise SettingsError(f"{item!r} sets nothing; expected {what} as name=value, several with commas between")
        yield name.strip(), value.strip()


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise SettingsError(_expected(name, value)) from None


def _threshold(name: str, value: float) -> float:
    if not 0.0 < value <= 1.0:
        raise SettingsError(_expected(name, value))
    return float(value)


def _expected(name: str, value: object) -> str:
    return f"the threshold of {name} is {value!r}; expected a number above 0 and at most 1, such as {name}=0.8"
