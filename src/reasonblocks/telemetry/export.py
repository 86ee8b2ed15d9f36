"""Providers of our own, which send spans and metrics by OTLP over HTTP. Needs the extra `otel`."""

import asyncio
import atexit
import concurrent.futures
import importlib.util
import os
import threading
import weakref
from contextvars import Context
from typing import TYPE_CHECKING

from .._version import __version__
from ..runtime.contain import contain
from . import semantics

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Tracer

INSTALL = "pip install 'reasonblocks[otel]'"
SERVICE = "reasonblocks"
CLOSE_SECONDS = 5.0
Closing = concurrent.futures.Future[None]


def installed() -> bool:
    """Whether the extra `otel` is there."""
    try:
        return all(
            importlib.util.find_spec(name) is not None
            for name in ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")
        )
    except ModuleNotFoundError:
        return False


class Export:
    """A tracer and a meter whose spans and metrics are sent; closed, they come back with the next run."""

    def __init__(self, url: str | None) -> None:
        self._url = url
        """Where to; `None` asks the standard variables."""
        self._lock = threading.Lock()
        self._tracers: TracerProvider | None = None
        self._meters: MeterProvider | None = None
        self._tracer: Tracer | None = None
        self._meter: Meter | None = None
        self._closing: list[Closing] = []
        self._open()
        _exports.add(self)

    def tracer(self) -> "Tracer":
        """The tracer, opened again after a close."""
        tracer = self._tracer
        return tracer if tracer is not None else self._open()

    def meter(self) -> "Meter | None":
        """The meter; `None` where OTEL_METRICS_EXPORTER is `none`."""
        return self._meter

    def _open(self) -> "Tracer":
        with self._lock:
            if self._tracer is None:
                # In an empty context: threads and sockets may keep the one that they are made in, and the run in it.
                self._tracers, self._meters, self._tracer = Context().run(_providers, self._url)
                self._meter = _meter(self._meters)
            return self._tracer

    def close(self) -> None:
        """Send what is left and stop, on a thread of its own: a collector that is away holds nobody up."""
        with self._lock:
            tracers, meters = self._tracers, self._meters
            self._tracers = self._meters = self._tracer = self._meter = None
        if tracers is None:
            return
        done: Closing = concurrent.futures.Future()
        self._closing.append(done)
        _closing.add(done)  # this object may go before it is done

        def shut() -> None:
            with contain("closing the export of spans"):
                tracers.shutdown()
            with contain("closing the export of metrics"):
                if meters is not None:
                    meters.shutdown()
            _closing.discard(done)
            done.set_result(None)

        threading.Thread(target=shut, name="reasonblocks-otel-close", daemon=True).start()

    def join(self, seconds: float = CLOSE_SECONDS) -> None:
        """Wait for what is being closed."""
        concurrent.futures.wait(self._take(), seconds)

    async def ajoin(self, seconds: float = CLOSE_SECONDS) -> None:
        """As `join`, without blocking the event loop."""
        if closing := self._take():
            await asyncio.wait([asyncio.wrap_future(future) for future in closing], timeout=seconds)

    def _take(self) -> "list[Closing]":
        closing, self._closing = self._closing, []
        return closing


def _meter(meters: "MeterProvider | None") -> "Meter | None":
    return meters.get_meter(semantics.SCOPE, __version__, semantics.SCHEMA_URL) if meters is not None else None


def _providers(url: str | None) -> "tuple[TracerProvider, MeterProvider | None, Tracer]":
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics import AlwaysOffExemplarFilter, MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from .exporter import QuickSpanExporter
    from .light import own

    named = os.environ.get("OTEL_SERVICE_NAME") or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({} if named else {SERVICE_NAME: SERVICE})
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    processor = BatchSpanProcessor(QuickSpanExporter(url and f"{url}/v1/traces"))
    tracers.add_span_processor(processor)
    tracer = own(tracers.get_tracer(semantics.SCOPE, __version__, schema_url=semantics.SCHEMA_URL), processor)
    if os.environ.get("OTEL_METRICS_EXPORTER", "").strip().lower() == "none":
        return tracers, None, tracer
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(url and f"{url}/v1/metrics"))
    # An exemplar for each duration costs more than the duration; whoever wants them can say so.
    exemplars = None if os.environ.get("OTEL_METRICS_EXEMPLAR_FILTER") else AlwaysOffExemplarFilter()
    meters = MeterProvider([reader], resource=resource, exemplar_filter=exemplars, shutdown_on_exit=False)
    return tracers, meters, tracer


_exports: weakref.WeakSet[Export] = weakref.WeakSet()
_closing: set[Closing] = set()


def _exit() -> None:
    """The program ends: what is left gets as long as telemetry does."""
    for export in list(_exports):
        export.close()
    concurrent.futures.wait(list(_closing), CLOSE_SECONDS)


# While threads may still be started, which is over when `atexit` calls.
getattr(threading, "_register_atexit", atexit.register)(_exit)
