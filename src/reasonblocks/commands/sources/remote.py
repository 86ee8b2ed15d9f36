"""A server, asked over its REST routes: those of the contract and no others."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import click
import httpx
import msgspec

from ..._version import __version__
from ...engine.answers import HealthSummary, Identity, Pattern, Run, RunWithSteps, parent_of
from ...engine.errors import NotFound
from ...engine.requests import PatternChange, PatternCreate
from ...errors import Rejected, Unavailable
from ...settings import Connection, is_loopback
from .base import NEWEST, Fired

Answer = TypeVar("Answer")
SECONDS = 30.0
AT_ONCE = 8
"""Requests under way at the same time."""
MOST_PATTERNS = 1_000
"""Of one tier: a server lists no more."""


class Health(msgspec.Struct):
    """What GET /health says."""

    version: str = "unknown"
    capabilities: list[str] = []


class RemoteSource:
    """What a server shows to the holder of a key."""

    def __init__(
        self,
        connection: Connection,
        key_name: str,
        org_id: str | None = None,
        project_id: str | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self.where = str(connection.base_url)
        self._key_name = key_name
        self._scope = {name: value for name, value in (("org_id", org_id), ("project_id", project_id)) if value}
        self._client = httpx.Client(
            base_url=connection.base_url.copy_with(raw_path=connection.base_url.raw_path.rstrip(b"/") + b"/v1/"),
            headers={
                "authorization": f"Bearer {connection.key.reveal()}",
                "user-agent": f"reasonblocks/{__version__}",
                "content-type": "application/json",
            },
            timeout=seconds,
            trust_env=not is_loopback(connection.base_url.host),  # a proxy has no part in this machine's own servers
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._client.close()

    # -- runs ----------------------------------------------------------------------------------------

    def runs(self, limit: int, offset: int = 0) -> list[Run]:
        """GET /monitor/runs."""
        return self._get("monitor/runs", list[Run], limit=limit, offset=offset)

    def fired(self, runs: Sequence[Run]) -> list[Fired]:
        """What fired in each of these runs: a listing does not say so, so each is looked at."""
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return list(threads.map(lambda run: fired_in(self.run(run.run_id, run.org_id)), runs))

    def run(self, run_id: str, org_id: str | None = None) -> RunWithSteps:
        """GET /monitor/runs/{run_id}."""
        named = {"org_id": org_id} if org_id else {}
        return self._get(f"monitor/runs/{quote(run_id, safe='')}", RunWithSteps, **named)

    def children(self, run: Run) -> list[RunWithSteps]:
        """Those among the newest runs that name this one as their parent."""
        found = [other for other in reversed(self.runs(NEWEST)) if parent_of(other.metadata) == run.run_id]
        return [self.run(other.run_id, other.org_id) for other in found]

    def summary(self) -> HealthSummary:
        """GET /monitor/health-summary."""
        return self._get("monitor/health-summary", HealthSummary)

    # -- patterns ------------------------------------------------------------------------------------

    def patterns(self, tier: str | None = None) -> list[Pattern]:
        """GET /library/patterns, tier by tier, since a server lists a thousand at most."""
        found: list[Pattern] = []
        for one in [tier] if tier else ["e1", "e2", "e3"]:
            listed = self._get("library/patterns", list[Pattern], tier=one, limit=MOST_PATTERNS)
            found += listed
            if len(listed) == MOST_PATTERNS:
                click.echo(
                    f"a server lists {MOST_PATTERNS:,} {one} patterns at most: there may be more of them", err=True
                )
        return found

    def versions(self, pattern: Pattern) -> None:
        """No route tells."""

    def create(self, request: PatternCreate) -> Pattern:
        """POST /library/patterns."""
        return self._send("POST", "library/patterns", request, Pattern)

    def change(self, pattern: Pattern, request: PatternChange) -> Pattern:
        """PATCH /library/patterns/{tier}/{pattern_id}."""
        request.org_id = pattern.org_id
        return self._send(
            "PATCH", f"library/patterns/{pattern.tier}/{quote(pattern.pattern_id, safe='')}", request, Pattern
        )

    # -- about the server ----------------------------------------------------------------------------

    def health(self) -> Health:
        """GET /health, for which no key is needed."""
        return self._get("health", Health)

    def ready(self) -> dict[str, Any]:
        """GET /ready: the state of each part; empty where a server does not have this route."""
        response = self._exchange("GET", "ready")
        return msgspec.json.decode(response.content, type=dict[str, Any]) if response.status_code in (200, 503) else {}

    def identity(self) -> Identity:
        """GET /monitor/me."""
        return self._get("monitor/me", Identity)

    # -- asking --------------------------------------------------------------------------------------

    def _get(self, path: str, kind: type[Answer], **query: Any) -> Answer:
        return self._understood(self._exchange("GET", path, params={**self._scope, **query}), kind)

    def _send(self, method: str, path: str, body: Any, kind: type[Answer]) -> Answer:
        content = msgspec.json.encode(
            {key: value for key, value in _said(body).items() if value is not None or key in _NULLS}
        )
        return self._understood(self._exchange(method, path, params=self._scope, content=content), kind)

    def _exchange(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            return self._client.request(method, path, **request)
        except httpx.HTTPError as error:
            raise Unavailable(
                f"the server at {self.where} cannot be reached ({type(error).__name__}: {error}); check "
                "REASONBLOCKS_BASE_URL or --base-url, and that it runs (`reasonblocks serve`)"
            ) from error

    def _understood(self, response: httpx.Response, kind: type[Answer]) -> Answer:
        if not response.is_success:
            raise self._refused(response)
        try:
            return msgspec.json.decode(response.content, type=kind)
        except msgspec.MsgspecError as error:
            raise Unavailable(
                f"what answers at {self.where} is not rb-api, or of another version ({error}); check the address"
            ) from error

    def _refused(self, response: httpx.Response) -> Exception:
        detail = _detail(response)
        if response.status_code == 401:
            return Rejected(
                401,
                f"the server at {self.where} does not know the key in {self._key_name}; make one on the server with "
                "`reasonblocks keys create`, or correct the variable",
            )
        if response.status_code == 404:
            return NotFound(detail)
        return Rejected(response.status_code, f"the server at {self.where} answered {response.status_code}: {detail}")


_NULLS = ("failure_type", "gate_threshold")
"""Where null is something else than nothing said."""


def _said(body: Any) -> dict[str, Any]:
    """What a request says; what was left out of it stays out."""
    said: dict[str, Any] = msgspec.to_builtins(body)
    return said


def _detail(response: httpx.Response) -> str:
    try:
        detail = response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        return response.reason_phrase or "no reason"
    if isinstance(detail, list):
        problems = [
            f"{'.'.join(map(str, one.get('loc', ())))}: {one.get('msg')}" for one in detail if isinstance(one, dict)
        ]
        return "; ".join(problems)
    return str(detail)


def fired_in(run: RunWithSteps) -> Fired:
    """On how many steps each monitor fired."""
    counted = Counter[str]()
    for step in run.steps:
        counted.update(step.fired if step.fired is not None else step.monitors_fired)
    return counted
