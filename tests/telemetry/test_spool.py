"""What cannot be delivered waits on disk, and nothing is lost: in outages, at exit, for the next process, when full."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent

from reasonblocks import ReasonBlocks
from reasonblocks.errors import SettingsError
from reasonblocks.runtime.contain import incidents
from reasonblocks.telemetry.parcel import weight_of
from reasonblocks.telemetry.spool.policy import SpoolPolicy
from support.agents import ScriptedModel, call, lookup, say
from support.standin import Fault, Standin
from telemetry.events import balanced, interleaved, run_events, timeline, until

OLD: tuple[str, ...] = ()
NEW = ("events", "incremental", "losses")
BROKEN = {
    "refuse": Fault(refuse=True),
    "reset": Fault(reset=True),
    "503": Fault(status=503),
    "429": Fault(status=429, retry_after=1),
    "garbage": Fault(garbage=True),
    "500": Fault(status=500),
}
SOON = SpoolPolicy(begin_after=0.2, adopt_every=0.2, fsync="never")

Connect = Callable[..., ReasonBlocks]


@pytest.fixture(autouse=True)
def no_incidents_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test sees its own causes as new ones."""
    monkeypatch.setattr(incidents, "counts", {})


@pytest.fixture(params=[OLD, NEW], ids=["old", "new"])
def server(request: pytest.FixtureRequest) -> Iterator[Standin]:
    """A server of either generation."""
    with Standin(capabilities=request.param) as standin:
        yield standin


@pytest.fixture
def new_server() -> Iterator[Standin]:
    """A server with everything."""
    with Standin(capabilities=NEW) as standin:
        yield standin


@pytest.fixture
def connect(tmp_path: Path) -> Iterator[Connect]:
    """Build clients with a spool in one place, closed when the test is over."""
    made: list[tuple[ReasonBlocks, Standin]] = []

    def make(standin: Standin, **settings: Any) -> ReasonBlocks:
        settings = {"base_url": standin.url, "spool_dir": tmp_path / "spool", "spool": SOON} | settings
        made.append((ReasonBlocks(standin.key, **settings), standin))
        return made[-1][0]

    yield make
    for rb, standin in made:
        with contextlib.suppress(RuntimeError):
            standin.clear_faults()
            standin.accept()
        rb.close()


def known(rb: ReasonBlocks, standin: Standin) -> None:
    """Deliver one run, so that the client knows what the server can do."""
    post(rb, "known", 0)
    rb.close()
    standin.wait_for(lambda: rb._backend.capabilities is not None)
    rb.close()


def post(rb: ReasonBlocks, run_id: str, steps: int, size: int = 20) -> int:
    """Post a run; how many events that were."""
    events = run_events(run_id, steps, size)
    for event in events:
        rb._stream.post(event)
    return len(events)


def die(rb: ReasonBlocks) -> None:
    """End a client as if its process had died: nothing is drained, its files are there and nobody holds them."""
    rb._stream.close()
    rb._stream.forget()


def spooled(where: Path) -> bytes:
    """All that lies in a spool."""
    return b"".join(path.read_bytes() for path in where.rglob("*.events"))


def arrived(standin: Standin, run_id: str) -> list[str]:
    """What arrived of a run, repetitions aside."""
    return list(dict.fromkeys(standin.runs[run_id].timeline))


# -- outages -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", BROKEN)
def test_c34_an_outage_goes_to_disk_and_comes_back_in_order(server: Standin, connect: Connect, fault: str) -> None:
    """Events of an outage are on disk after a moment, and delivered in order within 5 s of the server's return."""
    rb = connect(server)
    known(rb, server)
    server.fault("*", BROKEN[fault])
    posted = sum(post(rb, f"before-{number}", 5) for number in range(10))
    until(rb, lambda stats: stats["spooled"]["now"] == posted)
    posted += sum(post(rb, f"after-{number}", 5) for number in range(10))
    until(rb, lambda stats: stats["spooled"]["now"] == posted)
    server.clear_faults()
    server.accept()
    back = time.monotonic()
    stats = until(rb, lambda stats: not stats["waiting"])
    assert time.monotonic() - back < 5.0
    assert (stats["sent"], stats["replayed"], stats["dropped"], stats["set_aside"]) == (posted + 2, posted, {}, 0)
    for number in range(10):
        assert arrived(server, f"before-{number}") == timeline(5)
        assert arrived(server, f"after-{number}") == timeline(5)
    assert server.violations == []


def test_c34_after_an_outage_events_go_directly_again_and_the_files_are_gone(
    new_server: Standin, connect: Connect, tmp_path: Path
) -> None:
    """Once the spool is empty nothing is written to disk any more, and no file is left."""
    rb = connect(new_server)
    new_server.refuse()
    post(rb, "a", 3)
    until(rb, lambda stats: stats["spooled"]["now"] == 5)
    new_server.accept()
    until(rb, lambda stats: not stats["waiting"] and not stats["spooled"]["now"])
    until(rb, lambda stats: not [path for path in (tmp_path / "spool").rglob("*") if path.is_file()])
    post(rb, "b", 3)
    rb.close()
    assert rb.stats()["spooled"] == {"now": 0, "ever": 5}
    assert [path for path in (tmp_path / "spool").rglob("*") if path.is_file()] == []
    assert new_server.runs["b"].timeline == timeline(3)


def test_c34_newer_events_go_behind_those_on_disk(new_server: Standin, connect: Connect) -> None:
    """A run that goes on while its beginning is being replayed still arrives in order."""
    rb = connect(new_server)
    new_server.refuse()
    events = run_events("long", 400)
    for event in events[:200]:
        rb._stream.post(event)
    until(rb, lambda stats: stats["spooled"]["now"] == 200)
    new_server.fault("events", Fault(latency=0.05))
    new_server.accept()
    for event in events[200:]:
        rb._stream.post(event)
        time.sleep(0.001)
    until(rb, lambda stats: not stats["waiting"])
    assert arrived(new_server, "long") == timeline(400)


def test_c34_a_mailbox_that_is_half_full_spills_to_disk(new_server: Standin, connect: Connect) -> None:
    """A server that is too slow for what comes is not waited for: nothing is dropped, and all arrives in order."""
    rb = connect(new_server, spool=SpoolPolicy(begin_after=60.0, fsync="never"))
    known(rb, new_server)
    new_server.fault("events", Fault(latency=3.0, times=1))
    events = run_events("a", 9_000, size=100)
    for number, event in enumerate(events):
        rb._stream.post(event)
        if number % 20 == 0:
            time.sleep(0.001)
    until(rb, lambda stats: stats["spooled"]["ever"] > 1_000, 2.5)
    stats = until(rb, lambda stats: not stats["waiting"], 30.0)
    assert (stats["sent"], stats["dropped"]) == (len(events) + 2, {})
    assert arrived(new_server, "a") == timeline(9_000)


def test_c34_what_is_redacted_is_not_on_disk(new_server: Standin, connect: Connect, tmp_path: Path) -> None:
    """`redact` runs before anything is written."""

    def redact(event: dict[str, Any]) -> dict[str, Any]:
        return event | {name: text.replace("SECRET", "***") for name, text in event.items() if isinstance(text, str)}

    rb = connect(new_server, redact=redact, step_timeout=0.1)
    new_server.refuse()
    model = ScriptedModel([say("SECRET thought", call("lookup", key="SECRET key")), "done SECRET"])
    agent = create_agent(model, [lookup], middleware=[rb.middleware(run_id="a", task="SECRET task")])
    agent.invoke({"messages": [("user", "SECRET question")]})
    until(rb, lambda stats: stats["spooled"]["now"] == stats["enqueued"] == 4)
    on_disk = spooled(tmp_path)
    assert b"SECRET" not in on_disk
    assert b"*** thought" in on_disk


# -- ends and next ones --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_c41_close_leaves_on_disk_what_it_could_not_deliver(server: Standin, connect: Connect, tmp_path: Path) -> None:
    """After `close()` with the server away everything is on disk, and the same client delivers it later."""
    rb = connect(server, spool=SpoolPolicy(begin_after=60.0))
    server.refuse()
    post(rb, "a", 3)
    began = time.monotonic()
    rb.close()
    assert 4.0 < time.monotonic() - began < 8.0
    assert rb.stats()["spooled"] == {"now": 5, "ever": 5}
    assert spooled(tmp_path).count(b"step_index") == 3
    server.accept()
    post(rb, "b", 1)
    rb.close()
    assert (arrived(server, "a"), arrived(server, "b")) == (timeline(3), timeline(1))
    assert rb.stats()["waiting"] == 0


def test_c41_another_client_delivers_what_a_dead_one_left(server: Standin, connect: Connect) -> None:
    """What nobody holds any more is adopted, delivered once and in order, beside the adopter's own events."""
    first = connect(server)
    server.refuse()
    post(first, "left", 50)
    until(first, lambda stats: stats["spooled"]["now"] == 52)
    die(first)
    server.accept()
    second = connect(server)
    post(second, "own", 3)
    until(second, lambda stats: stats["sent"] == 52 + 5)
    assert (arrived(server, "left"), arrived(server, "own")) == (timeline(50), timeline(3))
    stats = second.stats()
    assert (stats["replayed"], stats["enqueued"], stats["spooled"]["ever"]) == (52, 57, 0)


def test_c41_a_living_client_keeps_its_own(new_server: Standin, connect: Connect) -> None:
    """What another client of the same server has on disk, and still holds, is left to it."""
    first = connect(new_server)
    new_server.refuse()
    post(first, "held", 3)
    until(first, lambda stats: stats["spooled"]["now"] == 5)
    first._stream.close()
    new_server.accept()
    second = connect(new_server)
    post(second, "own", 1)
    until(second, lambda stats: stats["sent"] == 3)
    time.sleep(0.6)
    assert "held" not in new_server.runs
    assert second.stats()["replayed"] == 0


def test_c25_events_for_another_key_are_not_delivered_with_ours(new_server: Standin, connect: Connect) -> None:
    """What lies on disk for one key is never sent with another."""
    new_server.refuse()
    first = connect(new_server)
    post(first, "theirs", 1)
    until(first, lambda stats: stats["spooled"]["now"] == 3)
    die(first)
    new_server.key = "rb_test_another"
    new_server.accept()
    second = connect(new_server)
    post(second, "ours", 1)
    until(second, lambda stats: stats["sent"] == 3)
    time.sleep(0.6)
    assert list(new_server.runs) == ["ours"]


# -- when it is full ---------------------------------------------------------------------------------------


def test_a_full_spool_gives_up_the_oldest_steps_and_says_so(new_server: Standin, connect: Connect) -> None:
    """Starts and ends are never dropped, the newest steps are kept, every loss is counted and told to the server."""
    rb = connect(new_server, spool=SpoolPolicy(max_bytes=200_000, begin_after=0.2, fsync="never"))
    known(rb, new_server)
    new_server.refuse()
    posted = 2
    for number in range(40):
        posted += post(rb, f"run-{number}", 10, size=1_500)
        until(rb, lambda stats: not stats["enqueued"] - sum(stats["dropped"].values()) - stats["spooled"]["now"] - 2)
    stats = rb.stats()
    lost = stats["dropped"]["spool full"]
    assert 200 < lost < 400
    assert list(stats["dropped"]) == ["spool full"]
    assert stats["enqueued"] == posted
    new_server.accept()
    until(rb, lambda stats: not stats["waiting"])
    rb.close()
    runs = [new_server.runs[f"run-{number}"] for number in range(40)]
    assert all(run.start is not None and run.finishes == ["success"] for run in runs)
    assert sum(run.lost_steps for run in runs) == lost
    assert [len(run.steps) + run.lost_steps for run in runs] == [10] * 40
    assert runs[-1].lost_steps == 0
    assert new_server.violations == []


def test_an_old_server_is_not_told_of_losses(connect: Connect) -> None:
    """A server that does not list `losses` never gets such an event."""
    with Standin(capabilities=("events",)) as standin:
        rb = connect(standin, spool=SpoolPolicy(max_bytes=100_000, begin_after=0.1, fsync="never"))
        known(rb, standin)
        standin.refuse()
        for number in range(20):
            post(rb, f"run-{number}", 10, size=1_500)
        until(rb, lambda stats: stats["dropped"].get("spool full", 0) > 50)
        standin.accept()
        until(rb, lambda stats: not stats["waiting"])
        assert standin.violations == []


def test_without_a_spool_the_mailbox_is_bounded_by_bytes(new_server: Standin, connect: Connect) -> None:
    """Large events are dropped at the bound, oldest steps first, and the server hears how many."""
    rb = connect(new_server, spool_dir=False)
    known(rb, new_server)
    new_server.refuse()
    posted = post(rb, "a", 600, size=60_000) + 2
    stats = until(rb, lambda stats: stats["dropped"])
    assert rb._stream.mailbox.bytes <= 20_000_000
    assert rb._stream._spool is None
    new_server.accept()
    stats = until(rb, lambda stats: not stats["waiting"])
    assert stats["enqueued"] == posted
    new_server.wait_for(lambda: new_server.runs["a"].lost_steps == stats["dropped"]["mailbox full"])
    assert new_server.runs["a"].finishes == ["success"]
    assert 599 in new_server.runs["a"].steps


@pytest.mark.parametrize(
    ("event", "least", "most"),
    [
        ({"type": "step", "thought": "x" * 50_000}, 50_000, 60_000),
        ({"type": "step", "thought": None, "observation": 5, "intervention_texts": 7}, 1_000, 6_000),
        ({"type": "step", "intervention_texts": ["x" * 9_000, 3]}, 9_000, 15_000),
        ({"type": "step"} | {f"field {n}": "x" * 1_000 for n in range(50)}, 50_000, 60_000),
        ({"type": "run_start", "metadata": {"deep": [{"text": "x" * 70_000}]}}, 70_000, 75_000),
    ],
    ids=["long", "odd", "guidance", "many fields", "metadata"],
)
def test_the_weight_of_an_event_is_that_of_its_texts(event: dict[str, Any], least: int, most: int) -> None:
    """Estimated, not encoded; whatever a caller's redaction made of it."""
    assert least < weight_of(event) < most


# -- when it cannot be used ----------------------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="this user may write everywhere")
def test_a_directory_that_cannot_be_written_is_one_incident(
    new_server: Standin, connect: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The stream goes on in memory, with one line in the log."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    _goes_on_in_memory(new_server, connect(new_server, spool_dir=closed), caplog)


def test_a_directory_that_is_a_file_is_one_incident(
    new_server: Standin, connect: Connect, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The stream goes on in memory, with one line in the log."""
    (tmp_path / "file").write_text("in the way")
    _goes_on_in_memory(new_server, connect(new_server, spool_dir=tmp_path / "file"), caplog)


def _goes_on_in_memory(server: Standin, rb: ReasonBlocks, caplog: pytest.LogCaptureFixture) -> None:
    server.refuse()
    post(rb, "a", 3)
    deadline = time.monotonic() + 10.0
    while not any("spool" in record.getMessage() for record in caplog.records):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    stats = rb.stats()
    assert (stats["waiting"], stats["spooled"]["ever"]) == (5, 0)
    server.accept()
    until(rb, lambda stats: not stats["waiting"])
    assert arrived(server, "a") == timeline(3)
    assert sum("spool" in record.getMessage() for record in caplog.records) == 1


def test_damage_on_disk_costs_only_what_is_damaged(new_server: Standin, connect: Connect, tmp_path: Path) -> None:
    """A record that cannot be read is counted, or was in memory already and arrives; those around it arrive."""
    rb = connect(new_server)
    new_server.refuse()
    post(rb, "first", 0)
    until(rb, lambda stats: stats["spooled"]["now"] == 2)
    post(rb, "a", 5)
    until(rb, lambda stats: stats["spooled"]["now"] == 9)
    (path,) = (tmp_path / "spool").rglob("*.events")
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"a/2 xxx', b'"a/2 xyx'))
    new_server.accept()
    stats = until(rb, lambda stats: not stats["waiting"])
    lost = "step 2" not in arrived(new_server, "a")
    assert stats["dropped"] == ({"damaged on disk": 1} if lost else {})
    assert arrived(new_server, "a") == [entry for entry in timeline(5) if entry != "step 2" or not lost]


# -- one event that a server cannot take ---------------------------------------------------------------------


@pytest.mark.parametrize("position", [0, 1, 7], ids=["the start", "a step", "the end"])
def test_c41_an_event_that_always_fails_is_set_aside(server: Standin, connect: Connect, position: int) -> None:
    """A server that answers 500 to one event and takes others is rid of it after some tries; the rest arrives."""
    rb = connect(server)
    known(rb, server)
    poison = run_events("bad", 6)[position]

    def holds_poison(request: Any) -> bool:
        if "events" in request.body:
            return any(_same(event, poison) for event in request.body["events"])
        return _same({"run_id": request.run_id, **request.body}, poison)

    for route in ("events", "run_start", "step", "run_finish"):
        server.fault(route, Fault(status=500, when=holds_poison))
    for event in interleaved({"bad": run_events("bad", 6), "good": run_events("good", 6)}):
        rb._stream.post(event)
    until(rb, lambda stats: stats["retried"] > 1)
    later = 0
    while not rb.stats()["set_aside"]:  # a server that has nothing else to take cannot be told from one that is away
        post(rb, f"later/{later}", 1)
        later += 1
        assert later < 300
        time.sleep(0.1)
    stats = until(rb, lambda stats: not stats["waiting"], 30.0)
    assert (stats["set_aside"], stats["dropped"]) == (1, {})
    assert all(arrived(server, f"later/{number}") == timeline(1) for number in range(later))
    assert arrived(server, "good") == timeline(6)
    assert arrived(server, "bad") == timeline(6)[:position] + timeline(6)[position + 1 :]
    assert any("set aside" in cause for cause in incidents.counts)


def _same(event: dict[str, Any], other: dict[str, Any]) -> bool:
    kind = "step" if "step_index" in event else "run_finish" if "outcome" in event else "run_start"
    return (event.get("run_id"), kind, event.get("step_index")) == (
        other["run_id"],
        other["type"],
        other.get("step_index"),
    )


def test_c41_a_server_that_often_fails_over_any_event_loses_none(server: Standin, connect: Connect) -> None:
    """Where two of five attempts fail many events fail time and again, and nothing is wrong with them."""
    rb = connect(server)
    known(rb, server)
    chance = random.Random(3)
    for route in ("events", "run_start", "step", "run_finish"):
        server.fault(route, Fault(status=500, when=lambda _request: chance.random() < 0.4))
    runs = [f"run/{number}" for number in range(30)]
    for event in interleaved({run_id: run_events(run_id, 6) for run_id in runs}):
        rb._stream.post(event)
    stats = until(rb, lambda stats: not stats["waiting"], 60.0)
    assert (stats["set_aside"], stats["dropped"]) == (0, {})
    assert all(arrived(server, run_id) == timeline(6) for run_id in runs)


def test_c41_in_an_outage_nothing_is_set_aside(server: Standin, connect: Connect) -> None:
    """A server that fails over everything, for many tries, loses no event."""
    rb = connect(server)
    known(rb, server)
    server.fault("*", Fault(status=500))
    posted = post(rb, "a", 3) + post(rb, "b", 3) + 2
    until(rb, lambda stats: stats["retried"] >= 5, 30.0)
    assert rb.stats()["set_aside"] == 0
    server.clear_faults()
    stats = until(rb, lambda stats: not stats["waiting"])
    assert (stats["sent"], stats["set_aside"]) == (posted, 0)
    assert (arrived(server, "a"), arrived(server, "b")) == (timeline(3), timeline(3))


# -- settings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"spool_dir": 5}, "spool_dir is 5"),
        ({"spool_dir": True}, "spool_dir is True"),
        ({"spool": "always"}, "expected a SpoolPolicy"),
    ],
)
def test_wrong_settings_name_themselves(standin: Standin, settings: dict[str, Any], message: str) -> None:
    """The error says which setting, its value, and what was expected."""
    with pytest.raises(SettingsError, match=message):
        ReasonBlocks(standin.key, base_url=standin.url, **settings)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"max_bytes": 5}, "max_bytes is 5"),
        ({"max_bytes": True}, "max_bytes is True"),
        ({"fsync": "sometimes"}, "'sometimes'; expected one of always, batch, never"),
        ({"begin_after": 0}, "begin_after is 0"),
        ({"adopt_every": float("inf")}, "adopt_every is inf"),
    ],
)
def test_a_wrong_policy_names_itself(fields: dict[str, Any], message: str) -> None:
    """A policy that cannot work is refused where it is made."""
    with pytest.raises(SettingsError, match=message):
        SpoolPolicy(**fields)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("MAX_MB", "lots", "SPOOL_MAX_MB is 'lots'"),
        ("MAX_MB", "0", "SPOOL_MAX_MB is '0'"),
        ("FSYNC", "x", "fsync is 'x'"),
    ],
)
def test_wrong_variables_name_themselves(
    standin: Standin, monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    """The same for the environment."""
    monkeypatch.setenv(f"REASONBLOCKS_SPOOL_{name}", value)
    with pytest.raises(SettingsError, match=message):
        ReasonBlocks(standin.key, base_url=standin.url)


def test_the_environment_sets_the_spool(standin: Standin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Directory, size and fsync may come from variables; `off` is none."""
    monkeypatch.setenv("REASONBLOCKS_SPOOL_DIR", str(tmp_path / "mine"))
    monkeypatch.setenv("REASONBLOCKS_SPOOL_MAX_MB", "2.5")
    monkeypatch.setenv("REASONBLOCKS_SPOOL_FSYNC", "Always")
    spool = ReasonBlocks(standin.key, base_url=standin.url)._stream._spool
    assert spool is not None
    assert (spool.policy.max_bytes, spool.policy.fsync) == (2_500_000, "always")
    assert spool._directory.parent == tmp_path / "mine"
    monkeypatch.setenv("REASONBLOCKS_SPOOL_DIR", "off")
    assert ReasonBlocks(standin.key, base_url=standin.url)._stream._spool is None


@pytest.mark.slow
def test_an_engine_in_memory_has_no_spool() -> None:
    """What is kept nowhere is not spooled either."""
    with ReasonBlocks(data_dir=":memory:") as rb:
        assert rb._stream._spool is None
        assert balanced(rb.stats())
