"""A collector: it takes OTLP over HTTP on loopback, decodes it, and writes traces down as text to read."""

from __future__ import annotations

import gzip
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric
from opentelemetry.proto.trace.v1 import trace_pb2

from support.served import Served

STATUS = {0: "", 1: " OK", 2: " ERROR"}
KINDS = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}
CHANGING = ("_ms", "exception.stacktrace")
"""Attributes that end so differ from run to run."""


def plain(value: AnyValue) -> Any:
    """Give a value of the wire as Python's own."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain(item) for item in value.array_value.values]
    return getattr(value, kind) if kind else None


def attributes_of(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: plain(pair.value) for pair in pairs}


@dataclass(frozen=True)
class Event:
    name: str
    attributes: dict[str, Any]
    at: int


@dataclass(frozen=True)
class Span:
    """One span as it arrived."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: str
    began: int
    ended: int
    status: str
    reason: str
    attributes: dict[str, Any]
    events: list[Event]
    links: list[tuple[str, str, dict[str, Any]]]
    scope: str
    schema: str
    resource: dict[str, Any] = field(repr=False)


class Collector(Served):
    """Receives spans and metrics until it is left, on any port unless one is named."""

    def __init__(self, port: int = 0) -> None:
        self.headers: list[dict[str, str]] = []
        self._spans: list[Span] = []
        self._metrics: list[Metric] = []
        self._changed = threading.Condition()
        handler = type("Handler", (Handler,), {"collector": self})
        super().__init__(ThreadingHTTPServer(("127.0.0.1", port), handler))

    @property
    def url(self) -> str:
        """The address that `otel=` takes."""
        return f"http://127.0.0.1:{self.port}"

    def take(self, path: str, body: bytes, headers: dict[str, str]) -> bool:
        """Take a request; whether anybody serves its path."""
        with self._changed:
            if path == "/v1/traces":
                self._spans += spans_in(ExportTraceServiceRequest.FromString(body))
            elif path == "/v1/metrics":
                request = ExportMetricsServiceRequest.FromString(body)
                self._metrics += [
                    metric for resource in request.resource_metrics for scope in resource.scope_metrics
                    for metric in scope.metrics
                ]  # fmt: skip
            else:
                return False
            self.headers.append(headers)
            self._changed.notify_all()
            return True

    @property
    def spans(self) -> list[Span]:
        """What arrived, in the order in which it began."""
        with self._changed:
            return sorted(self._spans, key=lambda span: (span.began, span.name))

    def wait_for(self, count: int, seconds: float = 5.0) -> list[Span]:
        """Wait until so many spans are there."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while len(self._spans) < count and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
        return self.spans

    def named(self, name: str) -> list[Span]:
        """Give the spans whose name starts so."""
        return [span for span in self.spans if span.name.startswith(name)]

    def metrics(self) -> dict[str, Metric]:
        """Give the latest of each metric."""
        with self._changed:
            return {metric.name: metric for metric in self._metrics}

    def points(self, name: str) -> dict[tuple[Any, ...], float]:
        """Give a metric's latest points by the values of their attributes; of a histogram, the counts."""
        metric = self.metrics()[name]
        data = getattr(metric, metric.WhichOneof("data")).data_points
        return {
            tuple(attributes_of(point.attributes).values()): (
                point.count if metric.HasField("histogram") else point.as_int or point.as_double
            )
            for point in data
        }

    def tree(self, *, attributes: bool = True) -> str:
        """Write all traces down, each span below its parent."""
        return tree(self.spans, attributes=attributes)


class Handler(BaseHTTPRequestHandler):
    collector: Collector
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        known = self.collector.take(self.path, body, dict(self.headers))
        self.send_response(200 if known else 404)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def spans_in(request: ExportTraceServiceRequest) -> Iterator[Span]:
    """Read the spans of a request."""
    for resource in request.resource_spans:
        about = attributes_of(resource.resource.attributes)
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield _span(span, scope.scope.name, scope.schema_url, about)


def _span(span: trace_pb2.Span, scope: str, schema: str, resource: dict[str, Any]) -> Span:
    return Span(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        kind=KINDS[span.kind],
        began=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
        status=STATUS[span.status.code],
        reason=span.status.message,
        attributes=attributes_of(span.attributes),
        events=[Event(event.name, attributes_of(event.attributes), event.time_unix_nano) for event in span.events],
        links=[(link.trace_id.hex(), link.span_id.hex(), attributes_of(link.attributes)) for link in span.links],
        scope=scope,
        schema=schema,
        resource=resource,
    )


# -- traces as text --------------------------------------------------------------------------------


def tree(spans: list[Span], *, attributes: bool = True) -> str:
    """Write traces down: a span per line, what it says below it, its children indented.

    An attribute that the parent has with the same value is not repeated; what differs from run to run is a dot.
    """
    known = {span.span_id: span for span in spans}
    children: dict[str, list[Span]] = {}
    for span in spans:
        children.setdefault(span.parent_id if span.parent_id in known else "", []).append(span)

    def lines(span: Span, depth: int) -> Iterator[str]:
        margin = "  " * depth
        yield f"{margin}{span.name}{span.status}{f': {span.reason}' if span.reason else ''}"
        for trace_id, span_id, about in span.links:
            target = known[span_id].name if span_id in known else "a span that is not here"
            same = "" if trace_id == span.trace_id else " of another trace"
            yield f"{margin}  -> {target}{same} ({', '.join(str(value) for value in about.values())})"
        if attributes:
            parent = known[span.parent_id].attributes if span.parent_id in known else {}
            yield from said(span.attributes, f"{margin}    ", parent)
        yield from happened(span.events, f"{margin}  * ", attributes)
        for child in sorted(children.get(span.span_id, []), key=in_order):
            yield from lines(child, depth + 1)

    return "\n".join(line for root in children.get("", []) for line in lines(root, 0))


def in_order(span: Span) -> tuple[str, int, str]:
    """Sort by time, but for tools: which of several at once begins first is chance."""
    call = span.attributes.get("gen_ai.tool.call.id", "")
    return (call, 0 if call else span.began, span.name)


def said(values: dict[str, Any], margin: str, parent: dict[str, Any]) -> Iterator[str]:
    for name, value in sorted(values.items()):
        if name not in parent or parent[name] != value:
            yield f"{margin}{name}: {'.' if name.endswith(CHANGING) else shown(value)}"


def happened(events: list[Event], margin: str, attributes: bool) -> Iterator[str]:
    if not attributes:
        for name, count in Counter(event.name for event in events).items():
            yield f"{margin}{name}{f' x{count}' if count > 1 else ''}"
        return
    for event in events:
        about = ", ".join(
            f"{name.rpartition('.')[2]}={'.' if name.endswith(CHANGING) else shown(value)}"
            for name, value in event.attributes.items()
        )
        yield f"{margin}{event.name}{f' ({about})' if about else ''}"


def shown(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value
