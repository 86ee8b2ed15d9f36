"""Which monitors there are: the six of the contract, and those that other packages bring.

A package brings one by an entry point of the group `reasonblocks.monitors`, which names a `Monitor` or something that
makes one when it is called without arguments. One that cannot be loaded is reported and left out.
"""

import re
from importlib.metadata import EntryPoint, entry_points

from ...runtime.contain import incidents
from .base import Monitor
from .claim_contradiction import ClaimContradiction
from .cyclic_compression import CyclicCompression
from .late_sprawl import LateSprawl
from .semantic_loop import SemanticLoop
from .silent_topic_drift import SilentTopicDrift
from .verification_skip import VerificationSkip

GROUP = "reasonblocks.monitors"
_NAME = re.compile(r"[A-Za-z0-9_\-.]{1,64}")

BUILT_IN: tuple[Monitor, ...] = (
    ClaimContradiction(),
    SemanticLoop(),
    VerificationSkip(),
    CyclicCompression(),
    LateSprawl(),
    SilentTopicDrift(),
)
"""In the order of the contract."""


def load_monitors() -> tuple[Monitor, ...]:
    """The built-in monitors and the installed ones. Reads files and imports: not for an event loop."""
    monitors = list(BUILT_IN)
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:
            monitors.append(_checked(_load(entry), [monitor.name for monitor in monitors]))
        except Exception as error:  # foreign code may raise anything, and the others shall work
            incidents.note(f"monitor {entry.name!r} ({entry.value})", error)
    return tuple(monitors)


def _load(entry: EntryPoint) -> object:
    loaded = entry.load()
    return loaded() if callable(loaded) else loaded


def _checked(monitor: object, taken: list[str]) -> Monitor:
    for attribute in ("name", "failure_type", "description"):
        if not isinstance(getattr(monitor, attribute, None), str):
            raise TypeError(f"{type(monitor).__name__} has no text {attribute!r}; a monitor needs one")
    if not callable(getattr(monitor, "start", None)):
        raise TypeError(f"{type(monitor).__name__} has no start(); a monitor needs one")
    checked: Monitor = monitor  # type: ignore[assignment]  # as far as can be seen from here
    if not _NAME.fullmatch(checked.name):
        raise ValueError(f"its name is {checked.name!r}; expected letters, digits and _ - . only, at most 64")
    if checked.name in taken:
        raise ValueError(f"its name {checked.name!r} is taken; give it another one")
    return checked
