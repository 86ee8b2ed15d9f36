"""Numbers and texts as a report shows them."""

import math

from ..sanitize import neutralise
from .figures import Figure

NONE = "\N{EN DASH}"


def score(value: float | None) -> str:
    """An AUROC or a score."""
    return NONE if value is None else f"{value:.3f}"


def share(value: float | None) -> str:
    """A share of runs, in per cent; small ones with one digit more."""
    if value is None:
        return NONE
    return f"{value:.1%}" if 0 < value < 0.0995 else f"{value:.0%}"


def times(value: float | None) -> str:
    """A ratio."""
    if value is None:
        return NONE
    return "\N{INFINITY}" if math.isinf(value) else f"{value:.1f}\N{MULTIPLICATION SIGN}"


def plain(value: float | None) -> str:
    """A rate."""
    return NONE if value is None else f"{value:.2f}"


FORMATS = {
    "auroc": score,
    "auroc_prefix": score,
    "caught": share,
    "alarms_failed": share,
    "alarms_successful": share,
    "alarm_ratio": times,
    "injections": plain,
}
"""How each headline figure is written."""


def spread(name: str, figure: Figure) -> str:
    """The interval of a headline figure."""
    if figure.interval is None or figure.interval[0] == figure.interval[1]:
        return ""  # where nothing ever happened in the sample, drawing from it again cannot tell how rare it is
    low, high = (FORMATS[name](end) for end in figure.interval)
    return f"{low}{NONE}{high}"


def excerpt(text: str | None, limit: int) -> str:
    """The beginning of a text from a run, on one line, without what cannot be seen."""
    return " ".join(neutralise((text or "")[: 4 * limit], limit).split())


def counted(number: int, thing: str) -> str:
    """A number of things."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
