"""A server that is killed while it takes in what agents report, again and again: nothing it acknowledged is lost."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from server.process import ServerProcess, running
from server.reporting import Reporter, check, told

KEY = "kill-admin-key"
PATIENCE_SECONDS = 60.0
REST_SECONDS = 1.5
TOPICS = (
    "the parser of invoices rejects empty lines",
    "the night build runs out of disk space",
    "a customer sees the basket of another one",
    "the queue of outgoing mails never gets shorter",
    "the map tiles are loaded twice on slow phones",
    "time stamps are an hour off in the summer",
    "the search box forgets what was typed",
    "a backup cannot be restored on another host",
)


# -- what happens to the files of an index ---------------------------------------------------------


def cut_off(file: Path, chance: random.Random) -> None:
    """The end of a file is missing."""
    content = file.read_bytes()
    file.write_bytes(content[: chance.randrange(len(content) or 1)])


def overwrite(file: Path, chance: random.Random) -> None:
    """Something else is in the middle of a file."""
    content = bytearray(file.read_bytes())
    start = chance.randrange(len(content) or 1)
    content[start : start + 64] = chance.randbytes(64)
    file.write_bytes(content)


def remove(file: Path, _: random.Random) -> None:
    """A file is gone."""
    file.unlink()


def tear(index: Path, chance: random.Random) -> str:
    """Damage an index as a disk or a person might; says how."""
    files = sorted(path for path in index.rglob("*") if path.is_file() and path.suffix != ".lock")
    if not files or chance.random() < 0.2:
        shutil.rmtree(index, ignore_errors=True)
        return "no index at all"
    damage = chance.choice([cut_off, overwrite, remove])
    torn = chance.sample(files, chance.randint(1, min(3, len(files))))
    for file in torn:
        damage(file, chance)
    return f"{damage.__name__} {', '.join(str(file.relative_to(index)) for file in torn)}"


# -- the story -------------------------------------------------------------------------------------


class Siege:
    """Reporters and their server, over the ends of many processes."""

    def __init__(self, data_dir: Path, seed: int) -> None:
        self.data_dir = data_dir
        self.chance = random.Random(seed)
        self.reporters = [Reporter(name, self.chance.randrange(2**32), single=single) for name, single in REPORTERS]
        self.patterns: dict[str, str] = {}
        """What was acknowledged, by id: the situation by which each is found."""
        self.damages: list[str] = []
        self.cut_short = 0
        """Requests that were under way when the server was killed."""

    @contextmanager
    def server(self) -> Iterator[tuple[ServerProcess, httpx.Client]]:
        """A server on the directory, and a client of it."""
        with running(self.data_dir, KEYS=KEY) as server:
            headers = {"authorization": f"Bearer {KEY}"}
            with httpx.Client(base_url=server.url, headers=headers, timeout=PATIENCE_SECONDS) as client:
                yield server, client

    def round(self, number: int) -> None:
        """Check what the last end left, report, and kill at some moment."""
        with self.server() as (server, client):
            self.check(client)
            stop = threading.Event()
            threads = [threading.Thread(target=one.report, args=(client, stop)) for one in self.reporters]
            for thread in threads:
                thread.start()
            try:
                time.sleep(self.chance.uniform(0, 0.3))
                self.add_pattern(client)
                if number % 3 == 1:
                    until(self.is_vouched_for, "the files of the index are vouched for")
                time.sleep(self.chance.uniform(0, 0.5))
                server.signal(signal.SIGKILL)
            finally:
                stop.set()
                for thread in threads:
                    thread.join(PATIENCE_SECONDS)
            assert server.wait() == -signal.SIGKILL
        self.cut_short += sum(1 for reporter in self.reporters if reporter.pending)
        if number % 6 == 5:
            self.kill_at_start()
        elif number:
            self.damages.append(tear(self.data_dir / "index", self.chance))

    def kill_at_start(self) -> None:
        """Kill a server that has only begun to pick up what the last one left."""
        with running(self.data_dir, KEYS=KEY) as server:
            time.sleep(self.chance.uniform(0.5, 2.5))
            server.signal(signal.SIGKILL)

    def add_pattern(self, client: httpx.Client) -> None:
        """One that has to be found from now on, whatever happens."""
        number = len(self.patterns)
        situation = f"Case {number}: {TOPICS[number % len(TOPICS)]}."
        fields = {"guidance": "Read the log.", "task_context_embedding_text": situation}
        answer = client.post("/v1/library/patterns", json={"tier": "e1", "fields": fields})
        assert answer.status_code == 201
        self.patterns[answer.json()["pattern_id"]] = situation

    def is_vouched_for(self) -> bool:
        """Whether the index would be believed after an end at this moment."""
        return (self.data_dir / "index" / "0" / "marker.json").exists()

    def check(self, client: httpx.Client, *, everything: bool = False) -> None:
        """What was acknowledged is there, once; what was not can be sent again, and is there once."""
        for reporter in self.reporters:
            fresh = reporter.acknowledged[0 if everything else reporter.checked :]
            run_ids = {event["run_id"] for event in [*fresh, *reporter.pending]}
            check(client, reporter, run_ids)
            if reporter.pending:
                reporter.send(client)
                assert check(client, reporter, run_ids)
            reporter.checked = len(reporter.acknowledged)
        until(lambda: client.get("/ready").status_code == 200, "the server is ready")
        for pattern_id, situation in self.patterns.items():
            until(lambda: pattern_id in retrieved(client, situation), f"{situation!r} is found")  # noqa: B023

    def finish(self) -> None:
        """Check everything once more, and that the steps get their scores: a start picks up some, the next one more."""
        with self.server() as (server, client):
            self.check(client, everything=True)
            scored = at_rest(lambda: summary(client)["scored_steps"])
            assert server.stop() == 0
        runs = [run for one in self.reporters for run in told(one.acknowledged).values()]
        steps = sum(len(run.steps) for run in runs)
        while scored < steps:
            with self.server() as (server, client):
                before, scored = scored, at_rest(lambda: summary(client)["scored_steps"])
                assert scored > before, f"{steps - scored} steps have no scores"
                assert server.stop() == 0
        with closing(sqlite3.connect(self.data_dir / "reasonblocks.db")) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
            counted = database.execute("SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM steps)").fetchone()
        assert counted == (len(runs), steps)


REPORTERS = (("batches-1", False), ("batches-2", False), ("steps-1", True), ("steps-2", True))


def retrieved(client: httpx.Client, situation: str) -> set[str]:
    """The patterns that are found in a situation."""
    answer = client.post("/v1/traces/retrieve", json={"context": situation, "tier": "e1", "top_k": 50})
    return {trace["pattern_id"] for trace in answer.json()["traces"]}


def summary(client: httpx.Client) -> dict[str, Any]:
    """What the server counts."""
    answer: dict[str, Any] = client.get("/v1/monitor/health-summary").json()
    return answer


def at_rest(count: Callable[[], int]) -> int:
    """A number that has stopped to grow."""
    number, since = count(), time.monotonic()
    while time.monotonic() < since + REST_SECONDS:
        time.sleep(0.05)
        if (now := count()) != number:
            number, since = now, time.monotonic()
    return number


def until(good: Callable[[], object], what: str) -> None:
    """Wait for something that the server does in its own time."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not good():
        assert time.monotonic() < deadline, f"it did not come about that {what}"
        time.sleep(0.05)


@pytest.mark.parametrize("rounds", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_a_killed_server_keeps_what_it_acknowledged(tmp_path: Path, rounds: int) -> None:
    """Every acknowledged step is there after the restart, none twice; a torn index is made anew."""
    siege = Siege(tmp_path / "data", seed=rounds)
    for number in range(rounds):
        siege.round(number)
    siege.finish()
    assert siege.cut_short, "the server was killed while nobody waited for it"
    assert all(one.requests >= 3 * rounds for one in siege.reporters), "hardly anything was reported"
    assert siege.damages
