"""All monitors over one trajectory."""

import math
from collections import deque
from collections.abc import Mapping, Sequence
from struct import pack, unpack

import msgspec

from ...runtime.contain import incidents
from ..answers import Evidence, Scorer
from .base import FIRE_THRESHOLD, FLOOR, Monitor, MonitorState, Reading
from .features import ObservedStep, StepFeatures, StepReader
from .profiles import DEFAULT_WEIGHTS, HEAVIEST, Weights
from .settings import NO_SETTINGS, MonitorSettings
from .signs import Signs
from .suspicion import Calibration, Suspicions, shipped_calibration

DIGITS = 4
"""Of scores and of the composite, on the wire as in every comparison."""
RECENT = 32
"""How many of the newest steps keep their reading: those of a run that one batch of events may bring."""
THOUGHTS = 5
"""How many of the newest thoughts a lookup may ask with."""
NEVER_ASKED = b""
"""In place of a step's digest where nobody asks for the readings of earlier steps: to compute it takes its time."""
_LONGEST_THOUGHT = 1_000


class SuiteReading(msgspec.Struct, frozen=True):
    """What all monitors say after a step."""

    scores: dict[str, float]
    evidence: dict[str, Evidence] = {}
    """By monitor, of those that have something to show."""
    signs: dict[str, float] = {}
    """What has added up over the run, which the monitors' suspicions go by."""
    thresholds: Mapping[str, float] = {}
    """Of monitors that do not fire where the others do."""

    @property
    def fired(self) -> list[str]:
        """The monitors at or above their threshold."""
        thresholds = self.thresholds
        if not thresholds:
            return [name for name, score in self.scores.items() if score >= FIRE_THRESHOLD]
        return [name for name, score in self.scores.items() if score >= thresholds.get(name, FIRE_THRESHOLD)]

    def composite(self, weights: Weights) -> float:
        """The weighted sum of the scores."""
        return round(sum([score * weights.get(name, 0.0) for name, score in self.scores.items()]), DIGITS)


class MonitorSuite:
    """The monitors of an engine, and what is known about them."""

    def __init__(
        self,
        monitors: Sequence[Monitor],
        settings: MonitorSettings = NO_SETTINGS,
        calibration: Calibration | None = None,
    ) -> None:
        settings.check_names([monitor.name for monitor in monitors])
        self.monitors = tuple(monitors)
        self.settings = settings
        self.suspicions = Suspicions(calibration or shipped_calibration())
        self.quiet = SuiteReading({monitor.name: 0.0 for monitor in monitors})
        """The reading of a trajectory without any steps."""
        self.failure_types: Mapping[str, str] = {monitor.name: monitor.failure_type for monitor in monitors}
        self.default_weights: Weights = {monitor.name: _default_weight(monitor) for monitor in monitors}

    def scorers(self) -> list[Scorer]:
        """The monitors as GET /monitor/scorers shows them."""
        return [
            Scorer(
                monitor.name,
                monitor.failure_type,
                self.default_weights[monitor.name],
                self.settings.threshold(monitor.name),
                monitor.description,
            )
            for monitor in self.monitors
        ]

    def start(self, task: str = "") -> "Trajectory":
        """A trajectory without any steps."""
        return Trajectory(self, task)


class Trajectory:
    """The monitors' memory of one run. One thread at a time goes on with it; `known_reading` is for any."""

    __slots__ = ("_reader", "_reading", "_recent", "_signs", "_states", "_suite", "_thoughts")

    def __init__(self, suite: MonitorSuite, task: str) -> None:
        self._suite = suite
        self._states = [
            _Contained(monitor, task, min(FLOOR, suite.settings.threshold(monitor.name)))
            for monitor in suite.monitors
            if monitor.name not in suite.settings.off
        ]
        self._reader = StepReader(task, suite.settings.roles)
        self._signs = Signs(task)
        self._recent: tuple[_Recent, ...] = ()
        """Never changed but replaced, since somebody may look into it meanwhile."""
        self._reading = suite.quiet
        self._thoughts: deque[str] = deque(maxlen=THOUGHTS)

    @property
    def length(self) -> int:
        """How many steps have been observed."""
        return self._reader.length

    def observe(self, step: ObservedStep, digest: bytes | None = None) -> SuiteReading:
        """Take the next step in; `digest` is that of the step, if it is known already, or `NEVER_ASKED`."""
        index = self._reader.length
        if self._states:
            self._reading = self._read(self._reader.read(step))
        else:
            self._reader.length += 1  # nobody is there to look at it
        reading = self._reading
        scores = pack(f"{len(reading.scores)}d", *reading.scores.values())
        known = _Recent(index, step.digest() if digest is None else digest, scores, reading.evidence or None)
        self._recent = (*self._recent[1 - RECENT :], known)
        if step.thought:
            self._thoughts.append(step.thought[:_LONGEST_THOUGHT])
        return reading

    def reading(self) -> SuiteReading:
        """What the monitors say now."""
        return self._reading

    def known_reading(self, index: int, digest: bytes) -> SuiteReading | None:
        """The reading after step `index`, without signs, if it is a recent one and was exactly this step."""
        recent = self._recent
        place = index - recent[0].at if recent else -1
        if 0 <= place < len(recent) and recent[place].digest == digest:
            return self._unpacked(recent[place])
        return None

    def _unpacked(self, recent: "_Recent") -> SuiteReading:
        newest = self._reading  # before it is asked whether there is a newer step by now
        if recent.at == self.length - 1:
            return newest
        scores = dict(
            zip(self._suite.quiet.scores, unpack(f"{len(self._suite.monitors)}d", recent.scores), strict=True)
        )
        return SuiteReading(scores, recent.evidence or {}, thresholds=self._suite.settings.thresholds)

    def thoughts(self) -> tuple[str, ...]:
        """The newest thoughts, oldest first."""
        return tuple(self._thoughts)

    def _read(self, features: StepFeatures) -> SuiteReading:
        self._signs.observe(features)
        signs = dict(self._signs.values())
        suite = self._suite
        suspicions = suite.suspicions.of(signs)
        scores = dict(suite.quiet.scores)
        evidence: dict[str, Evidence] = {}
        for state in self._states:
            name = state.name
            found, score = state.observe(features), suspicions.get(name, 0.0)
            if found.score >= state.counts_from or found.score > score == 0.0:
                score = found.score
                if found.evidence is not None:
                    evidence[name] = found.evidence
            if score:
                scores[name] = round(score, DIGITS)
        return SuiteReading(scores, evidence, signs, suite.settings.thresholds)


class _Recent(msgspec.Struct, frozen=True, gc=False):
    """The reading after a step, in as little room as it can be kept in."""

    at: int
    digest: bytes
    scores: bytes
    evidence: dict[str, Evidence] | None


class _Contained:
    """One monitor in one trajectory; if it breaks it is silent for the rest of it."""

    __slots__ = ("_state", "counts_from", "name")

    def __init__(self, monitor: Monitor, task: str, counts_from: float) -> None:
        self.name = monitor.name
        self.counts_from = counts_from
        """The score from which on a finding stands above what is suspected."""
        self._state: MonitorState | None = None
        try:
            self._state = monitor.start(task)
        except Exception as error:
            incidents.note(f"monitor {self.name!r}", error)

    def observe(self, step: StepFeatures) -> Reading:
        if self._state is None:
            return _SILENT
        try:
            reading = self._state.observe(step)
            return _checked(self.name, reading) if reading.score else _SILENT
        except Exception as error:  # anyone can write a monitor, and the others shall work
            incidents.note(f"monitor {self.name!r}", error)
            self._state = None
            return _SILENT


_SILENT = Reading()


def _checked(name: str, reading: Reading) -> Reading:
    """The reading within its bounds, its evidence in the shape that the wire has for it."""
    given = reading.evidence
    if given is None:
        return Reading(_within_bounds(reading.score))
    evidence = Evidence(
        name, str(given.reason), [int(step) for step in given.steps], [str(text) for text in given.quotes]
    )
    return Reading(_within_bounds(reading.score), evidence)


def _within_bounds(score: float) -> float:
    return 0.0 if math.isnan(score) else min(1.0, max(0.0, score))


def _default_weight(monitor: Monitor) -> float:
    """That of the contract; a monitor of another package may bring one of its own as `default_weight`."""
    weight = DEFAULT_WEIGHTS.get(monitor.name, getattr(monitor, "default_weight", 0.0))
    return min(HEAVIEST, _within_bounds(float(weight)))
