"""rb-api by HTTP."""

import hashlib
import random
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import anyio
import httpx
import msgspec

from .._version import __version__
from ..errors import Rejected, Unavailable
from ..limits import MAX_STEPS, MAX_TASK
from ..runtime.breaker import Breaker
from ..secret import Secret, mask
from ..types import MonitorEvaluation, StepRecord
from . import wire
from .backend import Event, Query, Retrieved, Trajectory
from .http import Answer, Endpoint, proxy_for, transports

Result = TypeVar("Result")
RETRIABLE = frozenset({408, 425, 429, 500, 502, 503, 504})
CHECK_KEY = "check the API key: `reasonblocks doctor` asks the server about it, `reasonblocks keys create` makes one"
SEND_SECONDS = 5.0
"""How long one delivery of events may take; they wait in the background, not in the agent."""
SEND_AGAIN_SECONDS = 2.5
"""The same after one that took too long: a server that is back is to be noticed within 5 s, pauses included."""
LINGER_SECONDS = 0.25
"""How long the first event after a pause waits for company, unless somebody waits for it.

A request costs as much as twenty events do, and every one has two threads hand the interpreter lock back and
forth, which the agent pays for. Whoever watches a run live does not notice.
"""
MAX_CURSORS = 10_000
MOST_CONFLICTS = 3
"""How often a server may say that it holds other steps than we thought, in one evaluation."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How a lookup is repeated, always inside the step's budget."""

    attempts: int = 8
    first_delay: float = 0.01
    longest_delay: float = 0.25

    def delay(self, attempt: int) -> float:
        """Seconds before the attempt after this one, with jitter so that many runs do not march in step."""
        return min(self.first_delay * 2.0**attempt, self.longest_delay) * random.uniform(0.5, 1.0)


@dataclass(slots=True)
class Cursor:
    """What the server holds of one run, and the steps as they were encoded for it."""

    steps: list[StepRecord] = field(default_factory=list)
    encoded: list[msgspec.Raw] = field(default_factory=list)
    size: int = 0
    """Bytes of all encoded steps."""
    held: int = 0

    def follow(self, steps: Sequence[StepRecord]) -> None:
        """Take over the steps of a trajectory; those seen before are not encoded again."""
        known = len(self.steps)
        if known > len(steps) or (known and self.steps[-1] is not steps[known - 1]):
            self.steps, self.encoded, self.size, self.held, known = [], [], 0, 0, 0
        for step in steps[known:]:
            encoded = wire.encode_step(step)
            self.steps.append(step)
            self.encoded.append(encoded)
            self.size += len(memoryview(encoded)) + 1

    def newest(self) -> Sequence[msgspec.Raw]:
        """The steps that fit in one request: all, as long as they do."""
        if len(self.encoded) <= MAX_STEPS and self.size <= wire.BODY_ROOM:
            return self.encoded
        return wire.newest_within(self.encoded)


class RemoteBackend:
    """The client half of the REST contract: lookups under a breaker, deliveries for the telemetry stream."""

    def __init__(self, base_url: httpx.URL, key: Secret, *, step_timeout: float) -> None:
        self._endpoint = Endpoint(
            base_url.copy_with(raw_path=base_url.raw_path.rstrip(b"/") + b"/v1"),
            key,
            user_agent=f"reasonblocks/{__version__}",
        )
        self._proxy = proxy_for(base_url)
        self._step_timeout = step_timeout
        self._retry = RetryPolicy()
        self._send_seconds = SEND_SECONDS
        self.destination = f"{base_url} {hashlib.sha256(key.reveal().encode()).hexdigest()}"
        self._cursors: OrderedDict[str, Cursor] = OrderedDict()
        self.breaker = Breaker()
        self.capabilities: frozenset[str] | None = None
        transports.warm(base_url.scheme == "https")

    # -- lookups ---------------------------------------------------------------------------------

    def refusal(self) -> str | None:
        """Why a lookup would fail right now: the breaker is open."""
        return self.breaker.refusal(time.monotonic())

    async def retrieve(self, query: Query) -> Retrieved:
        """POST /traces/retrieve."""
        body: dict[str, Any] = {
            "context": wire.cap(query.context),
            "tier": query.tier,
            "level": query.tier,
            "top_k": query.top_k,
        }
        if query.model:
            body["model"] = query.model
        if query.failure_type:
            body["failure_type"] = query.failure_type
        if query.near_misses and "near_misses" in (self.capabilities or ()):
            body["near_misses"] = query.near_misses
        return await self._lookup(
            "/traces/retrieve",
            wire.encode(body),
            lambda answer: wire.decode_retrieval(_accepted(answer).content, query.tier),
        )

    async def evaluate(self, trajectory: Trajectory) -> MonitorEvaluation:
        """POST /monitors/evaluate: what is new where the server can continue a run, the whole trace otherwise."""
        cursor = self._cursor(trajectory.run_id)
        cursor.follow(trajectory.steps)
        question: dict[str, Any] = {"model": trajectory.model, "task_profile": trajectory.task_profile}
        if trajectory.weights:
            question["weights"] = dict(trajectory.weights)
        if "incremental" in (self.capabilities or ()):
            return await self._continue(trajectory, cursor, question)
        question["steps"] = cursor.newest()
        return await self._lookup(
            "/monitors/evaluate",
            wire.encode(question),
            lambda answer: wire.decode_evaluation(_accepted(answer).content),
        )

    async def _continue(self, trajectory: Trajectory, cursor: Cursor, question: dict[str, Any]) -> MonitorEvaluation:
        total = len(cursor.encoded)
        knows_task = "task" in (self.capabilities or ())
        conflicts = 0
        while conflicts < MOST_CONFLICTS:
            offset = cursor.held
            steps = wire.oldest_within(cursor.encoded[offset:])
            question |= {"run_id": trajectory.run_id, "offset": offset, "steps": steps}
            if knows_task and offset == 0:
                question["task"] = wire.cap(trajectory.task, MAX_TASK)
            else:
                question.pop("task", None)  # the server holds it with the steps
            answer = await self._lookup("/monitors/evaluate", wire.encode(question), _evaluation_or_conflict)
            if isinstance(answer, MonitorEvaluation):
                cursor.held = offset + len(steps)
                if cursor.held == total:
                    return answer
            else:
                conflicts += 1
                cursor.held = answer if answer <= total and answer != offset else 0
        raise Unavailable("the server and this run do not agree on the steps it holds")

    def _cursor(self, run_id: str) -> Cursor:
        cursor = self._cursors.get(run_id)
        if cursor is None:
            cursor = self._cursors[run_id] = Cursor()
            if len(self._cursors) > MAX_CURSORS:
                self._cursors.popitem(last=False)
        return cursor

    def forget_run(self, run_id: str) -> None:
        """Drop the cursor of a run that is over."""
        self._cursors.pop(run_id, None)

    async def _lookup(self, path: str, body: bytes, read: Callable[[Answer], Result]) -> Result:
        """One operation in the eyes of the breaker: all its attempts within the caller's deadline, and `read`."""
        refusal = self.refusal()
        if refusal:
            raise Unavailable(refusal)
        deadline = anyio.current_effective_deadline()
        if deadline == float("inf"):
            with anyio.move_on_after(self._step_timeout):
                return await self._lookup(path, body, read)
            raise Unavailable(f"no answer within {self._step_timeout} s")
        self.breaker.begin()
        try:
            result = read(await self._attempts(path, body, deadline))
        except anyio.get_cancelled_exc_class():
            # Our own deadline is the server's fault; a cancelled agent is not.
            if anyio.current_time() >= deadline:
                self.breaker.failed(time.monotonic())
            else:
                self.breaker.abandoned()
            raise
        except Exception:
            self.breaker.failed(time.monotonic())
            raise
        self.breaker.succeeded()
        return result

    async def _attempts(self, path: str, body: bytes, deadline: float) -> Answer:
        for attempt in range(self._retry.attempts):
            delay = self._retry.delay(attempt)
            last = attempt == self._retry.attempts - 1
            try:
                answer = await self._post(path, body)
            except Unavailable:
                if last or anyio.current_time() + delay >= deadline:
                    raise
            else:
                if answer.status not in RETRIABLE:
                    return answer
                delay = max(delay, answer.retry_after or 0.0)
                if last or anyio.current_time() + delay >= deadline:
                    return answer
            await anyio.sleep(delay)
        raise AssertionError("the last attempt returns or raises")

    # -- deliveries ------------------------------------------------------------------------------

    linger_seconds = LINGER_SECONDS

    @property
    def batches(self) -> bool:
        """Whether the server takes many events at once."""
        return "events" in (self.capabilities or ())

    @property
    def interrupts(self) -> bool:
        """Whether the server wants to know that a run waits for a person."""
        return "interrupts" in (self.capabilities or ())

    @property
    def losses(self) -> bool:
        """Whether the server wants to know which steps were lost on the way."""
        return "losses" in (self.capabilities or ())

    async def discover(self) -> None:
        """GET /health, until it has answered once."""
        if self.capabilities is not None:
            return
        answer = _accepted(await self._exchange("GET", "/health", None))
        try:
            health = msgspec.json.decode(answer.content, type=wire.HealthAnswer)
        except msgspec.DecodeError as error:
            raise Unavailable(f"the server's health is not understood: {error}") from None
        self.capabilities = frozenset(health.capabilities or ())

    async def send(self, event: Event) -> None:
        """Deliver one event by its single route."""
        kind, run_id = event["type"], event["run_id"]
        if kind in ("run_interrupt", "loss"):
            return  # an old server has taken over, and has no word for it
        body = {name: value for name, value in event.items() if name != "type"}
        path = "/monitor/runs"
        if kind != "run_start":
            del body["run_id"]
            path += f"/{quote(run_id, safe='')}/" + ("steps" if kind == "step" else "finish")
        wire.check_receipt(_accepted(await self._deliver(path, wire.encode_event(body))).content)

    async def send_batch(self, events: Sequence[bytes]) -> list[tuple[int, str]]:
        """Deliver encoded events by POST /monitor/events."""
        answer = await self._deliver("/monitor/events", wire.encode({"events": [msgspec.Raw(one) for one in events]}))
        if answer.status in (404, 405):
            self.capabilities = frozenset()  # an old server has taken over: it would not know about offsets either
        content = _accepted(answer).content
        try:
            rejected = msgspec.json.decode(content, type=wire.EventsAnswer).rejected
        except msgspec.DecodeError as error:
            raise Unavailable(f"the server's answer to events is not understood: {error}") from None
        refused: list[tuple[int, str]] = []
        for entry in rejected:
            index = entry.get("index")
            if isinstance(index, int) and 0 <= index < len(events):
                refused.append((index, str(entry.get("detail", ""))))
        return refused

    async def _deliver(self, path: str, body: bytes) -> Answer:
        seconds = self._send_seconds
        with anyio.move_on_after(seconds):
            answer = await self._post(path, body)
            self._send_seconds = SEND_SECONDS
            return answer
        self._send_seconds = SEND_AGAIN_SECONDS
        raise Unavailable(f"no answer to an event within {seconds} s")

    async def _post(self, path: str, body: bytes) -> Answer:
        return await self._exchange("POST", path, body)

    async def _exchange(self, method: str, path: str, body: bytes | None) -> Answer:
        transport = await transports.current(self, self._proxy)
        return await transport.exchange(self._endpoint.prepare(method, path), body)

    def stats(self) -> dict[str, Any]:
        """Whether lookups are refused for now."""
        return {"breaker_open": self.breaker.is_open}

    def close(self) -> None:
        """Connections are their loop's and go with it."""

    def release(self) -> None:
        """As `close`."""

    async def aclose(self) -> None:
        """Close the connections of the running loop, unless another backend uses them."""
        await transports.aclose(self)


def _evaluation_or_conflict(answer: Answer) -> MonitorEvaluation | int:
    """The answer to an incremental evaluation: what the monitors say, or how many steps the server holds."""
    if answer.status != 409:
        return wire.decode_evaluation(_accepted(answer).content)
    try:
        return max(0, msgspec.json.decode(answer.content, type=wire.ConflictAnswer).have)
    except msgspec.DecodeError:
        return 0


def _accepted(answer: Answer) -> Answer:
    """The answer, if the server did what was asked; otherwise the error that says why not."""
    if answer.status < 300:
        return answer
    detail = mask(_detail(answer.content))[:200]
    if answer.status in RETRIABLE:
        raise Unavailable(
            f"the server answered {answer.status}: {detail}",
            retry_after=answer.retry_after,
            failed=answer.status >= 500 and answer.retry_after is None,
        )
    hint = f"; {CHECK_KEY}" if answer.status in (401, 403) else ""
    raise Rejected(answer.status, f"the server refused with {answer.status}: {detail}{hint}")


def _detail(content: bytes) -> str:
    """The sentence in which rb-api says why; of whoever else answers, whatever it says."""
    try:
        detail = msgspec.json.decode(content, type=dict[str, object]).get("detail")
    except msgspec.DecodeError:
        detail = None
    return detail if isinstance(detail, str) else content[:1000].decode("utf-8", "replace")
