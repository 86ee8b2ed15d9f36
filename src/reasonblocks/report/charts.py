"""The drawings of a report, as SVG that takes its colours from the page."""

from collections.abc import Sequence

from .markup import Html, element, joined

_SIDE = 300.0
_MARGIN = 44.0
_SMALL = 112.0
_WIDTH, _HEIGHT = 240.0, 34.0
_GAUGE_WIDTH, _GAUGE_HEIGHT = 120.0, 12.0
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)

Curve = Sequence[tuple[float, float]]


def roc_chart(curves: Sequence[tuple[str, Curve]], mark: float) -> Html:
    """Curves in one square with axes; `mark` is the share of false alarms that the page speaks of."""
    width, height = _SIDE + _MARGIN + 18, _SIDE + _MARGIN
    return element(
        "svg",
        _axes(mark),
        [element("path", d=_curve(curve, _SIDE, _MARGIN), class_=f"curve {kind}") for kind, curve in curves if curve],
        viewBox=f"0 0 {width:g} {height:g}",
        class_="roc",
        role="img",
        aria_label="ROC curves: share of failed runs caught over share of successful runs flagged",
    )


def small_roc(curve: Curve, label: str) -> Html:
    """One curve in a small square."""
    side = _SMALL - 4
    return element(
        "svg",
        element("rect", x=2, y=2, width=side, height=side, class_="frame"),
        element("line", x1=2, y1=side + 2, x2=side + 2, y2=2, class_="chance"),
        element("path", d=_curve(curve, side, 2, top=2), class_="curve whole") if curve else None,
        viewBox=f"0 0 {_SMALL:g} {_SMALL:g}",
        class_="small",
        role="img",
        aria_label=f"ROC curve of {label}",
    )


def sparkline(
    values: Sequence[float], *, top: float, threshold: float, alarms: Sequence[int] = (), mistake: int | None = None
) -> Html:
    """Values over the steps of a run, with the threshold, the alarms, and the mistake that somebody marked."""
    width = _WIDTH / max(1, len(values))
    # A step is a bar, not a point: a run of one step is to be seen, too.
    corners = [
        f"H{_short(index * width)}V{_short(_level(value, top))}H{_short((index + 1) * width)}"
        for index, value in enumerate(values)
    ]
    level = _level(threshold, top)
    return element(
        "svg",
        element("line", x1=0, x2=_WIDTH, y1=level, y2=level, class_="threshold") if threshold <= top else None,
        element("path", d=f"M0,{_HEIGHT:g}{''.join(corners)}V{_HEIGHT:g}Z", class_="area"),
        [
            element("rect", x=index * width, y=0.0, width=max(width, 1.5), height=_HEIGHT, class_="alarm")
            for index in alarms
        ],
        None
        if mistake is None or mistake >= len(values)
        else element("rect", x=mistake * width, y=0.0, width=max(width, 1.5), height=_HEIGHT, class_="mistake"),
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        preserveAspectRatio="none",
        class_="spark",
        role="img",
        aria_label=f"over {len(values)} steps, at most {max(values, default=0.0):.2f}",
    )


def gauge(value: float, interval: tuple[float, float] | None, low: float, high: float, mark: float | None) -> Html:
    """A value on a line from `low` to `high` with its interval; `mark` is what it is to be compared with."""
    middle = _GAUGE_HEIGHT / 2

    def place(number: float) -> float:
        return 4 + (min(high, max(low, number)) - low) / (high - low) * (_GAUGE_WIDTH - 8)

    return element(
        "svg",
        element("line", x1=4, x2=_GAUGE_WIDTH - 4, y1=middle, y2=middle, class_="rail"),
        None if mark is None else element("line", x1=place(mark), x2=place(mark), y1=1, y2=11, class_="mark"),
        None
        if interval is None
        else element("line", x1=place(interval[0]), x2=place(interval[1]), y1=middle, y2=middle, class_="range"),
        element("circle", cx=place(value), cy=middle, r=3.6, class_="dot"),
        viewBox=f"0 0 {_GAUGE_WIDTH:g} {_GAUGE_HEIGHT:g}",
        class_="gauge",
        aria_hidden="true",
    )


def _axes(mark: float) -> Html:
    left, bottom = _MARGIN, _SIDE + 4
    parts = [
        element("rect", x=left, y=4, width=_SIDE, height=_SIDE, class_="frame"),
        element("line", x1=left, y1=bottom, x2=left + _SIDE, y2=4, class_="chance"),
        element("line", x1=left + mark * _SIDE, x2=left + mark * _SIDE, y1=4, y2=bottom, class_="threshold"),
    ]
    for tick in TICKS:
        x, y = left + tick * _SIDE, bottom - tick * _SIDE
        parts.append(element("text", f"{tick:.0%}", x=x, y=bottom + 15, text_anchor="middle"))
        parts.append(element("text", f"{tick:.0%}", x=left - 6, y=y + 4, text_anchor="end"))
    middle = left + _SIDE / 2
    parts.append(element("text", "successful runs flagged", x=middle, y=bottom + 32, text_anchor="middle"))
    turned = f"rotate(-90 10 {bottom - _SIDE / 2:g})"
    parts.append(
        element("text", "failed runs caught", x=10, y=bottom - _SIDE / 2, text_anchor="middle", transform=turned)
    )
    return joined(parts)


def _curve(curve: Curve, side: float, left: float, top: float = 4.0) -> str:
    points = [f"{_short(left + x * side)},{_short(top + side - y * side)}" for x, y in curve]
    return "M" + "L".join(points)


def _level(value: float, top: float) -> float:
    return _HEIGHT - min(1.0, max(0.0, value / top)) * (_HEIGHT - 2)


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
