"""Metrics by OpenTelemetry: what we cost, what we did, and how our own telemetry fares.

Counts are kept as plain numbers and durations in a list until they are exported, since an instrument of the SDK costs a
step more than all the counting there is.
"""

import itertools
import sys
import threading
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .._version import __version__
from ..runtime.contain import contain
from ..runtime.drivers import Performed
from . import semantics

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Histogram, Meter, Observation

    from .export import Export

Stats = Callable[[], Mapping[str, Any] | None]
"""The counters of whoever is observed; `None` once it is gone."""
Told = TypeVar("Told")
Key = tuple[str, tuple[tuple[str, str], ...]]
"""A metric's name and its attributes."""
MOST_STEPS = 1_000
"""That wait to be exported; where nobody exports they are let go whenever there are so many."""


class Instruments:
    """The instruments of one meter, and all that is observed by them."""

    def __init__(self, meter: "Meter") -> None:
        self._counts: Counter[Key] = Counter()
        self._prepared: deque[tuple[float, Sequence[Performed]]] = deque()
        """What each step took and asked, as it was told; `deque` operations are atomic, so telling takes no lock."""
        self._stepped: deque[tuple[str, ...]] = deque()
        """The sources of the guidance of each step."""
        self._lock = threading.Lock()
        self._observed: list[weakref.ref[Metrics]] = []
        self.added: Histogram = meter.create_histogram(
            semantics.METRIC_ADDED, unit="s", description="Time that reasonblocks took before one model call"
        )
        self.evaluation: Histogram = meter.create_histogram(
            semantics.METRIC_EVALUATION, unit="s", description="Time until the monitors had answered"
        )
        for name, unit, description in (
            (semantics.METRIC_INJECTIONS, "{injection}", "Guidance given to models, by source"),
            (semantics.METRIC_STEPS, "{step}", "Model calls that returned"),
            (semantics.METRIC_RUNS, "{run}", "Runs that ended, by the class of the outcome that was told first"),
        ):
            meter.create_observable_counter(name, [self._counted(name)], unit=unit, description=description)
        meter.create_observable_counter(
            semantics.METRIC_TELEMETRY,
            [self._telemetry],
            unit="{event}",
            description="What became of the events that were streamed, by state and cause",
        )
        meter.create_observable_gauge(
            semantics.METRIC_BREAKER, [self._breakers], unit="1", description="1 while the backend is not asked"
        )

    def count(self, name: str, *about: tuple[str, str]) -> None:
        """One more of these."""
        with self._lock:
            self._counts[name, about] += 1

    def prepared(self, added_seconds: float, performed: Sequence[Performed]) -> None:
        """A step was decided about."""
        self._prepared.append((added_seconds, performed))
        if len(self._prepared) >= MOST_STEPS:
            self._record()

    def stepped(self, sources: Sequence[str]) -> None:
        """A model call returned."""
        self._stepped.append(tuple(sources))
        if len(self._stepped) >= MOST_STEPS:
            self._add_up()

    def _record(self) -> None:
        """Record the durations that were kept until now."""
        if getattr(self.added, "_real_instrument", self.added) is None:  # nobody has set a provider yet
            self._prepared.clear()
        with contain("metrics"):
            for added_seconds, performed in _taken(self._prepared):
                self.added.record(added_seconds)
                for one in performed:
                    if one.question == "evaluate" and one.cause is None:
                        self.evaluation.record((one.ended - one.began) / 1e9)

    def _add_up(self) -> None:
        """Count the steps that were kept until now, and the guidance in them."""
        steps = list(_taken(self._stepped))
        if not steps:
            return
        with self._lock:
            self._counts[semantics.METRIC_STEPS, ()] += len(steps)
            for source, count in Counter(itertools.chain.from_iterable(steps)).items():
                self._counts[semantics.METRIC_INJECTIONS, ((semantics.INJECTION_SOURCE, source),)] += count

    def observe(self, metrics: "Metrics") -> None:
        """Have the health of one more `ReasonBlocks` in what is exported."""
        self._observed = [known for known in self._observed if known() is not None]
        self._observed.append(weakref.ref(metrics))

    def _counted(self, name: str) -> "Callable[[CallbackOptions], Iterable[Observation]]":
        def read(options: "CallbackOptions") -> "Iterable[Observation]":
            from opentelemetry.metrics import Observation

            self._add_up()
            with self._lock:
                counts = self._counts.copy()
            return [Observation(count, dict(about)) for (key, about), count in counts.items() if key == name]

        return read

    def _telemetry(self, options: "CallbackOptions") -> "Iterable[Observation]":
        from opentelemetry.metrics import Observation

        self._record()  # the SDK asks here before it looks at its histograms
        totals: Counter[tuple[tuple[str, str], ...]] = Counter()
        for stats in self._stats():
            totals.update(_counters(stats))
        return [Observation(count, dict(about)) for about, count in totals.items()]

    def _breakers(self, options: "CallbackOptions") -> "Iterable[Observation]":
        from opentelemetry.metrics import Observation

        states = [bool(stats["breaker_open"]) for stats in self._stats() if "breaker_open" in stats]
        return [Observation(int(any(states)))] if states else []

    def _stats(self) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = []
        with contain("metrics"):
            for known in list(self._observed):
                metrics = known()
                stats = metrics.stats() if metrics is not None else None
                if stats is not None:
                    found.append(stats)
        return found


def _taken(told: deque[Told]) -> Iterator[Told]:
    """What was told until now, each to one of those who ask."""
    for _ in range(len(told)):
        try:
            yield told.popleft()
        except IndexError:  # somebody else was quicker
            return


def _counters(stats: Mapping[str, Any]) -> dict[tuple[tuple[str, str], ...], int]:
    """Whatever the stream counts, under its own names; a count by cause has the cause as well."""
    found: dict[tuple[tuple[str, str], ...], int] = {}
    for state, value in stats.items():
        about = (semantics.TELEMETRY_STATE, state)
        if isinstance(value, Mapping):
            causes = {cause: count for cause, count in value.items() if type(count) is int}
            found.update({(about, (semantics.TELEMETRY_CAUSE, str(cause))): count for cause, count in causes.items()})
        elif type(value) is int:
            found[about,] = value
    return found


class Metrics:
    """What one `ReasonBlocks` measures."""

    def __init__(self, stats: Stats, export: "Callable[[], Export | None]") -> None:
        self.stats = stats
        self._export = export
        """Gives the providers of our own, while they are the ones to use."""
        self._instruments: Instruments | None = None
        self._source: object = None
        """What the instruments were made from."""

    def prepared(self, added_seconds: float, performed: Sequence[Performed]) -> None:
        """A step was decided about."""
        instruments = self._now()
        if instruments is not None:
            instruments.prepared(added_seconds, performed)

    def stepped(self, sources: Sequence[str]) -> None:
        """A model call returned, with guidance from these sources."""
        if (instruments := self._instruments) is not None:
            instruments.stepped(sources)

    def ended(self, kind: str) -> None:
        """A run ended."""
        if (instruments := self._instruments) is not None:
            instruments.count(semantics.METRIC_RUNS, (semantics.RUN_OUTCOME_CLASS, kind))

    def _now(self) -> Instruments | None:
        """The instruments: made with the first use, and anew after an export was closed."""
        export = self._export()
        source: object = _APPLICATION if export is None else export.meter()
        if source is self._source or (export is None and "opentelemetry.metrics" not in sys.modules):
            return self._instruments
        self._source, self._instruments = source, None
        with contain("metrics"):
            if export is None:
                self._instruments = _of_application()
            elif (meter := export.meter()) is not None:
                self._instruments = Instruments(meter)
            if self._instruments is not None:
                self._instruments.observe(self)
        return self._instruments


_APPLICATION = object()
_application: list[Instruments] = []
_lock = threading.Lock()


def _of_application() -> Instruments:
    """Those of the application's meter provider, shared by all: a second set would be counted twice."""
    from opentelemetry import metrics

    with _lock:
        if not _application:
            _application.append(
                Instruments(metrics.get_meter(semantics.SCOPE, __version__, schema_url=semantics.SCHEMA_URL))
            )
        return _application[0]
