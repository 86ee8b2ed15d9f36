"""Logs: one JSON object a line, written elsewhere, without a key in any of them."""

import contextlib
import io
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from reasonblocks.secret import Secret
from reasonblocks.server import logs
from reasonblocks.server.run import logging_to, warn_of_short_keys
from reasonblocks.server.settings import ServerSettings
from server.house import ADMIN_KEY, House


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    """What was written."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@contextlib.contextmanager
def logging_here(level: int) -> Iterator[io.StringIO]:
    """The same lines, written at once: a test that runs on an event loop cannot wait for a thread."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.JsonLines())
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(level)
    try:
        yield stream
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


async def test_a_request_is_one_line(house: House, acme: httpx.AsyncClient) -> None:
    """With the template of its path instead of the path, and whose key it was."""
    with logging_here(logging.INFO) as stream:
        await acme.get("/monitor/runs/no-such-run?org_id=x", headers={"x-request-id": "r1"})
    (line,) = [line for line in lines(stream) if line["event"] == "request"]
    key_id = (await acme.get("/v1/monitor/me")).json()["key_id"]
    assert line.pop("ms") >= 0
    assert line.pop("ts").endswith("+00:00")
    assert line == {
        "level": "info",
        "event": "request",
        "request_id": "r1",
        "method": "GET",
        "path": "/v1/monitor/runs/{run_id}",
        "status": 404,
        "org": "acme",
        "key_id": key_id,
    }


async def test_no_key_is_ever_logged(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not in a header, a path, a query, an id, a body that does not fit, nor in the trace of an error."""

    async def fail(*_: object) -> None:
        raise ValueError(f"cannot work with {house.acme_key} and {ADMIN_KEY}")

    with logging_here(logging.INFO) as stream, monkeypatch.context() as patch:
        for key in (house.acme_key, ADMIN_KEY, "rb_live_" + "x" * 55):
            async with house.client(key) as client:
                await client.get(f"/v1/{key}?key={key}", headers={"x-request-id": key})
                await client.get(f"/v1/monitor/runs/{key}")
                await client.post("/v1/monitors/evaluate", json={"steps": key})
                patch.setattr(house.engine.retriever, "retrieve", fail)
                await client.post("/v1/traces/retrieve", json={"context": key, "tier": "e1"})
        logging.getLogger("somebody.else").warning("connecting with %s", house.acme_key)
    written = stream.getvalue()
    assert len(lines(stream)) > 10
    for key in (house.acme_key, ADMIN_KEY, "rb_live_" + "x" * 55):
        assert key not in written


def test_what_others_log_is_json_as_well() -> None:
    """With the logger's name, and the trace of an error in one line."""
    stream = io.StringIO()
    with logging_to(stream, "info"):
        try:
            raise KeyError("lost")
        except KeyError:
            logging.getLogger("somebody.else").exception("it %s", "failed")
        logging.getLogger("somebody.else").debug("not asked for")
    (line,) = lines(stream)
    assert (line["level"], line["logger"], line["message"]) == ("error", "somebody.else", "it failed")
    assert "KeyError: 'lost'" in line["error"]


def test_a_field_that_is_no_json_is_shown_and_masked() -> None:
    """A log line never fails for what is in it."""

    class Odd:
        def __repr__(self) -> str:
            return "Odd(odd-secret-key)"

    Secret("odd-secret-key")
    stream = io.StringIO()
    with logging_to(stream, "info"):
        logs.note(logging.INFO, "odd", value=Odd(), number=1.5, nothing=None)
    (line,) = lines(stream)
    assert (line["value"], line["number"], line["nothing"]) == ("Odd(***)", 1.5, None)


def test_a_reader_that_is_gone_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that cannot be written are counted, and the count is told when writing works again."""

    class Broken(io.StringIO):
        broken = True

        def write(self, text: str) -> int:
            if self.broken:
                raise BrokenPipeError
            return super().write(text)

    monkeypatch.setattr(logs, "LINGER_SECONDS", 0.0)
    stream = Broken()
    with logging_to(stream, "info"):
        logs.note(logging.INFO, "lost")
        deadline = time.monotonic() + 5
        scribe = logging.getLogger().handlers[0]
        while not scribe._dropped and time.monotonic() < deadline:  # type: ignore[attr-defined]
            time.sleep(0.01)
        stream.broken = False
        logs.note(logging.INFO, "back")
    assert [line["event"] for line in lines(stream)] == ["back", "log lines lost"]
    assert lines(stream)[1]["count"] == 1


def test_the_queue_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that nobody can write fast enough loses lines, not memory."""
    monkeypatch.setattr(logs, "MOST_WAITING", 10)
    monkeypatch.setattr(logs, "LINGER_SECONDS", 0.2)
    stream = io.StringIO()
    with logging_to(stream, "info"):
        for number in range(100):
            logs.note(logging.INFO, "many", number=number)
    written = lines(stream)
    lost = sum(line.get("count", 0) for line in written)
    assert lost > 0
    assert len([line for line in written if line["event"] == "many"]) + lost == 100


def test_logging_is_as_before_afterwards() -> None:
    """A server that was run in a larger process leaves its logging alone."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level, logging.logThreads)
    with logging_to(io.StringIO(), "error"):
        assert root.handlers[:] != before[0]
    assert (root.handlers[:], root.level, logging.logThreads) == before


def test_a_record_that_cannot_be_formatted_costs_no_other_its_line() -> None:
    """It gets a line that says so, and the log goes on."""

    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no text")

    stream = io.StringIO()
    with logging_to(stream, "info"):
        logging.getLogger("other").warning("%d items", "many")
        logs.note(logging.INFO, "odd", value=Broken())
        logging.getLogger("other").warning("fine")
    first, second, third = lines(stream)
    assert (first["logger"], first["message"], first["unformatted"]) == ("other", "%d items", "TypeError")
    assert (second["message"], second["unformatted"]) == ("odd", "RuntimeError")
    assert third["message"] == "fine"


def test_half_a_character_is_replaced() -> None:
    """Wherever it stands; also on a stream that cannot write all characters."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    with logging_to(stream, "info"):
        logging.getLogger("other").warning("bad file \udce4.txt")
        logs.note(logging.INFO, "odd", value={"nested": ["\udce4"]})
        logging.getLogger("other").warning("fine ä")
    written = [json.loads(line) for line in raw.getvalue().splitlines()]
    assert [line.get("message") for line in written] == ["bad file ?.txt", None, "fine ?"]
    assert written[1]["value"] == {"nested": ["?"]}


def test_short_static_keys_are_warned_of_but_not_shown() -> None:
    """By their number; and a key of one letter does not make a log unreadable."""
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REASONBLOCKS_KEYS", "e,long-enough-to-be-a-key,qqqqzzzzqqqq")
        settings = ServerSettings.from_environment()
    with logging_to(stream, "info"):
        warn_of_short_keys(settings)
        logging.getLogger("other").warning("every letter is here")
    first, second, other = lines(stream)
    assert [(line["level"], line["event"], line["number"]) for line in (first, second)] == [
        ("warning", "short static key", 1),
        ("warning", "short static key", 3),
    ]
    assert other["message"] == "every letter is here"
    assert "qqqqzzzz" not in stream.getvalue()
