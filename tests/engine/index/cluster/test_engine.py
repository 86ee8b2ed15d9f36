"""An engine on a Qdrant by URL: through the official client, a socket and HTTP, as it is used."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiohttp import web
from click.testing import CliRunner

from reasonblocks.api.backend import Query
from reasonblocks.api.embedded import EmbeddedBackend
from reasonblocks.commands.root import reasonblocks
from reasonblocks.engine.engine import Engine
from reasonblocks.engine.index.cluster.settings import QdrantOptions
from reasonblocks.engine.index.thread import IndexFailure
from reasonblocks.engine.principal import LOCAL, Principal
from reasonblocks.engine.requests import FindingCreate, FindingSearch, PatternCreate, RetrieveRequest
from reasonblocks.engine.settings import EngineSettings
from reasonblocks.errors import SettingsError, Unavailable
from reasonblocks.secret import Secret
from reasonblocks.server.app import create_app
from reasonblocks.server.settings import ServerSettings
from support.clustered import ADMIN, in_the_end, until
from support.parts import PATIENCE, WordEmbeddings
from support.qdrant_front import Front, front

KEY = "a-key-for-qdrant-0123456789"
SITUATION = "pelican walnut tractor violin glacier"


@asynccontextmanager
async def engine_on(
    url: str, data_dir: Path | None, database_url: str | None = None, **options: Any
) -> AsyncIterator[Engine]:
    """A whole engine, with an embedder that is quick."""
    settings = EngineSettings(
        data_dir=data_dir,
        database_url=database_url,
        embeddings=WordEmbeddings(),
        qdrant_url=url,
        qdrant=QdrantOptions(**{"timeout": PATIENCE, **options}),
        static_keys=("static-admin-key",),
    )
    engine = await Engine.open(settings)
    try:
        yield engine
    finally:
        await engine.aclose()


async def add(engine: Engine, text: str = SITUATION) -> str:
    """A pattern in the library."""
    return (await engine.patterns.create(ADMIN, PatternCreate("e2", {"diagnosis": text}))).pattern_id


async def settle(engine: Engine) -> None:
    """Have everything in the cluster."""
    async with asyncio.timeout(PATIENCE):
        await engine._follower.refresh()
        await engine.index.settled()


async def look_up(engine: Engine, text: str = SITUATION) -> list[str]:
    """What a lookup brings."""
    return [trace.pattern_id for trace in (await engine.retriever.retrieve(LOCAL, RetrieveRequest(text, "e2"))).traces]


def sent(there: Front, method: str, end: str) -> list[Any]:
    """The bodies of requests to paths that end so."""
    return [body for its_method, path, body in there.seen if its_method == method and path.endswith(end)]


# -- by URL --------------------------------------------------------------------------------------------


async def test_everything_goes_through_the_official_client_with_the_key(tmp_path: Path) -> None:
    """Collections are made, filled, searched and counted over HTTP; findings too."""
    async with front(KEY) as there, engine_on(there.url, tmp_path, api_key=Secret(KEY)) as engine:
        name = await add(engine)
        await settle(engine)
        assert await look_up(engine) == [name]
        await engine.findings.create(ADMIN, "code", FindingCreate("the tests need a database"))
        found = await engine.findings.search(ADMIN, "code", FindingSearch("the tests need a database"))
        assert [one.content for one in found.results] == ["the tests need a database"]
        await engine.patterns.delete(ADMIN, "e2", name)
        await settle(engine)
        assert await look_up(engine) == []
        assert engine.health() == {"database": "ok", "index": "ok", "embedder": "ok"}


async def test_two_servers_on_one_database_share_an_index_that_one_of_them_keeps(postgres_url: str) -> None:
    """What either is told both find; who keeps the collection is decided by the database, and another goes on."""
    async with front() as there, engine_on(there.url, None, postgres_url) as second:
        async with engine_on(there.url, None, postgres_url) as first:
            one = await add(first)
            await in_the_end(lambda: look_up(second), [one])
            other = await add(second, "marble lantern orchid compass thimble")
            await in_the_end(lambda: look_up(first, "marble lantern orchid compass thimble"), [other])
            leaders = [await engine._news.leads("index") for engine in (first, second)]
            assert sorted(leaders) == [False, True]
            made = [path for method, path, _ in there.seen if method == "PUT" and path.count("/") == 2]
            assert len(made) == 1
        await second.patterns.delete(ADMIN, "e2", one)
        await in_the_end(lambda: look_up(second), [])


async def test_the_layout_is_the_documented_one(tmp_path: Path) -> None:
    """Tenants by scope, int8 with the whole vectors beside it, two copies; and what the options change."""
    async with front() as there, engine_on(there.url, tmp_path) as engine:
        await add(engine)
        await settle(engine)
        await look_up(engine)
        (made,) = sent(there, "PUT", record_name(engine))
        assert made["vectors"] == {"size": 1024, "distance": "Cosine", "on_disk": True}
        assert made["hnsw_config"] == {"m": 0, "payload_m": 16}
        assert made["quantization_config"] == {"scalar": {"type": "int8", "quantile": 0.99, "always_ram": True}}
        assert (made["replication_factor"], made["write_consistency_factor"]) == (2, 1)
        assert "shard_number" not in made
        indexes = {body["field_name"]: body["field_schema"] for body in sent(there, "PUT", "/index")}
        assert indexes.keys() == {"scope", "failure_type", "org", "kind"}
        assert indexes["scope"] == {"type": "keyword", "is_tenant": True}
        search = sent(there, "POST", "/query/batch")[-1]["searches"][0]
        assert search["params"]["quantization"] == {"rescore": True, "oversampling": 2.0}
        assert search["filter"]["must"] == [{"key": "scope", "match": {"value": '["e2"]'}}]
    plain = {"quantization": "none", "replicas": 3, "shards": 6, "prefix": "mine"}
    async with front() as there, engine_on(there.url, None, **plain) as engine:
        await settle(engine)
        (made,) = sent(there, "PUT", record_name(engine))
        assert made["vectors"] == {"size": 1024, "distance": "Cosine", "on_disk": False}
        assert made.get("quantization_config") is None
        assert (made["replication_factor"], made["shard_number"]) == (3, 6)
        assert record_name(engine).startswith("mine-WordEmbeddings-words-1024-")


def record_name(engine: Any) -> str:
    """The collection that is used."""
    return str(next(engine.index._desk.record.generations()).name)


@asynccontextmanager
async def served(engine: Engine) -> AsyncIterator[httpx.AsyncClient]:
    """A server around an engine, and a client with a key."""
    settings = ServerSettings(keys=(Secret("static-admin-key"),))
    app = create_app(settings, engine)
    async with (
        app.lifespan(),
        httpx.AsyncClient(
            transport=httpx.ASGITransport(app),
            base_url="http://rb-api.test/v1",
            headers={"authorization": "Bearer static-admin-key"},
        ) as client,
    ):
        yield client


async def test_an_outage_degrades_lookups_and_nothing_else(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """`ready` says so, lookups are 503 with a reason, edits and ingest go through; afterwards everything is there."""
    async with front(KEY) as there, engine_on(there.url, tmp_path, api_key=Secret(KEY)) as engine:
        before = await add(engine)
        await settle(engine)
        async with served(engine) as client:
            asked = {"context": SITUATION, "tier": "e2"}
            assert (await client.get("/ready")).status_code == 200
            assert len((await client.post("/traces/retrieve", json=asked)).json()["traces"]) == 1

            await there.stop()
            for _ in range(4):
                refused = await client.post("/traces/retrieve", json=asked)
                assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
                assert "lookups by meaning do not work" in refused.json()["detail"]
            ready = await client.get("/ready")
            assert (ready.status_code, ready.json()["index"]) == (503, "unavailable")
            assert "Qdrant at" in engine.health()["index"]
            body = {"tier": "e2", "fields": {"diagnosis": "written during the outage"}}
            assert (await client.post("/library/patterns", json=body)).status_code == 201
            event = {"type": "run_start", "run_id": "r1", "agent_name": "a"}
            assert (await client.post("/monitor/events", json={"events": [event]})).status_code in (200, 202)
            evaluated = await client.post("/monitors/evaluate", json={"steps": [{"thought": SITUATION}]})
            assert evaluated.status_code == 200
            assert (await client.post("/traces/retrieve", json={"context": "", "tier": "e3"})).status_code == 200

            await there.start()
            await until(lambda: engine.health()["index"] == "ok")
            await settle(engine)
            assert (await client.get("/ready")).status_code == 200
            assert await look_up(engine) == [before]
            assert len(await look_up(engine, "written during the outage")) == 1
    assert KEY not in caplog.text


async def refuse_all(_: web.Request) -> web.Response:
    """A proxy without a cluster behind it."""
    return web.Response(status=502, text="<html>bad gateway</html>")


async def garble_all(_: web.Request) -> web.Response:
    """Something that is no Qdrant."""
    return web.Response(text="hello", content_type="text/plain")


async def hold_all(_: web.Request) -> web.Response | None:
    """A cluster that is too busy to answer."""
    await asyncio.sleep(60)
    return None


@pytest.mark.parametrize("trouble", [refuse_all, garble_all, hold_all], ids=lambda trouble: trouble.__name__)
async def test_answers_that_are_none_are_an_outage_too(tmp_path: Path, trouble: Any) -> None:
    """Whatever comes back, lookups fail within their time limit, and all is well when it is over."""
    async with front() as there, engine_on(there.url, tmp_path, timeout=1.0) as engine:
        name = await add(engine)
        await settle(engine)
        there.trouble = trouble
        for _ in range(3):
            async with asyncio.timeout(5.0):
                with pytest.raises(IndexFailure, match=r"Qdrant at http://127\.0\.0\.1"):
                    await look_up(engine)
        assert engine.health()["index"] != "ok"
        there.trouble = None
        await until(lambda: engine.health()["index"] == "ok")
        assert await look_up(engine) == [name]


async def test_a_wrong_key_is_told_and_not_shown(tmp_path: Path) -> None:
    """The state says what the cluster said; the key is in nothing that is written."""
    wrong = Secret("a-wrong-key-for-qdrant-9876543210")
    async with front(KEY) as there, engine_on(there.url, tmp_path, api_key=wrong) as engine:
        await until(lambda: "401" in engine.health()["index"])
        assert wrong.reveal() not in engine.health()["index"]
        assert there.seen == []
    assert wrong.reveal() not in repr(QdrantOptions(api_key=wrong))


async def test_an_embedded_agent_is_told_why_there_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the variables, in process, from a loop of its own: the reason ends up in the step's errors."""
    async with front() as there:
        monkeypatch.setenv("REASONBLOCKS_QDRANT_URL", there.url)
        monkeypatch.setenv("REASONBLOCKS_QDRANT_TIMEOUT", "10")
        backend = await asyncio.to_thread(EmbeddedBackend, tmp_path)
        try:
            query = Query("e2", "I ran the command again and got exactly the same error", 2, "", "loop")
            await backend.retrieve(query)
            assert sent(there, "POST", "/query/batch")
            await there.stop()
            with pytest.raises(Unavailable, match="Qdrant at"):
                await backend.retrieve(query)
        finally:
            await backend.aclose()


@pytest.mark.slow
async def test_index_rebuild_works_for_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the address from the environment; each rebuild is a collection of its own."""
    async with front() as there:
        monkeypatch.setenv("REASONBLOCKS_QDRANT_URL", there.url)
        command = ["index", "rebuild", "--data-dir", str(tmp_path / "data")]
        for number in (2, 3):  # the first one, and one for each rebuild
            done = await asyncio.to_thread(CliRunner().invoke, reasonblocks, command)
            assert (done.exit_code, done.stderr) == (0, "")
            assert int(done.stdout.split()[0]) > 10
            made = {path for method, path, _ in there.seen if method == "PUT" and path.count("/") == 2}
            assert len(made) == number
        assert not (tmp_path / "data" / "index").exists()


# -- settings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("qdrant:6333", "expected an address such as"),
        ("ftp://qdrant", "expected an address such as"),
        ("http://", "expected an address such as"),
        ("http://host:notaport", "not a URL"),
        ("http://user:secret@host:6333", "REASONBLOCKS_QDRANT_API_KEY"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused(url: str, words: str) -> None:
    """With what was expected; a password in it is not repeated."""
    with pytest.raises(SettingsError, match=words) as refused:
        EngineSettings(qdrant_url=url)
    assert "secret" not in str(refused.value)


def test_options_come_from_the_environment_and_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each variable by its name; one that cannot work is refused with its value."""
    values = {"URL": "https://q.example:6333/", "API_KEY": KEY, "PREFIX": "mine", "REPLICAS": "3", "SHARDS": "4"}
    for name, value in {**values, "QUANTIZATION": "NONE", "TIMEOUT": "0.25"}.items():
        monkeypatch.setenv(f"REASONBLOCKS_QDRANT_{name}", value)
    settings = EngineSettings.from_environment(None)
    assert (
        settings.qdrant_url
        == ServerSettings.from_environment(data_dir=":memory:").engine().qdrant_url
        == "https://q.example:6333"
    )
    assert settings.qdrant.api_key is not None
    assert settings.qdrant.api_key.reveal() == KEY
    expected = QdrantOptions(prefix="mine", replicas=3, shards=4, quantization="none", timeout=0.25)
    assert dataclasses.replace(settings.qdrant, api_key=None) == expected
    assert KEY not in repr(settings)
    for name, value in (
        ("REPLICAS", "many"),
        ("SHARDS", "0"),
        ("QUANTIZATION", "int4"),
        ("TIMEOUT", "0"),
        ("PREFIX", "a/b"),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(f"REASONBLOCKS_QDRANT_{name}", value)
            with pytest.raises(SettingsError, match=rf"(?i){name} is '?{value}"):
                EngineSettings.from_environment(None)


async def test_a_client_that_is_not_installed_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is opened."""
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(SettingsError, match=r"run `pip install 'reasonblocks\[qdrant\]'`"):
        await Engine.open(EngineSettings(embeddings=WordEmbeddings(), qdrant_url="http://localhost:6333"))


@pytest.mark.slow
def test_without_a_cluster_its_client_is_not_imported() -> None:
    """Nobody pays for what is not used."""
    program = (
        "import sys, asyncio\n"
        "from reasonblocks.engine.engine import Engine\n"
        "from reasonblocks.engine.settings import EngineSettings\n"
        "async def story():\n"
        "    await (await Engine.open(EngineSettings())).aclose()\n"
        "asyncio.run(story())\n"
        "print([name for name in ('qdrant_client', 'grpc') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


async def test_the_imitation_in_memory_can_be_tried_out_and_leaves_the_loop_free(
    tmp_path: Path, no_threads_left: None
) -> None:
    """`:memory:` needs no cluster: it is filled at each start, and no thread stays."""
    for _ in range(2):
        async with engine_on(":memory:", tmp_path) as engine:
            name = await add(engine)
            await settle(engine)
            assert name in await look_up(engine)
            await engine.patterns.delete(ADMIN, "e2", name)


async def test_c25_the_cluster_is_never_asked_about_another_organisation(tmp_path: Path) -> None:
    """Every search names one scope, that of the caller; what it is called does not matter."""
    async with front() as there, engine_on(there.url, tmp_path) as engine:
        callers = [Principal(f"key {name}", name) for name in ("red", "blue", '"],["e1","red', "e2")]
        request = PatternCreate("e1", {"observation": "seen", "task_context_embedding_text": SITUATION})
        own = [(await engine.patterns.create(caller, request)).pattern_id for caller in callers]
        await settle(engine)
        for caller, name in zip(callers, own, strict=True):
            there.seen.clear()
            answer = await engine.retriever.retrieve(caller, RetrieveRequest(SITUATION, "e1", top_k=50))
            assert [trace.pattern_id for trace in answer.traces] == [name]
            for body in sent(there, "POST", "/query/batch"):
                for search in body["searches"]:
                    (condition,) = search["filter"]["must"]
                    assert condition["key"] == "scope"
                    assert json.loads(condition["match"]["value"]) == ["e1", caller.org_id]
