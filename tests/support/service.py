"""What rb-api answers to a request: routes, strict checks and state, without any I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from support import rules
from support.answers import JSON, default_patterns, healthy
from support.records import Book, Evaluation, Request

HEALTH = "/health"
RETRIEVE = "/traces/retrieve"
EVALUATE = "/monitors/evaluate"
SCORE = "/score"
RUN_START = "/monitor/runs"
STEP = "/monitor/runs/{run_id}/steps"
RUN_FINISH = "/monitor/runs/{run_id}/finish"
EVENTS = "/monitor/events"

METHODS = {HEALTH: "GET"} | dict.fromkeys((RETRIEVE, EVALUATE, SCORE, RUN_START, STEP, RUN_FINISH, EVENTS), "POST")
SHORT_NAMES = {
    "health": HEALTH,
    "retrieve": RETRIEVE,
    "evaluate": EVALUATE,
    "score": SCORE,
    "run_start": RUN_START,
    "start": RUN_START,
    "step": STEP,
    "steps": STEP,
    "run_finish": RUN_FINISH,
    "finish": RUN_FINISH,
    "events": EVENTS,
}
RUN_PATH = re.compile(r"/monitor/runs/(?P<run_id>[^/]+)/(?P<what>steps|finish)")
LONE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

Answer = tuple[int, Any]
Evaluate = Callable[[list[JSON], JSON], JSON | tuple[int, JSON]]
Search = Callable[[JSON], Sequence[JSON]]
Patterns = dict[str, Any] | Search
"""By tier a sequence of traces or a function of the request's body; or one function for all tiers."""


class RefusalError(Exception):
    """The request breaks the contract and is answered with this status."""

    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(f"{status} {detail}")
        self.status = status
        self.detail = detail


def full_route(name: str) -> str:
    """Give the contract's path for a short name, a path with or without `/v1`, or `*`."""
    path = SHORT_NAMES.get(name, name.removeprefix("/v1"))
    if path != "*" and path not in METHODS:
        raise ValueError(f"unknown route {name!r}; known are {', '.join(SHORT_NAMES)}, and *")
    return path


def find_route(path: str) -> tuple[str, str | None]:
    """Give the route of a sent path and the run id in it; an unknown path is its own route."""
    path = path.removeprefix("/v1")
    match = RUN_PATH.fullmatch(path)
    if match is None:
        return path, None
    return f"/monitor/runs/{{run_id}}/{match['what']}", unquote(match["run_id"])


def decode(raw: bytes) -> Any:
    """Read JSON as strictly as the fastest parsers do."""
    value = json.loads(raw.decode(), parse_constant=_refuse_constant)
    if LONE_SURROGATE.search(raw):
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


class Service:
    """An rb-api that keeps everything in its book."""

    def __init__(self, book: Book, capabilities: Sequence[str], key: str) -> None:
        self.book = book
        self.capabilities = tuple(capabilities)
        self.key = key
        self.evaluate: Evaluate = lambda steps, body: healthy()
        self.patterns: Patterns = default_patterns()
        self.near_misses: JSON = {"near_misses": [], "not_compared": None}
        self.difficulty = 0.4
        self._handlers: dict[str, Callable[[Request], Answer]] = {
            HEALTH: self._health,
            RETRIEVE: self._retrieve,
            EVALUATE: self._evaluate,
            SCORE: self._score,
            RUN_START: self._run_start,
            STEP: self._step,
            RUN_FINISH: self._run_finish,
            EVENTS: self._events,
        }

    def handle(self, request: Request, raw: bytes) -> Answer:
        """Answer one request and keep what it did, or why it was refused."""
        try:
            self._admit(request, raw)
            return self._handlers[request.route](request)
        except RefusalError as refusal:
            self.book.violate(str(refusal), request)
            return refusal.status, {"detail": refusal.detail}
        except Exception as error:
            self.book.violate(f"500, the stand-in's own answer raised {error!r}", request)
            return 500, {"detail": "internal error"}

    # -- checks ------------------------------------------------------------------------------------

    def _admit(self, request: Request, raw: bytes) -> None:
        known = request.route in METHODS and (request.route != EVENTS or "events" in self.capabilities)
        if not known:
            raise RefusalError(404, "Not Found")
        if request.method != METHODS[request.route]:
            raise RefusalError(405, "Method Not Allowed")
        if request.route == HEALTH:
            return
        if request.headers.get("authorization") != f"Bearer {self.key}":
            raise RefusalError(401, "missing or invalid key")
        if len(raw) > rules.MAX_BODY_BYTES:
            raise RefusalError(413, f"{len(raw)} bytes, at most {rules.MAX_BODY_BYTES}")
        if not request.headers.get("content-type", "").startswith("application/json"):
            raise RefusalError(400, "the content type must be application/json")
        try:
            value = decode(raw)
        except ValueError as error:
            raise RefusalError(400, f"malformed JSON: {error}") from error
        if not isinstance(value, dict):
            raise RefusalError(422, _detail([((), "the body must be an object")]))

    def _check(self, request: Request, *tables: Mapping[str, rules.Field]) -> None:
        fields = {name: field for table in tables for name, field in table.items()}
        self._note_unknown(request.route, request.body, fields)
        found = list(rules.problems(fields, request.body))
        if found:
            raise RefusalError(422, _detail(found))

    def _check_run_id(self, request: Request) -> str:
        found = list(rules.RUN_ID.problems(request.run_id, ("run_id",)))
        if found:
            raise RefusalError(422, _detail(found, "path"))
        return request.run_id or ""

    def _note_unknown(self, route: str, body: Mapping[str, Any], fields: Mapping[str, rules.Field]) -> None:
        with self.book.changed:
            self.book.unknown_fields |= {(route, name) for name in body if name not in fields}

    # -- routes ------------------------------------------------------------------------------------

    def _health(self, request: Request) -> Answer:
        answer: JSON = {"status": "ok", "version": "standin"}
        if self.capabilities:
            answer["capabilities"] = list(self.capabilities)
        return 200, answer

    def _retrieve(self, request: Request) -> Answer:
        tells = "near_misses" in self.capabilities
        self._check(request, rules.RETRIEVE, rules.NEAR_MISSES if tells else {})
        body = request.body
        tier = body.get("tier", body.get("level"))
        if tier is None:
            raise RefusalError(422, _detail([(("tier",), "missing")]))
        if body.get("level", tier) != tier:
            raise RefusalError(422, _detail([(("level",), "differs from tier")]))
        source: Any = self.patterns
        if isinstance(source, dict):
            source = source.get(tier, ())
        traces = list(source(body) if callable(source) else source)
        wanted = body.get("failure_type")
        if tier == "e2" and wanted:
            traces = [trace for trace in traces if trace.get("failure_type") in (None, wanted)]
        more = dict(self.near_misses) if body.get("near_misses") else {}
        return 200, {"traces": traces[: body.get("top_k", 5)], **more}

    def _evaluate(self, request: Request) -> Answer:
        incremental = "offset" in request.body
        told = rules.TASK if "task" in self.capabilities else {}
        self._check(request, rules.EVALUATE, rules.INCREMENTAL | told if incremental else {})
        steps: list[JSON] = request.body["steps"]
        if incremental and "incremental" not in self.capabilities:
            if request.body["offset"]:
                self.book.violate("an offset for a server that cannot continue a trace", request)
        elif incremental:
            run_id, offset = request.body["run_id"], request.body["offset"]
            with self.book.changed:
                held = self.book.traces.get(run_id, [])
                if offset not in (0, len(held)):
                    detail = f"offset {offset}, but {len(held)} steps are held"
                    return 409, {"detail": detail, "have": len(held)}
                steps = held[:offset] + steps
                self.book.traces[run_id] = steps
        answer = self.evaluate(list(steps), request.body)
        with self.book.changed:
            self.book.evaluations.append(Evaluation(steps, request.body, answer))
            self.book.changed.notify_all()
        return answer if isinstance(answer, tuple) else (200, answer)

    def _score(self, request: Request) -> Answer:
        self._check(request, rules.SCORE)
        return 200, {"difficulty": self.difficulty}

    def _run_start(self, request: Request) -> Answer:
        self._check(request, rules.RUN_START)
        return 201, self.book.apply("run_start", request.body["run_id"], request.body)

    def _step(self, request: Request) -> Answer:
        run_id = self._check_run_id(request)
        self._check(request, rules.STEP)
        self.book.apply("step", run_id, request.body)
        return 200, {"scores": healthy()["scores"], "total_score": 0.02, "fired": []}

    def _run_finish(self, request: Request) -> Answer:
        run_id = self._check_run_id(request)
        self._check(request, rules.RUN_FINISH)
        return 200, self.book.apply("run_finish", run_id, request.body)

    def _events(self, request: Request) -> Answer:
        self._check(request, rules.EVENTS)
        events: list[Any] = request.body["events"]
        rejected: list[JSON] = []
        for index, event in enumerate(events):
            detail = "; ".join(f"{_place(where)}: {what}" for where, what in self._event_problems(event))
            if detail:
                self.book.violate(f"events.{index} rejected: {detail}", request)
                rejected.append({"index": index, "detail": detail})
                continue
            kind, run_id = event["type"], event["run_id"]
            left_out = {"type"} if kind == "run_start" else {"type", "run_id"}
            self.book.apply(kind, run_id, {name: value for name, value in event.items() if name not in left_out})
        return 200, {"accepted": len(events) - len(rejected), "rejected": rejected}

    def _event_problems(self, event: Any) -> Iterator[rules.Problem]:
        optional = dict(rules.OPTIONAL_EVENTS[name] for name in self.capabilities if name in rules.OPTIONAL_EVENTS)
        types = rules.EVENT_TYPES | optional
        fields = types.get(str(event.get("type"))) if isinstance(event, dict) else None
        if fields is None:
            yield ("type",), f"not an event: {str(event)[:100]}"
            return
        allowed = {**fields, "type": rules.TEXT, "run_id": rules.RUN_ID}
        self._note_unknown(EVENTS, event, allowed)
        yield from rules.problems(allowed, event)


def _place(where: tuple[str | int, ...]) -> str:
    return ".".join(map(str, where))


def _detail(found: list[rules.Problem], origin: str = "body") -> list[JSON]:
    return [{"loc": [origin, *where], "msg": what, "type": "value_error"} for where, what in found[:20]]
