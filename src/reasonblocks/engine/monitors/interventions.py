"""What is said when the gate opens: the failure by its name, and the evidence. Never what to do next.

Feedback that names a failure helps more than feedback that dictates a step. What is said fits the evidence and the
model: a small one gets short lines, any other prose; the same evidence always gives the same text.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...format_routing import model_family
from ...sanitize import neutralise
from ..answers import Evidence
from .gate import Opening
from .suite import SuiteReading

LONGEST = 900
_LONGEST_REASON = 240
_LONGEST_QUOTE = 120
_MOST_QUOTES = 3
_MOST_REASONS = 2


class Wording(NamedTuple):
    """What a failure is called, and what follows from it, where its reason has one of these words."""

    name: str
    meaning: str
    words: tuple[str, ...] = ()


WORDINGS: Mapping[str, Sequence[Wording]] = {
    "loop": (
        Wording(
            "a loop of failing attempts",
            "Each attempt has failed in the same way, so another one like it is unlikely to end otherwise.",
            ("fail",),
        ),
        Wording(
            "a loop in other words",
            "The wording has changed, but the question and its answer have not.",
            ("other words", "reworded"),
        ),
        Wording("a loop", "Repeating it has brought nothing new."),
    ),
    "contradiction": (
        Wording(
            "a contradiction of the result",
            "What was said and what came back cannot both be right.",
            ("result", "success"),
        ),
        Wording("a contradiction", "Both statements stand in this run, and they cannot both be true."),
    ),
    "unverified": (
        Wording(
            "a conclusion against the evidence",
            "As far as this run shows, it does not work yet.",
            ("failed",),
        ),
        Wording(
            "a report of something that was not done",
            "So far only the words say that it happened.",
            ("no call has changed",),
        ),
        Wording("an unverified conclusion", "So far nothing shows that it holds."),
    ),
    "churn": (Wording("churn", "Saying it again adds nothing to what is known."),),
    "sprawl": (Wording("sprawl", "The work is growing wider, and nothing that was begun is being finished."),),
    "drift": (Wording("drift", "What these steps are about is not what the task is about."),),
}
"""For each failure type how it can be put; the first that fits the evidence is taken, the last fits any."""


def intervention(opening: Opening, reading: SuiteReading, model: str) -> str:
    """The text for an open gate, in the form that suits the model."""
    evidence = [reading.evidence[name] for name in opening.monitors[:_MOST_REASONS] if name in reading.evidence]
    if opening.path == "strong":
        evidence = evidence[:1]
    reasons = [neutralise(one.reason, _LONGEST_REASON) for one in evidence]
    quotes = [clean for one in evidence for quote in one.quotes if (clean := _clean_quote(quote))][:_MOST_QUOTES]
    wording = _wording(opening.failure_type, reasons[0] if reasons else "")
    form = _FORMS.get(model_family(model), _as_prose)
    return neutralise(form(wording, reasons, quotes), LONGEST)


def cleaned(evidence: Evidence) -> Evidence:
    """Evidence as it may leave: whatever it quotes may end up in a prompt."""
    return Evidence(
        evidence.monitor,
        neutralise(evidence.reason, _LONGEST_REASON),
        list(evidence.steps),
        [neutralise(quote, _LONGEST_QUOTE) for quote in evidence.quotes],
    )


def _wording(failure_type: str, reason: str) -> Wording:
    lowered = reason.lower()
    for wording in WORDINGS.get(failure_type, ()):
        if not wording.words or any(word in lowered for word in wording.words):
            return wording
    return Wording(f"a known failure ({failure_type})", "")


def _as_lines(wording: Wording, reasons: Sequence[str], quotes: Sequence[str]) -> str:
    """For small models: one thing on each line."""
    lines = [
        f"Notice {wording.name}.",
        *(f"Seen: {reason}" for reason in reasons),
        *(f'Evidence: "{quote}"' for quote in quotes),
        wording.meaning,
    ]
    return "\n".join(filter(None, lines))


def _as_report(wording: Wording, reasons: Sequence[str], quotes: Sequence[str]) -> str:
    """Compact and labelled."""
    parts = [f"Observed: {wording.name}.", *reasons, f"Evidence: {_quoted(quotes)}." if quotes else "", wording.meaning]
    return " ".join(filter(None, parts))


def _as_reasoning(wording: Wording, reasons: Sequence[str], quotes: Sequence[str]) -> str:
    """The reason before the name."""
    named = f"This is the mark of {wording.name}" + (f": {_quoted(quotes)}." if quotes else ".")
    return " ".join(filter(None, [*reasons, named, wording.meaning]))


def _as_prose(wording: Wording, reasons: Sequence[str], quotes: Sequence[str]) -> str:
    """For any other model."""
    named = f"Your recent steps show {wording.name}" + (f": {_quoted(quotes)}." if quotes else ".")
    return " ".join(filter(None, [named, *reasons, wording.meaning]))


_FORMS = {"haiku": _as_lines, "sonnet": _as_report, "opus": _as_reasoning}


def _quoted(quotes: Sequence[str]) -> str:
    return " / ".join(f'"{quote}"' for quote in quotes)


def _clean_quote(quote: str) -> str:
    return " ".join(neutralise(quote, _LONGEST_QUOTE).replace('"', "'").split())
