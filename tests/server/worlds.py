"""Worlds in which two organisations act, or only one of them, and what is seen there."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import anyio
import httpx
from anyio.abc import TaskGroup
from litestar import Litestar
from sqlalchemy import select

from reasonblocks.engine.engine import Engine
from reasonblocks.engine.store.schema import traces
from reasonblocks.server.app import create_app
from reasonblocks.server.settings import ServerSettings
from server.acts import (
    ACME,
    CASES,
    KEYS,
    MADE,
    OTHER,
    OWNERS,
    PROJECT,
    READS,
    RIVAL,
    SHARED,
    STREAM,
    TELLING,
    TRACES,
    Act,
    Symbol,
    path_parts,
    possible,
    query,
)
from server.house import ADMIN_KEY, SETTINGS

LAST_RUN = "the-last-one"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_PREFIXES = {"POST /v1/library/patterns": "pat", "POST /v1/monitor/profiles": "profile", "POST /v1/traces": "trace"}
PATIENCE_SECONDS = 60


class Seen(NamedTuple):
    """An answer, without what chance made of it: ids are named after who made them, times are all alike."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: str


class Watcher:
    """Somebody who watches a stream; without a server in between, which would hold the stream back."""

    def __init__(self, app: Litestar, key: str, org_id: str) -> None:
        self._app = app
        self._left = anyio.Event()
        self._news = anyio.Event()
        self.lines = b""
        self._scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": STREAM.split()[0],
            "scheme": "http",
            "path": STREAM.split()[1],
            "raw_path": STREAM.split()[1].encode(),
            "root_path": "",
            "query_string": f"org_id={org_id}".encode(),
            "headers": [(b"authorization", f"Bearer {key}".encode())],
            "client": ("192.0.2.1", 4711),
            "server": ("rb-api.test", 80),
        }
        self._asked = False

    async def watch(self) -> None:
        """Until it is told to leave."""
        await self._app(self._scope, self._receive, self._send)  # type: ignore[arg-type]

    async def _receive(self) -> Any:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.lines += message.get("body", b"")
        self._news.set()
        self._news = anyio.Event()

    async def until(self, mark: bytes) -> None:
        """Wait until something was seen."""
        with anyio.fail_after(PATIENCE_SECONDS):
            while mark not in self.lines:
                await self._news.wait()

    def leave(self) -> None:
        """Go away."""
        self._left.set()

    def steps(self) -> list[dict[str, Any]]:
        """What was seen."""
        told = [line.removeprefix("data: ") for line in self.lines.decode().splitlines() if line.startswith("data: ")]
        return [step for step in map(json.loads, told) if step]


def claimed(body: dict[str, Any], org_id: str) -> dict[str, Any]:
    """A body that names an organisation wherever one can be named."""
    events = [{**event, "org_id": org_id} for event in body.get("events", ())]
    return {**body, "org_id": org_id, **({"events": events} if events else {})}


@dataclass
class Story:
    """One story in one world: who acts here, with which keys and ids."""

    world: World
    orgs: dict[str, str]
    clients: dict[str, httpx.AsyncClient]
    watchers: dict[str, Watcher]
    ids: dict[Symbol, str] = field(default_factory=dict)
    _texts: Counter[str] = field(default_factory=Counter)
    _made: Counter[tuple[str, str]] = field(default_factory=Counter)

    def _id(self, symbol: Symbol) -> str:
        """The id that a symbol stands for; where nobody made one, one that could be."""
        if symbol not in self.ids:
            prefix = _PREFIXES.get(symbol.kind, "finding")
            self.ids[symbol] = f"{prefix}_{sha256(repr(symbol).encode()).hexdigest()[:28]}"
        return self.ids[symbol]

    def _request(self, act: Act) -> httpx.Request:
        method, path = act.route.split()
        for hole, part in path_parts(act).items():
            path = path.replace(f"{{{hole}}}", quote(self._id(part) if isinstance(part, Symbol) else part, safe=""))
        asked, body = query(act), CASES[act.route](act, self._texts[act.owner])
        if act.route in TELLING:
            self._texts[act.owner] += 1
        if act.owner in self.orgs and (act.admin or act.claims):
            named = self.orgs[act.owner if act.admin else OTHER[act.owner]]
            asked = {**asked, "org_id": named}
            body = None if body is None else claimed(body, named)
        if act.claims:
            path = path.removeprefix("/v1")  # the alias is as good
        return self.clients[act.caller].build_request(method, path, params=asked, json=body)

    async def do(self, act: Act) -> Seen:
        """Do it, and wait until everything that follows from it has happened."""
        answer = await self.clients[act.caller].send(self._request(act))
        assert answer.status_code < 500, (act, answer.text)
        if act.route in MADE and answer.is_success:
            self._keep(act, answer.json()[MADE[act.route]])
        if act.route not in READS:
            await self.world.settle()
        return self._seen(answer)

    def _keep(self, act: Act, made: str) -> None:
        """Remember an id, unless it was the caller's choice."""
        if made not in TRACES:
            self.ids[Symbol(act.route, act.owner, self._made[act.route, act.owner])] = made
            self._made[act.route, act.owner] += 1

    def _seen(self, answer: httpx.Response) -> Seen:
        body = answer.text
        for symbol, made in self.ids.items():
            body = body.replace(made, f"<{symbol.owner}'s {symbol.number} of {symbol.kind}>")
        headers = sorted((name, value) for name, value in answer.headers.items() if name != "x-request-id")
        return Seen(answer.status_code, tuple(headers), _TIME.sub("<time>", body))

    async def tell(self, acts: Iterable[Act]) -> dict[int, Seen]:
        """Do those of the acts that are done here; what was seen, by their places among all acts."""
        return {place: await self.do(act) for place, act in enumerate(acts) if act.caller in self.clients}

    async def watched(self) -> dict[str, list[dict[str, Any]]]:
        """What each watcher has seen, up to a last step that all of them see."""
        for caller, watcher in self.watchers.items():
            run_id = f"{LAST_RUN}-of-{caller}"
            client = self.clients[caller]
            started = await client.post("/v1/monitor/runs", json={"run_id": run_id})
            stepped = await client.post(
                f"/v1/monitor/runs/{quote(run_id, safe='')}/steps", json={"step_index": 0, "thought": "The end."}
            )
            assert (started.status_code, stepped.status_code) == (201, 200)
            await watcher.until(run_id.encode())
        return {caller: watcher.steps() for caller, watcher in self.watchers.items()}

    async def traces(self, owner: str) -> list[tuple[Any, ...]]:
        """The traces that are stored for an organisation, which no route shows."""
        columns = (traces.c.trace_id, traces.c.outcome, traces.c.step_count, traces.c.body)
        stored = select(*columns).where(traces.c.org_id == self.orgs[owner]).order_by(traces.c.id)
        async with self.world.engine._database.reading() as connection:
            rows = (await connection.execute(stored)).all()
        return [(row.trace_id in TRACES and row.trace_id, *row[1:]) for row in rows]

    async def sweep_up(self) -> None:
        """Take away what all share, so that the next story finds as little as this one did."""
        for symbol in [one for one in self.ids if one.owner == SHARED]:
            for tier in ("e2", "e3"):
                await self.clients["admin"].delete(f"/v1/library/patterns/{tier}/{self.ids[symbol]}")
        await self.world.settle()


@dataclass
class World:
    """A server of its own, in which only some of the owners act."""

    engine: Engine
    app: Litestar
    owners: tuple[str, ...]

    @asynccontextmanager
    async def story(self, number: int) -> AsyncIterator[Story]:
        """Organisations that nobody has heard of, the same names in every world."""
        orgs = {owner: f"{owner}-{number:06}" for owner in (ACME, RIVAL)}
        keys = {caller: ADMIN_KEY for caller, owner in OWNERS.items() if owner in self.owners}
        ids: dict[Symbol, str] = {}
        for caller in [caller for caller in KEYS if OWNERS[caller] in self.owners]:
            project = PROJECT if caller.endswith(PROJECT) else None
            key, keys[caller] = await self.engine.keys.create(orgs[OWNERS[caller]], project)
            ids[Symbol("key", caller, 0)] = key.key_id
        async with AsyncExitStack() as stack, anyio.create_task_group() as tasks:
            clients = {caller: await stack.enter_async_context(self._client(key)) for caller, key in keys.items()}
            watchers = await self._watchers(tasks, {caller: keys[caller] for caller in KEYS if caller in keys}, orgs)
            story = Story(self, orgs, clients, watchers, ids)
            try:
                yield story
                await story.sweep_up()
            finally:
                for watcher in watchers.values():
                    watcher.leave()

    async def _watchers(self, tasks: TaskGroup, keys: dict[str, str], orgs: dict[str, str]) -> dict[str, Watcher]:
        """Everybody watches, and says to be the other one."""
        watchers = {caller: Watcher(self.app, key, orgs[OTHER[OWNERS[caller]]]) for caller, key in keys.items()}
        for watcher in watchers.values():
            tasks.start_soon(watcher.watch)
            await watcher.until(b"event: ready")
        return watchers

    def _client(self, key: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app, client=("192.0.2.1", 4711))  # type: ignore[arg-type]
        headers = {"authorization": f"Bearer {key}"}
        return httpx.AsyncClient(transport=transport, base_url="http://rb-api.test", headers=headers)

    async def settle(self) -> None:
        """Wait until the catalogue, the index and the scores have followed what is stored."""
        await self.engine._follower.refresh()
        await self.engine.index.settled()
        await self.engine.runs.scorer.drained()


@dataclass
class Worlds:
    """One in which both organisations act, and for each of them one in which the other never did."""

    both: World
    alone: dict[str, World]
    _number: int = 0

    async def check(self, acts: Sequence[Act]) -> dict[int, Seen]:
        """Nobody sees any difference between the worlds, whatever is done; what was seen where both act."""
        assert all(map(possible, acts))
        self._number += 1
        async with self.both.story(self._number) as story:
            together = await story.tell(acts)
            watched = await story.watched()
            stored = {owner: await story.traces(owner) for owner in self.alone}
        for owner, world in self.alone.items():
            async with world.story(self._number) as story:
                for place, seen in (await story.tell(acts)).items():
                    assert together[place] == seen, f"{acts[place]} shows {owner} what the other one did"
                for caller, steps in (await story.watched()).items():
                    assert watched[caller] == steps, f"the stream shows {caller} what the other one did"
                assert stored[owner] == await story.traces(owner), "an upload of the other one changed a trace"
        return together


@asynccontextmanager
async def worlds_in(directory: Path) -> AsyncIterator[Worlds]:
    """Three servers, each with a data directory of its own."""
    owners = {"both": (ACME, RIVAL, SHARED), ACME: (ACME, SHARED), RIVAL: (RIVAL, SHARED)}
    async with AsyncExitStack() as stack:
        worlds = {
            name: await stack.enter_async_context(_world(directory / name, acting)) for name, acting in owners.items()
        }
        yield Worlds(worlds["both"], {owner: worlds[owner] for owner in (ACME, RIVAL)})


@asynccontextmanager
async def _world(data_dir: Path, owners: tuple[str, ...]) -> AsyncIterator[World]:
    settings = ServerSettings(data_dir=data_dir, **SETTINGS)
    engine = await Engine.open(settings.engine())
    try:
        app = create_app(settings, engine)
        async with app.lifespan():
            yield World(engine, app, owners)
    finally:
        await engine.aclose()
