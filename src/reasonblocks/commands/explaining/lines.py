"""An explanation as text for a terminal. Pure: data in, lines out."""

import textwrap
from collections.abc import Iterator, Sequence

import click

from ..table import harmless
from .lookups import E1
from .shapes import (
    Candidate,
    Explanation,
    Finding,
    GateDecision,
    Injected,
    LookupMade,
    Monitors,
    Score,
    State,
    StepExplanation,
)
from .wording import PASSES

LABEL = 10
"""The width of a label."""
NOT_STORED = click.style("not stored", fg="bright_black")
WEIGHTS = (("hedging", 0.30), ("length", 0.25), ("errors", 0.25), ("entities", 0.20))
MOST_WORDS = 12
"""Words that are named of each kind."""
LONGEST = 4_000
"""Of what was said, done or observed."""


def explanation_lines(explanation: Explanation, width: int) -> Iterator[str]:
    """The whole of it."""
    run = explanation.run
    name, agent, outcome = (harmless(run[fact] or "") for fact in ("run_id", "agent_name", "outcome"))
    parts = [click.style(f"run {name}", bold=True), agent, outcome or "running", f"{run['step_count']} steps"]
    yield "  ".join(part for part in parts if part)
    for step in explanation.steps:
        yield ""
        yield from step_lines(step, width)


def step_lines(step: StepExplanation, width: int) -> Iterator[str]:
    """One step: what was decided before the call, in the order it was decided, and what came of it."""
    yield click.style(f"step {step.step}", bold=True) + ("" if step.ours else "  (reported by another client)")
    yield from _score_lines(step.score, width)
    yield from _state_lines(step.state, width)
    yield from _monitor_lines(step.monitors, width)
    yield from _labelled("E1 gate", _gate_text(step.gate), width)
    yield from _lookup_lines(step, width)
    for reason in step.quiet:
        yield from _labelled("quiet", reason, width, "bright_black")
    for error in step.errors:
        yield from _labelled("error", error, width, "red")
    yield from _injected_lines(step.injected, width)
    yield from _labelled("said", _shortened(step.said), width)
    yield from _labelled("did", _shortened(step.did or ""), width, "cyan")
    yield from _labelled("got", _shortened(step.got or ""), width, "red" if step.got_is_error else "")


def _score_lines(score: Score | None, width: int) -> Iterator[str]:
    if score is None:
        yield from _labelled("score", "none: the first call has no thought before it", width)
        return
    reasons = score.reasons
    shown = f"{reasons.difficulty:.4f} = squashed({reasons.raw:.4f}), of the thought of step {score.of_step}"
    if score.stored is None:
        shown += "; the score itself is not stored"
    elif not score.agrees:
        shown += f"; stored is {score.stored:.4f}: the text was redacted or cut on its way to the store"
    yield from _labelled("score", shown, width)
    found = {
        "hedging": _words(reasons.hedges),
        "length": f"{reasons.words} words",
        "errors": _words(reasons.errors),
        "entities": _words(reasons.entities),
    }
    for name, weight in WEIGHTS:
        value = getattr(reasons.features, name)
        yield from _labelled("", f"{weight:.2f} x {value:.4f} {name:8}  {found[name]}", width, hang=29)


def _state_lines(state: State, width: int) -> Iterator[str]:
    if state.after is None:
        yield from _labelled("state", NOT_STORED, width)
    elif state.edge is None:
        yield from _labelled(
            "state", state.after if state.before is None else f"{state.before} -> {state.after}", width
        )
    elif state.agrees:
        yield from _labelled("state", f"{state.before} -> {state.after}: {state.edge.rule}", width)
    else:
        yield from _labelled(
            "state",
            f"{state.before} -> {state.after}; by the default thresholds it would be {state.edge.after} "
            f"({state.edge.rule}): the run had others, which are not stored",
            width,
        )


def _monitor_lines(monitors: Monitors | None, width: int) -> Iterator[str]:
    if monitors is None:
        yield from _labelled("monitors", "not asked: the first call has no steps before it", width)
        return
    if monitors.composite is None:
        yield from _labelled("monitors", NOT_STORED if not monitors.findings else "no answer for this call", width)
    else:
        path = f", path {monitors.injection_path}" if monitors.injection_path else ""
        written = f", text by {monitors.intervention_source}" if monitors.intervention_source else ""
        failure = f", {monitors.failure_type}" if monitors.failure_type else ""
        shown = f"composite {monitors.composite:.4f} on steps 0 to {monitors.up_to_step}{failure}{path}{written}"
        yield from _labelled("monitors", shown, width)
    for finding in monitors.findings:
        yield from _finding_lines(finding, width)
    if monitors.agrees is False:
        yield from _labelled("", "evidence is of another evaluation of the same steps: its scores differ", width)


def _finding_lines(finding: Finding, width: int) -> Iterator[str]:
    fired = click.style("FIRED", fg="red", bold=True) if finding.fired else "     "
    yield f"  {'':{LABEL}}{finding.score:.4f} {fired} {finding.monitor}"
    if finding.reason:
        where = f" (steps {', '.join(map(str, finding.steps))})" if finding.steps else ""
        yield from _labelled("", f"{finding.reason}{where}", width, indent=13)
    for quote in finding.quotes:
        yield from _labelled("", f'"{_shortened(quote, 300)}"', width, "bright_black", indent=13)


def _gate_text(gate: GateDecision) -> str:
    if gate.reason is None:
        return NOT_STORED
    if gate.allowed is None:
        return gate.reason
    asked = {True: "; E1 was asked", False: f"; E1 was not asked: {gate.not_asked_because}", None: ""}[gate.asked]
    because = f" ({gate.because})" if gate.because else ""
    return f"{'open' if gate.allowed else 'closed'}: {gate.reason}{because}{asked if gate.allowed else ''}"


def _lookup_lines(step: StepExplanation, width: int) -> Iterator[str]:
    """Who was asked, what came back and, where that is stored, what was rejected."""
    yield from _labelled("asked", NOT_STORED if step.asked is None else _asked_text(step.asked, step), width)
    made = step.lookups or []
    accounted = {lookup.source for lookup in made}
    for candidate in step.candidates:
        if candidate.source not in accounted:
            yield from _labelled(
                "found", f"{candidate.source}  {_candidate_text(candidate)}", width, _colour(candidate)
            )
    for lookup in made:
        yield from _made_lines(lookup, [one for one in step.candidates if one.source == lookup.source], width)
    answered = accounted | {candidate.source for candidate in step.candidates}
    for name in step.asked or ():
        if name not in answered:
            silent = any(error.startswith(f"{name}: ") for error in step.errors)
            yield from _labelled("found", f"{name}  {'no answer' if silent else 'nothing'}", width)
    if step.asked and step.lookups is None:
        yield from _labelled("rejected", "not recorded: the run is older than that, or was redacted", width)
    if step.now is not None:
        yield from _now_lines(step.now, width)


def _asked_text(asked: Sequence[str], step: StepExplanation) -> str:
    """Who was asked, and who was not since it is given once in a run; of E1 the gate tells."""
    spent = [f"{name} was given at step {number}" for name, number in step.given_before.items() if name != E1]
    return (", ".join(asked) or "nobody") + (f" ({', '.join(spent)})" if spent else "")


def _made_lines(lookup: LookupMade, found: Sequence[Candidate], width: int) -> Iterator[str]:
    """One lookup: what it went by, then what was considered, given and rejected."""
    compared = f"; not compared: {lookup.not_compared}" if lookup.not_compared else ""
    yield from _labelled(lookup.tier.upper(), f"{lookup.query}{compared}", width)
    for candidate in (*found, *lookup.rejected):
        yield from _labelled("", _candidate_text(candidate), width, _colour(candidate), hang=8)
    if not lookup.told and lookup.tier != "e3":
        yield from _labelled("", "what was rejected is not recorded: the server did not tell", width)
    elif not lookup.not_compared and not found and not lookup.rejected:
        yield from _labelled("", "nothing was near", width)


def _now_lines(now: Sequence[Candidate], width: int) -> Iterator[str]:
    """Another question than what was found then: the library has changed since."""
    nothing = "" if now else " there are none"
    yield from _labelled("now", f"compared again, with the patterns of now:{nothing}", width)
    for candidate in now:
        shown = f"{(candidate.tier or '').upper()}  {_candidate_text(candidate)}"
        yield from _labelled("", shown, width, _colour(candidate), hang=12)


def _colour(candidate: Candidate) -> str:
    return "green" if candidate.given or candidate.verdict == PASSES else ""


def _candidate_text(candidate: Candidate) -> str:
    similarity = "" if candidate.similarity is None else f"{candidate.similarity:.4f}"
    verdict = candidate.verdict
    if candidate.given and candidate.gate is not None:
        verdict += f", the gate is {candidate.gate:g}"
    name = candidate.pattern_id or "its text"
    title = f"({candidate.title})" if candidate.title else ""
    return "  ".join(part for part in (similarity, name, title, verdict) if part)


def _injected_lines(injected: Injected | None, width: int) -> Iterator[str]:
    """The block, to the byte: its lines are not broken."""
    if injected is None:
        yield from _labelled("injected", "nothing", width)
        return
    done = "" if injected.applied else "; only would have been: the run observed"
    size = f"{injected.bytes:,} bytes, sha256 {injected.sha256[:16]}"
    yield from _labelled("injected", f"{size}, by {', '.join(injected.sources)}{done}", width)
    for line in injected.block.split("\n"):
        shown = click.style(harmless(line), fg="magenta") if line else ""
        yield f"  {'':{LABEL}}{click.style('|', fg='bright_black')} {shown}".rstrip()


def _labelled(label: str, text: str, width: int, colour: str = "", *, indent: int = 0, hang: int = 0) -> Iterator[str]:
    """A text behind its label, broken into lines that fit."""
    if not text:
        return
    room = max(20, width - LABEL - 2 - indent)
    plain = [harmless(line) if text is not NOT_STORED else line for line in text.splitlines()]
    lines = [
        piece
        for line in plain
        for piece in textwrap.wrap(line, room, subsequent_indent=" " * hang, break_on_hyphens=False) or [""]
    ]
    for place, line in enumerate(lines):
        shown = click.style(line, fg=colour) if colour else line
        yield f"  {label if place == 0 else '':{LABEL}}{'':{indent}}{shown}".rstrip()


def _words(found: list[str]) -> str:
    more = f" and {len(found) - MOST_WORDS} more" if len(found) > MOST_WORDS else ""
    return ", ".join(found[:MOST_WORDS]) + more if found else "none"


def _shortened(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"{text[:longest]} ({len(text) - longest:,} more characters)"
