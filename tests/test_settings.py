"""Settings come from the constructor, then the environment; a wrong one says so, and the key stays secret."""

from __future__ import annotations

import copy
import io
import json
import logging
import math
import pickle
import traceback
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent

from reasonblocks import ReasonBlocks
from reasonblocks.api import ReasonBlocksAPI
from reasonblocks.errors import ReasonBlocksError, SettingsError, Unavailable
from reasonblocks.runtime.contain import incidents
from support.agents import ScriptedModel, lookup, script
from support.standin import EVERY_FAULT, Fault, Standin

QUESTION: Any = {"messages": [("user", "What is the value?")]}
KEY = "rb_live_s3cr3tS3cr3tS3cr3t"
ODD_KEY = "plain-static-key-0815"
URL = "https://rb-api.example.com"


@pytest.fixture(autouse=True)
def no_incidents_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test sees its own causes as new ones."""
    monkeypatch.setattr(incidents, "counts", {})


@pytest.fixture
def keyed() -> Iterator[Standin]:
    """A server whose key does not occur anywhere else."""
    with Standin(key=ODD_KEY) as standin:
        yield standin


def sent_by(rb: ReasonBlocks, steps: int = 1, **facts: Any) -> ScriptedModel:
    """Run one agent to its end and deliver everything."""
    model = ScriptedModel(script(steps))
    create_agent(model, [lookup], system_prompt="Base.", middleware=[rb.middleware(**facts)]).invoke(QUESTION)
    rb.close()
    return model


# -- where settings come from ----------------------------------------------------------------------------


def test_settings_come_from_the_environment(keyed: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Key and URL of the environment are used where the constructor names none."""
    monkeypatch.setenv("REASONBLOCKS_API_KEY", keyed.key)
    monkeypatch.setenv("REASONBLOCKS_BASE_URL", keyed.url)
    sent_by(ReasonBlocks())
    assert len(keyed.runs) == 1
    assert keyed.violations == []


def test_the_constructor_wins_over_the_environment(keyed: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """An argument is used although the environment says otherwise."""
    monkeypatch.setenv("REASONBLOCKS_API_KEY", "rb_test_wrong")
    monkeypatch.setenv("REASONBLOCKS_BASE_URL", "https://nowhere.invalid")
    monkeypatch.setenv("REASONBLOCKS_STEP_TIMEOUT", "not a number")
    monkeypatch.setenv("REASONBLOCKS_MONITORS_ENABLED", "not a switch")
    monkeypatch.setenv("REASONBLOCKS_CACHE_CONTROL", "sometimes")
    monkeypatch.setenv("REASONBLOCKS_TASK_PROFILE", "qa")
    rb = ReasonBlocks(
        keyed.key,
        base_url=keyed.url,
        step_timeout=5,
        monitors_enabled=True,
        cache_control="never",
        task_profile="pr_review",
    )
    sent_by(rb)
    (run,) = keyed.runs.values()
    assert run.start is not None
    assert run.start["task_profile"] == "pr_review"
    assert [body["task_profile"] for body in keyed.bodies("evaluate")] == ["pr_review"]


@pytest.mark.parametrize("off", ["0", "false", "no", "off", "FALSE", " Off "])
def test_every_switch_can_be_turned_off_by_the_environment(
    keyed: Standin, monkeypatch: pytest.MonkeyPatch, off: str
) -> None:
    """Monitors, E-traces and streaming are off when their variable says so, in any spelling."""
    for name in ("MONITORS_ENABLED", "E_TRACES_ENABLED", "LIVE_STREAMING_ENABLED"):
        monkeypatch.setenv(f"REASONBLOCKS_{name}", off)
    sent_by(ReasonBlocks(keyed.key, base_url=keyed.url))
    assert [request.route for request in keyed.requests] == []


@pytest.mark.parametrize(
    ("name", "route"),
    [("MONITORS_ENABLED", "evaluate"), ("E_TRACES_ENABLED", "retrieve"), ("LIVE_STREAMING_ENABLED", "run_start")],
)
def test_each_switch_of_the_environment_turns_off_its_own_part(
    keyed: Standin, monkeypatch: pytest.MonkeyPatch, name: str, route: str
) -> None:
    """A switch stops its own requests and no others."""
    monkeypatch.setenv(f"REASONBLOCKS_{name}", "0")
    sent_by(ReasonBlocks(keyed.key, base_url=keyed.url, step_timeout=5))
    others = {"evaluate", "retrieve", "run_start"} - {route}
    assert keyed.count(route) == 0
    assert all(keyed.count(other) for other in others)


def test_steer_off_by_the_environment_changes_no_request(keyed: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """`REASONBLOCKS_STEER=0` observes only."""
    monkeypatch.setenv("REASONBLOCKS_STEER", "0")
    model = sent_by(ReasonBlocks(keyed.key, base_url=keyed.url, step_timeout=5))
    assert model.systems == ["Base.", "Base."]
    assert keyed.count("retrieve")


def test_the_cache_policy_of_the_environment_is_used(keyed: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """`REASONBLOCKS_CACHE_CONTROL=never` sets no marker."""
    monkeypatch.setenv("REASONBLOCKS_CACHE_CONTROL", "never")
    model = sent_by(ReasonBlocks(keyed.key, base_url=keyed.url, step_timeout=5))
    assert "cache_control" not in json.dumps(model.systems)


def test_the_step_timeout_of_the_environment_is_used(keyed: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """`REASONBLOCKS_STEP_TIMEOUT` bounds a step."""
    monkeypatch.setenv("REASONBLOCKS_STEP_TIMEOUT", "0.1")
    keyed.fault("retrieve", Fault(latency=1.0))
    rb = ReasonBlocks(keyed.key, base_url=keyed.url)
    middleware = rb.middleware()
    create_agent(ScriptedModel(["done"]), [lookup], middleware=[middleware]).invoke(QUESTION)
    rb.close()
    assert any("0.1 s" in error for error in middleware.step_log[0].errors)


def test_blank_values_of_the_environment_count_as_unset(keyed: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty or blank variable is the same as none."""
    for name in ("STEP_TIMEOUT", "MONITORS_ENABLED", "CACHE_CONTROL", "TASK_PROFILE", "API_KEY", "BASE_URL"):
        monkeypatch.setenv(f"REASONBLOCKS_{name}", "  ")
    sent_by(ReasonBlocks(keyed.key, base_url=keyed.url))
    assert len(keyed.runs) == 1


def test_blanks_around_key_and_url_are_ignored(keyed: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line break behind a value, as from a file, does no harm."""
    monkeypatch.setenv("REASONBLOCKS_API_KEY", f" {keyed.key}\n")
    monkeypatch.setenv("REASONBLOCKS_BASE_URL", f" {keyed.url}/\n")
    sent_by(ReasonBlocks())
    assert keyed.violations == []
    assert len(keyed.runs) == 1


# -- addresses ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/", "//", "/v1//"])
def test_base_url_works_with_and_without_v1(keyed: Standin, ending: str) -> None:
    """However the URL ends, every request goes to `/v1/...` once."""
    sent_by(ReasonBlocks(keyed.key, base_url=keyed.url + ending, step_timeout=5))
    assert keyed.violations == []
    assert len(keyed.runs) == 1
    assert all(request.path.startswith("/v1/") for request in keyed.requests)
    assert not any("/v1/v1" in request.path or "//" in request.path for request in keyed.requests)


def test_base_url_keeps_its_own_path(keyed: Standin) -> None:
    """A gateway's path prefix stays in front of `/v1`."""
    rb = ReasonBlocks(keyed.key, base_url=f"{keyed.url}/gateway/rb/v1/", step_timeout=5)
    create_agent(ScriptedModel(["done"]), [lookup], middleware=[rb.middleware()]).invoke(QUESTION)
    rb.close()
    paths = {request.path for request in keyed.requests}
    assert paths
    assert all(path.startswith("/gateway/rb/v1/") for path in paths)


def test_localhost_by_name_works(keyed: Standin) -> None:
    """A loopback server may be addressed by name over plain http."""
    sent_by(ReasonBlocks(keyed.key, base_url=f"http://localhost:{keyed.port}", step_timeout=5))
    assert len(keyed.runs) == 1


def test_a_key_without_a_url_says_what_is_missing() -> None:
    """A key alone is an error that names base_url and its variable."""
    with pytest.raises(SettingsError, match=r"base_url=.*REASONBLOCKS_BASE_URL"):
        ReasonBlocks(KEY)


def test_a_url_without_a_key_says_what_is_missing() -> None:
    """A URL alone is an error that names it, api_key and its variable."""
    with pytest.raises(SettingsError, match=r"rb-api\.example\.com.*api_key=.*REASONBLOCKS_API_KEY"):
        ReasonBlocks(base_url=URL)


@pytest.mark.parametrize(
    "url",
    ["http://rb-api.example.com", "http://10.0.0.7:8000", "http://127.0.0.1.example.com", "http://localhost.evil.com"],
)
def test_plain_http_to_another_host_is_refused(url: str) -> None:
    """A key is not sent in the clear, unless that is asked for; the error says how."""
    with pytest.raises(SettingsError, match=r"https.*allow_insecure_http=True") as caught:
        ReasonBlocks(KEY, base_url=url)
    assert url in str(caught.value)


@pytest.mark.parametrize("by_environment", [True, False])
def test_plain_http_can_be_allowed(monkeypatch: pytest.MonkeyPatch, by_environment: bool) -> None:
    """The argument or the variable allows plain http to another host."""
    if by_environment:
        monkeypatch.setenv("REASONBLOCKS_ALLOW_INSECURE_HTTP", "1")
    rb = ReasonBlocks(KEY, base_url="http://10.0.0.7:8000", allow_insecure_http=None if by_environment else True)
    assert "10.0.0.7" in repr(rb)


def test_plain_http_that_the_code_forbids_is_not_allowed_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An explicit `False` stands above the variable."""
    monkeypatch.setenv("REASONBLOCKS_ALLOW_INSECURE_HTTP", "1")
    with pytest.raises(SettingsError, match="in the clear"):
        ReasonBlocks(KEY, base_url="http://10.0.0.7:8000", allow_insecure_http=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "[::1]", "LOCALHOST"])
def test_plain_http_to_this_machine_is_fine(host: str) -> None:
    """Every name of the loopback interface is exempt from https."""
    assert "ReasonBlocks" in repr(ReasonBlocks(KEY, base_url=f"http://{host}:8000"))


# -- wrong values ------------------------------------------------------------------------------------------

WRONG: list[tuple[str, Any, str, str]] = [
    # setting, value, how the message shows the value, what the message tells to do
    ("api_key", 17, "int", "expected text"),
    ("api_key", b"rb_live_bytes", "bytes", "expected text"),
    ("api_key", "two words", "blanks", "copy it again"),
    ("api_key", "kéy", "non-ASCII", "copy it again"),
    ("api_key", "line\nbreak", "line breaks", "copy it again"),
    ("base_url", 17, "int", "expected text"),
    ("base_url", "rb-api.example.com", "rb-api.example.com", "https://"),
    ("base_url", "ftp://rb-api.example.com", "ftp://", "https://"),
    ("base_url", "https://", "https://", "expected"),
    ("base_url", "https://user:pw@host.example", "user", "expected scheme, host"),
    ("base_url", f"{URL}?a=1", "query", "expected scheme, host"),
    ("base_url", f"{URL}#part", "fragment", "expected scheme, host"),
    ("base_url", "https://host.example:port", "host.example:port", "URL"),
    ("base_url", "https://host.example:99999", "99999", "expected"),
    ("step_timeout", 0, "0", "above 0"),
    ("step_timeout", -1, "-1", "above 0"),
    ("step_timeout", math.nan, "nan", "above 0"),
    ("step_timeout", math.inf, "inf", "above 0"),
    ("step_timeout", "fast", "'fast'", "above 0"),
    ("step_timeout", True, "True", "above 0"),
    ("step_timeout", [2], "[2]", "above 0"),
    ("e_traces_enabled", "yes", "'yes'", "True or False"),
    ("monitors_enabled", 1, "1", "True or False"),
    ("live_streaming_enabled", 0, "0", "True or False"),
    ("steer", "off", "'off'", "True or False"),
    ("allow_insecure_http", "no", "'no'", "True or False"),
    ("task_profile", 5, "int", "expected text"),
    ("task_profile", "x" * 65, "65", "at most 64"),
    ("monitor_weights", [1], "list", "mapping"),
    ("monitor_weights", {"semantic_loop": "high"}, "'high'", "number"),
    ("monitor_weights", {"semantic_loop": True}, "True", "number"),
    ("monitor_weights", {"semantic_loop": math.nan}, "nan", "finite"),
    ("monitor_weights", {5: 0.1}, "5", "expected"),
    ("model_routing", {"QUICK": "x"}, "'QUICK'", "NORMAL"),
    ("model_routing", {"FAST": 5}, "int", "model id or a chat model"),
    ("model_routing", {"FAST": "no-such-model-anywhere"}, "'no-such-model-anywhere'", "cannot be created"),
    ("model_routing", ["FAST"], "list", "mapping"),
    ("model_routing", "FAST", "str", "mapping"),
    ("fsm_thresholds", {"fast": 0.2}, "fast", "fast_threshold"),
    ("fsm_thresholds", {"fast_threshold": "low"}, "'low'", "expected"),
    ("fsm_thresholds", {"fast_threshold": 2}, "2", "expected"),
    ("fsm_thresholds", {"fast_window": 0}, "0", "expected"),
    ("fsm_thresholds", {"slow_window": 2.5}, "2.5", "expected"),
    ("fsm_thresholds", {"fast_threshold": 0.9, "slow_threshold": 0.1}, "0.9", "expected"),
    ("fsm_thresholds", [0.2], "list", "mapping"),
    ("token_budget", 0, "0", "above 0"),
    ("token_budget", 1.5, "1.5", "whole number"),
    ("token_budget", True, "True", "whole number"),
    ("cache_control", "sometimes", "'sometimes'", "anthropic"),
    ("cache_control", True, "True", "anthropic"),
    ("injections", ["E1"], "'E1'", "BaseInjection"),
    ("injections", 5, "5", "BaseInjection"),
    ("redact", "hide", "str", "function"),
    ("on_injection", 5, "int", "function"),
    ("otel", 5.5, "5.5", "TracerProvider"),
    ("otel", "localhost:4318", "'localhost:4318'", "http://localhost:4318"),
    ("otel", "ftp://collector", "'ftp://collector'", "http://localhost:4318"),
    ("otel", "http://key@collector:4318", "user", "OTEL_EXPORTER_OTLP_HEADERS"),
]


@pytest.mark.parametrize(
    ("name", "value", "shown", "advice"), WRONG, ids=[f"{name}-{str(value)[:16]}" for name, value, *_ in WRONG]
)
def test_a_wrong_argument_names_itself_its_value_and_the_remedy(name: str, value: Any, shown: str, advice: str) -> None:
    """Every argument that cannot work is refused by name, with its value and what to do."""
    settings = {"api_key": KEY, "base_url": URL} | {name: value}
    with pytest.raises(SettingsError) as caught:
        ReasonBlocks(**settings)
    message = str(caught.value)
    inner = list(value) if name == "fsm_thresholds" else []
    assert any(part in message for part in (name, *inner))
    assert shown in message
    assert advice in message
    assert KEY not in message


WRONG_ENVIRONMENT = [
    ("STEP_TIMEOUT", "fast", "step_timeout", "above 0"),
    ("STEP_TIMEOUT", "0", "step_timeout", "above 0"),
    ("STEP_TIMEOUT", "nan", "step_timeout", "above 0"),
    ("E_TRACES_ENABLED", "maybe", "E_TRACES_ENABLED", "true"),
    ("MONITORS_ENABLED", "2", "MONITORS_ENABLED", "true"),
    ("LIVE_STREAMING_ENABLED", "y", "LIVE_STREAMING_ENABLED", "true"),
    ("STEER", "nope", "STEER", "true"),
    ("ALLOW_INSECURE_HTTP", "sure", "ALLOW_INSECURE_HTTP", "true"),
    ("CACHE_CONTROL", "Always!", "cache_control", "anthropic"),
    ("TASK_PROFILE", "x" * 65, "task_profile", "at most 64"),
    ("BASE_URL", "no url", "base_url", "https://"),
    ("API_KEY", "two words", "api_key", "copy it again"),
]


@pytest.mark.parametrize(("variable", "value", "name", "advice"), WRONG_ENVIRONMENT, ids=lambda part: str(part)[:24])
def test_a_wrong_variable_names_itself_its_value_and_the_remedy(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, name: str, advice: str
) -> None:
    """Every variable that cannot work is refused like its argument."""
    monkeypatch.setenv("REASONBLOCKS_API_KEY", KEY)
    monkeypatch.setenv("REASONBLOCKS_BASE_URL", URL)
    monkeypatch.setenv(f"REASONBLOCKS_{variable}", value)
    with pytest.raises(SettingsError) as caught:
        ReasonBlocks()
    message = str(caught.value)
    assert name.lower() in message.lower()
    assert advice in message
    if variable not in ("API_KEY", "TASK_PROFILE"):
        assert value in message


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("run_id", "has blank", "expected"),
        ("run_id", "", "expected"),
        ("run_id", "x" * 257, "256"),
        ("run_id", "line\n", "expected"),
        ("run_id", 5, "expected"),
        ("task_profile", 5, "expected text"),
        ("metadata", "text", "mapping"),
        ("metadata", 5, "mapping"),
        ("agent_name", 5, "expected text"),
        ("task", ["x"], "expected text"),
        ("model", object(), "expected text"),
    ],
    ids=lambda part: str(part)[:16],
)
def test_a_wrong_argument_of_middleware_is_refused_where_it_is_given(name: str, value: Any, advice: str) -> None:
    """What the wire cannot carry is refused by `middleware(...)`, not lost later."""
    rb = ReasonBlocks(KEY, base_url=URL)
    with pytest.raises(SettingsError) as caught:
        rb.middleware(**{name: value})
    assert name in str(caught.value)
    assert advice in str(caught.value)


def test_settings_errors_are_value_errors_of_ours() -> None:
    """One `except` for our errors, or the usual ValueError, catches a wrong setting."""
    assert issubclass(SettingsError, ReasonBlocksError)
    assert issubclass(SettingsError, ValueError)


def test_a_mapping_that_changes_later_changes_nothing(keyed: Standin) -> None:
    """Settings are taken when they are given."""
    weights = {"semantic_loop": 0.5}
    facts = {"team": "blue"}
    rb = ReasonBlocks(keyed.key, base_url=keyed.url, monitor_weights=weights, step_timeout=5)
    middleware = rb.middleware(metadata=facts)
    weights["semantic_loop"] = 0.9
    facts["team"] = "red"
    create_agent(ScriptedModel(script(1)), [lookup], middleware=[middleware]).invoke(QUESTION)
    rb.close()
    assert [body["weights"] for body in keyed.bodies("evaluate")] == [{"semantic_loop": 0.5}]
    assert [run.start and run.start["metadata"] for run in keyed.runs.values()] == [{"team": "blue"}]


def test_the_api_takes_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """`ReasonBlocksAPI` resolves key and URL in the same way, with the same errors."""
    with pytest.raises(SettingsError, match="REASONBLOCKS_BASE_URL"):
        ReasonBlocksAPI(KEY)
    with pytest.raises(SettingsError, match="step_timeout"):
        ReasonBlocksAPI(KEY, URL, step_timeout=-1)
    monkeypatch.setenv("REASONBLOCKS_API_KEY", KEY)
    monkeypatch.setenv("REASONBLOCKS_BASE_URL", URL)
    assert ReasonBlocksAPI() is not None


# -- the key stays secret ------------------------------------------------------------------------------------


def public_objects(rb: ReasonBlocks) -> dict[str, Any]:
    """Everything of ours a user would print."""
    middleware = rb.middleware(run_id="shown")
    return {
        "rb": rb,
        "api": rb.api,
        "middleware": middleware,
        "backend": rb._backend,
        "stream": rb._stream,
        "method": rb.middleware,
    }


def dumped(value: Any, depth: int = 0) -> str:
    """What someone sees who prints an object and the attributes of its attributes."""
    lines = [repr(value), str(value), f"{value!r:.5000}"]
    if depth < 4 and not isinstance(value, str | bytes | int | float | type):
        attributes = dict(getattr(value, "__dict__", {}))
        for slot in getattr(type(value), "__dataclass_fields__", ()):
            attributes.setdefault(slot, getattr(value, slot, None))
        lines.append(repr(attributes))
        for attribute in attributes.values():
            if type(attribute).__module__.startswith("reasonblocks"):
                lines.append(dumped(attribute, depth + 1))
    return "\n".join(lines)


@pytest.mark.parametrize("key", [KEY, ODD_KEY])
def test_the_key_is_not_in_any_repr(key: str) -> None:
    """Printing any object of ours, or `vars()` of it, does not show the key."""
    rb = ReasonBlocks(key, base_url=URL)
    for name, shown in public_objects(rb).items():
        text = dumped(shown)
        assert key not in text, f"the key is in {name}"


def pickled(value: Any) -> bytes:
    """The pickle of a value, or the error that there is none."""
    try:
        return pickle.dumps(value)
    except Exception as error:
        return str(error).encode()


@pytest.mark.parametrize("key", [KEY, ODD_KEY])
def test_the_key_is_never_pickled(key: str) -> None:
    """What holds the key refuses to be pickled, and says what to do instead."""
    rb = ReasonBlocks(key, base_url=URL)
    for name, held in public_objects(rb).items():
        assert key.encode() not in pickled(held), f"the key is in the pickle of {name}"
    with pytest.raises(TypeError, match="create it where it is used"):
        pickle.dumps(rb)
    with pytest.raises(TypeError):
        copy.deepcopy(rb)


@pytest.mark.parametrize("fault", [name for name in EVERY_FAULT if name not in ("slow", "drip", "black_hole")])
def test_the_key_is_not_in_the_logs_of_failing_requests(
    keyed: Standin, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    """At DEBUG, with tracebacks, no line of ours or of the HTTP client shows the key."""
    caplog.set_level(logging.DEBUG)
    keyed.fault("*", EVERY_FAULT[fault])
    rb = ReasonBlocks(keyed.key, base_url=keyed.url, step_timeout=0.1)
    middleware = rb.middleware()
    create_agent(ScriptedModel(script(1)), [lookup], middleware=[middleware]).invoke(QUESTION)
    keyed.clear_faults()
    rb.close()
    assert caplog.records
    assert keyed.key not in caplog.text
    assert keyed.key not in json.dumps([entry.as_dict() for entry in middleware.step_log])
    assert keyed.key not in json.dumps(rb.stats())
    assert keyed.key not in json.dumps([request.body for request in keyed.requests])


async def test_the_key_is_masked_where_the_server_repeats_it(keyed: Standin, caplog: pytest.LogCaptureFixture) -> None:
    """A server that echoes the key in its error cannot bring it into our logs, step log or events."""
    caplog.set_level(logging.DEBUG)
    keyed.evaluate = lambda steps, body: (422, {"detail": f"bad key {keyed.key}"})
    rb = ReasonBlocks(keyed.key, base_url=keyed.url, step_timeout=5)
    middleware = rb.middleware()
    await create_agent(ScriptedModel(script(2)), [lookup], middleware=[middleware]).ainvoke(QUESTION)
    await rb.aclose()
    assert "bad key" in caplog.text
    assert keyed.key not in caplog.text
    assert any("bad key" in error for error in middleware.step_log[1].errors)
    assert keyed.key not in repr(middleware.step_log)
    assert keyed.key not in json.dumps([request.body for request in keyed.requests])


async def test_the_key_is_not_in_exceptions_and_tracebacks(keyed: Standin) -> None:
    """An error of a lookup by hand shows the key neither in its text nor in its traceback."""
    rb = ReasonBlocks(keyed.key, base_url=keyed.url, step_timeout=0.5)
    keyed.fault("*", Fault(reset=True))
    with pytest.raises(Unavailable) as caught:
        await rb.api.fetch_e3_patterns()
    written = "".join(traceback.format_exception(caught.value))
    assert "Unavailable" in written
    assert keyed.key not in written
    keyed.clear_faults()
    await rb.aclose()


async def test_the_key_is_not_in_the_text_of_a_refusal_that_repeats_it(keyed: Standin) -> None:
    """A lookup by hand that the server refuses with the key in its answer raises an error without it."""
    keyed.evaluate = lambda steps, body: (422, {"detail": f"bad key {keyed.key}"})
    rb = ReasonBlocks(keyed.key, base_url=keyed.url, step_timeout=5)
    with pytest.raises(Unavailable) as caught:
        await rb.api.evaluate_monitors("run", [])
    await rb.aclose()
    assert "bad key" in str(caught.value)
    assert keyed.key not in str(caught.value)
    assert keyed.key not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "settings",
    [
        {"api_key": KEY},
        {"api_key": KEY, "base_url": f"https://x.example/?key={KEY}"},
        {"api_key": KEY, "base_url": f"ftp://{KEY}@x.example"},
        {"api_key": KEY, "base_url": f"https://user:{KEY}@x.example"},
        {"api_key": KEY, "base_url": f"http://{KEY}.example"},
        {"api_key": KEY, "base_url": KEY},
        {"api_key": f"{KEY} with blanks", "base_url": URL},
        {"base_url": f"https://x.example/{KEY}"},
        {"api_key": ODD_KEY, "base_url": ODD_KEY},
        {"api_key": f"{ODD_KEY} x", "base_url": URL},
    ],
    ids=[str(number) for number in range(10)],
)
def test_the_key_is_not_in_settings_errors(settings: dict[str, Any]) -> None:
    """A wrong setting is described without the key, also where the key is in the wrong place."""
    with pytest.raises(SettingsError) as caught:
        ReasonBlocks(**settings)
    written = "".join(traceback.format_exception(caught.value))
    assert KEY not in written
    assert ODD_KEY not in written


def test_the_key_is_not_in_a_traceback_with_locals(keyed: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools that print the local variables of each frame see the key masked inside our frames."""
    rb = ReasonBlocks(keyed.key, base_url=keyed.url, step_timeout=5)
    seen: list[str] = []

    async def broken(*arguments: Any, **named: Any) -> Any:
        raise LookupError("a bug of ours")

    def note(where: str, error: BaseException) -> str:
        report = traceback.TracebackException.from_exception(error, capture_locals=True)
        seen.append("".join(report.format()))
        return "noted"

    monkeypatch.setattr("reasonblocks.api.http._read", broken)
    monkeypatch.setattr(incidents, "note", note)
    create_agent(ScriptedModel(["done"]), [lookup], middleware=[rb.middleware()]).invoke(QUESTION)
    monkeypatch.undo()
    rb.close()
    assert any("a bug of ours" in text for text in seen)
    assert not any(keyed.key in text for text in seen)


def test_the_key_is_not_in_a_log_of_the_whole_process(keyed: Standin) -> None:
    """With every logger at DEBUG a healthy run writes the key nowhere."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        sent_by(ReasonBlocks(keyed.key, base_url=keyed.url, step_timeout=5), steps=2)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert len(keyed.runs) == 1
    assert keyed.key not in written.getvalue()
