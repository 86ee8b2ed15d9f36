"""The runs that were judged wrongly, each as a card: what it was about, the scores over its steps, and the evidence."""

from collections.abc import Sequence

from ..engine.answers import Evidence
from ..engine.monitors.base import FIRE_THRESHOLD
from ..engine.monitors.gate import COMPOSITE_THRESHOLD
from .charts import sparkline
from .labels import mistake_step
from .markup import Html, element
from .mistakes import Mistake
from .wording import counted, excerpt

TASK = 260
END = 240
LAST_STEPS = 2
LABEL = 300
LEAST_SHOWN = 0.05
"""A monitor that stayed below this all the time has nothing to show."""
MOST_EVIDENCE = 3


def case(mistake: Mistake, *, missed: bool) -> Html:
    """One run."""
    return element(
        "article",
        _header(mistake),
        element("p", excerpt(mistake.run.recorded.task, TASK) or "(no task was recorded)", class_="task"),
        element(
            "div",
            _lanes(mistake),
            element("div", _known(mistake) if missed else None, _evidence(mistake), _end(mistake) if missed else None),
            class_="split",
        ),
        class_="mistake-card",
    )


def _header(mistake: Mistake) -> Html:
    run = mistake.run
    facts = [
        excerpt(run.recorded.model, 60),
        counted(len(run.replayed), "step"),
        f"composite at most {run.peak():.3f}, at step {mistake.step}",
        counted(run.injections, "injection") if run.injections else "nothing injected",
    ]
    name = element("h4", excerpt(run.recorded.run_id, 120))
    return element("header", name, element("span", " · ".join(filter(None, facts)), class_="facts"))


def _lanes(mistake: Mistake) -> Html:
    run = mistake.run
    alarms = [index for index, step in enumerate(run.replayed) if step.inject]
    composite = [step.composite for step in run.replayed]
    mark = mistake_step(run.recorded)
    top = max(2 * COMPOSITE_THRESHOLD, run.peak())
    lanes = [
        _lane(
            "composite",
            sparkline(composite, top=top, threshold=COMPOSITE_THRESHOLD, alarms=alarms, mistake=mark),
            max(composite),
        )
    ]
    for name in mistake.scores:
        values = [step.scores.get(name, 0.0) for step in run.replayed]
        if max(values) >= LEAST_SHOWN:
            lanes.append(_lane(name, sparkline(values, top=1.0, threshold=FIRE_THRESHOLD), max(values)))
    return element("div", lanes, class_="lanes")


def _lane(name: str, drawing: Html, peak: float) -> list[Html]:
    return [
        element("span", name, class_="name"),
        drawing,
        element("span", f"{peak:.2f}", class_="peak"),
    ]


def _evidence(mistake: Mistake) -> Html:
    scores = mistake.scores
    items = [_item(one, scores.get(one.monitor, 0.0)) for one in mistake.evidence[:MOST_EVIDENCE]]
    said = next((step.intervention_text for step in mistake.run.replayed if step.inject), None)
    return element(
        "ul",
        items or element("li", f"No monitor had anything to show at step {mistake.step}.", class_="note"),
        element("li", element("b", "What the model would have read"), element("blockquote", said, class_="said"))
        if isinstance(said, str)
        else None,
        class_="evidence",
    )


def _item(evidence: Evidence, score: float) -> Html:
    where = _steps(evidence.steps)
    return element(
        "li",
        element("b", f"{evidence.monitor} {score:.2f}"),
        f" {evidence.reason}",
        element("span", f" ({where})", class_="facts") if where else None,
        [element("blockquote", excerpt(quote, 400)) for quote in evidence.quotes if quote.strip()],
    )


def _steps(steps: Sequence[int]) -> str:
    if not steps:
        return ""
    shown = ", ".join(str(step) for step in steps[:8])
    more = f" and {len(steps) - 8} more" if len(steps) > 8 else ""
    return f"step{'s' if len(steps) > 1 else ''} {shown}{more}"


def _known(mistake: Mistake) -> Html | None:
    if not mistake.known:
        return None
    return element("p", element("b", "Known: "), excerpt("; ".join(mistake.known), LABEL), class_="task")


def _end(mistake: Mistake) -> Html | None:
    steps = mistake.run.recorded.steps[-LAST_STEPS:]
    texts = [excerpt(step.thought or f"{step.action or ''} {step.action_input or ''}", END) for step in steps]
    quotes = [element("blockquote", text, class_="end") for text in texts if text]
    return element("div", element("b", "How it ended"), quotes, class_="evidence") if quotes else None
