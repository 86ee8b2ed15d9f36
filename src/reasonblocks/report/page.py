"""The page itself: one HTML document without anything outside of it."""

from collections.abc import Sequence
from importlib.resources import files

from .._version import __version__
from . import tables
from .cases import case
from .figures import Figures, figures_of, mean_figures
from .labels import label_rows, mistake_step, where
from .markup import Child, Html, element
from .metrics import SAMPLES
from .mistakes import MOST, Mistake, false_alarms, misses
from .sets import EvaluatedSet
from .wording import counted

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Not even a page that was tampered with may load anything."""


def report_page(sets: Sequence[EvaluatedSet], prefix: int) -> str:
    """The report of one set, or of several with a summary over them."""
    figures = [figures_of(evaluated, prefix) for evaluated in sets]
    several = len(sets) > 1
    title = "Monitors over recorded runs" if several else f"Monitors over {sets[0].name}"
    body = element(
        "body",
        element("h1", title),
        element("p", _what(figures), class_="lead"),
        _summary(figures) if several else None,
        [
            _section(index, evaluated, one, several)
            for index, (evaluated, one) in enumerate(zip(sets, figures, strict=True))
        ],
        element("footer", _small_print(prefix)),
    )
    style = files(__package__).joinpath("style.css").read_text("utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{title} - reasonblocks"),
        element("style", Html(style)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _what(figures: Sequence[Figures]) -> str:
    runs, steps = sum(one.runs for one in figures), sum(one.steps for one in figures)
    failed, successful = sum(one.failed for one in figures), sum(one.successful for one in figures)
    sets = f" in {len(figures)} sets" if len(figures) > 1 else ""
    return (
        f"{counted(runs, 'run')} with {counted(steps, 'step')}{sets}: {failed:,} failed, {successful:,} successful"
        f"{f', {runs - failed - successful:,} unknown' if runs > failed + successful else ''}. "
        "Each was replayed step by step; what is shown at a step was known at that step."
    )


def _summary(figures: Sequence[Figures]) -> list[Child]:
    means = mean_figures(figures)
    return [
        element("nav", [element("a", one.name, href=f"#{tables.anchor(at)}") for at, one in enumerate(figures)]),
        element("h2", "All sets", class_="first"),
        element("p", "Means over the sets that have the figure; every set counts the same.", class_="note"),
        tables.cards(means, figures[0].prefix, {}),
        tables.summary_table(figures, means),
    ]


def _section(index: int, evaluated: EvaluatedSet, figures: Figures, several: bool) -> list[Child]:
    opening: list[Child] = []
    if several:
        opening = [
            element("h2", figures.name, id=tables.anchor(index)),
            element("p", _what([figures]).partition(". ")[0] + ".", class_="note"),
        ]
    return [
        *opening,
        tables.cards(tables.headline(figures), figures.prefix, tables.beside(figures)),
        _curves(figures),
        _monitors(figures),
        _labels(evaluated),
        _mistakes(
            "False alarms: successful runs with the highest composite",
            false_alarms(evaluated),
            folded=several,
            missed=False,
        ),
        _mistakes("Misses: failed runs that were most quiet", misses(evaluated), folded=several, missed=True),
    ]


def _curves(figures: Figures) -> list[Child]:
    heading = element("h3", "ROC curves")
    if not figures.curve:
        return [
            heading,
            element("p", "A curve needs failed and successful runs; here there are not both.", class_="note"),
        ]
    return [
        heading,
        element(
            "p",
            "Runs ranked by their highest composite, in the small curves by the highest score of one monitor. "
            "The dashed line is 10% false alarms, the diagonal is chance.",
            class_="note",
        ),
        tables.curves(figures),
    ]


def _monitors(figures: Figures) -> list[Child]:
    text = "A monitor fires at 0.6, if nothing else is set. Shares are of runs in which it did so at least once."
    return [element("h3", "Monitors"), element("p", text, class_="note"), tables.monitor_table(figures)]


def _labels(evaluated: EvaluatedSet) -> list[Child]:
    parts: list[Child] = []
    rows = label_rows(evaluated)
    if rows:
        text = "How well the highest score of the monitor tells runs with the annotated failure from those without."
        parts += [element("h3", "Annotated failures"), element("p", text, class_="note"), tables.label_table(rows)]
    found = where(evaluated)
    if found is not None:
        text = (
            "Near is at the marked step or one of the five after it. The best fixed step is what one gets by always "
            "alarming once, at the same step of every run."
        )
        parts += [element("h3", "Where the alarms are"), element("p", text, class_="note"), tables.where_table(found)]
    return parts


def _mistakes(title: str, mistakes: Sequence[Mistake], *, folded: bool, missed: bool) -> Child:
    if not mistakes:
        return None
    marks = [element("span", class_="swatch alarm"), "injection"]
    if any(mistake_step(one.run.recorded) is not None for one in mistakes):
        marks += [" ", element("span", class_="swatch mistake"), "mistake marked by a person"]
    note = element(
        "p",
        f"The {MOST} most confident mistakes, or as many as there are. Scores over the steps of the run; "
        "dashed: where a monitor fires, or several together are enough. ",
        marks,
        class_="note",
    )
    cards = [case(one, missed=missed) for one in mistakes]
    if folded:
        return element("details", element("summary", f"{title} ({len(cards)})"), note, cards)
    return [element("h3", title), note, cards]


def _small_print(prefix: int) -> str:
    return (
        f"reasonblocks {__version__}. Intervals hold 95% of {SAMPLES:,} bootstrap samples in which whole tasks are "
        "drawn again, from a fixed seed; they say nothing about runs of another kind. AUROC: how likely a failed run "
        f"has a higher peak than a successful one. First {prefix} steps: of runs that are longer, so that length "
        "cannot help. Injections are counted after the guardrails."
    )
