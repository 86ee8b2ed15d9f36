"""Several engines on one database server: what one is told all know, and what one should do one does."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import pytest

from engine.runs.house import house_at
from engine.store.opened import opened
from reasonblocks.engine import engine as engine_module
from reasonblocks.engine import keys as keys_module
from reasonblocks.engine.answers import Evaluation
from reasonblocks.engine.engine import Engine
from reasonblocks.engine.errors import Conflict
from reasonblocks.engine.keys import Keys
from reasonblocks.engine.principal import Principal
from reasonblocks.engine.requests import EvaluateRequest, PatternCreate, ProfileCreate, RunStart
from reasonblocks.engine.runs.upkeep import Upkeep
from reasonblocks.engine.settings import EngineSettings
from support.cluster import Cluster
from support.parts import PATIENCE, WordEmbeddings

NUMBERS = itertools.count(1)
TASK = "Mend the build."
RIVAL = Principal("rival", "rival")
STEP = {
    "thought": "The test fails, so I will run the test again to see why it fails.",
    "action": "run",
    "action_input": '{"command": "make test"}',
    "observation": "1 failed: test_total expected 5, got 4",
}


@asynccontextmanager
async def engine_at(url: str) -> AsyncIterator[Engine]:
    """A server without HTTP."""
    engine = await Engine.open(EngineSettings(database_url=url, embeddings=WordEmbeddings()))
    try:
        yield engine
    finally:
        await engine.aclose()


@pytest.fixture(scope="module")
def shared_url(cluster: Cluster) -> Iterator[str]:
    """A database for all tests of this file."""
    name = f"shared_{os.getpid()}"
    cluster.create(name)
    yield cluster.url(name)
    cluster.drop(name)


@pytest.fixture(scope="module")
async def engines(shared_url: str) -> AsyncIterator[tuple[Engine, Engine]]:
    """Two servers on it."""
    async with engine_at(shared_url) as here, engine_at(shared_url) as there:
        yield here, there


@dataclass
class Servers:
    """Two servers, and somebody of an organisation that nobody else has used."""

    here: Engine
    there: Engine
    who: Principal

    @property
    def both(self) -> tuple[Engine, Engine]:
        return self.here, self.there

    async def start(self, engine: Engine, task: str = TASK, run_id: str = "r") -> None:
        """A run begins."""
        await engine.runs.start(self.who, RunStart(run_id=run_id, task=task))

    async def report(self, engine: Engine, first: int, count: int, run_id: str = "r") -> None:
        """Steps of a run."""
        told = [
            {"type": "step", "run_id": run_id, "step_index": index, **step(index)}
            for index in range(first, first + count)
        ]
        receipt = await engine.runs.events(self.who, [msgspec.json.encode(event) for event in told])
        assert receipt.accepted == count

    async def evaluated(self, engine: Engine, offset: int, count: int) -> Evaluation:
        """The monitors' answer about the steps that follow `offset`."""
        request = {"steps": [step(index) for index in range(offset, offset + count)], "run_id": "r", "offset": offset}
        return await self._ask(engine, request | ({} if offset else {"task": TASK}))

    async def evaluated_whole(self, count: int) -> Evaluation:
        """The same for a whole trace, by somebody who has seen nothing of the run."""
        return await self._ask(self.here, {"steps": [step(index) for index in range(count)], "task": TASK})

    async def _ask(self, engine: Engine, request: dict[str, Any]) -> Evaluation:
        return await engine.evaluator.evaluate(self.who, msgspec.convert(request, EvaluateRequest))

    async def scores(self, run_id: str = "r") -> list[Any]:
        """Those of the steps of a run."""
        return [one.scores for one in (await self.here.runs.show(self.who, run_id)).steps]


@pytest.fixture
def servers(engines: tuple[Engine, Engine]) -> Servers:
    """They are the same for all tests, the organisation is not."""
    org = f"org-{next(NUMBERS)}"
    return Servers(*engines, Principal(org, org))


async def until(good: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait for what a server does in its own time."""
    async with asyncio.timeout(seconds):
        while not good():  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0.01)


def step(index: int) -> dict[str, Any]:
    """A loop, with something in it that tells one step from the next."""
    return {**STEP, "thought": f"{STEP['thought']} Attempt {index}."}


# -- what one is told all know -----------------------------------------------------------------------


async def test_steps_that_one_server_takes_in_show_on_a_stream_of_another(servers: Servers) -> None:
    """Each once, wherever it was reported and whoever watches where; another organisation sees nothing."""
    here, there = servers.both
    watchers = [engine.live.subscribe(servers.who) for engine in servers.both]
    stranger = there.live.subscribe(RIVAL)
    await servers.start(here)
    await servers.report(here, 0, 320)
    await servers.report(there, 320, 10)
    seen: list[list[int]] = []
    async with asyncio.timeout(PATIENCE):
        for watcher in watchers:
            seen.append([(await anext(watcher))["step_index"] for _ in range(330)])
    await asyncio.sleep(0.3)  # for what would come twice
    for watcher in (*watchers, stranger):
        watcher.close()
    assert [sorted(indices) for indices in seen] == [list(range(330))] * 2
    assert [[event async for event in watcher] for watcher in (*watchers, stranger)] == [[], [], []]


async def test_key_that_is_revoked_is_refused_everywhere_at_once(
    servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also by a server that has just found it good and would trust it for long."""
    monkeypatch.setattr(keys_module, "TRUSTED_SECONDS", 1_000.0)
    here, there = servers.both
    key, plain = await here.keys.create(servers.who.org_id)
    assert await there.keys.authenticate(plain) is not None
    await here.keys.revoke(key.key_id)
    await until(lambda: there.keys.known(plain) is None, 5.0)
    assert await there.keys.authenticate(plain) is None


async def test_profile_and_pattern_of_one_server_are_known_to_the_other(servers: Servers) -> None:
    """Within a moment, since it is told; nobody has to look."""
    here, there = servers.both
    await here.profiles.create(servers.who, ProfileCreate("mine", {"semantic_loop": 0.9}))
    pattern = await here.patterns.create(
        servers.who, PatternCreate("e1", {"observation": "stale", "guidance": "flush it"})
    )
    await until(lambda: there.profiles.custom(servers.who.org_id, "mine") is not None, 4.0)
    await until(lambda: there._catalogue.get(pattern.pattern_id) is not None, 4.0)


async def test_changes_of_many_writers_at_once_are_all_told(servers: Servers) -> None:
    """Numbers are given in the order in which they are committed, so that nobody skips one that comes late."""
    there = servers.there

    async def create(engine: Engine, number: int) -> None:
        await engine.profiles.create(servers.who, ProfileCreate(f"p{number}", {"semantic_loop": 0.5}))

    told: set[str] = set()

    async def listener(item_ids: Any) -> None:
        told.update(item_ids)

    there._follower.listen("profile", listener)
    await asyncio.gather(*(create(servers.both[number % 2], number) for number in range(40)))
    await until(lambda: len(told) == 40)
    await until(lambda: all(there.profiles.custom(servers.who.org_id, f"p{number}") for number in range(40)))


# -- any server goes on with any run -----------------------------------------------------------------


async def test_any_server_goes_on_with_a_run(servers: Servers) -> None:
    """One that has not seen the run reads its steps, and answers as if it had been sent all of them."""
    here = servers.here
    await servers.start(here)
    for index in range(6):
        engine = servers.both[index % 2]
        answer = await servers.evaluated(engine, index, 1)
        assert answer == await servers.evaluated_whole(index + 1)
        await servers.report(here, index, 1)
    assert answer.fired


async def test_what_has_not_arrived_yet_is_asked_for(servers: Servers) -> None:
    """Events come later than evaluations: the server says how much it has, and takes the rest from the client."""
    here, there = servers.both
    await servers.start(here)
    await servers.evaluated(here, 0, 5)
    await servers.report(here, 0, 3)
    with pytest.raises(Conflict) as conflict:
        await servers.evaluated(there, 5, 1)
    assert conflict.value.have == 3
    assert await servers.evaluated(there, 3, 3) == await servers.evaluated_whole(6)


async def test_run_without_a_stored_task_begins_with_its_client(servers: Servers) -> None:
    """The client may know a task that the tables do not: a server that did not hear it asks for the beginning."""
    here, there = servers.both
    await servers.start(here, "")
    await servers.report(here, 0, 3)
    with pytest.raises(Conflict) as conflict:
        await servers.evaluated(there, 3, 1)
    assert conflict.value.have == 0


async def test_steps_behind_a_gap_are_not_taken_for_those_before_it(servers: Servers) -> None:
    """A step that was lost on its way, or kept in by its owner, ends what can be gone on from."""
    await servers.start(servers.here)
    await servers.report(servers.here, 0, 2)
    await servers.report(servers.here, 3, 2)
    with pytest.raises(Conflict) as conflict:
        await servers.evaluated(servers.there, 5, 1)
    assert conflict.value.have == 2


async def test_c25_nobody_goes_on_with_the_run_of_another(servers: Servers) -> None:
    """The steps of another organisation or project are not there to go on from."""
    org = servers.who.org_id
    await servers.here.runs.start(servers.who, RunStart(run_id="r", task=TASK, project_id="web"))
    await servers.report(servers.here, 0, 3)
    request = EvaluateRequest(steps=[], run_id="r", offset=3)
    for other in (RIVAL, Principal("3", org, "ops")):
        with pytest.raises(Conflict) as conflict:
            await servers.there.evaluator.evaluate(other, request)
        assert conflict.value.have == 0
    await servers.there.evaluator.evaluate(Principal("4", org, "web"), request)


async def test_run_that_is_reported_here_and_there_is_scored_as_by_one(servers: Servers) -> None:
    """Every step has one score, the same as if one server had seen them all."""
    await servers.start(servers.here)
    for index in range(8):
        engine = servers.both[index % 2]
        await servers.report(engine, index, 1)
        await engine.runs.scorer.drained()
    await servers.start(servers.here, run_id="whole")
    await servers.report(servers.here, 0, 8, "whole")
    await servers.here.runs.scorer.drained()
    assert await servers.scores() == await servers.scores("whole")
    assert all(await servers.scores())


async def test_many_servers_add_to_one_run_at_the_same_time(servers: Servers) -> None:
    """What both are sent is stored once, and the counts are right."""
    await asyncio.gather(*(servers.start(engine) for engine in servers.both))

    async def report(engine: Engine, first: int) -> None:
        for index in range(first, 30, 3):
            await servers.report(engine, index, 2)

    await asyncio.gather(*(report(engine, first) for engine in servers.both for first in range(3)))
    run = await servers.here.runs.show(servers.who, "r")
    assert [one.step_index for one in run.steps] == list(range(31))
    assert run.step_count == 31


# -- what one should do one does ----------------------------------------------------------------------


async def test_a_chore_has_one_leader_and_another_when_it_is_gone(servers: Servers) -> None:
    """Of all servers one sweeps; when its connection ends, as that of a killed process does, the next one may."""
    here, there = (engine._news for engine in servers.both)
    assert [await news.leads("sweeping") for news in (here, there, here)] == [True, False, True]
    here._driver.terminate()  # type: ignore[attr-defined]
    async with asyncio.timeout(PATIENCE):
        while not await there.leads("sweeping"):  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0.01)
    await until(lambda: here.state() == "ok")
    assert not await here.leads("sweeping")


async def test_upkeep_is_done_by_its_leader_only(servers: Servers) -> None:
    """A server that does not lead leaves silent runs to the one that does, and looks after what is its own."""
    done: list[str] = []

    def upkeep(name: str, engine: Engine) -> Upkeep:
        async def chore(kind: str) -> None:
            done.append(f"{kind} of {name}")

        return Upkeep(
            engine._database,
            engine._transactions,
            stale_after=0.04,
            chores=[partial(chore, "own")],
            shared_chores=[partial(chore, "shared")],
            leads=lambda _: engine._news.leads("a chore of this test"),
        )

    assert await servers.there._news.leads("a chore of this test")
    both = [upkeep("here", servers.here), upkeep("there", servers.there)]
    for each in both:
        each.start()
    await until(lambda: done.count("own of here") > 2 and done.count("own of there") > 2)
    for each in both:
        await each.aclose()
    assert set(done) == {"own of here", "own of there", "shared of there"}


async def test_what_a_killed_server_did_not_score_another_does(
    servers: Servers, shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has to start anew for it; what was stored a moment ago is left to who stored it."""
    async with house_at(shared_url) as killed:
        await killed.start("r", servers.who)
        await killed.events(
            *({"type": "step", "run_id": "r", "step_index": n, **step(n)} for n in range(5)), principal=servers.who
        )
    await servers.there._pick_up_leftovers()
    await servers.there.runs.scorer.drained()
    assert await servers.scores() == [None] * 5
    monkeypatch.setattr(engine_module, "LEFT_ALONE_SECONDS", 0.0)
    await servers.there._pick_up_leftovers()
    await servers.there.runs.scorer.drained()
    assert all(await servers.scores())


async def test_servers_that_start_at_once_hand_out_one_first_key(postgres_url: str) -> None:
    """All but one find that there is one."""
    async with opened(postgres_url) as one, opened(postgres_url) as other:
        held = [Keys(store.database, store.transactions) for store in (one, other)]
        made = await asyncio.gather(*(held[number % 2].create_first("default") for number in range(6)))
        assert len([key for key in made if key is not None]) == 1
        assert len(await held[0].list()) == 1


@pytest.mark.slow
async def test_ten_servers_start_at_once_on_an_empty_database(cluster: Cluster) -> None:
    """Each finds the tables and the library, made once."""
    name = f"ten_{os.getpid()}"
    await asyncio.to_thread(cluster.create, name, "template0")
    try:
        async with AsyncExitStack() as stack:
            ten = await asyncio.gather(*(stack.enter_async_context(engine_at(cluster.url(name))) for _ in range(10)))
            counts = {len(engine._catalogue.view.patterns) for engine in ten}
            assert len(counts) == 1
            assert counts.pop() > 10
    finally:
        await asyncio.to_thread(cluster.drop, name)
