"""What is said when the gate opens: the failure by its name, and the evidence. Never what to do next.

Feedback that names a failure helps more than feedback that dictates a step. A small model gets short lines, any other
prose; the same evidence always gives the same text.
"""

from collections.abc import Sequence

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

_NAMES = {
    "contradiction": ("a contradiction", "What you hold to be true here cannot all be true."),
    "loop": ("a loop", "Repeating it has brought nothing new."),
    "unverified": ("an unverified conclusion", "So far nothing shows that it holds."),
    "churn": ("churn", "Saying it again adds nothing to what is known."),
    "sprawl": ("sprawl", "The work is growing wider instead of coming to an end."),
    "drift": ("drift", "This has little to do with what the run began with."),
}
"""For each failure type what it is called, and what follows from it."""


def intervention(opening: Opening, reading: SuiteReading, model: str) -> str:
    """The text for an open gate, in the form that suits the model."""
    evidence = [reading.evidence[name] for name in opening.monitors[:_MOST_REASONS] if name in reading.evidence]
    if opening.path == "strong":
        evidence = evidence[:1]
    reasons = [neutralise(one.reason, _LONGEST_REASON) for one in evidence]
    quotes = [clean for one in evidence for quote in one.quotes if (clean := _clean_quote(quote))][:_MOST_QUOTES]
    name, meaning = _NAMES.get(opening.failure_type, (f"a known failure ({opening.failure_type})", ""))
    form = _as_lines if model_family(model) == "haiku" else _as_prose
    return neutralise(form(name, reasons, quotes, meaning), LONGEST)


def cleaned(evidence: Evidence) -> Evidence:
    """Evidence as it may leave: whatever it quotes may end up in a prompt."""
    return Evidence(
        evidence.monitor,
        neutralise(evidence.reason, _LONGEST_REASON),
        list(evidence.steps),
        [neutralise(quote, _LONGEST_QUOTE) for quote in evidence.quotes],
    )


def _as_lines(name: str, reasons: Sequence[str], quotes: Sequence[str], meaning: str) -> str:
    lines = [
        f"Notice {name}.",
        *(f"Seen: {reason}" for reason in reasons),
        *(f'Evidence: "{quote}"' for quote in quotes),
    ]
    return "\n".join([*lines, meaning] if meaning else lines)


def _as_prose(name: str, reasons: Sequence[str], quotes: Sequence[str], meaning: str) -> str:
    quoted = " / ".join(f'"{quote}"' for quote in quotes)
    sentences = [f"Your recent steps show {name}" + (f": {quoted}." if quoted else "."), *reasons, meaning]
    return " ".join(sentence for sentence in sentences if sentence)


def _clean_quote(quote: str) -> str:
    return " ".join(neutralise(quote, _LONGEST_QUOTE).replace('"', "'").split())
