"""Several processes and several servers on one database: one port, one end, and nothing lost when one is killed."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import asyncpg
import httpx
import psutil
import pytest

from reasonblocks.errors import SettingsError
from reasonblocks.server.settings import ServerSettings
from reasonblocks.server.worker import packed, unpacked
from server.process import ServerProcess, running
from server.reporting import Reporter, check, told
from support.cluster import UNPRIVILEGED, Cluster, in_thread

KEY = "workers-admin-key"
HEADERS = {"authorization": f"Bearer {KEY}"}
URL = "postgresql+asyncpg://user:s3cret-word@host/database"
PATIENCE_SECONDS = 60.0


# -- what is needed for it ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "--database-url, a PostgreSQL server and --qdrant-url, a Qdrant cluster"),
        ({"database_url": URL}, "name --qdrant-url, a Qdrant cluster;"),
        ({"qdrant_url": "http://qdrant:6333"}, "name --database-url, a PostgreSQL server;"),
    ],
)
def test_several_workers_need_what_they_share(given: dict[str, str], missing: str) -> None:
    """The refusal names what is missing and what to do."""
    with pytest.raises(SettingsError, match=r"workers is 2.*or run one worker") as refusal:
        ServerSettings(workers=2, **given)  # type: ignore[arg-type]
    assert missing in str(refusal.value)


@pytest.mark.parametrize("workers", [0, -1, 1_001, True])
def test_number_of_workers_that_cannot_be_is_refused(workers: int) -> None:
    """The error says what is expected."""
    with pytest.raises(SettingsError, match=r"workers is .*expected a whole number from 1 to 1000"):
        ServerSettings(workers=workers)


def test_worker_gets_the_settings_of_its_supervisor(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, by the pipe; none is read from the environment again."""
    monkeypatch.setenv("REASONBLOCKS_KEYS", "first-static-key,second")
    settings = ServerSettings.from_environment(
        workers=3, database_url=URL, qdrant_url=":memory:", port=0, cors_origins=("https://a.example",), data_dir="here"
    )
    monkeypatch.delenv("REASONBLOCKS_KEYS")
    read = unpacked(packed(settings))
    assert [key.reveal() for key in read.keys] == ["first-static-key", "second"]
    for name in ServerSettings.__dataclass_fields__:
        if name != "keys":
            assert getattr(read, name) == getattr(settings, name), name


# -- one server, two workers --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def database(cluster: Cluster) -> Iterator[str]:
    """A database for the servers of this file."""
    name = "workers"
    cluster.create(name)
    yield cluster.url(name)
    cluster.drop(name)


def environment(database: str, workers: int) -> dict[str, str]:
    """The variables of a server on it."""
    shared = {"WORKERS": str(workers), "QDRANT_URL": ":memory:"} if workers > 1 else {}
    return {"DATABASE_URL": database, "KEYS": KEY, "ANONYMOUS_BURST": "100000", **shared}


def workers_of(server: ServerProcess) -> list[psutil.Process]:
    """Its processes but for the supervisor; itself if it has none."""
    itself = psutil.Process(server.process_id)
    return itself.children() or [itself]


def eventually(good: Any, what: str) -> None:
    """Wait for what a server does in its own time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not good():
        assert time.monotonic() < deadline, f"it did not come about that {what}"
        time.sleep(0.05)


@pytest.mark.slow
def test_killed_worker_is_replaced_and_all_end_in_order(database: str) -> None:
    """The port is served meanwhile, nobody's connection waits in vain, and the end loses nothing acknowledged."""
    with running(":memory:", **environment(database, 2)) as server:
        assert server.url.startswith("http://127.0.0.1:")
        first, second = workers_of(server)
        first.kill()
        eventually(lambda: not first.is_running() or first.status() == psutil.STATUS_ZOMBIE, "it is dead")
        assert [httpx.get(f"{server.url}/v1/health").status_code for _ in range(20)] == [200] * 20
        eventually(lambda: len([line for line in server.log if line["event"] == "worker ready"]) == 3, "it is replaced")
        assert len(workers_of(server)) == 2
        assert second in workers_of(server)
        assert [line["code"] for line in server.log if line["event"] == "worker ended"] == [-signal.SIGKILL]
        left = workers_of(server)
        answer = httpx.post(f"{server.url}/v1/monitor/runs", json={"run_id": "kept"}, headers=HEADERS)
        assert answer.status_code == 201
        assert server.stop() == 0
        assert not [worker for worker in left if worker.is_running()]
    assert [line["event"] for line in server.log].count("stopped") == 1
    assert not [line for line in server.log if line["level"] == "error"]


@pytest.mark.slow
def test_workers_end_with_a_supervisor_that_is_killed(database: str) -> None:
    """Nobody is left behind who would keep the port."""
    with running(":memory:", **environment(database, 2)) as server:
        assert server.url.startswith("http://127.0.0.1:")
        left = workers_of(server)
        server.signal(signal.SIGKILL)
        eventually(lambda: not [worker for worker in left if worker.is_running()], "the workers are gone")


@pytest.mark.slow
def test_worker_that_cannot_start_ends_the_server(database: str) -> None:
    """Once, with what is wrong; it is not tried for ever."""
    with running(":memory:", EMBEDDINGS="nowhere:nothing", **environment(database, 2)) as server:
        assert server.wait() != 0
    said = "\n".join(server.said)
    assert "nowhere" in said
    assert "before it was ready" in said


# -- two servers --------------------------------------------------------------------------------------


class Front:
    """Reporters at two servers, of which one is going to be killed."""

    def __init__(self, servers: list[ServerProcess], writers: int) -> None:
        self.urls = [server.url for server in servers]
        self.reporters = [Reporter(f"writer-{number}", number, single=number % 2 == 0) for number in range(writers)]
        self.cut_short = 0
        self.stop = threading.Event()

    def report(self, reporter: Reporter, place: int) -> None:
        """Report until told to stop; whoever gets no answer sends the same again, here or there."""
        while not self.stop.is_set():
            with httpx.Client(base_url=self.urls[place], headers=HEADERS, timeout=PATIENCE_SECONDS) as client:
                try:
                    while not self.stop.is_set():
                        reporter.go_on(client)
                except httpx.TransportError:
                    self.cut_short += 1
                    place = 1 - place

    def acknowledged(self) -> int:
        """How many requests were answered."""
        return sum(reporter.requests for reporter in self.reporters)


@pytest.mark.parametrize(
    ("workers", "writers", "seconds"), [(1, 4, 1.0), pytest.param(4, 16, 4.0, marks=pytest.mark.slow)]
)
def test_of_two_servers_one_is_killed(cluster: Cluster, workers: int, writers: int, seconds: float) -> None:
    """Nothing that either acknowledged is lost, nothing is there twice, and the other serves on."""
    name = f"siege_{workers}"
    cluster.create(name)
    with ExitStack() as stack:
        stack.callback(cluster.drop, name)
        servers = [
            stack.enter_context(running(":memory:", **environment(cluster.url(name), workers))) for _ in range(2)
        ]
        front = Front(servers, writers)
        with ThreadPoolExecutor(writers) as threads:
            reports = [threads.submit(front.report, one, number % 2) for number, one in enumerate(front.reporters)]
            time.sleep(seconds)
            if workers > 1:  # one process of it first, which is replaced
                workers_of(servers[1])[0].kill()
                time.sleep(seconds)
            for process in (*workers_of(servers[1]), psutil.Process(servers[1].process_id)):
                process.kill()
            before = front.acknowledged()
            eventually(lambda: front.acknowledged() >= before + 10 * writers, "the other serves on")
            front.stop.set()
            for report in reports:
                report.result(PATIENCE_SECONDS)
        assert front.cut_short >= writers // 2
        with httpx.Client(base_url=front.urls[0], headers=HEADERS, timeout=PATIENCE_SECONDS) as client:
            for reporter in front.reporters:
                check(client, reporter)
                if reporter.pending:
                    reporter.send(client)
                assert check(client, reporter)
        runs = [run for one in front.reporters for run in told(one.acknowledged).values()]
        assert counted(cluster, name) == (len(runs), sum(len(run.steps) for run in runs))
        assert servers[0].stop() == 0


def counted(cluster: Cluster, name: str) -> tuple[int, int]:
    """Runs and steps, asked of the database itself."""
    found: list[tuple[int, int]] = []

    async def count() -> None:
        connection = await asyncpg.connect(
            host=str(cluster.folder), port=cluster.port, user=UNPRIVILEGED, database=name
        )
        row = await connection.fetchrow("SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM steps)")
        found.append(tuple(row))
        await connection.close()

    in_thread(lambda: asyncio.run(count()))
    return found[0]
