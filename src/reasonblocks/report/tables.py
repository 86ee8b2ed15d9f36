"""The tables and cards of a report."""

from collections.abc import Iterable, Mapping, Sequence

from . import wording
from .charts import gauge, roc_chart, small_roc
from .figures import HEADLINE, Figure, Figures
from .labels import LabelRow, Where
from .markup import Child, Html, element
from .metrics import FALSE_ALARMS
from .wording import FORMATS, score, share, times

RANGES = {
    "auroc": (0.3, 1.0),
    "auroc_prefix": (0.3, 1.0),
    "caught": (0.0, 1.0),
    "alarms_failed": (0.0, 1.0),
    "alarms_successful": (0.0, 1.0),
}
"""From where to where the gauge of a figure goes; others have none."""
_TEXT_COLUMNS = frozenset({"monitor that should see it"})
"""Columns other than the first that hold words."""
CHANCE = {"auroc": 0.5, "auroc_prefix": 0.5, "caught": FALSE_ALARMS}


def titles(prefix: int) -> dict[str, str]:
    """What each headline figure is called."""
    return {
        "auroc": "AUROC, whole run",
        "auroc_prefix": f"AUROC, first {prefix} steps of longer runs",
        "caught": f"failed runs caught at {FALSE_ALARMS:.0%} false alarms",
        "alarms_failed": "failed runs alarmed, as shipped",
        "alarms_successful": "successful runs disturbed, as shipped",
        "alarm_ratio": "alarms, failed over successful",
        "injections": "injections per 100 healthy steps",
    }


def cards(figures: Mapping[str, Figure], prefix: int, beside: Mapping[str, str]) -> Html:
    """The headline figures."""
    names = titles(prefix)
    return element(
        "div", [_card(name, names[name], figures[name], beside.get(name)) for name in HEADLINE], class_="cards"
    )


def headline(figures: Figures) -> dict[str, Figure]:
    """The headline figures of a set, by name."""
    return {name: getattr(figures, name) for name in HEADLINE}


def beside(figures: Figures) -> dict[str, str]:
    """What a figure is to be seen beside: what can be had without any monitor."""
    found = {}
    for name, trivial in (("auroc", figures.trivial), ("auroc_prefix", figures.trivial_prefix)):
        if trivial is not None:
            found[name] = f"{trivial[0]} alone: {score(trivial[1])}"
    return found


def summary_table(sets: Sequence[Figures], means: Mapping[str, Figure]) -> Html:
    """One row per set, and the means."""
    names = titles(sets[0].prefix)
    rows = [
        _row(
            element("a", one.name, href=f"#{anchor(index)}"),
            f"{one.failed} / {one.successful}",
            [_figure_cell(name, getattr(one, name)) for name in HEADLINE],
        )
        for index, one in enumerate(sets)
    ]
    mean = _row("mean over sets", "", [_figure_cell(name, means[name]) for name in HEADLINE], class_="mean")
    return table(["set", "runs failed / successful", *(names[name] for name in HEADLINE)], [*rows, mean])


def anchor(index: int) -> str:
    """Where a set is on the page."""
    return f"set-{index + 1}"


def curves(figures: Figures) -> Html:
    """The ROC curves of a set: the composite, then each monitor by itself."""
    legend = [("whole", f"whole run, {score(figures.auroc.value)}", figures.curve)]
    if figures.curve_prefix:
        text = f"first {figures.prefix} steps of {figures.longer} longer runs, {score(figures.auroc_prefix.value)}"
        legend.append(("prefix", text, figures.curve_prefix))
    return element(
        "div",
        element(
            "div",
            roc_chart([(kind, curve) for kind, _, curve in legend], FALSE_ALARMS),
            element("div", [element("span", _key(kind), text) for kind, text, _ in legend], class_="legend"),
        ),
        element(
            "div",
            [
                element(
                    "figure",
                    small_roc(row.curve, row.name),
                    element("figcaption", row.name, element("br"), element("b", score(row.auroc))),
                )
                for row in figures.monitors
            ],
            class_="smalls",
        ),
        class_="curves",
    )


def monitor_table(figures: Figures) -> Html:
    """How each monitor did."""
    heads = [
        "monitor", "fires, failed runs", "fires, successful runs", "ratio", "AUROC of its highest score",
        "mean highest score, failed", "mean highest score, successful",
    ]  # fmt: skip
    return table(
        heads,
        [
            _row(
                row.name,
                share(row.fires_failed),
                share(row.fires_successful),
                times(_over(row.fires_failed, row.fires_successful)),
                score(row.auroc),
                score(row.peak_failed),
                score(row.peak_successful),
            )
            for row in figures.monitors
        ],
    )


def label_table(rows: Sequence[LabelRow]) -> Html:
    """Annotated failure modes."""
    heads = ["annotated failure", "monitor that should see it", "AUROC", "runs with it", "runs annotated"]
    return table(
        heads,
        [
            element(
                "tr",
                element("td", row.label),
                element("td", row.monitor, class_="text"),
                [element("td", text) for text in (score(row.auroc), str(row.positives), str(row.runs))],
            )
            for row in rows
        ],
    )


def where_table(found: Where) -> Html:
    """Alarms near marked mistakes."""
    heads = [
        "runs with a marked mistake", "any alarm", "alarm near the mistake", "expected at random", "ratio",
        "best fixed step",
    ]  # fmt: skip
    texts = (share(found.alarmed), share(found.hit), share(found.at_random), times(found.ratio), share(found.fixed))
    return table(heads, [_row(str(found.runs), *texts)])


def table(heads: Iterable[str], rows: Iterable[Html]) -> Html:
    """A table that scrolls by itself where it is too wide."""
    names = [element("th", text, scope="col", class_="text" if text in _TEXT_COLUMNS else None) for text in heads]
    head = element("thead", element("tr", names))
    return element("div", element("table", head, element("tbody", rows)), class_="wide")


def _row(*cells: Child, class_: str | None = None) -> Html:
    """A row of these cells; what is none yet is put into one."""
    flat = [part for cell in cells for part in (cell if isinstance(cell, list) else [cell])]
    return element("tr", [part if _is_cell(part) else element("td", part) for part in flat], class_=class_)


def _is_cell(part: Child) -> bool:
    return isinstance(part, Html) and part.startswith("<td")


def _card(name: str, title: str, figure: Figure, beside: str | None) -> Html:
    interval = wording.spread(name, figure)
    return element(
        "div",
        element("div", title, class_="what"),
        element("div", FORMATS[name](figure.value), class_="value"),
        _gauge(name, figure),
        element("div", f"95%: {interval}", class_="beside") if interval else None,
        element("div", beside, class_="beside") if beside else None,
        class_="card",
    )


def _figure_cell(name: str, figure: Figure) -> Html:
    interval = wording.spread(name, figure)
    return element("td", FORMATS[name](figure.value), element("small", interval) if interval else None)


def _gauge(name: str, figure: Figure) -> Html | None:
    if figure.value is None or name not in RANGES:
        return None
    low, high = RANGES[name]
    return gauge(figure.value, figure.interval, low, high, CHANCE.get(name))


def _key(kind: str) -> Html:
    line = element("line", x1=0, x2=24, y1=5, y2=5, class_=f"key {kind}")
    return element("svg", line, viewBox="0 0 24 10", aria_hidden="true")


def _over(above: float | None, below: float | None) -> float | None:
    if above is None or below is None or not (above or below):
        return None
    return above / below if below else float("inf")
