"""`reasonblocks doctor`: what is set up, whether it works, and what to change."""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    dynamic_prompt,
)
from langchain_anthropic.middleware import AnthropicPromptCachingMiddleware

from commands.conftest import Server
from commands.story import QUESTION, command
from reasonblocks import ReasonBlocks
from reasonblocks.commands.doctoring import packages
from reasonblocks.commands.doctoring.agents import middleware_of, stack
from reasonblocks.commands.doctoring.stack import layer_of, stack_findings
from reasonblocks.errors import SettingsError
from support.agents import ScriptedModel, lookup, script
from support.standin import Standin


def findings(*arguments: object, code: int = 0, **environment: str) -> list[dict[str, str]]:
    """What the doctor finds, as scripts get it."""
    result = command("doctor", *arguments, "--json", **environment)
    assert result.exit_code == code, result.output
    found: list[dict[str, str]] = json.loads(result.stdout)
    return found


def of_level(found: list[dict[str, str]], level: str) -> list[str]:
    """What findings of a level say, and what they advise."""
    return [f"{one['says']} -> {one['do']}" for one in found if one["level"] == level]


def topics(found: list[dict[str, str]]) -> set[str]:
    """What was looked at."""
    return {one["topic"] for one in found}


# -- the engine ------------------------------------------------------------------------------------


def test_a_directory_in_use_is_well(data_dir: Path) -> None:
    """Versions, settings, directory, embedder, database and index: all ok, and the runs are counted."""
    found = findings("--data-dir", data_dir)
    assert of_level(found, "problem") == of_level(found, "warning") == []
    assert {"version", "settings", "engine", "data directory", "embedder", "database", "index"} <= topics(found)
    assert any("5 runs" in one["says"] for one in found)


def test_a_directory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """The engine is tried in memory instead."""
    found = findings("--data-dir", tmp_path / "new")
    assert of_level(found, "problem") == []
    assert any("the first run makes it" in one["says"] for one in found)
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_with_an_engine_is_told(tmp_path: Path) -> None:
    """A file in the way, an embedder that is none, a setting that cannot work: exit code 1, and what to do."""
    file = tmp_path / "file"
    file.write_text("not a directory")
    (message,) = of_level(findings("--data-dir", file, code=1), "problem")
    assert "is a file" in message
    assert "--data-dir" in message
    problems = of_level(findings("--data-dir", tmp_path, code=1, REASONBLOCKS_EMBEDDINGS="nonsense"), "problem")
    assert any("minilm" in problem for problem in problems)
    problems = of_level(findings("--data-dir", tmp_path, code=1, REASONBLOCKS_STEP_TIMEOUT="soon"), "problem")
    (message,) = problems
    assert message.startswith("step_timeout is 'soon'; expected a number of seconds above 0")
    assert message.endswith("correct REASONBLOCKS_STEP_TIMEOUT")


def test_settings_are_shown_with_where_they_come_from(tmp_path: Path) -> None:
    """Secrets are not; a variable that is no setting is, with the one that may be meant."""
    environment = {"REASONBLOCKS_STEER": "off", "REASONBLOCKS_STEP_TIMOUT": "3", "REASONBLOCKS_DISABLED": "1"}
    secret = {
        "REASONBLOCKS_QDRANT_API_KEY": "hush-1",
        "REASONBLOCKS_DATABASE_URL": "postgresql+asyncpg://rb:hush-2@db.internal/rb",
    }
    found = findings("--data-dir", tmp_path, **environment, **secret)
    said = [one["says"] for one in found if one["topic"] == "settings"]
    assert "qdrant_api_key = *** (from REASONBLOCKS_QDRANT_API_KEY)" in said
    assert "hush" not in str(found)
    assert f"data_dir = {tmp_path} (option --data-dir)" in said
    assert "steer = off (from REASONBLOCKS_STEER)" in said
    warnings = of_level(found, "warning")
    assert any(warning.endswith("did you mean REASONBLOCKS_STEP_TIMEOUT?") for warning in warnings)
    assert any("REASONBLOCKS_DISABLED" in warning for warning in warnings)


# -- a server --------------------------------------------------------------------------------------


def test_a_server_and_its_key_are_looked_at(server: Server) -> None:
    """Version, capabilities, parts and whose key it is; the key itself is nowhere."""
    result = command("doctor", "--json", **server.member)
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert of_level(found, "problem") == of_level(found, "warning") == []
    assert any("capabilities: events" in one["says"] for one in found)
    assert any("of organisation default" in one["says"] for one in found)
    assert server.member["REASONBLOCKS_API_KEY"] not in result.output
    assert "embedder" not in topics(found)  # that is the server's business
    assert any("admin" in warning for warning in of_level(findings(**server.admin), "warning"))


def test_a_server_that_is_away_a_wrong_key_and_half_a_server(server: Server) -> None:
    """Each is a problem with what to do, and the rest is looked at all the same."""
    away = findings(code=1, REASONBLOCKS_BASE_URL="http://127.0.0.1:1", REASONBLOCKS_API_KEY="no-such-key-0001")
    assert ["cannot be reached" in problem for problem in of_level(away, "problem")] == [True]
    assert "OpenTelemetry" in topics(away)
    wrong = findings(code=1, REASONBLOCKS_BASE_URL=server.url, REASONBLOCKS_API_KEY="no-such-key-0002")
    assert ["keys create" in problem for problem in of_level(wrong, "problem")] == [True]
    half = findings(code=1, REASONBLOCKS_API_KEY="no-such-key-0001")
    assert ["REASONBLOCKS_BASE_URL" in problem for problem in of_level(half, "problem")] == [True]


def test_an_old_server_can_do_less(standin: Standin) -> None:
    """What it lacks is a warning: agents work without."""
    found = findings(code=1, REASONBLOCKS_BASE_URL=standin.url, REASONBLOCKS_API_KEY=standin.key)
    assert any("it cannot do events" in warning for warning in of_level(found, "warning"))


def test_the_table_has_a_last_line(tmp_path: Path) -> None:
    """How many problems and warnings there are; what to do stands below its finding, within 80 columns."""
    shown = command("doctor", "--data-dir", tmp_path, REASONBLOCKS_STEP_TIMOUT="3").stdout
    assert shown.splitlines()[-1] == "0 problems, 1 warning"
    assert "-> did you mean REASONBLOCKS_STEP_TIMEOUT?" in shown
    paths = [line for line in shown.splitlines() if str(tmp_path) in line]
    assert max(len(line) for line in shown.splitlines() if line not in paths) <= 80


# -- packages --------------------------------------------------------------------------------------


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Have a package of a version installed, as far as its metadata tell."""
    monkeypatch.syspath_prepend(str(tmp_path / "site"))

    def installed(name: str, version: str) -> None:
        folder = tmp_path / "site" / f"{name.replace('-', '_')}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        importlib.invalidate_caches()

    return installed


def test_a_langchain_that_is_too_old_is_a_problem(install: Callable[[str, str], None]) -> None:
    """With the range that works, and the command that installs it."""
    install("langchain", "0.3.27")
    (found,) = [one for one in packages.frameworks() if one.level == "problem"]
    assert found.says.startswith("langchain is 0.3.27; expected <2,>=1.4")
    assert found.do.startswith("run pip install 'langchain")


def test_opentelemetry_is_looked_at_step_by_step(
    install: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK, an exporter for it, an endpoint for that; a password in the endpoint is not shown."""
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    install("opentelemetry-sdk", "1.30.0")
    install("opentelemetry-exporter-otlp-proto-http", "1.30.0")
    assert [one.level for one in packages.telemetry()] == ["ok", "ok"]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://me:secret@collector.example:4318")
    assert [one.level for one in packages.telemetry()] == ["ok", "ok"]
    assert [one for one in packages.telemetry() if "secret" in one.says] == []
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert [one.level for one in packages.telemetry()] == ["ok", "ok", "warning"]


# -- a stack ---------------------------------------------------------------------------------------


@pytest.fixture
def rb(standin: Standin) -> Iterator[ReasonBlocks]:
    """A client whose middleware is looked at."""
    with ReasonBlocks(standin.key, base_url=standin.url, step_timeout=5.0) as client:
        yield client


@dynamic_prompt
def todays_prompt(request: Any) -> str:
    """A prompt that replaces whatever there is."""
    return "You keep the records."


class Stamp(AgentMiddleware[Any, Any, Any]):
    """Somebody's own, which touches the system message."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Pass on what is there."""
        return handler(request.override(system_message=request.system_message))


class Quiet(AgentMiddleware[Any, Any, Any]):
    """Somebody's own, which does not."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        """Pass on."""
        return handler(request)


def others() -> dict[str, tuple[Any, str]]:
    """Each of the others with what its place after ours is called."""
    model = ScriptedModel(["done"])
    return {
        "fallback": (ModelFallbackMiddleware(model), "warning"),
        "retry": (ModelRetryMiddleware(), "warning"),
        "prompt": (todays_prompt, "problem"),
        "redaction": (PIIMiddleware("email"), "warning"),
        "approval": (HumanInTheLoopMiddleware({"lookup": True}), "warning"),
        "todo": (TodoListMiddleware(), "warning"),
        "caching": (AnthropicPromptCachingMiddleware(unsupported_model_behavior="ignore"), "ok"),
        "summary": (SummarizationMiddleware(model), "ok"),
        "stamp": (Stamp(), "warning"),
        "quiet": (Quiet(), "ok"),
    }


@pytest.mark.parametrize("name", list(others()))
def test_each_place_in_a_stack_is_judged(rb: ReasonBlocks, name: str) -> None:
    """Before ours all is well; after ours there is advice to move it; an agent shows what its list shows."""
    other, after = others()[name]
    ours = rb.middleware()
    for order, worst in (([other, ours], "ok"), ([ours, other], after)):
        found = list(stack_findings([layer_of(one) for one in order]))
        levels = {one.level for one in found}
        assert (worst if worst in levels else None, levels - {"ok", worst}) == (worst, set())
        assert all(other.name in one.do for one in found if one.level != "ok")
        agent = create_agent(ScriptedModel(["done"]), [lookup], middleware=order)
        assert middleware_of(agent, "agent") == order


def test_a_prompt_after_ours_loses_the_guidance(rb: ReasonBlocks, standin: Standin) -> None:
    """What the doctor calls a problem is one: the model never reads the block; the other way round it does."""
    reads = {}
    for place, order in {"after": [rb.middleware(), todays_prompt], "before": [todays_prompt, rb.middleware()]}.items():
        model = ScriptedModel(script(1))
        create_agent(model, [lookup], middleware=order).invoke(QUESTION)
        reads[place] = model.blocks[0] is not None
    assert reads == {"after": False, "before": True}


def test_a_long_stack_is_read_off_a_compiled_agent(rb: ReasonBlocks) -> None:
    """Where each stands to ours is right, whether its hooks are nodes or are around the model."""
    pool = {name: other for name, (other, _) in others().items() if name != "approval"}
    before = [pool[name] for name in ("retry", "summary", "todo")]
    after = [pool[name] for name in ("caching", "redaction", "fallback", "quiet")]
    ours = rb.middleware()
    agent = create_agent(ScriptedModel(["done"]), [lookup], middleware=[*before, ours, *after])
    found = middleware_of(agent.with_config({"tags": ["x"]}), "agent")
    place = found.index(ours)
    assert ({id(one) for one in found[:place]}, {id(one) for one in found[place + 1 :]}) == (
        {id(one) for one in before},
        {id(one) for one in after},
    )


def test_ours_twice_or_not_at_all_is_a_problem(rb: ReasonBlocks) -> None:
    """LangChain would refuse two; none steers nothing."""
    for order, words in (([rb.middleware(), rb.middleware()], "2 times"), ([Quiet()], "not in it"), ([], "not in it")):
        (problem,) = [one for one in stack_findings(list(map(layer_of, order))) if one.level == "problem"]
        assert words in problem.says
        assert problem.do


APP = """
from langchain.agents import create_agent
from langchain.agents.middleware import ModelRetryMiddleware
from reasonblocks import ReasonBlocks
from support.agents import ScriptedModel, lookup

rb = ReasonBlocks("no-such-key-0003", base_url="http://127.0.0.1:1")
stack = [rb.middleware(), ModelRetryMiddleware()]
agent = create_agent(ScriptedModel(["done"]), [lookup], middleware=stack)
number = 7

def make():
    return agent

def fails():
    raise RuntimeError("no model today")
"""


def test_the_target_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list, an agent or a function that makes one, from the folder where the command runs; or why it cannot be."""
    (tmp_path / "an_app_of_mine.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    for name in ("stack", "agent", "make"):
        (warned,) = [one for one in stack(f"an_app_of_mine:{name}") if one.level == "warning"]
        assert "put ModelRetryMiddleware before ReasonBlocks" in warned.do
    for target, words in {
        "an_app_of_mine": "package.module:attribute",
        "an_app_of_mine:nothing": "has no 'nothing'",
        "an_app_of_mine:number": "is a int",
        "an_app_of_mine:fails": "RuntimeError: no model today",
        "nowhere.to.be.found:agent": "ModuleNotFoundError",
    }.items():
        with pytest.raises(SettingsError, match=re.escape(words)):
            list(stack(target))
    found = findings("an_app_of_mine:number", "--data-dir", tmp_path / "data", code=1)
    assert ["is a int" in problem for problem in of_level(found, "problem")] == [True]
