"""An explanation as data: what `reasonblocks explain --json` prints. `None` is: not stored."""

from typing import Any

import msgspec

from ...steering.reasons import Edge, ScoreReasons


class Score(msgspec.Struct, kw_only=True):
    """The difficulty of the thought before the call."""

    of_step: int
    """The step whose thought was scored."""
    stored: float | None
    reasons: ScoreReasons
    """Taken apart from the stored text."""
    agrees: bool | None
    """Whether the stored text gives the stored score; not where it was redacted or cut on its way."""


class State(msgspec.Struct, kw_only=True):
    """The edge of the difficulty states."""

    before: str | None
    after: str | None
    edge: Edge | None
    """By the default thresholds, from the stored scores."""
    agrees: bool | None
    """Whether these lead to the stored state; not where the run had thresholds of its own, which are not stored."""


class Finding(msgspec.Struct, kw_only=True):
    """What one monitor said."""

    monitor: str
    score: float
    fired: bool
    reason: str | None
    steps: list[int]
    quotes: list[str]


class Monitors(msgspec.Struct, kw_only=True):
    """What the monitors said about the steps before the call."""

    up_to_step: int
    composite: float | None
    failure_type: str | None
    findings: list[Finding]
    agrees: bool | None
    """Whether the evaluation with the evidence is the one that the client acted on; their scores tell."""
    injection_path: str | None
    intervention_source: str | None


class GateDecision(msgspec.Struct, kw_only=True):
    """The E1 gate."""

    allowed: bool | None
    reason: str | None
    because: str | None
    """The stored values that the reason is about."""
    asked: bool | None
    """Whether E1 was asked; the gate is not the only one to say no."""
    not_asked_because: str | None


class Candidate(msgspec.Struct, kw_only=True):
    """A pattern that was considered."""

    source: str
    tier: str | None
    pattern_id: str
    title: str | None
    similarity: float | None
    """`None` for what is compared with nothing."""
    gate: float | None
    """The similarity it had to have."""
    given: bool
    verdict: str
    """`given`, or why not."""


class LookupMade(msgspec.Struct, kw_only=True):
    """How one lookup went; what came back is among the candidates of its step."""

    source: str
    tier: str
    query: str
    """What it went by, and among what."""
    failure_type: str | None
    not_compared: str | None
    """Why nothing was compared, if so."""
    told: bool
    """Whether the server said what it rejected; one that does not may have rejected anything."""
    rejected: list[Candidate]
    """What came close, the nearest first."""


class Injected(msgspec.Struct, kw_only=True):
    """The block that was added to the system message, to the byte."""

    applied: bool
    """`False` where the run only observed: it would have been added."""
    sources: list[str]
    texts: list[str]
    block: str
    bytes: int
    sha256: str


class StepExplanation(msgspec.Struct, kw_only=True):
    """All that is known about why one call went out as it did, and what came of it."""

    step: int
    ours: bool
    """Whether our client reported it: another one stores no decisions."""
    score: Score | None
    """`None` for the first call: there is no thought yet."""
    state: State
    monitors: Monitors | None
    gate: GateDecision
    asked: list[str] | None
    given_before: dict[str, int]
    """What is given once in a run, and was before this call: at which step."""
    candidates: list[Candidate]
    """What came back, given or not."""
    lookups: list[LookupMade] | None
    now: list[Candidate] | None
    """What a lookup among the patterns of now finds near, passed and rejected; `None` if none was made."""
    quiet: list[str]
    """Why something was not said or not asked."""
    errors: list[str]
    injected: Injected | None
    model: str
    said: str
    did: str | None
    got: str | None
    got_is_error: bool
    tokens: int


class Explanation(msgspec.Struct, kw_only=True):
    """A run with some of its steps explained."""

    run: dict[str, Any]
    steps: list[StepExplanation]
